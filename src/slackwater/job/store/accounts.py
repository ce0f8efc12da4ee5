"""The account of a run: CPU and wall time of Python and of every process it started, by phase.

A meter reads the processes whenever the phase changes, and charges what they used since then to the phase that ends.
Phases nest: time in an inner phase is not charged to the outer one. The phases of an account add up to the whole, and
nothing is counted twice. Code without a phase of its own is charged to the phase around it.

A command has one meter, from the start of its process to its end. Several runs of a command follow one another on it:
the first is charged with the start, each with what came since the run before, the last with the end. A run that a
Python program asks for is metered from the call to its return. CPU is that of the process as a whole: threads that work
on something else at the same time count too.

An account is stored beside its run's manifest and is not part of the commit: a crash may lose it, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from enum import StrEnum
from typing import Final

from slackwater.errors import StateError, UserError
from slackwater.job.file.sections import SparkConfig
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.manifest import Manifest, Record, write_record
from slackwater.spark.process_tree import UNCOUNTED, Reading


class Phase(StrEnum):
    """What a run does with its time, in this order."""

    EARLIER = "earlier attempts"
    """Attempts at the same run that failed, as far as they could still say what they took."""
    START = "start"
    """The interpreter, imports, the job file, Spark's session."""
    INPUTS = "inputs"
    """Records of runs before, listing, schemas, footers, counting, what has changed."""
    PLANNING = "planning"
    STEPS = "steps"
    COMMIT = "commit"
    """Syncing, the manifest, the output's link, prices learned."""
    VERIFY = "verify"
    END = "end"
    """Stopping Spark."""


class Spent(Record):
    """Seconds: of the clock, of the CPU in Python, and of the CPU in Spark's JVM and all else that Python started."""

    wall_s: float = 0.0
    python_cpu_s: float = 0.0
    jvm_cpu_s: float = 0.0

    @property
    def cpu_s(self) -> float:
        return self.python_cpu_s + self.jvm_cpu_s

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            wall_s=self.wall_s + other.wall_s,
            python_cpu_s=self.python_cpu_s + other.python_cpu_s,
            jvm_cpu_s=self.jvm_cpu_s + other.jvm_cpu_s,
        )

    @staticmethod
    def between(before: Reading, after: Reading) -> Spent:
        """CPU never runs backwards; it may seem to where a process goes whose parent does not wait for it."""
        return Spent(
            wall_s=after.wall_s - before.wall_s,
            python_cpu_s=max(0.0, after.own_cpu_s - before.own_cpu_s),
            jvm_cpu_s=max(0.0, after.started_cpu_s - before.started_cpu_s),
        )


def total(phases: Mapping[Phase, Spent]) -> Spent:
    """All phases together."""
    return sum(phases.values(), Spent())


class Account(Record):
    """What a run has taken."""

    run: int
    attempt: str
    phases: dict[Phase, Spent]
    executors_cpu_s: float = 0.0
    """Tasks on other machines, which no phase holds."""
    uncounted: tuple[str, ...] = ()
    """What could not be read and is missing from the total, in words."""

    @property
    def total(self) -> Spent:
        return total(self.phases)

    @property
    def cpu_s(self) -> float:
        """Everything: JVM and Python, driver and executors."""
        return self.total.cpu_s + self.executors_cpu_s

    @property
    def wall_s(self) -> float:
        return self.total.wall_s


# --- metering --------------------------------------------------------------------------------------------------------


class Meter:
    """Charges what the processes take to the phase that is under way."""

    def __init__(self, phase: Phase, since: Reading | None = None, read: Callable[[], Reading] = Reading.now) -> None:
        self._read = read
        self._phase = phase
        self._last = since or read()
        self._spent: dict[Phase, Spent] = {}

    @contextmanager
    def charging(self, phase: Phase) -> Iterator[None]:
        """What is taken in the block is charged to a phase, but for blocks within."""
        if phase is self._phase:
            yield
            return
        around = self.turn_to(phase)
        try:
            yield
        finally:
            self.turn_to(around)

    def turn_to(self, phase: Phase) -> Phase:
        """Ends the phase that is under way, which it returns, and begins another."""
        now, ending = self._read(), self._phase
        self._spent[ending] = self._spent.get(ending, Spent()) + Spent.between(self._last, now)
        self._last, self._phase = now, phase
        return ending

    def taken(self) -> dict[Phase, Spent]:
        """All that was charged since this was asked last, in the order of the phases."""
        self.turn_to(self._phase)
        spent, self._spent = self._spent, {}
        return {phase: spent[phase] for phase in Phase if phase in spent}


_METER: Final[ContextVar[Meter | None]] = ContextVar("meter", default=None)
_IS_OURS: Final[ContextVar[bool]] = ContextVar("process of a command", default=False)


@contextmanager
def charged_to(phase: Phase) -> Iterator[None]:
    """Around a block or, as a decorator, a function: what it takes belongs to a phase. Without a meter, nothing."""
    meter = _METER.get()
    if meter is None:
        yield
        return
    with meter.charging(phase):
        yield


@contextmanager
def process_of_a_command() -> Iterator[None]:
    """In the block the process is for one command, and ends with it."""
    token = _IS_OURS.set(True)
    try:
        yield
    finally:
        _IS_OURS.reset(token)


@contextmanager
def metered_command() -> Iterator[None]:
    """A command that runs a job: metered from the start of its process, if that is for nothing else."""
    if not _IS_OURS.get():
        yield
        return
    token = _METER.set(Meter(Phase.START, Reading.when_process_started()))
    try:
        yield
    finally:
        _METER.reset(token)


def is_command() -> bool:
    """Whether this process is for one command that is metered."""
    return _IS_OURS.get() and _METER.get() is not None


@contextmanager
def metered_runs() -> Iterator[None]:
    """Runs that are asked for: on the meter of the command or, in a program of somebody's own, on a new one."""
    meter = _METER.get() or Meter(Phase.INPUTS)
    meter.turn_to(Phase.INPUTS)
    token = _METER.set(meter)
    try:
        yield
    finally:
        meter.turn_to(Phase.END)
        _METER.reset(token)


def _taken() -> dict[Phase, Spent]:
    meter = _METER.get()
    return meter.taken() if meter is not None else {}


# --- accounts on disk ------------------------------------------------------------------------------------------------


def account_of(cycle: Cycle, manifest: Manifest) -> Account | None:
    """The account of a committed run; None where it was lost, or is of another attempt."""
    account = cycle.kept(account_name(manifest.run), Account)
    return account if account is not None and account.attempt == manifest.attempt else None


def record_attempt(cycle: Cycle, run: int, attempt: str, spark: SparkConfig, executors: float | None = None) -> None:
    """Writes what was taken since the run before, with what earlier attempts at this run took.

    `executors` are CPU seconds of its tasks.
    """
    before = cycle.kept(account_name(run), Account)
    is_local = spark.connect is None and spark.master.startswith("local")
    account = Account(
        run=run,
        attempt=attempt,
        phases={**({Phase.EARLIER: before.total} if before is not None else {}), **_taken()},
        executors_cpu_s=(before.executors_cpu_s if before is not None else 0.0)
        + (0.0 if is_local else executors or 0.0),
        uncounted=(*UNCOUNTED, *_elsewhere(spark)),
    )
    with (
        suppress(UserError),
        cycle.changing(),
    ):  # who has lost the lock, or has no room, has an error of its own to show
        _write(cycle, account)


def add_to_account(cycle: Cycle, manifest: Manifest) -> None:
    """Adds to the account of a committed run what was taken since it was written; the lock is given back already."""
    account, taken = account_of(cycle, manifest), _taken()
    if account is not None:
        both = {phase: account.phases.get(phase, Spent()) + taken.get(phase, Spent()) for phase in Phase}
        phases = {phase: spent for phase, spent in both.items() if phase in account.phases or phase in taken}
        with suppress(StateError):
            _write(cycle, account.model_copy(update={"phases": phases}))


def _elsewhere(spark: SparkConfig) -> tuple[str, ...]:
    if spark.connect is not None:
        return ("the Spark Connect server",)
    return () if spark.master.startswith("local") else ("executors beside their tasks",)


def _write(cycle: Cycle, account: Account) -> None:
    write_record(cycle.directory / account_name(account.run), account)


def account_name(run: int) -> str:
    """The file of a run's account, beside its manifest."""
    return f"account-{run}.json"
