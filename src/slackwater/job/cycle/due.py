"""Which runs are due: by a clock, the job's time zone and the day that a cycle is of.

A cycle is one day of the schedule: its times are due on that day, `24:00` at its end. The moment at which `run` is
called decides what is due, and nothing else does: what is committed stays, whichever way the clock is set.

Daylight saving needs a rule. Where the clock is put forward, a skipped time is due at the moment of the change. Where
it is put back, a time that occurs twice is due the first time. So times are always due in the order of the schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as time_of_day
from typing import TypeAlias

from slackwater.job.file.sections import JobConfig
from slackwater.job.store.cycle_record import CycleRecord
from slackwater.time.clock import minutes

Clock: TypeAlias = Callable[[], datetime]
"""What says the time."""

_MINUTE = timedelta(minutes=1)


def system_clock() -> datetime:
    """The time of this machine."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Asked:
    """The runs that a call asks for: those that are due; or those up to one, the next one, or all that are left."""

    at: str | int | None = None
    early: bool = False
    all: bool = False

    @property
    def insists(self) -> bool:
        """Whether a run is wanted even if it is not due."""
        return self.at is not None or self.early or self.all


@dataclass(frozen=True)
class NextRun:
    """A run that is still to be done: its time, and the moment at which it is due, on the clock of its zone."""

    time: str
    due: datetime
    is_due: bool
    timezone: str

    def __str__(self) -> str:
        return f"{self.time}, due {self.due:%Y-%m-%d %H:%M} ({self.timezone})"


@dataclass(frozen=True)
class Calendar:
    """The days of a schedule by a clock."""

    clock: Clock
    zone: tzinfo
    timezone: str
    first: str
    """The first time of a day."""

    @staticmethod
    def of(config: JobConfig, clock: Clock | None) -> Calendar | None:
        """The calendar of a job; None where nothing is due by itself, because there is no clock or times are names."""
        if clock is None or not config.timeline.is_by_the_clock:
            return None
        return Calendar(clock, config.zone, config.timezone, config.timeline.time(1))

    def at_this_moment(self) -> Calendar:
        """The same with its clock stopped, so that all of a call goes by one moment."""
        moment = self.clock()
        return replace(self, clock=lambda: moment)

    def today(self) -> date:
        return self.clock().astimezone(self.zone).date()

    def is_due(self, day: date, time: str) -> bool:
        """Whether a time of a day has come."""
        return due_at(day, time, self.zone) <= self.clock()

    def day_of(self, record: CycleRecord) -> date:
        """The day that a cycle is of; one that does not say is of the day on which it began."""
        if record.day is not None:
            return date.fromisoformat(record.day)
        return datetime.fromisoformat(record.started).astimezone(self.zone).date()

    def begun_day(self) -> date:
        """The latest day whose first time has come."""
        today = self.today()
        return today if self.is_due(today, self.first) else today - timedelta(days=1)

    def day_after(self, day: date, *, insists: bool = False) -> date | None:
        """The day whose cycle comes after that of a day: the latest that has begun, or today's by insistence."""
        later = [self.begun_day()] + ([self.today()] if insists else [])
        return next((each for each in later if each > day), None)

    def first_day(self, replaced: date | None, *, insists: bool) -> date | None:
        """The day of a cycle that follows none, or that takes the place of one of an earlier day; None if not due."""
        today = self.today()
        day = min(replaced, today) if replaced is not None else today
        return day if insists or self.is_due(day, self.first) else None

    def next_run(self, day: date, time: str) -> NextRun:
        due = due_at(day, time, self.zone)
        return NextRun(time, due.astimezone(self.zone), due <= self.clock(), self.timezone)

    def next_first(self, complete: date | None) -> NextRun:
        """The first run of the next cycle, after a complete one or after none."""
        day = self.today()
        if complete is not None:
            day = self.day_after(complete) or max(day, complete + timedelta(days=1))
        return self.next_run(day, self.first)


def due_at(day: date, name: str, zone: tzinfo) -> datetime:
    """The moment of a clock time on a day, in a time zone."""
    past = minutes(name)
    assert past is not None, name
    local = datetime.combine(day, time_of_day()) + past * _MINUTE
    steps = 0
    while not _exists(local, zone):
        local -= _MINUTE
        steps = 1  # the clock jumps right after the last existing minute
    return local.replace(tzinfo=zone).astimezone(UTC) + steps * _MINUTE


def _exists(local: datetime, zone: tzinfo) -> bool:
    """Whether a local time exists in a zone; daylight saving skips some."""
    return local.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) == local
