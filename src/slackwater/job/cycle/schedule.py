"""The schedule of a cycle that is under way: what is done stays as it was, the rest may change.

A job file states the schedule of every day. One day may have its own: a run is left out because it was missed, or the
file is edited while the day goes on. What was expected of the rest is dealt out anew over the runs there are then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from slackwater.catalog.statistics import Arrival
from slackwater.errors import UserError
from slackwater.plan.plan import Plan, Purpose
from slackwater.time.clock import minutes
from slackwater.time.timeline import Timeline


def timeline_of(plan: Plan) -> Timeline:
    """The runs of a plan, and which of them answer which query."""
    due = {
        query: frozenset(s.run for s in plan.steps if s.purpose is Purpose.OUTPUT and s.answers == query)
        for query in plan.queries
    }
    return _timeline(plan.times, [plan.weight(run) for run in plan.runs], due)


def rescheduled(
    plan: Plan, done: int, wanted: Timeline, queries: Iterable[str], without: Collection[str] = ()
) -> Timeline:
    """The runs that are done, and of a wanted schedule those that come after them, some left out."""
    before = timeline_of(plan)
    left = [run for run in _after(plan.times[:done], wanted) if wanted.time(run) not in without]
    times = (*plan.times[:done], *(wanted.time(run) for run in left))
    weights = [*before.weights[:done], *(wanted.weight(run) for run in left)]
    due = {
        query: frozenset(run for run in before.due(query) if run <= done and query in plan.queries)
        | {done + number for number, run in enumerate(left, start=1) if run in wanted.due(query)}
        for query in queries
    }
    return _timeline(times, weights, due)


def _timeline(times: Sequence[str], weights: Sequence[float], due: dict[str, frozenset[int]]) -> Timeline:
    every = frozenset[int]().union(*due.values())
    differing = tuple((query, runs) for query, runs in due.items() if runs != every)
    return Timeline(tuple(times), tuple(weights), every, differing)


def _after(done: Sequence[str], wanted: Timeline) -> list[int]:
    """The runs of a schedule that come after those that are done: by their order, or by the clock."""
    if not done:
        return list(wanted.runs)
    if done[-1] in wanted.times:
        return list(range(wanted.times.index(done[-1]) + 2, wanted.last + 1))
    clock, now = [minutes(time) for time in wanted.times], minutes(done[-1])
    if now is None or None in clock:
        hint = "leave in the schedule what is done, or begin anew with `slackwater run --new-cycle`"
        raise UserError(f"the schedule no longer has {done[-1]}, which is done", hint=hint)
    return [run for run, then in enumerate(clock, start=1) if then is not None and then > now]


def dealt_out(expected: Sequence[Arrival], before: Timeline, after: Timeline, done: int) -> list[Arrival]:
    """What was expected at the runs of one timeline, over the runs of another that agrees with it on what is done.

    Rows come evenly between two times of the clock. Where times are only names, a run that is left out leaves what it
    would have read to the next, and a run that is new finds nothing.
    """
    places = _places(before, after, done)
    marks = [(places[before.time(done)] if done else 0.0, NOTHING)]
    for run in range(done + 1, before.last + 1):
        marks.append((places[before.time(run)], _sum(marks[-1][1], expected[run - 1])))
    dealt, reached = list(expected[:done]), NOTHING
    for time in after.times[done:]:
        upto = _upto(places[time], marks)
        dealt.append(_sum(upto, reached, -1.0))
        reached = upto
    return dealt


NOTHING = Arrival(0.0)


def _places(before: Timeline, after: Timeline, done: int) -> dict[str, float]:
    """Where each time lies: on the clock, or by its number."""
    clock = {time: minutes(time) for time in (*before.times, *after.times)}
    on_the_clock = {time: float(place) for time, place in clock.items() if place is not None}
    if len(on_the_clock) == len(clock):
        return on_the_clock
    places = {time: float(number) for number, time in enumerate(before.times, start=1)}
    last = float(done)
    for time in after.times[done:]:
        last = places.setdefault(time, last)
    return places


def _upto(place: float, marks: Sequence[tuple[float, Arrival]]) -> Arrival:
    """What has come by a place, where so much has by each of some."""
    for (start, before), (end, after) in pairwise(marks):
        if place <= end:
            share = max(0.0, (place - start) / (end - start)) if end > start else 1.0
            return _sum(before, _sum(after, before, -1.0), share)
    return marks[-1][1]


def _sum(one: Arrival, other: Arrival, times: float = 1.0) -> Arrival:
    return Arrival(
        one.inserts + times * other.inserts,
        one.updates + times * other.updates,
        one.deletes + times * other.deletes,
    )
