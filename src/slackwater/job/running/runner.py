"""One run on Spark, and the manifest that commits it.

Everything is written to new directories, so a run that fails or is killed leaves nothing that anyone would read. The
manifest comes last, after everything that it names is on disk, so after a power cut either the whole run exists or
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from slackwater.catalog.statistics import Arrival
from slackwater.compile.program import Compiled
from slackwater.errors import InternalError, StateError, UserError
from slackwater.job.inputs.changelogs import arrival_of, changelog_name, in_proportion
from slackwater.job.inputs.promises import trusted
from slackwater.job.inputs.run_inputs import check_inputs
from slackwater.job.inputs.sources import Source
from slackwater.job.learning.calibration import work_in_seconds
from slackwater.job.learning.prices import over_rows
from slackwater.job.running.checking import run_checks
from slackwater.job.running.failures import amended, failures, note_of
from slackwater.job.running.work import RunWork, Target
from slackwater.job.store.accounts import Phase, charged_to
from slackwater.job.store.commit import commit, standing
from slackwater.job.store.data_files import data_file, files_in, rows_of_file
from slackwater.job.store.disk import sync_directory, sync_file
from slackwater.job.store.manifest import (
    DataFile,
    Manifest,
    OutputRecord,
    StateRecord,
    StepRecord,
    now,
    told_apart,
)
from slackwater.job.store.removal import remove
from slackwater.plan.plan import Purpose
from slackwater.spark.metrics import NOTHING, Measured, jvm_cpu_seconds
from slackwater.spark.statements import Task, run_all, run_statement

if TYPE_CHECKING:
    from slackwater.spark.session import Session


class Progress(Protocol):
    """Who wants to know how a run goes."""

    def run_begins(self, work: RunWork) -> None: ...

    def step_begins(self, name: str) -> None: ...

    def step_ends(self, name: str, rows: int | None, measured: Measured) -> None: ...

    def run_ends(self, manifest: Manifest) -> None: ...

    def note(self, text: str) -> None: ...


class Silent:
    """Nobody."""

    def run_begins(self, work: RunWork) -> None:
        """Says nothing."""

    def step_begins(self, name: str) -> None:
        """Says nothing."""

    def step_ends(self, name: str, rows: int | None, measured: Measured) -> None:
        """Says nothing."""

    def run_ends(self, manifest: Manifest) -> None:
        """Says nothing."""

    def note(self, text: str) -> None:
        """Says nothing."""


# --- execution -------------------------------------------------------------------------------------------------------


@charged_to(Phase.COMMIT)
def execute(
    work: RunWork, session: Callable[[], Session], progress: Progress, on_failure: Callable[[str], None]
) -> Manifest:
    """Computes a run and commits it; when that fails, nothing of it remains.

    `on_failure` hears the name of a step that fails.
    """
    started, before = now(), standing(work.cycle, work.run)
    progress.run_begins(work)
    for line in trusted(work.config.sources):
        progress.note(line)
    try:
        measured, total = (
            _compute(work, session, progress, on_failure) if work.needs_spark else (_check(work, session), {})
        )
        manifest = _manifest(work, started, measured, total)
        if work.amends is not None:
            manifest = amended(work.amends, manifest)
        _outlive_a_power_cut(work)
        check_inputs(work.sources, work.pins)
        manifest = commit(work.cycle, manifest, before)
    except BaseException:
        if not _is_committed(work):  # an interrupt may come right after the manifest
            discard(work)
        raise
    for target in work.targets.values():
        if target.compiled.step.purpose is Purpose.SCRATCH:
            with suppress(StateError):  # `clean` finds it later
                remove(target.directory)
    progress.run_ends(manifest)
    return manifest


def _outlive_a_power_cut(work: RunWork) -> None:
    """Puts what the manifest will name on the disk: files, then every directory that may be new.

    Not what the run kept for itself only. On a file system of another machine, closing a file has done this already.
    """
    kept = [t.directory for t in work.targets.values() if t.compiled.step.purpose is not Purpose.SCRATCH]
    for directory in kept:
        for path in sorted(path for path in directory.rglob("*") if path.is_file()):
            sync_file(path)
    store, cycle = work.store, work.cycle
    above = [work.data, cycle.data, cycle.directory, store.state, store.state.parent]
    above += [
        place for directory in store.answer_directories.values() for place in (directory.path, directory.output.parent)
    ]
    for directory in (*kept, *above):
        sync_directory(directory)


def _is_committed(work: RunWork) -> bool:
    with suppress(StateError):
        manifest = work.cycle.manifest(work.run)
        return manifest is not None and manifest.attempt == work.attempt
    return False


def discard(work: RunWork) -> None:
    """Removes what a failed attempt has written, as far as the machine lets us."""
    for path in (
        work.data,
        *(directory.path / work.answer_name for directory in work.store.answer_directories.values()),
    ):
        if path.exists():
            with suppress(StateError):  # `clean` finds it later
                remove(path)


@charged_to(Phase.STEPS)
def _compute(
    work: RunWork, session: Callable[[], Session], progress: Progress, on_failure: Callable[[str], None]
) -> tuple[dict[str, Measured], dict[str, float | int | None]]:
    spark = session()
    measured: dict[str, Measured] = {}
    before = jvm_cpu_seconds(spark)

    def ended(task: Task, cost: Measured) -> None:
        measured[task.name] = cost
        rows = _written_rows(work.targets[task.name].directory)
        progress.step_ends(task.name, rows if rows is not None else cost.rows_out, cost)

    measured |= _check(work, session, progress)
    for view in work.views():
        run_statement(spark, view)
    for target in work.targets.values():
        if target.compiled.is_answer:
            target.directory.parent.mkdir(parents=True, exist_ok=True)
    try:
        run_all(
            spark,
            work.tasks(),
            on_start=lambda task: progress.step_begins(task.name),
            on_done=ended,
            on_failure=lambda task: on_failure(task.name),
        )
    finally:
        for statement in work.last_statements():
            with suppress(UserError):  # a name that stays behind is in nobody's way
                run_statement(spark, statement)
    after = jvm_cpu_seconds(spark)
    total = sum(measured.values(), NOTHING).to_json()
    process = after - before if before is not None and after is not None else None
    return measured, {**total, "process_cpu_s": process, "process_cpu_before_s": before}


def _check(work: RunWork, session: Callable[[], Session], progress: Progress | None = None) -> dict[str, Measured]:
    """Checks what sources promise of what has arrived."""
    reporter = progress or Silent()
    return run_checks(work.checks, work.store, session, work.data, reporter.step_begins, reporter.step_ends)


def _manifest(
    work: RunWork, started: str, measured: Mapping[str, Measured], total: dict[str, float | int | None]
) -> Manifest:
    states: dict[str, StateRecord] = {}
    steps = [check.record(measured[check.name], work.plan.factors) for check in work.checks]
    answers: dict[str, OutputRecord] = {}
    rows_read = dict(work.rows)
    everything = {**{n: t.compiled for n, t in work.targets.items()}, **work.compiled}
    for name, compiled in everything.items():
        if name in work.left_out:
            continue
        target = work.targets.get(name)
        files = _files(target, work) if target is not None else ()
        if compiled.is_answer:
            answer = _answer(work, compiled.step.answers, files, measured.get(name))
            answers[compiled.step.answers] = answer
            rows = answer.rows
        else:
            before = states.get(compiled.grows_from or "") or work.states.get(compiled.grows_from or "")
            kept = before.files if before is not None else ()
            if compiled.step.purpose is Purpose.STATE:
                states[name] = StateRecord(files=(*kept, *files), made_at=work.run)
            rows = sum(file.rows or 0 for file in (*kept, *files))
        steps.append(_step_record(work, compiled, rows_read, rows, measured.get(name), target))
        rows_read[name] = float(rows or 0)
    output, outputs = told_apart(answers)
    return Manifest(
        job=work.config.name,
        cycle=work.cycle.number,
        run=work.run,
        time=work.plan.time(work.run),
        attempt=work.attempt,
        revision=work.revision,
        started=started,
        finished=now(),
        pins={name: tuple(files) for name, files in work.pins[-1].items()},
        arrived={n: int(s.rows(work.pins[-1].get(n, ()))) for n, s in work.sources.items()},
        changed={n: _kinds(_arrival(work, s, states)) for n, s in work.sources.items() if not s.config.append_only},
        states=states,
        output=output,
        outputs=outputs,
        failed=failures(work),
        steps=tuple(steps),
        trusted=tuple(trusted(work.config.sources)),
        total=total,
        note=_note(work),
    )


def _note(work: RunWork) -> str:
    if work.left_out:
        return note_of(failures(work))
    if work.targets:
        return ""
    return "nothing arrived, nothing to compute" if work.nothing_arrived else "nothing to do"


def _arrival(work: RunWork, source: Source, states: Mapping[str, StateRecord]) -> Arrival:
    """What a source brought; of upserts as the run has found out, or in the proportions that were expected."""
    arrival = source.arrival(work.pins[-1].get(source.name, ()))
    if source.upserts is None:
        return arrival
    if source.name in work.by_definition:
        expected = work.cycle.record().expects.get(source.name, ())
        return in_proportion(arrival.inserts, Arrival(*expected[work.run - 1])) if expected else arrival
    changelog = states.get(changelog_name(source.name, work.run))
    return arrival_of(work.store.state / file.path for file in changelog.files) if changelog else Arrival(0.0)


def _kinds(arrival: Arrival) -> tuple[float, float, float]:
    return arrival.inserts, arrival.updates, arrival.deletes


def _answer(work: RunWork, query: str, files: tuple[DataFile, ...], measured: Measured | None) -> OutputRecord:
    if query in work.standing:
        return work.standing[query]
    rows = sum(file.rows or 0 for file in files) if all(file.rows is not None for file in files) else None
    if rows is None and measured is not None:
        rows = measured.rows_out
    return OutputRecord(directory=work.answer_name, files=files, made_at=work.run, rows=rows)


def _step_record(
    work: RunWork,
    compiled: Compiled,
    rows_read: Mapping[str, float],
    rows: int | None,
    measured: Measured | None,
    target: Target | None,
) -> StepRecord:
    """How a step went; `rows_read` are the rows of all that it read."""
    step = compiled.step
    as_planned = compiled.grows_from is None and not work.is_text(step) and step.name not in work.changelogs
    as_billed = as_planned and target is not None and not target.recomputed
    bill = over_rows(step, rows_read, rows) if as_billed else ()
    return StepRecord(
        name=step.name,
        purpose=step.purpose.name.lower(),
        meaning=step.meaning,
        expected_rows=step.rows,
        expected_cost=step.cost,
        rows=rows,
        skipped=target is None,
        recomputed=target is not None and target.recomputed,
        bill=tuple(bill),
        expected_cpu_s=work_in_seconds(step.bill, work.plan.factors) if step.bill.total else None,
        measured={} if measured is None else measured.to_json(),
        subject=step.subject,
    )


def _files(target: Target, work: RunWork) -> tuple[DataFile, ...]:
    """The data files that a step has left, named from the state directory or, for answers, where they lie."""
    directory = target.directory
    if not (directory / "_SUCCESS").exists():
        raise InternalError(f"{directory} has no _SUCCESS after a step that succeeded")
    base = directory.parent if target.compiled.is_answer else work.store.state
    return tuple(data_file(path, base) for path in files_in(directory))


def _written_rows(directory: Path) -> int | None:
    files = [rows_of_file(path) for path in directory.glob("*.parquet")] if directory.is_dir() else []
    return sum(rows or 0 for rows in files) if files else None
