"""One run: what it has to compute, by which statements, and the manifest that commits it.

A run is worked out in full before Spark is asked for anything: which steps have something to do, now that it is known
what arrived, which states they read, and which of those are damaged and must be computed again from their own inputs.
If nothing is left to do, no Spark is started. Everything is written to new directories, so a run that fails or is
killed leaves nothing that anyone would read.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from slackwater.engine.program import Compiled, compile_step
from slackwater.engine.views import Files, view_of_files, view_of_query
from slackwater.errors import InternalError, Place, StateError
from slackwater.job.manifest import DataFile, Manifest, OutputRecord, StateRecord, StepRecord, write_record
from slackwater.job.pins import Pins
from slackwater.job.planning import OPAQUE
from slackwater.job.sections import Format, JobConfig
from slackwater.job.sources import Source
from slackwater.job.store import Cycle, Store, remove
from slackwater.plan.plan import Plan, Purpose, Step
from slackwater.spark.metrics import NOTHING, Measured, jvm_cpu_seconds
from slackwater.spark.statements import Task, run_all, run_statement
from slackwater.time.sources import change_name, snapshot_name

if TYPE_CHECKING:
    from slackwater.spark.session import Session


class Progress(Protocol):
    """Who wants to know how a run goes."""

    def run_begins(self, work: Work) -> None: ...

    def step_begins(self, name: str) -> None: ...

    def step_ends(self, name: str, rows: int | None, measured: Measured) -> None: ...

    def run_ends(self, manifest: Manifest) -> None: ...

    def note(self, text: str) -> None: ...


class Silent:
    """Nobody."""

    def run_begins(self, work: Work) -> None:
        """Says nothing."""

    def step_begins(self, name: str) -> None:
        """Says nothing."""

    def step_ends(self, name: str, rows: int | None, measured: Measured) -> None:
        """Says nothing."""

    def run_ends(self, manifest: Manifest) -> None:
        """Says nothing."""

    def note(self, text: str) -> None:
        """Says nothing."""


@dataclass(frozen=True)
class Target:
    """Where a step's rows go."""

    compiled: Compiled
    directory: Path
    recomputed: bool = False


@dataclass
class Work:
    """A run, worked out: what is to be computed and what is not.

    `pins` are those of the runs up to this one, `committed` the manifests of those before it.
    """

    config: JobConfig
    store: Store
    cycle: Cycle
    plan: Plan
    sources: Mapping[str, Source]
    run: int
    pins: Sequence[Pins]
    committed: Sequence[Manifest]
    suspect: frozenset[str] = frozenset()
    """States that are known to be damaged although their files look whole."""
    attempt: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    # --- what is there -----------------------------------------------------------------------------------------------

    @cached_property
    def states(self) -> dict[str, StateRecord]:
        """What earlier runs saved, the latest record of each."""
        return {name: state for manifest in self.committed for name, state in manifest.states.items()}

    @cached_property
    def empty(self) -> set[str]:
        """Sources and states without rows, by the names that steps read them by."""
        found = {name for name, state in self.states.items() if not state.files}
        for source in self.sources.values():
            by_run = [pins.get(source.name, ()) for pins in self.pins]
            if not source.changing:
                found |= set() if any(by_run) else {source.name}
                continue
            found |= {change_name(source.name, n) for n, files in enumerate(by_run, start=1) if not files}
            found |= {snapshot_name(source.name, n) for n in range(len(by_run) + 1) if not any(by_run[:n])}
        return found

    @cached_property
    def nothing_arrived(self) -> bool:
        return not any(self.pins[-1].values())

    @cached_property
    def last_answer(self) -> OutputRecord | None:
        """An earlier answer that is still the answer: nothing has arrived since."""
        for number in range(self.run - 1, 0, -1):
            if any(self.pins[number].values()):
                return None
            manifest = next((m for m in self.committed if m.run == number), None)
            if manifest is not None and manifest.output is not None:
                return manifest.output if self._is_whole(manifest.output.files, self.store.answers) else None
        return None

    # --- what is to do -----------------------------------------------------------------------------------------------

    @cached_property
    def compiled(self) -> dict[str, Compiled]:
        """Every step of the run, as it is now."""
        return self._compile(self.plan.run(self.run))

    def _compile(self, steps: Sequence[Step]) -> dict[str, Compiled]:
        saved = {step.name for step in self.plan.states}
        found: dict[str, Compiled] = {}
        for step in steps:
            compiled = compile_step(step, states=saved, empty=self.empty)
            if compiled.select is None and (compiled.grows_from is None or compiled.grows_from in self.empty):
                self.empty.add(step.name)
            found[step.name] = compiled
        return found

    @cached_property
    def targets(self) -> dict[str, Target]:
        """What must be computed, in order: damaged states first, then the run's own steps that anyone needs."""
        own = {name: c for name, c in self.compiled.items() if not (c.is_answer and self.last_answer is not None)}
        wanted = {name for name, c in own.items() if c.step.purpose is not Purpose.SCRATCH and c.select is not None}
        for name in reversed(own):
            if name in wanted:
                wanted |= {read for read in own[name].reads if read in own and own[read].select is not None}
        chosen = [own[name] for name in own if name in wanted]
        repaired = self._repaired({name for c in own.values() for name in self._inputs(c)} - own.keys())
        return {
            **{c.name: Target(c, self.data / c.name, recomputed=True) for c in repaired},
            **{c.name: Target(c, self._place(c)) for c in chosen},
        }

    def _repaired(self, names: set[str]) -> list[Compiled]:
        """How to compute again what is lost of the states that are needed, inputs first."""
        by_name = {step.name: step for step in self.plan.states}
        found: dict[str, Compiled] = {}

        def visit(name: str) -> None:
            if name in found or name not in by_name or not self._is_lost(name):
                return
            step = by_name[name]
            scratch = [s for s in self.plan.run(step.run) if s.purpose is Purpose.SCRATCH]
            for each in (*scratch, step):
                compiled = compile_step(each, empty=self.empty)
                if each is step or each.name in step.reads():
                    for read in self._inputs(compiled):
                        visit(read)
                    if compiled.select is not None:
                        found[each.name] = compiled

        for name in sorted(names):
            visit(name)
        return list(found.values())

    def _inputs(self, compiled: Compiled) -> frozenset[str]:
        grown = frozenset((compiled.grows_from,)) if compiled.grows_from is not None else frozenset[str]()
        return compiled.reads | grown

    def _is_lost(self, name: str) -> bool:
        state = self.states.get(name)
        return name in self.suspect or state is None or not self._is_whole(state.files, self.store.state)

    def lost(self) -> list[str]:
        """The states that must be computed again."""
        return [name for name, target in self.targets.items() if target.recomputed]

    def _is_whole(self, files: Sequence[DataFile], base: Path) -> bool:
        return all((base / f.path).is_file() and (base / f.path).stat().st_size == f.size for f in files)

    # --- places and names --------------------------------------------------------------------------------------------

    @property
    def data(self) -> Path:
        return self.cycle.data / f"{self.run}-{self.attempt}"

    @property
    def answer_name(self) -> str:
        return f"{self.cycle.number}-{self.run}-{self.attempt}"

    def _place(self, compiled: Compiled) -> Path:
        return self.store.answers / self.answer_name if compiled.is_answer else self.data / compiled.name

    @cached_property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """The directories, below the state directory, that each name is read from."""
        found = {name: state.parts for name, state in self.states.items()}
        for name, target in self.targets.items():
            if target.compiled.is_answer:
                continue
            before = found.get(target.compiled.grows_from or "", ())
            found[name] = (*before, target.directory.relative_to(self.store.state).as_posix())
        for name, compiled in self.compiled.items():
            if name not in found and compiled.grows_from is not None:
                found[name] = found.get(compiled.grows_from, ())
        return found

    # --- the program -------------------------------------------------------------------------------------------------

    @cached_property
    def reads(self) -> frozenset[str]:
        return frozenset[str]().union(*(target.compiled.reads for target in self.targets.values()))

    def views(self) -> Iterator[str]:
        """The views that must be there before the first step."""
        yield from self._source_views()
        for name in sorted(self.reads & self.states.keys() - self.targets.keys()):
            yield self._state_view(name)

    def _source_views(self) -> Iterator[str]:
        for source in self.sources.values():
            by_run = [pins.get(source.name, ()) for pins in self.pins]
            yield from source.views(self.reads, by_run)
        if f"{OPAQUE}{self.run}" in self.reads:
            for source in self.sources.values():
                yield from source.whole(source.name, [pins.get(source.name, ()) for pins in self.pins])
            yield view_of_query(f"{OPAQUE}{self.run}", self.config.query_text.rstrip().rstrip(";"))

    def _state_view(self, name: str) -> str:
        return view_of_files(name, Files("parquet", str(self.store.state), self.parts[name]), None)

    def statements(self, target: Target) -> tuple[str, ...]:
        """What computes a step, and gives it its name where others read it."""
        compiled = target.compiled
        if compiled.is_answer:
            output = self.config.output
            options = {"header": "true"} if output.format is Format.CSV else {}
            return (compiled.insert(str(target.directory), output.format, options),)
        insert = compiled.insert(str(target.directory))
        return (insert, self._state_view(compiled.name)) if compiled.name in self.reads else (insert,)

    def tasks(self) -> list[Task]:
        """The steps as Spark will see them, each with the steps it waits for."""
        return [
            Task(name, self.statements(target), frozenset(self._inputs(target.compiled)) & self.targets.keys())
            for name, target in self.targets.items()
        ]

    def program(self) -> str:
        """All of it as one SQL text that a person can run."""
        lines = [f"-- {self.config.name}, run {self.run} of {len(self.plan.times)} ({self.plan.time(self.run)})"]
        lines += [f"{view};" for view in self.views()]
        for target in self.targets.values():
            step = target.compiled.step
            lines.append(f"\n-- {step.purpose}: {step.meaning}")
            lines += [f"{statement};" for statement in self.statements(target)]
        if not self.targets:
            lines.append("-- nothing to compute")
        return "\n".join(lines) + "\n"


# --- execution -------------------------------------------------------------------------------------------------------


def execute(work: Work, session: Callable[[], Session], progress: Progress) -> Manifest:
    """Computes a run and commits it; when that fails, nothing of it remains."""
    started = _now()
    progress.run_begins(work)
    try:
        measured, total = _compute(work, session, progress) if work.targets else ({}, {})
        manifest = _manifest(work, started, measured, total)
        write_record(work.cycle.manifest_file(work.run), manifest)
    except BaseException:
        discard(work)
        raise
    for target in work.targets.values():
        if target.compiled.step.purpose is Purpose.SCRATCH:
            remove(target.directory)
    progress.run_ends(manifest)
    return manifest


def discard(work: Work) -> None:
    """Removes what a failed attempt has written, as far as the machine lets us."""
    for path in (work.data, work.store.answers / work.answer_name):
        if path.exists():
            try:
                remove(path)
            except OSError:
                continue  # `clean` finds it later


def _compute(
    work: Work, session: Callable[[], Session], progress: Progress
) -> tuple[dict[str, Measured], dict[str, float | int | None]]:
    spark = session()
    measured: dict[str, Measured] = {}
    before = jvm_cpu_seconds(spark)

    def ended(task: Task, found: Measured) -> None:
        measured[task.name] = found
        rows = _written_rows(work.targets[task.name].directory)
        progress.step_ends(task.name, rows if rows is not None else found.rows_out, found)

    for view in work.views():
        run_statement(spark, view)
    work.store.answers.mkdir(parents=True, exist_ok=True)
    run_all(spark, work.tasks(), on_start=lambda task: progress.step_begins(task.name), on_done=ended)
    after = jvm_cpu_seconds(spark)
    total = sum(measured.values(), NOTHING).to_json()
    process = after - before if before is not None and after is not None else None
    return measured, {**total, "process_cpu_s": process}


def _manifest(
    work: Work, started: str, measured: Mapping[str, Measured], total: dict[str, float | int | None]
) -> Manifest:
    states: dict[str, StateRecord] = {}
    steps: list[StepRecord] = []
    output: OutputRecord | None = None
    everything = {**{n: t.compiled for n, t in work.targets.items()}, **work.compiled}
    for name, compiled in everything.items():
        target = work.targets.get(name)
        files = _files(target.directory, work.store) if target is not None else ()
        if compiled.is_answer:
            output = _output(work, files, measured.get(name))
            rows = output.rows
        else:
            before = states.get(compiled.grows_from or "") or work.states.get(compiled.grows_from or "")
            kept = before.files if before is not None else ()
            if compiled.step.purpose is Purpose.STATE:
                states[name] = StateRecord(files=(*kept, *files), made_at=work.run)
            rows = sum(file.rows or 0 for file in (*kept, *files))
        steps.append(_step_record(compiled, rows, measured.get(name), target))
    return Manifest(
        job=work.config.name,
        cycle=work.cycle.number,
        run=work.run,
        time=work.plan.time(work.run),
        attempt=work.attempt,
        started=started,
        finished=_now(),
        pins={name: tuple(files) for name, files in work.pins[-1].items()},
        arrived={n: int(s.rows(work.pins[-1].get(n, ()))) for n, s in work.sources.items()},
        states=states,
        output=output,
        steps=tuple(steps),
        total=total,
        note="" if work.targets else "nothing arrived, nothing to compute" if work.nothing_arrived else "nothing to do",
    )


def _output(work: Work, files: tuple[DataFile, ...], measured: Measured | None) -> OutputRecord:
    if work.last_answer is not None:
        return work.last_answer
    rows = sum(file.rows or 0 for file in files) if all(file.rows is not None for file in files) else None
    if rows is None and measured is not None:
        rows = measured.rows_out
    return OutputRecord(directory=work.answer_name, files=files, made_at=work.run, rows=rows)


def _step_record(compiled: Compiled, rows: int | None, measured: Measured | None, target: Target | None) -> StepRecord:
    step = compiled.step
    return StepRecord(
        name=step.name,
        purpose=step.purpose.name.lower(),
        meaning=step.meaning,
        expected_rows=step.rows,
        expected_cost=step.cost,
        rows=rows,
        skipped=target is None,
        recomputed=target is not None and target.recomputed,
        measured={} if measured is None else measured.to_json(),
    )


def _files(directory: Path, store: Store) -> tuple[DataFile, ...]:
    """The data files that a step has left, named from the state directory or, for answers, from theirs."""
    if not (directory / "_SUCCESS").exists():
        raise InternalError(f"{directory} has no _SUCCESS after a step that succeeded")
    base = store.answers if directory.is_relative_to(store.answers) else store.state
    found = [path for path in sorted(directory.iterdir()) if not path.name.startswith(("_", "."))]
    return tuple(DataFile(path=p.relative_to(base).as_posix(), size=p.stat().st_size, rows=_rows(p)) for p in found)


def _rows(path: Path) -> int | None:
    if path.suffix != ".parquet":
        return None
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException) as error:
        raise StateError(f"this file was just written and cannot be read: {error}", place=Place(str(path))) from None


def _written_rows(directory: Path) -> int | None:
    files = [_rows(path) for path in directory.glob("*.parquet")] if directory.is_dir() else []
    return sum(rows or 0 for rows in files) if files else None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
