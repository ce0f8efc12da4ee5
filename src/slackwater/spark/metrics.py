"""The measured cost of work on Spark: wall time, and the executors' metrics of its jobs.

`measuring` marks every job that its thread starts with a tag of its own and, at the end, adds up what Spark's status
store holds of these jobs' stages. Blocks in several threads at once do not mix, and a block within a block counts in
both. What the driver does beside the jobs (planning, building a broadcast) is in `jvm_cpu_seconds` only.

The status store is an internal of Spark, reached through py4j, and this is the only file that knows it. Where it is
out of reach, as over Spark Connect, a measurement has its wall time and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

from py4j.clientserver import ClientServer
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from slackwater.errors import UserError

# How long to wait for Spark's own bookkeeping to catch up with the jobs that have ended.
CATCH_UP_MS = 10_000
DESCRIPTION = "spark.job.description"
INTERRUPT = "spark.job.interruptOnCancel"

# What py4j and pyspark raise when an internal is missing, has moved, or the JVM is gone.
OUT_OF_REACH = (Py4JError, PySparkException, AttributeError, TypeError, OSError)

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class Measured:
    """The cost of some work. `None`: the session could not say.

    Rows and bytes in and out are those of files and tables, not of shuffles. `peak_memory` is that of the stage that
    took most, summed over its tasks.
    """

    wall_s: float
    cpu_s: float | None = None
    run_s: float | None = None
    rows_in: int | None = None
    rows_out: int | None = None
    bytes_read: int | None = None
    bytes_written: int | None = None
    bytes_shuffled: int | None = None
    peak_memory: int | None = None
    bytes_spilled: int | None = None
    jobs: int | None = None
    tasks: int | None = None

    def __add__(self, other: Measured) -> Measured:
        """Both together: what one of them could not say is not known of the sum either."""
        return Measured(
            wall_s=self.wall_s + other.wall_s,
            cpu_s=_sum(self.cpu_s, other.cpu_s),
            run_s=_sum(self.run_s, other.run_s),
            rows_in=_sum(self.rows_in, other.rows_in),
            rows_out=_sum(self.rows_out, other.rows_out),
            bytes_read=_sum(self.bytes_read, other.bytes_read),
            bytes_written=_sum(self.bytes_written, other.bytes_written),
            bytes_shuffled=_sum(self.bytes_shuffled, other.bytes_shuffled),
            peak_memory=_both(max, self.peak_memory, other.peak_memory),
            bytes_spilled=_sum(self.bytes_spilled, other.bytes_spilled),
            jobs=_sum(self.jobs, other.jobs),
            tasks=_sum(self.tasks, other.tasks),
        )

    def to_json(self) -> dict[str, int | float | None]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, object]) -> Measured:
        """The inverse of `to_json`; what is missing is not known."""
        wall_s = _number(record, "wall_s")
        if wall_s is None:
            raise UserError("a measurement has no `wall_s`")
        counts = {f.name: _number(record, f.name) for f in fields(cls) if not f.name.endswith("_s")}
        whole = {name: None if count is None else int(count) for name, count in counts.items()}
        return cls(wall_s=float(wall_s), cpu_s=_number(record, "cpu_s"), run_s=_number(record, "run_s"), **whole)


NOTHING = Measured(0.0, 0.0, 0.0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


def _both(how: Callable[[Number, Number], Number], one: Number | None, other: Number | None) -> Number | None:
    return None if one is None or other is None else how(one, other)


def _sum(one: Number | None, other: Number | None) -> Number | None:
    return None if one is None or other is None else one + other


def _number(record: Mapping[str, object], name: str) -> int | float | None:
    match record.get(name):
        case None:
            return None
        case int() | float() as number:
            return number
        case other:
            raise UserError(f"`{name}` of a measurement is {other!r}, expected a number")


class measuring:
    """`with measuring(session, "orders") as m: …`, and `m.result` afterwards, also when the block has failed.

    Counts the jobs of the thread that entered the block, and of threads that inherit its properties
    (`pyspark.InheritableThread`). Spark's pages show the jobs under the label.
    """

    def __init__(self, session: SparkSession, label: str) -> None:
        self.label = label
        self.result = Measured(0.0)
        self._session = session
        self._context = _context(session)
        self._tag = f"slackwater-{uuid4().hex}"
        self._before: dict[str, str | None] = {}
        self._started = 0.0

    def __enter__(self) -> Self:
        if self._context is None:
            self._session.addTag(self._tag)
        else:
            self._before = {name: self._context.getLocalProperty(name) for name in (DESCRIPTION, INTERRUPT)}
            self._context.addJobTag(self._tag)
            self._context.setLocalProperty(DESCRIPTION, self.label)
            self._context.setLocalProperty(INTERRUPT, "true")
        self._started = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        wall_s = time.perf_counter() - self._started
        self.result = Measured(wall_s)
        # A JVM that is gone has ended the block already, and that error is the one to see.
        with suppress(*OUT_OF_REACH):
            if self._context is None:
                self._session.removeTag(self._tag)
            else:
                self._context.removeJobTag(self._tag)
                for name, value in self._before.items():
                    self._context._jsc.setLocalProperty(name, value)
                self.result = _measured(self._context, self._tag, wall_s)

    def cancel(self) -> None:
        """Cancels, from any thread, the jobs of the block that are running now; later ones are not prevented."""
        with suppress(*OUT_OF_REACH):
            if self._context is None:
                self._session.interruptTag(self._tag)
            else:
                self._context.cancelJobsWithTag(self._tag)


def jvm_cpu_seconds(session: SparkSession) -> float | None:
    """CPU time of Spark's whole JVM so far, the driver's work included; only where the driver is in reach."""
    with suppress(*OUT_OF_REACH):
        return jvm_cpu_seconds_of(session.sparkContext)
    return None


def jvm_cpu_seconds_of(driver: SparkContext) -> float | None:
    """The same, of a driver."""
    with suppress(*OUT_OF_REACH):
        context: Any = driver
        java, new_array = context._jvm.java.lang, context._gateway.new_array
        bean = java.management.ManagementFactory.getOperatingSystemMXBean()
        # The bean's own class is closed to py4j, its interface is not.
        interface = java.Class.forName("com.sun.management.OperatingSystemMXBean")
        method = interface.getMethod("getProcessCpuTime", new_array(java.Class, 0))
        return float(method.invoke(bean, new_array(java.Object, 0))) / 1e9
    return None


def _context(session: SparkSession) -> SparkContext | None:
    """The driver of the session, if it is in reach and gives each thread of Python one of its own."""
    with suppress(*OUT_OF_REACH):
        context = session.sparkContext
        return context if isinstance(context._gateway, ClientServer) else None
    return None


def _measured(context: SparkContext, tag: str, wall_s: float) -> Measured:
    spark: Any = context._jsc.sc()
    spark.listenerBus().waitUntilEmpty(CATCH_UP_MS)
    store = spark.statusStore()
    jobs = list(spark.statusTracker().getJobIdsForTag(tag))
    total = replace(NOTHING, wall_s=wall_s, jobs=len(jobs))
    for stage_id in {stage_id for job in jobs for stage_id in _elements(store.job(job).stageIds())}:
        stage = _last_attempt(store, stage_id)
        if stage is not None and str(stage.status()) not in ("SKIPPED", "PENDING"):
            total += _of_stage(stage)
    return total


def _last_attempt(store: Any, stage_id: int) -> Any:
    """A stage, unless Spark has forgotten it: beyond `spark.ui.retainedStages` those that were skipped go first."""
    with suppress(Py4JJavaError):
        return store.lastStageAttempt(stage_id)
    return None


def _of_stage(stage: Any) -> Measured:
    return Measured(
        wall_s=0.0,
        cpu_s=stage.executorCpuTime() / 1e9,
        run_s=stage.executorRunTime() / 1e3,
        rows_in=stage.inputRecords(),
        rows_out=stage.outputRecords(),
        bytes_read=stage.inputBytes(),
        bytes_written=stage.outputBytes(),
        bytes_shuffled=stage.shuffleWriteBytes(),
        peak_memory=stage.peakExecutionMemory(),
        bytes_spilled=stage.diskBytesSpilled(),
        jobs=0,
        tasks=stage.numCompleteTasks() + stage.numFailedTasks() + stage.numKilledTasks(),
    )


def _elements(sequence: Any) -> list[int]:
    return [sequence.apply(position) for position in range(sequence.size())]
