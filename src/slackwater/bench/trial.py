"""One query as a job, run by run, beside the query as it stands: what each has cost, and whether they agree.

A trial is a job directory like a user's. Before a run the files that it brings are linked into the sources; the run is
the runtime's own, with manifests and states on disk, and its cost is what its manifest says. The batch query is the
query's text over all files that have arrived, written as parquet too and measured in the same way. Every pass
plans its day again, and the first run is charged with it; planning is also timed apart.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from slackwater.bench.arriving import ArrivingData
from slackwater.bench.workloads import WorkloadQuery
from slackwater.catalog.statistics import Arrival
from slackwater.compile.views import Files, quoted_text, view_of_files
from slackwater.errors import UserError
from slackwater.job.cycle.planned import Planned
from slackwater.job.file.config import load_job
from slackwater.job.file.price_basis import Basis
from slackwater.job.file.values import Replanning
from slackwater.job.inputs.sources import Source
from slackwater.job.job import Job
from slackwater.job.learning.prices import ClusterPrices, cluster_of
from slackwater.job.running.runner import Silent
from slackwater.job.running.work import RunWork
from slackwater.job.store.accounts import Account, Meter, Phase, Spent, total
from slackwater.job.store.column_records import fields_of
from slackwater.job.store.cycle_record import RevisionRecord
from slackwater.job.store.manifest import Manifest
from slackwater.job.store.pins import FilePin
from slackwater.job.store.removal import remove
from slackwater.plan.plan import ONLY, Plan
from slackwater.rows.feedback import History
from slackwater.rows.other_arrivals import bringing
from slackwater.spark.compare import difference
from slackwater.spark.metrics import measuring
from slackwater.spark.statements import run_statement
from slackwater.time.timeline import Timeline

if TYPE_CHECKING:
    from slackwater.spark.session import Session

BATCH, DELIVERED = "bench__batch", "bench__delivered"


@dataclass(frozen=True, slots=True)
class TrialCost:
    """CPU seconds: of the executors, and in total, of the JVM and of Python, from listing inputs to the commit.

    Sessions are warm when anything is measured, so the start of Spark is in neither a run's cost nor in batch's.
    """

    cpu_s: float
    total_cpu_s: float
    wall_s: float
    jvm_cpu_s: float = 0.0
    """The part of the total that is the JVM's."""

    @classmethod
    def median(cls, costs: Iterable[TrialCost]) -> TrialCost:
        """The typical one of several, number by number."""
        every = list(costs)
        return cls(
            statistics.median(cost.cpu_s for cost in every),
            statistics.median(cost.total_cpu_s for cost in every),
            statistics.median(cost.wall_s for cost in every),
            statistics.median(cost.jvm_cpu_s for cost in every),
        )

    @classmethod
    def sum(cls, costs: Iterable[TrialCost]) -> TrialCost:
        """Several together; of none, nothing."""
        every = list(costs)
        return cls(
            sum(cost.cpu_s for cost in every),
            sum(cost.total_cpu_s for cost in every),
            sum(cost.wall_s for cost in every),
            sum(cost.jvm_cpu_s for cost in every),
        )

    @classmethod
    def of_run(cls, manifest: Manifest, account: Account | None) -> TrialCost:
        """What a committed run took; one that had nothing to compute has cost its executors nothing."""
        executors = manifest.total.get("cpu_s") if manifest.total else 0.0
        elsewhere = Spent(jvm_cpu_s=account.executors_cpu_s) if account is not None else Spent()
        return cls.checked(executors, None if account is None else account.total + elsewhere)

    @classmethod
    def checked(cls, executors_cpu_s: float | None, everything: Spent | None) -> TrialCost:
        if executors_cpu_s is None or everything is None:
            raise UserError("this Spark does not report CPU time", hint="benchmarks need a local driver")
        return cls(executors_cpu_s, everything.cpu_s, everything.wall_s, everything.jvm_cpu_s)


@dataclass(frozen=True, slots=True)
class TrialSpent:
    """What a job has cost on Spark, run by run, and whether its answers were batch's."""

    runs: tuple[TrialCost, ...]
    equal: bool

    def cpu(self, weights: Sequence[float]) -> float:
        return sum(weight * run.cpu_s for weight, run in zip(weights, self.runs, strict=True))

    def total_cpu(self, weights: Sequence[float]) -> float:
        return sum(weight * run.total_cpu_s for weight, run in zip(weights, self.runs, strict=True))


@dataclass(frozen=True, slots=True)
class StepTimes:
    """A step: seconds of executor CPU, and how many were expected, where that is known."""

    run: int
    name: str
    cpu_s: float
    expected_s: float | None


@dataclass(frozen=True)
class Setting:
    """What all queries of a benchmark share. `warm_up` passes of each query are not counted, `repeat` are."""

    data: ArrivingData
    timeline: Timeline
    warm_up: int = 1
    repeat: int = 1
    methods: tuple[str, ...] | None = None
    """Those to plan with; all of them unless told."""
    refresh: str = "auto"
    prices: ClusterPrices | None = None
    """Those to plan with; the built-in ones unless told."""
    basis: Basis = Basis.EXECUTORS
    """What costs are counted of in plans."""
    days: int = 0
    """Days that each query lives through before, so that the one that is measured is planned by what they counted."""
    expected: Mapping[str, tuple[Arrival, ...]] = field(default_factory=dict)
    """What jobs expect of tables that bring something else; of all others they expect what comes."""
    final_work: float | None = None
    """The part of batch that may be left for the last run, if that is the goal."""
    replan: float | None = None
    """The factor by which rows must be off for the rest to be planned anew; unless told the chosen plan stays."""


class JobTrial:
    """A job directory of one query."""

    def __init__(
        self, session: Session, setting: Setting, query: WorkloadQuery, directory: Path, history: History = ()
    ) -> None:
        self._session = session
        self._data = setting.data
        self._timeline = setting.timeline
        self._query = query
        self._setting = setting
        self._directory = directory
        self._tables = self._data.tables_of(query)
        self.planning_s = 0.0
        """Seconds of one thread for the plan of the day."""
        self.replanning_s = 0.0
        """The same for looking at the rest again before later runs, since the trial was rewound."""
        self._write_job()
        config = load_job(directory / "slackwater.yml")
        used = {name: bringing(self._data.statistics[name], self._expected(name)) for name in self._tables}
        prices = setting.prices or ClusterPrices(cluster_of(config.spark))
        self.job = Job(
            config, session, statistics=used, methods=setting.methods, prices=prices, history=history, clock=None
        )
        self._answer_directory = self.job.store.answer_directories[ONLY]
        self._sources = [
            Source(name, config.sources[name], "parquet", self._data.directory(name), self._data.fields(name))
            for name in self._tables
        ]

    # --- the job file ------------------------------------------------------------------------------------------------

    def _write_job(self) -> None:
        timeline = self._timeline
        self._directory.mkdir(parents=True)
        (self._directory / "query.sql").write_text(self._query.spark + "\n", encoding="utf-8")
        content = {
            "name": self._query.name,
            "query": "query.sql",
            "refresh": self._setting.refresh,
            "schedule": list(timeline.times),
            "weights": list(timeline.weights),
            "deliver": [timeline.time(run) for run in sorted(timeline.deliver)],
            "prices": self._setting.basis.value,
            **({"final_work": f"{100 * goal:.6g}%"} if (goal := self._setting.final_work) is not None else {}),
            "replan": self._setting.replan or Replanning.NEVER.value,
            "sources": {name: self._source(name) for name in self._tables},
            "output": {"path": "answer"},
        }
        text = yaml.safe_dump(content, sort_keys=False, width=120)
        (self._directory / "slackwater.yml").write_text(text, encoding="utf-8")
        for name in self._tables:
            if name in self._data.changing:
                self._inputs(name).mkdir(parents=True)

    def _source(self, name: str) -> dict[str, object]:
        key = self._data.work.tables[name].key
        arrivals = self._expected(name)
        # Batch does not check what it reads either; what checks cost is measured apart.
        entry: dict[str, object] = {"key": list(key)} if key else {}
        entry["check"] = "trust"
        entry["path"] = str(self._inputs(name) if name in self._data.changing else self._data.directory(name))
        expected: dict[str, object] = {"rows": int(sum(arrival.growth for arrival in arrivals))}
        if name in self._data.changing:
            is_feed = self._data.is_feed(name)
            entry["changes"] = "feed" if is_feed else "append"
            together = {other: by for other, by in self._data.promises(name).items() if other in self._tables}
            entry |= {"with": together} if together else {}
            named = zip(self._timeline.times, arrivals, strict=True)
            expected["arrives"] = {time: _told(arrival, is_feed) for time, arrival in named}
        else:
            entry["static"] = True
        return {**entry, "expect": expected}

    def _expected(self, table: str) -> tuple[Arrival, ...]:
        return self._setting.expected.get(table) or self._data.arrivals(table)

    def _inputs(self, table: str) -> Path:
        return self._directory / "input" / table

    # --- runs --------------------------------------------------------------------------------------------------------

    def run(self, number: int, *, late: Collection[str] = (), skip_missed: bool = False) -> TrialCost:
        """Brings what a run reads, and runs it; the very first one plans before.

        Tables that are late bring nothing; what they owe comes with the next run. Runs before that were missed are made
        up for now, or left out of the day.
        """
        self._arrive(number, late)
        watch = _Watch()
        begins = self.job.store.current() is None
        manifests = self.job.run(self._timeline.time(number), skip_missed=skip_missed, progress=watch)
        if begins:
            self.planning_s = watch.planning_s
        elif number > 1:
            self.replanning_s += watch.planning_s
        return cost_of_runs(self.job, manifests)

    def _arrive(self, run: int, late: Collection[str] = ()) -> None:
        """Everything up to a run is there, but for what is late."""
        for name in self._tables:
            if name in self._data.changing and name not in late:
                for file in (file for number in range(1, run + 1) for file in self._data.files(name, number)):
                    target = self._inputs(name) / file.name
                    if not target.exists():
                        _link(file, target)

    def rewind(self) -> None:
        """Undoes all runs, and their plan: the first run plans again, as it does on every day."""
        self.replanning_s = 0.0
        for path in (*(cycle.directory for cycle in self.job.store.cycles()), self._answer_directory.path):
            if path.exists():
                remove(path)
        self._answer_directory.output.unlink(missing_ok=True)
        for file in (self._directory / "input").glob("*/*"):
            file.unlink()

    def plan(self) -> Plan:
        """The plan of the runs; before the first, the one that it would make."""
        if self.job.store.current() is None:
            self._arrive(1)
        return self.job.plan()

    def revisions(self) -> tuple[RevisionRecord, ...]:
        """Whenever the rest was planned anew."""
        cycle = self.job.store.current()
        return cycle.record().revisions if cycle is not None else ()

    def planned(self) -> Planned:
        """The job planned as its first run would, with what was found on the way."""
        self._arrive(1)
        return self.job.planned()

    def steps(self) -> tuple[StepTimes, ...]:
        """What the steps of all runs have taken."""
        return steps_of(self.job)

    def state_bytes(self) -> int:
        """Bytes of all that was kept between runs."""
        return state_bytes_of(self.job)

    # --- batch -------------------------------------------------------------------------------------------------------

    def batch(self, run: int) -> TrialCost:
        """The query's own text over all that has arrived up to a run, written like an answer."""
        changing = [name for name in self._tables if name in self._data.changing]
        runs = range(1, run + 1)
        files = {file.name for name in changing for number in runs for file in self._data.files(name, number)}

        def arrived(source: Source) -> list[FilePin]:
            return [pin for pin in source.listed() if not source.changing or pin.path in files]

        batch = BatchQuery(self._session, self._query.name, self._query.spark, self._sources)
        return batch.measured(arrived, self._batch(run))

    def _batch(self, run: int) -> Path:
        return self._directory / f"batch-{run}"

    def is_equal(self, run: int) -> bool:
        """Whether the answer just delivered is batch's, floats to the tolerance, ties of a LIMIT as they may fall."""
        return is_delivered(self._session, self.job, self._batch(run))


# --- of any job beside its batch query -------------------------------------------------------------------------------


@dataclass(frozen=True)
class BatchQuery:
    """A query's own text over files: the tables are views of them, feeds and upserts are added up first."""

    session: Session
    name: str
    text: str
    sources: Sequence[Source]

    def measured(self, files: Callable[[Source], Sequence[FilePin]], target: Path) -> TrialCost:
        """Reads these files of each source and writes the answer as parquet; counted from listing the files on."""
        insert = f"INSERT OVERWRITE DIRECTORY {quoted_text(str(target))} USING parquet\n{self.text}"
        meter = Meter(Phase.STEPS)
        for source in self.sources:
            for view in source.whole(source.name, [files(source)]):
                run_statement(self.session, view)
        with measuring(self.session, f"batch {self.name}") as measured:
            run_statement(self.session, insert)
        return TrialCost.checked(measured.result.cpu_s, total(meter.taken()))


def is_delivered(session: Session, job: Job, batch: Path) -> bool:
    """Whether the last answer of a job is the one that batch wrote to a directory."""
    cycle = job.store.current()
    assert cycle is not None
    fields = fields_of(cycle.record().answers[ONLY])
    for name, directory in ((BATCH, batch), (DELIVERED, job.store.answer_directories[ONLY].output)):
        paths = tuple(sorted(path.name for path in directory.glob("*.parquet")))
        run_statement(session, view_of_files(name, Files("parquet", str(directory), paths), fields))
    mismatch = difference(session, BATCH, DELIVERED, fields, tolerance=job.config.tolerance)
    return mismatch.is_none or job.verify().equal


def cost_of_runs(job: Job, manifests: Sequence[Manifest]) -> TrialCost:
    """What some committed runs have taken together."""
    entries = job.history_of(manifests).entries
    return TrialCost.sum(TrialCost.of_run(manifest, account) for manifest, account, _ in entries)


def steps_of(job: Job) -> tuple[StepTimes, ...]:
    """What the steps of the last cycle have taken."""
    return tuple(
        StepTimes(manifest.run, step.name, step.measured.get("cpu_s") or 0.0, step.expected_cpu_s)
        for manifest in job.history(1)
        for step in manifest.steps
        if not step.skipped
    )


def state_bytes_of(job: Job) -> int:
    """Bytes of all that was kept between runs of the last cycle."""
    cycle = job.store.current()
    return sum(file.stat().st_size for file in cycle.data.glob("*/*/*.parquet")) if cycle is not None else 0


@dataclass
class _Watch(Silent):
    """Notes when planning for the first run ends: it is this process's work alone, so neighbours do not count."""

    started: float = field(default_factory=time.process_time)
    planning_s: float = 0.0

    def run_begins(self, work: RunWork) -> None:
        self.planning_s = self.planning_s or time.process_time() - self.started


def _told(arrival: Arrival, is_feed: bool) -> object:
    if not is_feed:
        return int(arrival.inserts)
    return {"inserts": int(arrival.inserts), "updates": int(arrival.updates), "deletes": int(arrival.deletes)}


def _link(file: Path, target: Path) -> None:
    try:
        os.link(file, target)
    except OSError:
        shutil.copy2(file, target)
