"""The prices of work on a job's cluster: fitted by `calibrate` and refined by the job's own runs.

They are stored with the job and with the observations that they were fitted to. They belong to one cluster: a job that
moves to another starts from the built-in rates. After every committed run its steps are added to the observations, the
latest ones are kept, and the prices are fitted again. A plan is made with the prices that are stored at that time, and
keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from slackwater.errors import StateError
from slackwater.job.file.price_basis import BESIDE, Basis
from slackwater.job.file.sections import SparkConfig
from slackwater.job.learning.calibration import Observation, counted_for, fitted
from slackwater.job.store.manifest import Manifest, Record, read_record, write_record
from slackwater.physical.bill import EVEN, Bill, Item
from slackwater.plan.plan import Step

FORMAT = 1

REMEMBERED = 300
"""Observations of runs that are kept, the latest ones."""

FAR = 100.0
"""If a step reads more rows than expected by this factor, or fewer, its bill is not used."""

WARM = 100.0
"""CPU seconds of a JVM after which most of what a driver does is compiled."""


class ObservationRecord(Record):
    """An observation, on disk."""

    bill: tuple[float, float, float, float, float, float]
    executors: float | None = None
    driver: float | None = None
    beside: float = 0.0

    @classmethod
    def of(cls, observation: Observation) -> ObservationRecord:
        compute, read, write, shuffle, broadcast, fixed = observation.bill
        bill = (compute, read, write, shuffle, broadcast, fixed)
        return cls(bill=bill, executors=observation.executors, driver=observation.driver, beside=observation.beside)

    def observation(self) -> Observation:
        return Observation(Bill(*self.bill), self.executors, self.driver, self.beside)


class PricesRecord(Record):
    """The prices of a cluster, and where they come from."""

    format: int = FORMAT
    cluster: str
    factors: tuple[float, float, float, float, float, float]
    """By item, in parts of the built-in rates."""
    trials: tuple[ObservationRecord, ...] = ()
    """The statements of `calibrate`."""
    runs: tuple[ObservationRecord, ...] = ()
    """Steps of committed runs."""


@dataclass(frozen=True)
class ClusterPrices:
    """What is known of a cluster's prices."""

    cluster: str
    factors: Bill = EVEN
    trials: tuple[Observation, ...] = ()
    runs: tuple[Observation, ...] = ()

    @classmethod
    def fitted(cls, cluster: str, trials: Iterable[Observation], runs: Iterable[Observation] = ()) -> ClusterPrices:
        tried, ran = tuple(trials), tuple(runs)[-REMEMBERED:]
        return cls(cluster, fitted([*tried, *ran]), tried, ran)

    @property
    def counts(self) -> dict[Item, int]:
        """How many observations each factor rests on."""
        return counted_for([*self.trials, *self.runs])

    def factors_by(self, basis: Basis) -> Bill:
        """The factors for plans whose costs are counted of something; `factors` are those of executors."""
        if basis is Basis.EXECUTORS:
            return self.factors
        return replace(self.factors, fixed=fitted([*self.trials, *self.runs], basis.driver, basis.built_in).fixed)

    def refined(self, manifest: Manifest) -> ClusterPrices:
        """With what a run has shown."""
        return ClusterPrices.fitted(self.cluster, self.trials, (*self.runs, *observations(manifest)))

    def write(self, file: Path) -> None:
        compute, read, write, shuffle, broadcast, fixed = self.factors
        write_record(
            file,
            PricesRecord(
                cluster=self.cluster,
                factors=(compute, read, write, shuffle, broadcast, fixed),
                trials=tuple(map(ObservationRecord.of, self.trials)),
                runs=tuple(map(ObservationRecord.of, self.runs)),
            ),
        )


def cluster_of(spark: SparkConfig) -> str:
    """By which name the prices of a job's Spark are known."""
    return spark.connect or spark.master


def read_prices(file: Path, cluster: str, note: Callable[[str], None] = lambda _: None) -> ClusterPrices:
    """The prices of a file; the built-in ones where there is none, or it is damaged, or of another cluster."""
    try:
        record = read_record(file, PricesRecord)
    except StateError as error:
        note(f"{error}; planning with the built-in prices")
        return ClusterPrices(cluster)
    if record is None:
        return ClusterPrices(cluster)
    if record.format != FORMAT or record.cluster != cluster:
        what = f"of {record.cluster}, not {cluster}" if record.format == FORMAT else f"of version {record.format}"
        note(f"{file}: these prices are {what}; planning with the built-in ones")
        return ClusterPrices(cluster)
    seen = ([each.observation() for each in records] for records in (record.trials, record.runs))
    trials, runs = map(tuple, seen)
    return ClusterPrices(cluster, Bill(*record.factors), trials, runs)


def learn(file: Path, cluster: str, manifest: Manifest) -> None:
    """Refines the prices by a committed run; one that says nothing, or cannot be kept, changes nothing."""
    if any(True for _ in observations(manifest)):
        with suppress(StateError):
            read_prices(file, cluster).refined(manifest).write(file)


def observations(manifest: Manifest) -> Iterable[Observation]:
    """What the steps of a run say of prices; one that was done in another way than it was billed has no bill.

    Of the driver a run as a whole says something, if Spark was warm when it began: what the driver takes while Spark is
    new is no matter of plans.
    """
    for step in manifest.steps:
        cpu = step.measured.get("cpu_s")
        if step.bill and not step.skipped and cpu is not None:
            yield Observation(Bill(*step.bill), executors=1e6 * cpu)
    done = [step for step in manifest.steps if not step.skipped]
    process, tasks = manifest.total.get("process_cpu_s"), manifest.total.get("cpu_s")
    if (manifest.total.get("process_cpu_before_s") or 0.0) < WARM or process is None or tasks is None:
        return
    if done and all(step.bill for step in done):
        fixed = sum(Bill(*step.bill).fixed for step in done)
        yield Observation(Bill(fixed=fixed), driver=1e6 * max(0.0, process / BESIDE - tasks), beside=1e6 * tasks)


def over_rows(step: Step, counts: Mapping[str, float], written: int | None) -> tuple[float, ...]:
    """A step's bill for the rows that it really read and wrote; empty if these are far from the expected ones."""
    came = sum(counts.get(name, 0.0) for name in step.reads()) / step.entering if step.entering else 1.0
    left = written / step.rows if written is not None and step.rows else 1.0
    if not step.bill.total or not 1 / FAR <= came <= FAR or left > FAR:
        return ()
    rows = Bill(compute=came, read=came, write=left, shuffle=came, broadcast=came, fixed=1.0)
    return tuple(step.bill.times(rows))
