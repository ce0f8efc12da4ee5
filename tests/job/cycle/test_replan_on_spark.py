"""A day that goes wrong, on Spark: the rest is planned anew, over states that Spark has written, and verified."""

from __future__ import annotations

from pathlib import Path

from tests.job.cycle.test_replan import day
from tests.job.room import Heard, Room, expected

from slackwater.spark.session import Session

TIMES = ("10:00", "14:00", "19:00", "24:00")


def test_a_day_that_goes_wrong_is_planned_anew_and_verified(tmp_path: Path, spark: Session) -> None:
    """At 14:00 ten times as many sales as expected, and no returns; 19:00 is missed."""
    arrivals = day(sales=(6_000, 20_000, 4_000), returns=(6_000, 0, 4_000))
    arrives = dict(zip(TIMES, ("60%", "20%", "10%", "10%"), strict=True))
    room = Room(
        tmp_path,
        arrivals=arrivals,
        settings={"replan": 2.5, "schedule": list(TIMES), "weights": [0.01, 0.02, 0.5, 1]},
        sources={name: {"expect": {"rows": 10_000, "arrives": arrives}} for name in ("sales", "returns")},
    )
    heard = Heard()
    room.arrive(1)
    (first,) = room.job(spark).run(progress=heard)
    assert not heard.notes
    room.arrive(2)
    (second,) = room.job(spark).run(progress=heard)
    assert "sales brought 10× what was expected at 14:00: 20,000 rows, not 2,000" in heard.notes
    assert "returns brought nothing at 14:00; 2,000 rows were expected" in heard.notes
    assert {**first.states, **second.states}
    assert room.answer() == expected(arrivals[:2])
    assert room.job(spark).verify().equal
    room.arrive(3)
    (last,) = room.job(spark).run("24:00", skip_missed=True, progress=heard)
    assert "19:00 is left out" in heard.notes
    assert (last.run, last.time, last.revision) == (3, "24:00", second.revision + 1)
    assert room.answer() == expected(arrivals)
    assert room.job(spark).verify().equal
