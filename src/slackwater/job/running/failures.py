"""A step that fails holds up the queries that need it, and no others.

The run is done without it, and its manifest says which queries it holds up and why. What was to be delivered, a later
call computes from the query's own text over the inputs of that run, and adds the answer to the manifest. States that
are missing are computed again by the runs that need them, like states that are damaged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from slackwater.errors import UserError
from slackwater.job.cycle.text_plans import text_step
from slackwater.job.running.work import RunWork
from slackwater.job.store.column_records import fields_of
from slackwater.job.store.manifest import Manifest, told_apart
from slackwater.plan.plan import Plan, Purpose, Step, answer_of


class QueryFailed(UserError):
    """Queries of a job have failed; what the others deliver is committed, by these runs."""

    def __init__(self, message: str, *, done: Sequence[Manifest] = (), hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.done = tuple(done)


def held_up(work: RunWork) -> frozenset[str]:
    """The queries that need what the run leaves out, in this run or in a later one."""
    lost, queries = set(work.left_out), set[str]()
    for step in (step for step in work.plan.steps if step.run >= work.run):
        if step.name in lost or not lost.isdisjoint(step.reads()) or _reads_changelog(work, step, lost):
            lost.add(step.name)
            queries |= {step.answers} if step.purpose is Purpose.OUTPUT else set()
    return frozenset(queries)


def _reads_changelog(work: RunWork, step: Step, lost: Collection[str]) -> bool:
    """Whether a step reads the exact changes of upserts that are lost; a text may read any table."""
    logs = [log for name, log in work.changelogs.items() if name in lost]
    return any(work.is_text(step) or log.serves(step.reads(), step.run) for log in logs)


def failures(work: RunWork) -> dict[str, str]:
    """The queries that are held up, each with what has failed."""
    return dict.fromkeys(sorted(held_up(work)), "; ".join(dict.fromkeys(work.failed.values())))


def note_of(failed: Mapping[str, str]) -> str:
    """What a run's manifest says of queries that failed."""
    return f"failed: {', '.join(failed)}" if failed else ""


def by_texts(plan: Plan, run: int, queries: Iterable[str], columns: Mapping[str, tuple[tuple[str, str], ...]]) -> Plan:
    """A plan whose run only delivers some queries, each from its text."""
    before = tuple(step for step in plan.steps if step.run < run)
    return replace(plan, steps=(*before, *(text_step(query, run, fields_of(columns[query])) for query in queries)))


def amended(before: Manifest, now: Manifest) -> Manifest:
    """A committed run with answers that it owed."""
    output, outputs = told_apart({**before.answers, **now.answers})
    failed = {query: why for query, why in before.failed.items() if query not in now.answers}
    changes = {
        "attempt": now.attempt,
        "finished": now.finished,
        "output": output,
        "outputs": outputs,
        "failed": failed,
        "steps": (*before.steps, *now.steps),
        "note": note_of(failed),
    }
    return before.model_copy(update=changes)


def failed_lines(manifest: Manifest) -> list[str]:
    """The queries that have failed at a run, and why, in words."""
    return [f"{answer_of(query)} failed at {manifest.time}: {why}" for query, why in manifest.failed.items()]


def refuse_failed(manifests: Sequence[Manifest]) -> None:
    """Raises where a query has failed, once all that could be delivered is."""
    lines = [line for manifest in manifests for line in failed_lines(manifest)]
    if lines:
        hint = "the other queries go on without it; the next `slackwater run` tries again what was due, by its text"
        raise QueryFailed("\n".join(lines), done=manifests, hint=hint)
