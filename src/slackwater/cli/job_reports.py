"""What the commands of a job print, for a person and for a program."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slackwater.cli.account_report import account_as_json, account_lines, at_work_as_json
from slackwater.cli.text import amount, plain_table, rich_table, seconds, size, sql
from slackwater.cli.verify_report import verified_as_json
from slackwater.errors import counted
from slackwater.job.cycle.tidy import Cleaned
from slackwater.job.history import History, beside_expected
from slackwater.job.job import Job
from slackwater.job.learning.regret import Regret
from slackwater.job.running.after_run import Verified
from slackwater.job.running.failures import failed_lines
from slackwater.job.running.work import RunWork
from slackwater.job.status import Status
from slackwater.job.store.accounts import Account
from slackwater.job.store.answer_directory import AnswerDirectory
from slackwater.job.store.cycle_record import RevisionRecord
from slackwater.job.store.manifest import Manifest, StepRecord, told_apart
from slackwater.json_text import Json
from slackwater.plan.plan import answer_of

STYLES = {"committed": "green", "running": "cyan", "interrupted": "yellow", "damaged": "red"}
SIZES = (
    ("read", "bytes_read"),
    ("written", "bytes_written"),
    ("shuffled", "bytes_shuffled"),
    ("spilled", "bytes_spilled"),
    ("peak memory", "peak_memory"),
)


def _measured(measured: dict[str, float | int | None], name: str) -> float | None:
    value = measured.get(name)
    return None if value is None else float(value)


def _outputs(answer_directories: Mapping[str, AnswerDirectory]) -> dict[str, Json]:
    only, named = told_apart({name: str(directory.output) for name, directory in answer_directories.items()})
    return {"output": only} if only is not None else {"outputs": {**named}}


def _as_json(manifest: Manifest) -> dict[str, Json]:
    value: dict[str, Json] = json.loads(manifest.model_dump_json())
    return value


def _run_as_json(manifest: Manifest, account: Account | None, verified: Verified | None) -> dict[str, Json]:
    return {
        **_as_json(manifest),
        "expected_cpu_s": manifest.expected_cpu_s,
        "account": account_as_json(account),
        "verified": verified_as_json(verified),
    }


@dataclass(frozen=True)
class RunReport:
    """The runs that were just done, and what is next."""

    done: History
    status: Status
    answer_directories: Mapping[str, AnswerDirectory]

    def as_json(self) -> Json:
        following = self.status.next
        return {
            "runs": [_run_as_json(*each) for each in self.done.entries],
            "cycle": self.status.cycle,
            "next": None if following is None else following.time,
            **_following(self.status),
            **_outputs(self.answer_directories),
        }

    def as_text(self) -> RenderableType:
        if not self.done:
            by_the_clock = self.status.following is not None
            return Text.assemble("nothing is due; " if by_the_clock else "nothing to do; ", self._state())
        parts: list[RenderableType] = []
        for manifest, account, verified in self.done.entries:
            parts += [_run_line(manifest, account), *([_steps_table(manifest.steps)] if manifest.steps else [])]
            parts += [account_lines(account)] if account is not None else []
            parts += [Text(f"verified: {verified}", style="bold green"), Text()] if verified is not None else [Text()]
        delivered = {name: answer for manifest in self.done for name, answer in manifest.answers.items()}
        for name, directory in self.answer_directories.items():
            if name in delivered:
                rows = delivered[name].rows
                count = f"{amount(rows)} rows in " if rows is not None else ""
                parts.append(Text.assemble(f"{answer_of(name)}: ", count, (str(directory.output), "bold")))
        parts.append(self._state())
        return Group(*parts)

    def _state(self) -> Text:
        following, coming = self.status.next, self.status.following
        notice = f"next: {coming}" if coming is not None else f"next: {following.time}" if following is not None else ""
        if following is None:
            again = "`slackwater run --new-cycle` begins the schedule anew"
            return Text("; ".join(part for part in (f"cycle {self.status.cycle} is complete", notice, again) if part))
        return Text(notice)


def _following(status: Status) -> dict[str, Json]:
    """When the next run is due, where runs are due by a clock."""
    coming = status.following
    if coming is None:
        return {}
    return {"next_due": coming.due.isoformat(), "is_due": coming.is_due, "timezone": coming.timezone}


def _run_line(manifest: Manifest, account: Account | None) -> Text:
    title = f"run {manifest.run} · {manifest.time}"
    if manifest.note:
        return Text.assemble((title, "bold cyan"), f" · {manifest.note}; committed")
    cpu = _measured(manifest.total, "cpu_s")
    costs = [f"{seconds(cpu)} executor CPU"] if cpu is not None else []
    costs += [f"{seconds(account.cpu_s)} total CPU"] if account is not None else []
    arrived = sum(manifest.arrived.values())
    return Text.assemble((title, "bold cyan"), f" · {amount(arrived)} rows arrived · ", ", ".join(costs))


def _steps_table(steps: tuple[StepRecord, ...]) -> Table:
    table = plain_table("step", "", "rows", "expected", "wall", "executor CPU (expected)", "read", "shuffled", left=2)
    for step in steps:
        what = "skipped: nothing arrived" if step.skipped else "computed again" if step.recomputed else step.purpose
        table.add_row(
            step.name,
            what,
            amount(step.rows),
            amount(step.expected_rows),
            seconds(_measured(step.measured, "wall_s")),
            beside_expected(_measured(step.measured, "cpu_s"), step.expected_cpu_s),
            size(_measured(step.measured, "bytes_read")),
            size(_measured(step.measured, "bytes_shuffled")),
            style="dim" if step.skipped else None,
        )
    return table


@dataclass(frozen=True)
class DryRun:
    """What the next run would do."""

    work: RunWork | None
    plan_text: str = ""

    @staticmethod
    def of(job: Job, at: str | None) -> DryRun:
        status = job.status()
        if status.cycle is None:
            return DryRun(None, str(job.plan()))
        return DryRun(job.work(at))

    def as_json(self) -> Json:
        if self.work is None:
            return {"plan": self.plan_text}
        return {
            "run": self.work.run,
            "time": self.work.plan.time(self.work.run),
            "files": {name: [pin.path for pin in pins] for name, pins in self.work.pins[-1].items()},
            "steps": list(self.work.targets),
            "program": self.work.program(),
        }

    def as_text(self) -> RenderableType:
        if self.work is None:
            return Group(Text("no run has begun; the plan would be"), Text(), Text(self.plan_text))
        work = self.work
        parts: list[RenderableType] = [
            Text(
                f"run {work.run} of {len(work.plan.times)} · {work.plan.time(work.run)}, not executed",
                style="bold cyan",
            )
        ]
        for name, pins in work.pins[-1].items():
            parts.append(Text(f"  {name}: {counted(len(pins), 'new file')}, {size(sum(pin.size for pin in pins))}"))
        parts += [Text(), sql(work.program())]
        return Group(*parts)


@dataclass(frozen=True)
class StatusReport:
    """Where a job stands."""

    name: str
    status: Status
    answer_directories: Mapping[str, AnswerDirectory]

    def as_json(self) -> Json:
        following = self.status.next
        return {
            "job": self.name,
            "cycle": self.status.cycle,
            "runs": [
                {
                    "run": run.run,
                    "time": run.time,
                    "delivers": run.delivers,
                    **({"queries": list(run.due)} if any(run.due) else {}),
                    "state": self.status.state(run),
                    **({"failed": dict(run.manifest.failed)} if run.manifest and run.manifest.failed else {}),
                    "account": account_as_json(run.account),
                    "verified": verified_as_json(run.verified),
                    "finished": None if run.manifest is None else run.manifest.finished,
                }
                for run in self.status.runs
            ],
            "next": None if following is None else following.time,
            **_following(self.status),
            "running": at_work_as_json(self.status.at_work),
            "waiting": dict(self.status.waiting),
            "revisions": [
                {
                    "from_run": each.from_run,
                    "planned": each.planned,
                    "reasons": list(each.reasons),
                    "cost": each.cost,
                    "cost_cpu_s": None if each.cost is None else each.cost / 1e6,
                    "cost_without": each.static_cost,
                    "cost_without_cpu_s": None if each.static_cost is None else each.static_cost / 1e6,
                }
                for each in self.status.revisions
            ],
            "changed": list(self.status.rescheduled),
            "conditions": dict(self.status.conditions.as_value()),
            "trusted": list(self.status.trusted),
            **_outputs(self.answer_directories),
        }

    def as_text(self) -> RenderableType:
        states = [self.status.state(run) for run in self.status.runs]
        styles = {(n, 2): STYLES[state] for n, state in enumerate(states) if state in STYLES}
        unsound = [n for n, run in enumerate(self.status.runs) if run.verified is not None and not run.verified.sound]
        styles |= dict.fromkeys(((n, 2) for n in unsound), STYLES["damaged"])
        table = rich_table(self.status.table(), styles)
        waiting = ", ".join(f"{name}: {counted(n, 'new file')}" for name, n in self.status.waiting.items() if n)
        parts: list[RenderableType] = [Text(f"{self.name} · {self.status.title}", style="bold")]
        if (at_work := self.status.at_work) is not None:
            parts.append(Text(str(at_work), style="yellow" if at_work.left_behind else "cyan"))
        parts.append(table)
        parts += [Text(run.damaged, style="red") for run in self.status.runs if run.damaged]
        manifests = (run.manifest for run in self.status.runs if run.manifest is not None)
        parts += [Text(line, style="red") for manifest in manifests for line in failed_lines(manifest)]
        parts += map(_revision_line, self.status.revisions)
        if self.status.rescheduled:
            notice = f"changed: {', '.join(self.status.rescheduled)}; the next run plans the rest anew"
            parts.append(Text(notice, style="yellow"))
        parts += map(Text, self.status.conditions.lines())
        parts += [Text(line, style="yellow") for line in self.status.trusted]
        parts.append(Text(f"waiting: {waiting or 'nothing'}"))
        if self.status.following is not None:
            parts.append(Text(f"next: {self.status.following}"))
        for name, directory in self.answer_directories.items():
            if directory.output.is_symlink():
                parts.append(Text(f"{answer_of(name)}: {directory.output}"))
        return Group(*parts)


def _revision_line(revision: RevisionRecord) -> Text:
    when = revision.planned[:19].replace("T", " ")
    return Text(f"planned anew from run {revision.from_run} on ({when}): {'; '.join(revision.reasons)}")


@dataclass(frozen=True)
class HistoryReport:
    """Committed runs and what they cost."""

    runs: History
    steps: bool
    regrets: tuple[Regret, ...] = ()
    earlier: int = 0
    """How many cycles before these are not shown."""

    def as_json(self) -> Json:
        cycles: list[Json] = [
            {
                "cycle": each.cycle,
                "keeps": each.keeps,
                "weighted_cpu_s": each.cost,
                "best_known_cpu_s": each.best,
                "against": each.against,
                "regret_cpu_s": each.lost,
            }
            for each in self.regrets
        ]
        runs: list[Json] = [_run_as_json(*each) for each in self.runs.entries]
        return {"runs": runs, "cycles": cycles, "earlier_cycles": self.earlier}

    def as_text(self) -> RenderableType:
        if not self.runs:
            return Text("no run is committed yet")
        parts: list[RenderableType] = [rich_table(self.runs.table())]
        if self.earlier:
            parts.append(Text(f"{counted(self.earlier, 'earlier cycle')} not shown; --all shows all"))
        if self.regrets:
            parts += [Text(), _regrets_table(self.regrets)]
        for manifest, account, _ in self.runs.entries if self.steps else ():
            title = f"cycle {manifest.cycle}, run {manifest.run} · {manifest.time}"
            sizes = ", ".join(f"{what} {size(_measured(manifest.total, name))}" for what, name in SIZES)
            parts += [Text(), Text.assemble((title, "bold cyan"), f" · {sizes if manifest.total else manifest.note}")]
            parts += [_steps_table(manifest.steps)] if manifest.steps else []
            parts += [account_lines(account)] if account is not None else []
        return Group(*parts)


def _regrets_table(regrets: Sequence[Regret]) -> Table:
    """What cycles cost, at the prices of their runs, beside the best that is known."""
    table = plain_table("cycle", "plan", "against", "weighted CPU", "best known", "regret", left=3)
    for each in regrets:
        how = "keeps states" if each.keeps else "batch"
        lost = Text(seconds(each.lost), style="red" if each.lost > 0.05 * each.cost else "")
        table.add_row(str(each.cycle), how, each.against, seconds(each.cost), seconds(each.best), lost)
    return table


@dataclass(frozen=True)
class CleanReport:
    """What was removed."""

    cleaned: Cleaned
    dry_run: bool

    def as_json(self) -> Json:
        return {
            "removed": [str(path) for path in self.cleaned.paths],
            "bytes": self.cleaned.bytes,
            "dry_run": self.dry_run,
        }

    def as_text(self) -> RenderableType:
        if not self.cleaned.paths:
            return Text("nothing to remove")
        done = "would free" if self.dry_run else "freed"
        lines = [Text(f"  {path}") for path in self.cleaned.paths]
        return Group(Text(f"{done} {size(self.cleaned.bytes)}"), *lines)
