"""What the commands of a job print, for a person and for a program."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slackwater.cli.output import Json, plain
from slackwater.cli.text import amount, seconds, size, sql
from slackwater.errors import counted
from slackwater.job.job import Job, RunStatus, Status
from slackwater.job.manifest import Manifest, StepRecord
from slackwater.job.tidy import Cleaned
from slackwater.job.verify import Verdict
from slackwater.job.work import Work

MOST_ROWS = 10

TIMES = (("wall", "wall_s"), ("executor CPU", "cpu_s"), ("JVM CPU", "process_cpu_s"))
SIZES = (
    ("read", "bytes_read"),
    ("written", "bytes_written"),
    ("shuffled", "bytes_shuffled"),
    ("spilled", "bytes_spilled"),
    ("peak memory", "peak_memory"),
)


def _table(*columns: str, left: int = 1) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold cyan", padding=(0, 3, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < left else "right", no_wrap=True)
    return table


def _measured(measured: dict[str, float | int | None], name: str) -> float | None:
    value = measured.get(name)
    return None if value is None else float(value)


def _as_json(manifest: Manifest) -> dict[str, Json]:
    told: dict[str, Json] = json.loads(manifest.model_dump_json())
    return told


@dataclass(frozen=True)
class RunReport:
    """The runs that were just done, and what is next."""

    done: tuple[Manifest, ...]
    status: Status
    output: Path

    def as_json(self) -> Json:
        following = self.status.next
        return {
            "runs": [_as_json(manifest) for manifest in self.done],
            "cycle": self.status.cycle,
            "next": None if following is None else following.time,
            "output": str(self.output),
        }

    def as_text(self) -> RenderableType:
        if not self.done:
            return Text.assemble("nothing to do; ", self._state())
        parts: list[RenderableType] = []
        for manifest in self.done:
            parts += [_run_line(manifest), *([_steps_table(manifest.steps)] if manifest.steps else []), Text()]
        delivered = [manifest for manifest in self.done if manifest.output is not None]
        if delivered:
            rows = delivered[-1].output.rows if delivered[-1].output else None
            told = f"{amount(rows)} rows in " if rows is not None else ""
            parts.append(Text.assemble("the answer: ", told, (str(self.output), "bold")))
        parts.append(self._state())
        return Group(*parts)

    def _state(self) -> Text:
        following = self.status.next
        if following is None:
            return Text(f"cycle {self.status.cycle} is complete; `slackwater run --new-cycle` begins the schedule anew")
        return Text(f"next: {following.time}")


def _run_line(manifest: Manifest) -> Text:
    title = f"run {manifest.run} · {manifest.time}"
    if manifest.note:
        return Text.assemble((title, "bold cyan"), f" · {manifest.note}; committed")
    total = manifest.total
    cpu, process = _measured(total, "cpu_s"), _measured(total, "process_cpu_s")
    told = [f"{seconds(cpu)} executor CPU"] if cpu is not None else []
    told += [f"{seconds(process)} CPU of the whole process"] if process is not None else []
    arrived = sum(manifest.arrived.values())
    return Text.assemble((title, "bold cyan"), f" · {amount(arrived)} rows arrived · ", ", ".join(told))


def _steps_table(steps: tuple[StepRecord, ...]) -> Table:
    table = _table("step", "", "rows", "expected", "wall", "CPU", "read", "shuffled", left=2)
    for step in steps:
        what = "skipped: nothing arrived" if step.skipped else "computed again" if step.recomputed else step.purpose
        table.add_row(
            step.name,
            what,
            amount(step.rows),
            amount(step.expected_rows),
            seconds(_measured(step.measured, "wall_s")),
            seconds(_measured(step.measured, "cpu_s")),
            size(_measured(step.measured, "bytes_read")),
            size(_measured(step.measured, "bytes_shuffled")),
            style="dim" if step.skipped else None,
        )
    return table


@dataclass(frozen=True)
class DryRun:
    """What the next run would do."""

    work: Work | None
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
    output: Path

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
                    "state": _state(run),
                    "finished": None if run.manifest is None else run.manifest.finished,
                }
                for run in self.status.runs
            ],
            "next": None if following is None else following.time,
            "waiting": dict(self.status.waiting),
            "output": str(self.output),
        }

    def as_text(self) -> RenderableType:
        table = _table("run", "time", "", "finished", "rows", left=4)
        for run in self.status.runs:
            manifest = run.manifest
            rows = manifest.output.rows if manifest is not None and manifest.output is not None else None
            style = {"committed": "green", "interrupted": "yellow", "damaged": "red"}.get(_state(run), "")
            table.add_row(
                str(run.run),
                run.time,
                Text(_state(run) + (", delivers" if run.delivers else ""), style=style),
                manifest.finished[:19].replace("T", " ") if manifest is not None else "",
                "" if rows is None else amount(rows),
            )
        cycle = f"cycle {self.status.cycle}" if self.status.cycle is not None else "no run yet"
        waiting = ", ".join(f"{name}: {counted(n, 'new file')}" for name, n in self.status.waiting.items() if n)
        parts: list[RenderableType] = [Text(f"{self.name} · {cycle}", style="bold"), table]
        parts += [Text(run.damaged, style="red") for run in self.status.runs if run.damaged]
        parts.append(Text(f"waiting: {waiting or 'nothing'}"))
        if self.output.is_symlink():
            parts.append(Text(f"the answer: {self.output}"))
        return Group(*parts)


def _state(run: RunStatus) -> str:
    if run.damaged:
        return "damaged"
    if run.manifest is not None:
        return "committed"
    return "interrupted" if run.pinned else "to do"


@dataclass(frozen=True)
class HistoryReport:
    """Committed runs and what they cost."""

    runs: tuple[Manifest, ...]
    steps: bool

    def as_json(self) -> Json:
        return {"runs": [_as_json(manifest) for manifest in self.runs]}

    def as_text(self) -> RenderableType:
        if not self.runs:
            return Text("no run is committed yet")
        table = _table("cycle", "run", "finished (UTC)", "arrived", "delivered", *(name for name, _ in TIMES), left=3)
        for manifest in self.runs:
            table.add_row(
                str(manifest.cycle),
                f"{manifest.run} · {manifest.time}",
                manifest.finished[:19].replace("T", " "),
                amount(sum(manifest.arrived.values())),
                amount(manifest.output.rows) if manifest.output is not None else "",
                *(seconds(_measured(manifest.total, name)) for _, name in TIMES),
            )
        parts: list[RenderableType] = [table]
        for manifest in self.runs if self.steps else ():
            title = f"cycle {manifest.cycle}, run {manifest.run} · {manifest.time}"
            told = ", ".join(f"{what} {size(_measured(manifest.total, name))}" for what, name in SIZES)
            parts += [Text(), Text.assemble((title, "bold cyan"), f" · {told if manifest.total else manifest.note}")]
            parts += [_steps_table(manifest.steps)] if manifest.steps else []
        return Group(*parts)


@dataclass(frozen=True)
class VerifyReport:
    """Whether an answer is the batch answer."""

    verdict: Verdict

    def as_json(self) -> Json:
        found = self.verdict.difference
        return {
            "equal": self.verdict.equal,
            "run": self.verdict.run,
            "time": self.verdict.time,
            "rows": self.verdict.rows,
            "sample": self.verdict.sample,
            "within_tolerance": found.close,
            "ties": self.verdict.ties,
            "missing": [[plain(cell) if cell is not None else None for cell in row] for row in found.missing[:100]],
            "extra": [[plain(cell) if cell is not None else None for cell in row] for row in found.extra[:100]],
        }

    def as_text(self) -> RenderableType:
        verdict, found = self.verdict, self.verdict.difference
        about = f"run {verdict.run} ({verdict.time}), {amount(verdict.rows)} rows"
        if verdict.sample is not None:
            about += f", on a sample of {100 * verdict.sample:g} %"
        notes = (
            [Text(f"  {counted(found.close, 'row')} equal but for the last digits of floats")] if found.close else []
        )
        if verdict.ties:
            notes.append(
                Text(f"  {counted(verdict.ties, 'row')} of the last tie of ORDER BY … LIMIT differ; both are right")
            )
        if verdict.equal:
            return Group(Text.assemble((f"{about}: ", ""), ("equal to the batch answer", "bold green")), *notes)
        more = " or more" if found.cut else ""
        title = f"{about}: {len(found.missing)} rows are missing{more}, {len(found.extra)} too many{more}"
        table = _table("", *(f.name for f in verdict.fields), left=1 + len(verdict.fields))
        for label, rows in (("missing", found.missing), ("too many", found.extra)):
            for row in rows[:MOST_ROWS]:
                table.add_row(label, *(str(cell) for cell in row))
        return Group(Text(title, style="bold red"), table, *notes)


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
