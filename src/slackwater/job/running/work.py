"""A run, worked out before Spark is asked for anything.

Which steps have something to do, now that it is known what arrived; which states they read, and which of those are
damaged and must be computed again from their own inputs; which statements that makes. If nothing is left to do, no
Spark is started.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from slackwater.algebra.relation import Relation
from slackwater.algebra.schema import Column
from slackwater.compile.by_key import buckets_of, directory_by_key, drop, read_by_key, write_by_key
from slackwater.compile.program import Compiled, compile_step, layout_names, saved_fields
from slackwater.compile.views import Files, view_of_files
from slackwater.job.cycle.moment import view_in_cycle
from slackwater.job.cycle.text_plans import text_name
from slackwater.job.file.sections import JobConfig, JobQuery
from slackwater.job.inputs.changelogs import IMAGES, Changelog, changelogs, needs_changelogs
from slackwater.job.inputs.changelogs import views as views_of_upserts
from slackwater.job.inputs.sources import Source
from slackwater.job.running.answers import options_to_write
from slackwater.job.running.arrival_checks import pending_arrival_checks
from slackwater.job.running.checking import SourceCheck, pending_checks
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.data_files import all_whole, files_beside
from slackwater.job.store.manifest import Manifest, OutputRecord, StateRecord
from slackwater.job.store.pins import FilePin, Pins
from slackwater.job.store.store import Store
from slackwater.physical.model import EngineCost
from slackwater.plan.plan import Plan, Purpose, Step
from slackwater.spark.session import LOCAL_PARTITIONS, SPARKS_PARTITIONS
from slackwater.spark.statements import Task
from slackwater.time.source_names import change_name, snapshot_name, wide_changes


@dataclass(frozen=True)
class Target:
    """Where a step's rows go."""

    compiled: Compiled
    directory: Path
    recomputed: bool = False


@dataclass
class RunWork:
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
    revision: int = 1
    asked_since: int = 1
    """The first run whose answers are those of the queries as they are now."""
    suspect: frozenset[str] = frozenset()
    """States that are known to be damaged although their files look whole."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Steps of the run that have failed, and why: the run is done without them and what needs them."""
    amends: Manifest | None = None
    """The run as it is committed; what is computed now is added to it."""
    attempt: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    # --- what is there -----------------------------------------------------------------------------------------------

    @cached_property
    def states(self) -> dict[str, StateRecord]:
        """What earlier runs saved, the latest record of each."""
        return {name: state for manifest in self.committed for name, state in manifest.states.items()}

    @cached_property
    def empty(self) -> set[str]:
        """Sources and states without rows, by the names that steps read them by."""
        names = {name for name, state in self.states.items() if not state.files}
        for source in self.sources.values():
            by_run = [pins.get(source.name, ()) for pins in self.pins]
            if not source.changing:
                names |= set() if any(by_run) else {source.name}
                continue
            names |= {change_name(source.name, n) for n, files in enumerate(by_run, start=1) if not files}
            names |= {snapshot_name(source.name, n) for n in range(len(by_run) + 1) if not any(by_run[:n])}
            wide = self._wide_changes(source)
            names |= {name for name, runs in wide if not any(by_run[run - 1] for run in runs)}
        return names

    @cached_property
    def rows(self) -> dict[str, float]:
        """How many rows sources and states have, by the names that steps read them by."""
        counts = {name: float(state.rows) for name, state in self.states.items()}
        for source in self.sources.values():
            by_run = [source.rows(pins.get(source.name, ())) for pins in self.pins]
            if not source.changing:
                counts[source.name] = sum(by_run)
                continue
            images = IMAGES if source.upserts is not None else 1
            counts |= {change_name(source.name, n): images * rows for n, rows in enumerate(by_run, start=1)}
            counts |= {snapshot_name(source.name, n): sum(by_run[:n]) for n in range(len(by_run) + 1)}
            wide = self._wide_changes(source)
            counts |= {name: images * sum(by_run[run - 1] for run in runs) for name, runs in wide}
        return counts

    def _wide_changes(self, source: Source) -> list[tuple[str, range]]:
        """What steps up to this run read of several runs of a source together."""
        read = {name for step in self.plan.steps for name in step.reads()}
        return [(name, runs) for name, runs in wide_changes(source.name, read) if runs[-1] <= len(self.pins)]

    @cached_property
    def by_definition(self) -> frozenset[str]:
        """The sources whose tables are read from their files alone."""
        exact = {name for name, source in self.sources.items() if needs_changelogs(name, source.config, self.plan)}
        return frozenset(self.sources.keys() - exact)

    @cached_property
    def changelogs(self) -> dict[str, Changelog]:
        """The exact changes of upserts, of all runs up to this one: states beside those of the plan."""
        exact = [source for name, source in self.sources.items() if name not in self.by_definition]
        logs = [log for source in exact for log in changelogs(source, self._pins_of(source))]
        return {log.name: log for log in logs}

    def _pins_of(self, source: Source) -> list[tuple[FilePin, ...]]:
        """The files of a source, run by run."""
        return [pins.get(source.name, ()) for pins in self.pins]

    @cached_property
    def steps(self) -> dict[str, Step]:
        """The changelogs of upserts and the steps of the plan, by name."""
        logs = {name: log.step for name, log in self.changelogs.items()}
        return {**logs, **{step.name: step for step in self.plan.steps}}

    def is_text(self, step: Step) -> bool:
        """Whether a step is a query's own text, which Spark computes its own way."""
        return text_name(step.answers, step.run) in step.reads()

    @cached_property
    def nothing_arrived(self) -> bool:
        return not any(self.pins[-1].values())

    @cached_property
    def standing(self) -> dict[str, OutputRecord]:
        """Earlier answers that still are the answers, by query: nothing has arrived since."""
        answers: dict[str, OutputRecord] = {}
        for number in range(self.run - 1, self.asked_since - 1, -1):
            if any(self.pins[number].values()):
                break
            manifest = next((m for m in self.committed if m.run == number), None)
            answers = {**(manifest.answers if manifest is not None else {}), **answers}
        return {name: answer for name, answer in answers.items() if self.store.answer_directories[name].holds(answer)}

    # --- what is to do -----------------------------------------------------------------------------------------------

    @cached_property
    def compiled(self) -> dict[str, Compiled]:
        """Every step of the run, as it is now; changes are made exact first."""
        logs = [log.step for log in self.changelogs.values() if log.run == self.run]
        return self._compile([*logs, *self.plan.run(self.run)])

    def _compile(self, steps: Sequence[Step]) -> dict[str, Compiled]:
        statements: dict[str, Compiled] = {}
        for step in steps:
            saved = {state.name: state.relation for state in self.plan.states if self._lies_alike(state, step)}
            compiled = self._compiled(step, saved)
            if compiled.select is None and (compiled.grows_from is None or compiled.grows_from in self.empty):
                self.empty.add(step.name)
            statements[step.name] = compiled
        return statements

    def _compiled(self, step: Step, saved: Mapping[str, Relation] | None = None) -> Compiled:
        """A step; what it reads of upserts, it reads from their changelogs."""
        if step.name in self.changelogs:
            return self.changelogs[step.name].compiled(self.rows, self.plan.factors)
        compiled = compile_step(
            step, states=saved, empty=self.empty, rows=self.rows, by_key=self._by_key, model=self._model
        )
        is_text = self.is_text(step)
        behind = {n for n, log in self.changelogs.items() if is_text or log.serves(compiled.reads, self.run)}
        return replace(compiled, reads=compiled.reads | behind)

    @cached_property
    def _by_key(self) -> dict[str, frozenset[Column]]:
        return {state.name: frozenset(state.by) for state in self.plan.states if state.by}

    @cached_property
    def _model(self) -> EngineCost:
        """The cluster that the plan was made for, with its prices."""
        return EngineCost(factors=self.plan.factors, memory=self.plan.memory)

    def _lies_alike(self, state: Step, step: Step) -> bool:
        """Whether a step's rows can be one more part of a state: if it need not lie by key, or both do by the same."""
        return not step.by or layout_names(state) == layout_names(step)

    @cached_property
    def targets(self) -> dict[str, Target]:
        """What must be computed, in order: damaged states first, then the run's own steps that anyone needs."""
        own = {name: compiled for name, compiled in self._asked.items() if name not in self.left_out}
        wanted = {name for name, c in own.items() if c.step.purpose is not Purpose.SCRATCH and c.select is not None}
        for name in reversed(own):
            if name in wanted:
                wanted |= {read for read in own[name].reads if read in own and own[read].select is not None}
        chosen = [own[name] for name in own if name in wanted]
        repaired = self._repaired_for(own)
        return {
            **{c.name: Target(c, self._place(c), recomputed=True) for c in repaired},
            **{c.name: Target(c, self._place(c)) for c in chosen},
        }

    @property
    def _asked(self) -> dict[str, Compiled]:
        """The run's own steps, without answers that stand."""
        return {n: c for n, c in self.compiled.items() if not (c.is_answer and c.step.answers in self.standing)}

    @cached_property
    def left_out(self) -> frozenset[str]:
        """The steps that are not computed: those that have failed, and those that need them."""
        lost = set(self.failed)
        if lost:
            for compiled in (*self._repaired_for(self._asked), *self._asked.values()):
                lost |= {compiled.name} if self._inputs(compiled) & lost else set()
        return frozenset(lost)

    def _repaired_for(self, own: Mapping[str, Compiled]) -> list[Compiled]:
        return self._repaired({name for compiled in own.values() for name in self._inputs(compiled)} - own.keys())

    def _repaired(self, names: set[str]) -> list[Compiled]:
        """How to compute again what is lost of the states that are needed, inputs first.

        What a run had kept for itself only, it computes again as well.
        """
        steps = {name: step for name, step in self.steps.items() if step.purpose is not Purpose.OUTPUT}
        scratch = {name for name, step in steps.items() if step.purpose is Purpose.SCRATCH}
        repairs: dict[str, Compiled] = {}

        def visit(name: str) -> None:
            if name not in steps or name in repairs or not (name in scratch or self._is_lost(name)):
                return
            for read in steps[name].reads():
                if read in scratch:
                    visit(read)
            compiled = self._compiled(steps[name])
            if compiled.select is None:
                self.empty.add(name)
                return
            for read in sorted(compiled.reads):
                visit(read)
            repairs[name] = compiled

        for name in sorted(names):
            visit(name)
        return list(repairs.values())

    def _inputs(self, compiled: Compiled) -> frozenset[str]:
        grown = frozenset((compiled.grows_from,)) if compiled.grows_from is not None else frozenset[str]()
        as_before = (self.compiled[name].grows_from for name in self._as_before(compiled))
        return compiled.reads | grown | frozenset(name for name in as_before if name is not None)

    def _as_before(self, compiled: Compiled) -> list[str]:
        """The states that a step reads of its own run, and that have nothing new: they are those of an earlier one."""
        own = {name: c for name, c in self.compiled.items() if c.select is None and c.grows_from is not None}
        return sorted(compiled.reads & own.keys())

    def _is_lost(self, name: str) -> bool:
        state = self.states.get(name)
        return name in self.suspect or state is None or not all_whole(self.store.state, state.files)

    def lost(self) -> list[str]:
        """The states that must be computed again."""
        return [name for name, target in self.targets.items() if target.recomputed and name in self.states]

    @cached_property
    def checks(self) -> tuple[SourceCheck, ...]:
        """The promises of sources that are to be checked first."""
        together = pending_arrival_checks(self.sources, self.pins, self.committed)
        return (*pending_checks(self.store, self.sources, self.pins), *together)

    @property
    def needs_spark(self) -> bool:
        """Whether anything is to be computed, be it only to check."""
        return bool(self.targets) or any(check.open for check in self.checks)

    # --- places and names --------------------------------------------------------------------------------------------

    @property
    def data(self) -> Path:
        return self.cycle.data / f"{self.run}-{self.attempt}"

    @property
    def answer_name(self) -> str:
        """The directory of the run's answers, whatever the query."""
        return f"{self.cycle.number}-{self.run}-{self.attempt}"

    def _place(self, compiled: Compiled) -> Path:
        if compiled.is_answer:
            return self.store.answer_directories[compiled.step.answers].path / self.answer_name
        name = compiled.name
        return self.data / (directory_by_key(name, self._buckets) if compiled.step.by else name)

    @property
    def _buckets(self) -> int:
        """As many as an exchange makes, so that both fit together."""
        spark = self.config.spark
        local = spark.connect is None and spark.master.startswith("local")
        usual = LOCAL_PARTITIONS if local else SPARKS_PARTITIONS
        return int(spark.conf.get("spark.sql.shuffle.partitions", usual))

    def _table(self, name: str) -> str:
        """A name for a state by key that no other run has."""
        return f"slackwater_{self.attempt}_{name}"

    @cached_property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """The directories, below the state directory, that each name is read from."""
        return self._read_from({name: state.parts for name, state in self.states.items()})

    @cached_property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """The same, but of states that earlier runs saved exactly their files."""
        return self._read_from({name: tuple(f.path for f in state.files) for name, state in self.states.items()})

    def _read_from(self, saved: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Where each name is read from, given where states lie that earlier runs saved."""
        places = dict(saved)
        for name, target in self.targets.items():
            if target.compiled.is_answer:
                continue
            before = places.get(target.compiled.grows_from or "", ())
            places[name] = (*before, target.directory.relative_to(self.store.state).as_posix())
        for name, compiled in self.compiled.items():
            if name not in places and compiled.grows_from is not None:
                places[name] = places.get(compiled.grows_from, ())
        return places

    @cached_property
    def beside(self) -> dict[str, list[Path]]:
        """Files that lie in the directories of states that are read, and are not theirs; nobody reads them."""
        inputs = {name for target in self.targets.values() for name in self._inputs(target.compiled)}
        read = sorted(inputs & self.states.keys() - self.targets.keys())
        files = {name: files_beside(self.store.state, self.states[name]) for name in read}
        return {name: paths for name, paths in files.items() if paths}

    # --- the program -------------------------------------------------------------------------------------------------

    @cached_property
    def reads(self) -> frozenset[str]:
        return frozenset[str]().union(*(target.compiled.reads for target in self.targets.values()))

    def views(self) -> Iterator[str]:
        """The views that must be there before the first step."""
        yield from self._source_views()
        for name in sorted(self.reads & self.states.keys() - self.targets.keys()):
            yield from self._state_view(name)

    def _source_views(self) -> Iterator[str]:
        texts = self._texts.keys() & self.reads
        for source in (source for name, source in self.sources.items() if name in self.by_definition):
            yield from source.views(self.reads, self._pins_of(source))
            if texts:
                yield from source.whole(source.name, self._pins_of(source))

    @cached_property
    def _texts(self) -> dict[str, JobQuery]:
        """The queries by the names that their texts are read by."""
        return {text_name(name, self.run): query for name, query in self.config.queries.items()}

    def _own_views(self, compiled: Compiled) -> Iterator[str]:
        """The views that can only be there when the steps before it are done, such as those of upserts."""
        if compiled.name in self.changelogs:
            yield from self.changelogs[compiled.name].views()
            return
        for name in self._as_before(compiled):
            yield from self._state_view(name)
        is_text = self.is_text(compiled.step)
        for source in (source for name, source in self.sources.items() if name not in self.by_definition):
            yield from views_of_upserts(source, self._pins_of(source), compiled.reads, whole=is_text)
        for view in sorted(self._texts.keys() & compiled.reads):
            yield view_in_cycle(view, self._texts[view], self.cycle.record(), self.sources.values())

    def _state_view(self, name: str) -> tuple[str, ...]:
        """With its columns: Spark would look them up in the files, by a job of its own."""
        step, log = self.steps[name], self.changelogs.get(name)
        parts, fields = self.parts[name], log.fields if log is not None else saved_fields(step)
        buckets = buckets_of(parts) if step.by and self._are_alone(parts) else None
        if buckets is None:
            return (view_of_files(name, Files("parquet", str(self.store.state), self.paths[name]), fields),)
        places = [str(self.store.state / part) for part in parts]
        return read_by_key(name, f"{self._table(name)}_read", places, fields, layout_names(step), buckets)

    def _are_alone(self, parts: Sequence[str]) -> bool:
        """Whether directories hold nothing but files of states: a table by key reads whatever lies there."""
        littered = {path.parent for paths in self.beside.values() for path in paths}
        return not any(self.store.state / part in littered for part in parts)

    def last_statements(self) -> list[str]:
        """What is to be forgotten when the run is over, however it ends."""
        by_key = [step.name for step in self.plan.steps if step.by and step.name in self.parts]
        return [drop(f"{self._table(name)}_{use}") for name in by_key for use in ("read", "write")]

    def statements(self, target: Target) -> tuple[str, ...]:
        """What computes a step, and gives it its name where others read it."""
        compiled = target.compiled
        return (*self._own_views(compiled), *self._computing(target, compiled))

    def _computing(self, target: Target, compiled: Compiled) -> tuple[str, ...]:
        if compiled.is_answer:
            format = self.config.queries[compiled.step.answers].output.format
            return (compiled.insert(str(target.directory), format, options_to_write(format)),)
        step, directory = compiled.step, str(target.directory)
        insert: tuple[str, ...] = (compiled.insert(directory),)
        if step.by and compiled.select is not None:
            table = f"{self._table(step.name)}_write"
            fields, by = saved_fields(step), layout_names(step)
            insert = write_by_key(table, directory, fields, by, self._buckets, compiled.select)
        return (*insert, *self._state_view(compiled.name)) if compiled.name in self.reads else insert

    def tasks(self) -> list[Task]:
        """The steps as Spark will see them, each with the steps it waits for."""
        return [
            Task(
                name,
                self.statements(target),
                needs=frozenset(self._inputs(target.compiled)) & self.targets.keys(),
                writes=str(target.directory),
            )
            for name, target in self.targets.items()
        ]

    def program(self) -> str:
        """All of it as one SQL text that a person can run."""
        lines = [f"-- {self.config.name}, run {self.run} of {len(self.plan.times)} ({self.plan.time(self.run)})"]
        for check in (check for check in self.checks if check.open):
            lines.append(f"\n-- check: {check.meaning}; no row is to be returned")
            lines += [f"{statement};" for statement in (*check.views(), check.query())]
        lines += [f"{view};" for view in self.views()]
        for target in self.targets.values():
            step = target.compiled.step
            lines.append(f"\n-- {step.purpose}: {step.meaning}")
            lines += [f"{statement};" for statement in self.statements(target)]
        if not self.targets:
            lines.append("-- nothing to compute")
        lines += [f"{statement};" for statement in self.last_statements()]
        return "\n".join(lines) + "\n"
