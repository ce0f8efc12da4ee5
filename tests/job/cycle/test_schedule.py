"""The schedule of a day that is under way: what is done stays, and what was expected is dealt out over the rest."""

from __future__ import annotations

import pytest

from slackwater.algebra.relation import Scan
from slackwater.algebra.schema import Column, ColumnId, Field, TableSchema
from slackwater.algebra.types import BIGINT
from slackwater.catalog.statistics import Arrival
from slackwater.errors import UserError
from slackwater.job.cycle.schedule import dealt_out, rescheduled, timeline_of
from slackwater.job.cycle.surprise import off, surprising_arrivals
from slackwater.plan.plan import Plan, Purpose, Step
from slackwater.time.timeline import Timeline

DAY = Timeline.of(("10:00", "14:00", "24:00"), (0.1, 0.2, 1.0), "every")
EXPECTED = [Arrival(600.0), Arrival(200.0, 20.0, 10.0), Arrival(100.0)]


def plan_of(times: tuple[str, ...], weights: tuple[float, ...], *delivering: int) -> Plan:
    scan = Scan(TableSchema("t", (Field("a", BIGINT),)), (Column(ColumnId("t.a"), "a", BIGINT),))
    steps = tuple(Step(run, f"output_{run}", Purpose.OUTPUT, scan, "", (), 0.0, 0.0) for run in delivering)
    nothing = (0.0,) * len(times)
    return Plan(times, steps, nothing, nothing, "weighted sum", 0.0, 0.0, (), (), weights)


def inserts(after: Timeline, done: int, expected: list[Arrival] = EXPECTED) -> list[float]:
    return [round(arrival.inserts, 6) for arrival in dealt_out(expected, DAY, after, done)]


@pytest.mark.parametrize("done", [0, 1, 2])
def test_the_same_runs_bring_the_same(done: int) -> None:
    arrivals = dealt_out(EXPECTED, DAY, DAY, done)
    assert [(round(a.inserts, 6), round(a.updates, 6), round(a.deletes, 6)) for a in arrivals] == [
        (600.0, 0.0, 0.0),
        (200.0, 20.0, 10.0),
        (100.0, 0.0, 0.0),
    ]


def test_rows_of_a_run_that_is_left_out_wait_for_the_next() -> None:
    assert inserts(Timeline.of(("10:00", "24:00")), 1) == [600.0, 300.0]


def test_a_run_that_is_added_takes_its_share_by_the_clock() -> None:
    assert inserts(Timeline.of(("10:00", "14:00", "19:00", "24:00")), 1) == [600.0, 200.0, 50.0, 50.0]
    assert inserts(Timeline.of(("10:00", "12:00", "24:00")), 1) == [600.0, 100.0, 200.0]


def test_where_times_are_only_names_a_new_run_finds_nothing() -> None:
    before = Timeline.of(("dawn", "noon", "dusk"))
    arrivals = dealt_out(EXPECTED, before, Timeline.of(("dawn", "brunch", "noon", "dusk")), 1)
    assert [arrival.inserts for arrival in arrivals] == [600.0, 0.0, 200.0, 100.0]
    assert [a.inserts for a in dealt_out(EXPECTED, before, Timeline.of(("dawn", "dusk")), 1)] == [600.0, 300.0]


def test_what_is_done_stays_and_the_rest_is_as_it_is_wanted() -> None:
    plan = plan_of(("10:00", "14:00", "24:00"), (0.1, 0.2, 1.0), 1, 2, 3)
    wanted = Timeline.of(("10:00", "16:00", "20:00", "24:00"), (0.5, 0.6, 0.7, 2.0), "final")
    timeline = rescheduled(plan, 1, wanted, ("",))
    assert timeline.times == ("10:00", "16:00", "20:00", "24:00")
    assert timeline.weights == (0.1, 0.6, 0.7, 2.0)
    assert timeline.deliver == {1, 4}
    assert rescheduled(plan, 1, wanted, ("",), {"16:00", "20:00"}).times == ("10:00", "24:00")
    assert rescheduled(plan, 1, timeline_of(plan), ("",), {"14:00"}).times == ("10:00", "24:00")
    assert rescheduled(plan, 0, wanted, ("",)) == wanted


def test_by_the_clock_a_schedule_need_not_have_what_is_done() -> None:
    plan = plan_of(("10:00", "14:00"), (0.1, 1.0), 2)
    assert rescheduled(plan, 1, Timeline.of(("09:00", "11:00", "24:00")), ("",)).times == ("10:00", "11:00", "24:00")
    with pytest.raises(UserError, match="no longer has 10:00, which is done"):
        rescheduled(plan, 1, Timeline.of(("dawn", "dusk")), ("",))


def test_a_few_rows_more_or_less_are_no_surprise() -> None:
    assert off(0.0, 900.0) < 2.0
    assert off(900.0, 0.0) < 2.0
    assert off(100_000.0, 10_000.0) > 9.0
    assert off(10_000.0, 100_000.0) > 9.0


def test_surprises_in_words() -> None:
    expected = {"much": Arrival(10_000.0), "none": Arrival(10_000.0), "new": Arrival(0.0), "fine": Arrival(10_000.0)}
    arrivals = {"much": Arrival(102_000.0), "none": Arrival(0.0), "new": Arrival(9_000.0), "fine": Arrival(12_000.0)}
    assert list(surprising_arrivals(expected, arrivals, "19:00", 3.0)) == [
        "much brought 10.2× what was expected at 19:00: 102,000 rows, not 10,000",
        "none brought nothing at 19:00; 10,000 rows were expected",
        "new brought 9,000 rows at 19:00; none were expected",
    ]
