"""Rows that have always arrived together: plans rely on it, every run checks it, and a day without it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.job.counted import counting_exactly
from tests.job.duck import without_spark
from tests.job.room import Heard, Room, Rows

from slackwater.catalog.statistics import Arrival
from slackwater.cli.main import main
from slackwater.errors import PromiseError
from slackwater.job.cycle import cycle_planner
from slackwater.job.cycle.cycles import Cycles
from slackwater.job.cycle.replan import Proposal
from slackwater.job.job import Job
from slackwater.job.learning import assumptions, statistics_collector
from slackwater.job.store.manifest import CHECK, Manifest
from slackwater.plan.planner import plan_queries
from slackwater.spark.session import Session

QUERY = "SELECT day, sum(price * day) AS total FROM orders JOIN lines ON lines.o_id = orders.id GROUP BY day"
OUTER = """SELECT day, sum(coalesce(price, 0) * day) AS total
FROM orders LEFT JOIN lines ON lines.o_id = orders.id GROUP BY day"""
OUTPUTS = [("day", "bigint"), ("total", "bigint")]
EXPECT = {"arrives": {"10:00": "60%", "14:00": "20%", "24:00": "20%"}}
CHECKED = "check_lines_with_orders_"


def orders(first: int, last: int) -> Rows:
    return [{"id": n, "day": n % 3 + 1} for n in range(first, last)]


def lines(first: int, last: int) -> Rows:
    return [{"o_id": n, "price": n % 5} for n in range(first, last) for _ in range(2)]


class Days:
    """A job that runs day after day; what has arrived is remembered."""

    def __init__(self, directory: Path, session: Session, query: str = QUERY, **settings: object) -> None:
        sources: dict[str, dict[str, object]] = {
            "orders": {"key": "id", "expect": {"rows": 30_000_000, **EXPECT}},
            "lines": {"expect": {"rows": 90_000_000, **EXPECT}},
        }
        arrivals = ({"orders": orders(0, 1), "lines": lines(0, 1)},)
        self.room = Room(directory / "room", query, arrivals, sources=sources, settings=settings)
        self.session, self.files, self.heard = session, 0, Heard()
        self.came: dict[str, list[dict[str, object]]] = {"orders": [], "lines": []}

    @property
    def job(self) -> Job:
        return self.room.job(self.session)

    def bring(self, more_orders: Rows, more_lines: Rows) -> None:
        self.files += 1
        for name, rows in (("orders", more_orders), ("lines", more_lines)):
            self.came[name] += map(dict, rows)
            if rows:
                self.room.bring(name, f"part-{self.files}.parquet", rows)

    def run(self, *, new_cycle: bool = False) -> Manifest:
        """The next run, whose answer is the batch answer."""
        (manifest,) = self.job.run(new_cycle=new_cycle, progress=self.heard)
        by_id = {row["id"]: int(str(row["day"])) for row in self.came["orders"]}
        expected = dict.fromkeys(by_id.values(), 0) if "LEFT" in self.room.query else {}
        for row in self.came["lines"]:
            if (day := by_id.get(row["o_id"])) is not None:
                expected[day] = expected.get(day, 0) + int(str(row["price"])) * day
        assert self.room.answer() == sorted(expected.items())
        return manifest

    def day(self, first: int) -> list[Manifest]:
        """60, 20 and 20 orders, each with its lines."""
        done: list[Manifest] = []
        for run, (start, end) in enumerate(((first, first + 60), (first + 60, first + 80), (first + 80, first + 100))):
            self.bring(orders(start, end), lines(start, end))
            done.append(self.run(new_cycle=run == 0))
        return done


@contextmanager
def days_of(directory: Path, query: str = QUERY, **settings: object) -> Iterator[Days]:
    with without_spark(OUTPUTS) as (_, session), counting_exactly():
        yield Days(directory, session, query, **settings)


def checks(manifest: Manifest) -> list[str]:
    return [step.name for step in manifest.steps if step.purpose == CHECK and "with" in step.name]


def test_the_second_day_is_planned_as_if_it_were_promised(tmp_path: Path) -> None:
    with days_of(tmp_path) as days:
        first = days.day(0)
        assert not any(map(checks, first))
        assert "delta_of_join_of_arrivals" not in days.job.plan().rules
        second = days.day(100)
        assert [checks(manifest) for manifest in second] == [[f"{CHECKED}{run}"] for run in (1, 2, 3)]
        assert "delta_of_join_of_arrivals" in days.job.plan().rules
        (line,) = (line for line in days.job.promised().lines() if "assumed" in line)
        assert line == ("source `lines`: with orders (o_id) assumed, as in all 4 arrivals so far; checked at each run")


def test_what_the_day_before_relied_on_is_not_compared_again(tmp_path: Path) -> None:
    with days_of(tmp_path) as days, patch.object(cycle_planner, "plan_queries", wraps=plan_queries) as planned:
        made: list[int] = []
        for first in (0, 100, 200):
            planned.reset_mock()
            days.day(first)
            made.append(planned.call_count)
        assert made == [1, 2, 1]  # without it; with and without it; with it
        assert "delta_of_join_of_arrivals" in days.job.plan().rules


@contextmanager
def learning_from_few_rows() -> Iterator[None]:
    """As if arrivals were large: they are counted at the second run, and a plan that relies on more is cheaper."""
    with (
        patch.object(statistics_collector, "WORTH_COUNTING", 10.0),
        patch.object(cycle_planner, "price_of_checks", return_value=-1e9),
        patch.object(Proposal, "pays", True),
    ):
        yield


def test_the_rest_of_the_first_day_is_planned_so_too(tmp_path: Path) -> None:
    with days_of(tmp_path, replan=3) as days, learning_from_few_rows():
        manifests = []
        for run, (start, end) in enumerate(((0, 60), (60, 120), (120, 140)), start=1):
            days.bring(orders(start, end), lines(start, end))
            manifests.append(days.run(new_cycle=run == 1))
        first, second, third = manifests
        assert not checks(first)
        assert sorted(checks(second)) == [f"{CHECKED}1", f"{CHECKED}2"]  # the run before was without
        assert checks(third) == [f"{CHECKED}3"]
        (line,) = (line for line in days.job.promised().lines() if "assumed" in line)
        assert line == "source `lines`: with orders (o_id) assumed, as in all 2 arrivals so far; checked at each run"


@pytest.mark.parametrize("late", [1, 2, 3])
def test_what_the_first_day_has_assumed_wrongly_is_given_up(tmp_path: Path, late: int) -> None:
    """Samples may not show an exception; the check does, also one of the run that was done without it."""
    exceptions = lines(0, 2) if late == 3 else lines(90, 92)
    with days_of(tmp_path, replan=3) as days, learning_from_few_rows():
        for run, (start, end) in enumerate(((0, 60), (60, 80), (80, 100)), start=1):
            days.bring(orders(start, end), [*lines(start, end), *(exceptions if run == late else ())])
            with patch.object(assumptions, "_kept_in", return_value=run if run > 1 else 0):
                days.run(new_cycle=run == 1)
        cycle = days.job.store.current()
        assert cycle is not None
        (record,) = cycle.record().assumed
        assert record.broken == max(late, 2)


def test_who_wants_nothing_assumed_says_so(tmp_path: Path) -> None:
    with days_of(tmp_path, assume="nothing") as days:
        days.day(0)
        assert not any(map(checks, days.day(100)))
        assert "delta_of_join_of_arrivals" not in days.job.plan().rules


@pytest.mark.parametrize(
    "more,why",
    [
        ([{"o_id": 3, "price": 1}], "a line of an old order"),
        ([{"o_id": None, "price": 1}], "a line of none"),
        ([{"o_id": 10_000, "price": 1}], "a line whose order is not there"),
    ],
)
def test_one_exception_and_nothing_is_assumed(tmp_path: Path, more: Rows, why: str) -> None:
    with days_of(tmp_path) as days:
        days.day(0)
        days.bring(orders(100, 160), [*lines(100, 160), *more])
        days.run(new_cycle=True)
        assert not days.job.store.cycles()[-1].record().assumed, why


@pytest.mark.parametrize("query", [QUERY, OUTER], ids=["inner", "outer"])
@pytest.mark.parametrize("run", [2, 3])
def test_a_day_that_is_different_goes_on_without_it(tmp_path: Path, query: str, run: int) -> None:
    """An old line of a new order as well as a new line of an old one: the answer is right, and the day is told of."""
    with days_of(tmp_path, query) as days:
        days.day(0)
        days.bring(orders(100, 160), lines(100, 160))
        days.run(new_cycle=True)
        if run == 3:
            days.bring(orders(160, 180), lines(160, 180))
            days.run()
        days.bring(orders(200, 210), [*lines(200, 210), {"o_id": 3, "price": 7}, {"o_id": 101, "price": 9}])
        manifest = days.run()
        assert manifest.run == run
        assert checks(manifest) == []
        reason = "no longer assumed: lines: with orders (o_id): o_id="
        assert any(note.startswith(reason) for note in days.heard.notes)
        cycle = days.job.store.cycles()[-1]
        (assumed,) = cycle.record().assumed
        assert assumed.broken == run
        assert cycle.record().revisions[-1].reasons[0].startswith(reason)
        if run == 2:
            days.bring(orders(211, 220), [{"o_id": 205, "price": 1}, *lines(212, 220)])
            assert checks(days.run()) == []
        assert f"was assumed, and did not hold at run {run}" in "\n".join(days.job.promised().lines())
        assert not any(map(checks, days.day(300)))  # and no later day relies on it


def test_even_the_first_run_of_a_day(tmp_path: Path) -> None:
    """A sample may have missed what the check finds."""
    with days_of(tmp_path) as days:
        days.day(0)
        days.bring(orders(100, 160), lines(100, 160))
        with patch("slackwater.job.learning.assumptions._kept_in", return_value=3):
            days.bring([], [{"o_id": 10_000, "price": 1}])
            manifest = days.run(new_cycle=True)
        assert checks(manifest) == []
        days.bring(orders(160, 180), lines(160, 180))
        days.run()


def test_states_of_runs_before_are_used_further(tmp_path: Path) -> None:
    """As if they were of many rows."""
    large = patch("slackwater.job.cycle.situation.arrival_of", lambda *_: Arrival(3e7))
    with days_of(tmp_path) as days, large:
        days.day(0)
        days.bring(orders(100, 160), lines(100, 160))
        saved = days.run(new_cycle=True).states
        days.bring(orders(200, 210), [*lines(200, 210), {"o_id": 3, "price": 7}])
        days.run()
        plan = days.job.plan()
        read = {name for step in plan.steps if step.run > 1 for name in step.reads()}
        assert saved.keys() & read


def test_a_crash_before_the_new_plan_is_in_force_only_means_doing_it_again(tmp_path: Path) -> None:
    with days_of(tmp_path) as days:
        days.day(0)
        days.bring(orders(100, 160), lines(100, 160))
        days.run(new_cycle=True)
        days.bring(orders(200, 210), [*lines(200, 210), {"o_id": 3, "price": 7}])
        with patch.object(Cycles, "give_up", side_effect=RuntimeError), pytest.raises(RuntimeError):
            days.job.run()
        with (
            patch("slackwater.job.store.cycle_directory.Cycle.revise", side_effect=RuntimeError),
            pytest.raises(RuntimeError),
        ):
            days.job.run()
        (assumed,) = days.job.store.cycles()[-1].record().assumed
        assert assumed.broken is None
        days.run()
        assert days.job.store.cycles()[-1].record().assumed[0].broken == 2


def test_a_promise_is_a_promise(tmp_path: Path) -> None:
    """What the job file says is not learned, and breaking it stops the run."""
    with days_of(tmp_path) as days:
        days.day(0)
        sources = {name: dict(entry) for name, entry in days.room.sources.items()}
        sources["lines"]["with"] = {"orders": ["o_id"]}
        days.room.sources = sources
        days.room.write()
        days.bring(orders(100, 160), lines(100, 160))
        days.run(new_cycle=True)
        assert days.job.store.cycles()[-1].record().assumed == ()
        days.bring(orders(200, 210), [*lines(200, 210), {"o_id": 3, "price": 7}])
        with pytest.raises(PromiseError):
            days.job.run()


def test_plan_says_what_is_assumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with days_of(tmp_path) as days:
        days.day(0)
        days.day(100)
        assert main(["explain", "--job", str(days.room.file)]) == 0
    assert "with orders (o_id) assumed, as in all 4 arrivals so far; checked at each run" in capsys.readouterr().out
