"""A job: what a user runs, by command or from Python.

    import slackwater

    job = slackwater.Job.open("slackwater.yml")
    print(job.plan())
    job.run(all=True)
    assert job.verify().equal

A `Job` looks at its directories anew with every call and keeps nothing in memory but its Spark session, so commands
and notebooks can take turns. `run` holds the job's lock; everything else only reads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from slackwater.algebra.schema import Field
from slackwater.catalog.table import Catalog
from slackwater.engine.views import CHANGE_TYPE
from slackwater.errors import Place, StateError, UnsupportedError, UserError, did_you_mean
from slackwater.job.config import find_job, load_job
from slackwater.job.lock import JobLock
from slackwater.job.manifest import Manifest, write_record
from slackwater.job.pins import FilePin, Pins, arrived, check_unchanged, listed
from slackwater.job.planning import Planned, bound_query, plan_job
from slackwater.job.runner import Progress, Silent, Work, execute
from slackwater.job.sections import Format, JobConfig, SourceConfig
from slackwater.job.sources import Source, reader_options
from slackwater.job.statistics import (
    CountedSource,
    SpreadRecord,
    evidence,
    is_current,
    job_statistics,
    keep_spreads,
    known_spreads,
)
from slackwater.job.store import Cycle, CycleRecord, PinsRecord, SourceColumns, Store, remove
from slackwater.job.verify import Verdict, Verification, output_fields_of
from slackwater.plan.plan import Plan
from slackwater.spark.analyze import output_fields, user_aggregates
from slackwater.spark.columns import columns_of_files, files_of_table, spread_of_columns
from slackwater.spark.statements import run_statement

if TYPE_CHECKING:
    from slackwater.spark.session import Session


@dataclass(frozen=True)
class RunStatus:
    """Where a run stands."""

    run: int
    time: str
    delivers: bool
    manifest: Manifest | None
    pinned: bool
    damaged: str = ""


@dataclass(frozen=True)
class Status:
    """Where a job stands: its cycle, its runs, what waits to be read."""

    cycle: int | None
    runs: tuple[RunStatus, ...]
    waiting: Mapping[str, int]
    """New files by source."""

    @property
    def next(self) -> RunStatus | None:
        return next((run for run in self.runs if run.manifest is None), None)


@dataclass(frozen=True)
class Cleaned:
    """What `clean` has removed, or would."""

    paths: tuple[Path, ...]
    bytes: int


class Job:
    """A job file, its directories and its Spark."""

    def __init__(self, config: JobConfig, session: Session | None = None) -> None:
        self.config = config
        self.store = Store(config.state, config.output.path)
        self._session = session

    @staticmethod
    def open(path: str | Path | None = None, session: Session | None = None) -> Job:
        """The job of a file, of a directory or, by default, of where we are."""
        place = Path(path) if path is not None else Path.cwd()
        return Job(load_job(find_job(place) if place.is_dir() else place), session)

    def session(self) -> Session:
        """The job's Spark, started when it is first needed."""
        if self._session is None:
            from slackwater.spark.session import open_session

            spark = self.config.spark
            self._session = open_session(f"slackwater {self.config.name}", spark.master, spark.connect, spark.conf)
        return self._session

    # --- planning ----------------------------------------------------------------------------------------------------

    def plan(self) -> Plan:
        """The plan of the cycle that is under way; if none is, the one that the next run would make."""
        cycle = self._open_cycle()
        return cycle.plan() if cycle is not None else self.planned().plan

    def planned(self) -> Planned:
        """The job planned now, with all that the planner found; nothing is written but counts of columns."""
        return self._planned(self._sources_now())[0]

    def _planned(self, sources: Mapping[str, Source]) -> tuple[Planned, tuple[Field, ...]]:
        now = {name: source.listed() for name, source in sources.items()}
        for name, source in sources.items():
            source.check_key()
            for view in source.whole(name, [now[name]]):
                run_statement(self.session(), view)
        file = str(self.config.query_file) if self.config.query_file else None
        declared = output_fields(self.session(), self.config.query_text.strip().rstrip(";"), file)
        _check_output_names(declared, file)
        catalog = Catalog.of(source.schema for source in sources.values())
        previous = self._last_cycle_of_manifests()
        found = {name: evidence(source, now[name], previous) for name, source in sources.items()}
        counted = self._counted(sources, now, {name: e.present for name, e in found.items()})
        statistics = job_statistics(sources, found, counted, self.config.timeline)
        aggregates = user_aggregates(self.session())
        return plan_job(self.config, catalog, declared, statistics, aggregates), declared

    def _counted(
        self, sources: Mapping[str, Source], now: Mapping[str, Sequence[FilePin]], rows: Mapping[str, float]
    ) -> dict[str, CountedSource]:
        counted = known_spreads(self.store)
        used = self._columns_used(sources)
        for name, source in sources.items():
            fields = [f for f in source.fields if f.name.lower() in used]
            if not now[name] or is_current(counted.get(name), rows[name], [f.name for f in fields]):
                continue
            spread = spread_of_columns(self.session(), name, fields)
            records = {
                column: SpreadRecord(distinct=s.distinct, null_share=s.null_share, range=s.range, width=s.width)
                for column, s in spread.items()
            }
            counted[name] = CountedSource(rows=rows[name], columns=records)
        keep_spreads(self.store, counted)
        return counted

    def _columns_used(self, sources: Mapping[str, Source]) -> set[str]:
        """Names in the query's text: more than the columns it uses, never fewer."""
        letters = "".join(c.lower() if c.isalnum() or c == "_" else " " for c in self.config.query_text)
        words = set(letters.split())
        every = {f.name.lower() for source in sources.values() for f in source.fields}
        return every if "*" in self.config.query_text else every & words

    def _last_cycle_of_manifests(self) -> list[Manifest]:
        """The last cycle that went through, as a guess at the next."""
        for cycle in reversed(self.store.cycles()):
            try:
                manifests = cycle.manifests()
            except StateError:
                continue
            if len(manifests) == len(self.config.timeline.times):
                return manifests
        return []

    # --- sources -----------------------------------------------------------------------------------------------------

    def _sources_now(self) -> dict[str, Source]:
        return {name: self._source_now(name, config) for name, config in self.config.sources.items()}

    def _source_now(self, name: str, config: SourceConfig) -> Source:
        directory, format = self._place(name, config)
        pins = listed(directory)
        if not pins and config.schema_text is None:
            raise UserError(
                f"source `{name}` has no file yet, so its columns are not known",
                place=Place(str(directory)),
                hint="give them in the job file, e.g. `schema: o_id INT, price DOUBLE`, or wait for the first file",
            )
        if pins and config.schema_text is None:
            paths = [pin.path for pin in pins]
            fields = columns_of_files(self.session(), format, str(directory), paths, reader_options(config))
        else:
            fields = columns_of_files(self.session(), format, str(directory), [], {}, config.schema_text)
        if not config.append_only:
            if CHANGE_TYPE not in {f.name.lower() for f in fields} and config.schema_text is None:
                have = ", ".join(f.name for f in fields)
                hint = f"rows of a feed carry insert, delete, update_preimage or update_postimage; there is {have}"
                raise UserError(f"source `{name}` is a feed without a column `{CHANGE_TYPE}`", hint=hint)
            fields = tuple(f for f in fields if f.name.lower() != CHANGE_TYPE)
        source = Source(name, config, format, directory, fields)
        source.check_columns(pins)
        return source

    def _place(self, name: str, config: SourceConfig) -> tuple[Path, str]:
        if config.table is not None:
            files = files_of_table(self.session(), config.table)
            if files.format not in tuple(Format):
                raise UnsupportedError(f"source `{name}`: a table of format {files.format} is not supported")
            return Path(files.directory), files.format
        assert config.path is not None
        return config.path, config.format.value

    def _sources_of(self, cycle: Cycle) -> dict[str, Source]:
        """The sources as they were when the cycle began."""
        record = cycle.record()
        found: dict[str, Source] = {}
        for name, config in self.config.sources.items():
            directory, format = self._place(name, config)
            fields = output_fields_of(record.sources[name].columns)
            found[name] = Source(name, config, format, directory, fields)
        return found

    # --- cycles ------------------------------------------------------------------------------------------------------

    def _open_cycle(self) -> Cycle | None:
        """The cycle that has begun last, if it is this job's as it is written now."""
        cycle = self.store.current()
        if cycle is None:
            return None
        before, now = cycle.record().fingerprint, self._fingerprint()
        changed = [key for key in now if before.get(key) != now[key]]
        if changed:
            raise UserError(
                f"the job has changed since cycle {cycle.number} began: {', '.join(changed)}",
                place=Place(str(self.config.file)),
                hint="begin a new cycle with `slackwater run --new-cycle`, or undo the change until this one is over",
            )
        return cycle

    def _fingerprint(self) -> dict[str, str]:
        config = self.config
        return {
            "query": _digest(config.query_text),
            "schedule": ", ".join(config.timeline.times),
            "weights": ", ".join(map(str, config.timeline.weights)),
            "deliver": ", ".join(map(str, sorted(config.timeline.deliver))),
            "refresh": config.refresh.value,
            "sources": _digest(
                *(f"{n}:{s.model_dump_json(exclude={'expect'}, warnings=False)}" for n, s in config.sources.items())
            ),
            "output": f"{config.output.path} {config.output.format}",
        }

    def _begin_cycle(self, progress: Progress) -> Cycle:
        cycles = self.store.cycles()
        cycle = self.store.cycle(cycles[-1].number + 1 if cycles else 1)
        if cycle.directory.exists():
            remove(cycle.directory)
        sources = self._sources_now()
        planned, declared = self._planned(sources)
        if planned.reason:
            progress.note(f"computed from scratch at every delivery: {planned.reason}")
        cycle.write_plan(planned.plan)
        cycle.write_record(
            CycleRecord(
                job=self.config.name,
                number=cycle.number,
                started=_now(),
                fingerprint=self._fingerprint(),
                sources={n: SourceColumns(columns=_columns(s.fields)) for n, s in sources.items()},
                outputs=_columns(declared),
            )
        )
        return cycle

    # --- running -----------------------------------------------------------------------------------------------------

    def run(
        self,
        at: str | int | None = None,
        *,
        all: bool = False,
        new_cycle: bool = False,
        progress: Progress | None = None,
    ) -> list[Manifest]:
        """Does the next run, the runs up to one of the schedule, or all that are left; what is committed stays.

        Runs before `at` that were missed are made up for first.
        """
        last = self._run_number(at) if at is not None else None
        with JobLock(self.store.lock_file):
            return self._run(last, all, new_cycle, progress or Silent())

    def _run(self, last: int | None, all: bool, new_cycle: bool, progress: Progress) -> list[Manifest]:
        self.store.check_output()
        cycle = None if new_cycle else self._open_cycle()
        if cycle is None:
            cycle = self._begin_cycle(progress)
        committed = self._committed(cycle, progress)
        left = [run for run in self.config.timeline.runs if run not in committed]
        if last is not None:
            left = [run for run in left if run <= last]
        elif not all:
            left = left[:1]
        done: list[Manifest] = []
        for run in left:
            manifest = self._one(cycle, run, committed, progress)
            committed[run] = manifest
            done.append(manifest)
        self._publish(committed)
        return done

    def _one(self, cycle: Cycle, run: int, committed: Mapping[int, Manifest], progress: Progress) -> Manifest:
        self._drop_attempts(cycle, run)
        work = self._work(cycle, run, committed, pin=True)
        self._say_lost(work, progress)
        try:
            manifest = execute(work, self.session, progress)
        except UserError:
            suspect = _unreadable_states(work)
            if not suspect:
                raise
            again = self._work(cycle, run, committed, pin=True, suspect=suspect)
            self._say_lost(again, progress)
            manifest = execute(again, self.session, progress)
        self._publish({**committed, run: manifest})
        return manifest

    def _say_lost(self, work: Work, progress: Progress) -> None:
        for name in work.lost():
            state = work.states.get(name)
            where = self.store.state / state.files[0].path if state and state.files else self.store.state
            progress.note(f"state {name} is missing or damaged ({where}): computing it again from its inputs")

    def _work(
        self,
        cycle: Cycle,
        run: int,
        committed: Mapping[int, Manifest],
        *,
        pin: bool,
        suspect: frozenset[str] = frozenset(),
    ) -> Work:
        sources = self._sources_of(cycle)
        pins = self._pins(cycle, run, sources, pin=pin)
        before = [manifest for number, manifest in sorted(committed.items()) if number < run]
        return Work(self.config, self.store, cycle, cycle.plan(), sources, run, pins, before, suspect)

    def _pins(self, cycle: Cycle, run: int, sources: Mapping[str, Source], *, pin: bool) -> list[Pins]:
        """The inputs of the runs up to one; those of the last are fixed now, if they are not yet."""
        found: list[Pins] = []
        for number in range(1, run + 1):
            record = cycle.pins(number)
            if record is None and number < run:
                raise StateError(
                    "this file is missing",
                    place=Place(str(cycle.pins_file(number))),
                    hint="nobody knows what that run has read: begin again with `slackwater run --new-cycle`",
                )
            found.append(record.sources if record is not None else self._new_pins(run, sources, found))
            if record is None and pin:
                record = PinsRecord(run=run, pinned=_now(), sources=dict(found[-1]))
                write_record(cycle.pins_file(run), record)
        for name, source in sources.items():
            check_unchanged(name, source.directory, [p for pins in found for p in pins.get(name, ())])
        return found

    def _new_pins(
        self, run: int, sources: Mapping[str, Source], earlier: Sequence[Pins]
    ) -> dict[str, tuple[FilePin, ...]]:
        found: dict[str, tuple[FilePin, ...]] = {}
        for name, source in sources.items():
            known = [pin for pins in earlier for pin in pins.get(name, ())]
            new = arrived(source.listed(), known)
            if new and run > 1 and not source.changing:
                raise UserError(
                    f"source `{name}` is static, but this file has appeared since the first run",
                    place=Place(str(source.directory / new[0].path)),
                    hint="leave out `static: true`, or begin again with `slackwater run --new-cycle`",
                )
            source.check_columns(new)
            found[name] = new
        return found

    def _committed(self, cycle: Cycle, progress: Progress) -> dict[int, Manifest]:
        """The committed runs; one whose manifest is damaged counts as not done, and is done again from its pins."""
        found: dict[int, Manifest] = {}
        for run in self.config.timeline.runs:
            try:
                manifest = cycle.manifest(run)
            except StateError as error:
                progress.note(f"{error}; doing run {run} again from its pinned inputs")
                continue
            if manifest is not None:
                found[run] = manifest
        return found

    def _publish(self, committed: Mapping[int, Manifest]) -> None:
        delivered = [m.output for _, m in sorted(committed.items()) if m.output is not None]
        if delivered:
            self.store.publish(delivered[-1].directory)

    def _drop_attempts(self, cycle: Cycle, run: int) -> None:
        """Removes what earlier attempts at a run have left; we hold the lock, so nobody is at it."""
        for path in cycle.attempts(run):
            remove(path)
        if self.store.answers.is_dir():
            for path in self.store.answers.glob(f"{cycle.number}-{run}-*"):
                remove(path)

    def _run_number(self, at: str | int) -> int:
        times = self.config.timeline.times
        if isinstance(at, int) and 1 <= at <= len(times):
            return at
        if str(at) not in times:
            raise UserError(f"no run at {at}", hint=did_you_mean(str(at), times))
        return times.index(str(at)) + 1

    # --- looking -----------------------------------------------------------------------------------------------------

    def work(self, run: str | int | None = None) -> Work:
        """What a run has computed or, the next one, would compute now; nothing is written."""
        cycle = self._open_cycle()
        if cycle is None:
            raise UserError("no run has begun yet", hint="`slackwater plan` shows the plan; `slackwater run` begins")
        committed = {m.run: m for m in cycle.manifests()}
        number = self._run_number(run) if run is not None else max(committed, default=0) + 1
        number = min(number, len(self.config.timeline.times))
        if number > max(committed, default=0) + 1:
            raise UserError(f"run {number} comes after runs that are still to be done", hint="ask for the next one")
        return self._work(cycle, number, committed, pin=False)

    def status(self) -> Status:
        """Where the job stands."""
        cycle = self._open_cycle()
        runs = tuple(self._run_status(cycle, run) for run in self.config.timeline.runs)
        return Status(cycle.number if cycle is not None else None, runs, self._waiting(cycle))

    def _run_status(self, cycle: Cycle | None, run: int) -> RunStatus:
        timeline = self.config.timeline
        manifest, pinned, damaged = None, False, ""
        if cycle is not None:
            try:
                manifest, pinned = cycle.manifest(run), cycle.pins(run) is not None
            except StateError as error:
                damaged = str(error)
        return RunStatus(run, timeline.time(run), run in timeline.deliver, manifest, pinned, damaged)

    def _waiting(self, cycle: Cycle | None) -> dict[str, int]:
        found: dict[str, int] = {}
        for name, config in self.config.sources.items():
            if config.path is not None:
                known: list[FilePin] = []
                for run in self.config.timeline.runs if cycle is not None else ():
                    record = cycle.pins(run) if cycle is not None else None
                    known += record.sources.get(name, ()) if record is not None else ()
                found[name] = len(arrived(listed(config.path), known))
        return found

    def history(self) -> list[Manifest]:
        """All committed runs, of all cycles."""
        return [manifest for cycle in self.store.cycles() for manifest in cycle.manifests()]

    def verify(self, run: str | int | None = None, *, sample: float | None = None) -> Verdict:
        """Compares what a run has delivered, by default the last, with the batch answer on the same inputs."""
        cycle = self._open_cycle()
        manifests = cycle.manifests() if cycle is not None else []
        delivered = [m for m in manifests if m.output is not None]
        if run is not None:
            delivered = [m for m in delivered if m.run == self._run_number(run)]
        if cycle is None or not delivered:
            raise UserError("nothing has been delivered yet" if run is None else f"run {run} has delivered nothing")
        manifest = delivered[-1]
        sources = self._sources_of(cycle)
        pins = self._pins(cycle, manifest.run, sources, pin=False)
        fields = output_fields_of(cycle.record().outputs)
        try:
            catalog = Catalog.of(source.schema for source in sources.values())
            query = bound_query(self.config, catalog, fields)
        except UserError:
            query = None
        assert manifest.output is not None
        checked = Verification(self.config, self.store, sources, pins, manifest, manifest.output, fields, query)
        return checked.run(self.session(), sample)

    # --- cleaning ----------------------------------------------------------------------------------------------------

    def clean(self, *, everything: bool = False, dry_run: bool = False) -> Cleaned:
        """Removes what no run needs any more: leftovers of interrupted runs, spent states, answers that were replaced.

        With `everything`, all states, plans and history of the job go too; the last answer stays.
        """
        with JobLock(self.store.lock_file):
            paths = self._all() if everything else [*self.store.leftovers(), *self._spent()]
            sizes = [_size(path) if dry_run else remove(path) for path in dict.fromkeys(paths) if path.exists()]
        return Cleaned(tuple(dict.fromkeys(paths)), sum(sizes))

    def _all(self) -> list[Path]:
        kept = [cycle.directory for cycle in self.store.cycles()]
        return [*kept, *self.store.leftovers(), *self._replaced(), self.store.statistics_file]

    def _spent(self) -> list[Path]:
        """States that no later run of their cycle reads, and answers that are no longer shown."""
        found: list[Path] = []
        current = self.store.current()
        for cycle in self.store.cycles():
            manifests = cycle.manifests()
            done = max((m.run for m in manifests), default=0)
            plan = cycle.plan()
            over = current is None or cycle.number != current.number or done == len(plan.times)
            read = set() if over else {name for step in plan.steps if step.run > done for name in step.reads()}
            states = {name: state for m in manifests for name, state in m.states.items()}
            needed = {part for name, state in states.items() if name in read for part in state.parts}
            parts = {part for m in manifests for state in m.states.values() for part in state.parts}
            found += [self.store.state / part for part in sorted(parts - needed)]
        return [*found, *self._replaced()]

    def _replaced(self) -> list[Path]:
        shown = self.store.output.resolve() if self.store.output.is_symlink() else None
        if not self.store.answers.is_dir():
            return []
        return [path for path in sorted(self.store.answers.iterdir()) if path.resolve() != shown]


def _unreadable_states(work: Work) -> frozenset[str]:
    """The states that a failed run has read and that do not hold what they should, looked at byte by byte."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found: set[str] = set()
    for name in work.reads & work.states.keys():
        for file in work.states[name].files:
            try:
                pq.ParquetFile(work.store.state / file.path).read()
            except (OSError, pa.ArrowException):
                found.add(name)
    return frozenset(found)


def _check_output_names(declared: Sequence[Field], file: str | None) -> None:
    seen: set[str] = set()
    for field in declared:
        if field.name.lower() in seen:
            raise UserError(
                f"the query returns two columns named `{field.name}`", place=Place(file), hint="give one an alias"
            )
        seen.add(field.name.lower())


def _columns(fields: Sequence[Field]) -> tuple[tuple[str, str], ...]:
    return tuple((f.name, f.type.text) for f in fields)


def _size(path: Path) -> int:
    return sum(f.lstat().st_size for f in path.rglob("*") if f.is_file()) if path.is_dir() else path.lstat().st_size


def _digest(*texts: str) -> str:
    return hashlib.blake2s("\x00".join(texts).encode(), digest_size=10).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
