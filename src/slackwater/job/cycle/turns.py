"""Which cycles a call of `run` goes through, and what is asked of each.

Where runs are due by a clock, a call catches up: what an earlier day still owes comes first, then the cycle of the
latest day whose first time has come. Days in between get no cycle of their own: a cycle reads all files that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

from slackwater.errors import StateError
from slackwater.job.cycle.cycles import Cycles
from slackwater.job.cycle.due import Asked, Calendar, NextRun
from slackwater.job.store.cycle_directory import Cycle


@dataclass(frozen=True)
class Turn:
    """A cycle and the runs of it that are asked for."""

    cycle: Cycle
    asked: Asked
    is_due: Callable[[str], bool] | None = None
    """Whether a time of it has come; None where runs are not due by a clock."""


def turns(
    cycles: Cycles,
    calendar: Calendar | None,
    asked: Asked,
    note: Callable[[str], None],
    *,
    new_cycle: bool = False,
    skip_missed: bool = False,
) -> Iterator[Turn]:
    """The turns of a call, in order; each is to be done before the next is asked for."""
    if calendar is not None:
        yield from _by_the_clock(cycles, calendar, asked, note, new_cycle=new_cycle, skip_missed=skip_missed)
        return
    opened = None if new_cycle else cycles.open()
    yield Turn(opened or cycles.begin(note), asked)


def _by_the_clock(
    cycles: Cycles, calendar: Calendar, asked: Asked, note: Callable[[str], None], *, new_cycle: bool, skip_missed: bool
) -> Iterator[Turn]:
    current = cycles.store.current()
    if current is None or new_cycle:
        day = calendar.first_day(_abandoned_day(cycles, calendar, current), insists=asked.insists)
    else:
        began = calendar.day_of(current.record())
        day = calendar.day_after(began, insists=asked.insists)
        owes = cycles.owes(current)
        if owes and skip_missed and day is not None:
            note(f"cycle {current.number} of {began} is left incomplete")
        elif owes or day is None:
            _say_if_to_come(calendar, began, current, note)
            only = day is None or asked.early or asked.all
            cycle = cycles.open()
            assert cycle is not None
            yield _turn(calendar, cycle, began, asked if only else Asked(all=True))
            day = None if only else day
    while day is not None:
        if current is not None:
            note(f"a new cycle begins, for {day}")
        yield _turn(calendar, cycles.begin(note, day), day, asked)
        day = None if asked.insists else calendar.day_after(day)


def _turn(calendar: Calendar, cycle: Cycle, day: date, asked: Asked) -> Turn:
    return Turn(cycle, asked, lambda time: calendar.is_due(day, time))


def _abandoned_day(cycles: Cycles, calendar: Calendar, current: Cycle | None) -> date | None:
    """The day of a cycle that is not complete and that a new one is to replace."""
    if current is None:
        return None
    with suppress(StateError):  # its record is damaged, which may be why a new one is asked for
        return None if cycles.is_complete(current) else calendar.day_of(current.record())
    return None


def _say_if_to_come(calendar: Calendar, day: date, cycle: Cycle, note: Callable[[str], None]) -> None:
    if day > calendar.today():
        note(
            f"cycle {cycle.number} is of {day}, a day to come: was the clock set back? "
            "`slackwater run --new-cycle` begins today's"
        )


def following(cycles: Cycles, calendar: Calendar | None) -> NextRun | None:
    """The next run by the clock: of the cycle that is under way or, after it, the first of the next."""
    if calendar is None:
        return None
    cycle = cycles.store.current()
    if cycle is None:
        return calendar.next_first(None)
    day = calendar.day_of(cycle.record())
    time = cycles.next_time(cycle, {manifest.run for manifest in cycle.readable()})
    return calendar.next_run(day, time) if time is not None else calendar.next_first(day)
