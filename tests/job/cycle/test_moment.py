"""All runs of a cycle are about one moment, whatever the clock says later."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import Arrival, Room

from slackwater.cli.main import main
from slackwater.errors import StateError
from slackwater.job.store.manifest import write_record

MORNING = datetime(2026, 3, 1, 10, tzinfo=UTC)

DUE = "SELECT sum(x) AS total FROM t WHERE ts < current_timestamp()"
TOTAL = (("total", "bigint"),)


def rows(*hours: float) -> list[dict[str, object]]:
    """A row each, worth one more than the one before, due so many hours after the cycle begins."""
    return [{"x": n, "ts": MORNING + timedelta(hours=hour)} for n, hour in enumerate(hours, start=1)]


ARRIVALS: Sequence[Arrival] = ({"t": rows(-3, -2, 3, 30)}, {"t": rows(-1, 5)}, {"t": rows(-4, -4)})
"""Due when the cycle begins: 1 and 2 of the first run, 1 of the second, 1 and 2 of the third."""

TIMES = {"10:00": "60%", "14:00": "20%", "24:00": "20%"}
SOURCES = {"t": {"expect": {"rows": 70_000_000, "arrives": TIMES}}}
BY_TEXT = "WITH RECURSIVE one(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM one WHERE i < 1) "


@pytest.mark.parametrize("moment", ["current_timestamp()", "now()", "CURRENT_TIMESTAMP", "TIMESTAMP 'now'"])
@pytest.mark.parametrize("by_text", ["", BY_TEXT])
def test_rows_that_become_due_between_runs_are_due_in_the_next_cycle(tmp_path: Path, moment: str, by_text: str) -> None:
    query = by_text + DUE.replace("current_timestamp()", moment)
    if moment == "TIMESTAMP 'now'":
        query = query.replace("ts <", "CAST(ts AS TIMESTAMP_LTZ) <").replace("TIMESTAMP 'now'", "TIMESTAMP_LTZ 'now'")
    room = Room(tmp_path / "room", query, ARRIVALS, sources=SOURCES)
    with without_spark(TOTAL) as (duck, session):
        for run, total in (1, 3), (2, 4), (3, 7):
            duck.clock = MORNING + timedelta(hours=7 * (run - 1))
            room.arrive(run)
            room.job(session).run()
            assert room.answer() == [(total,)]
        record = room.job(session).store.cycle(1).record()
        assert record.pinned["current_timestamp"] == "TIMESTAMP_LTZ '2026-03-01 10:00:00+00:00'"
        assert "2026-03-01 10:00:00+00:00" in room.job(session).work(3).program()
        room.job(session).run(new_cycle=True)
        assert room.answer() == [(12,)]  # all but the row that is due tomorrow


def test_the_user_and_the_day_in_the_select_list(tmp_path: Path) -> None:
    query = "SELECT current_user() AS who, current_date AS day, sum(x) AS total FROM t GROUP BY 1, 2"
    room = Room(tmp_path / "room", query, ARRIVALS, sources=SOURCES)
    with without_spark((("who", "string"), ("day", "date"), *TOTAL)) as (duck, session):
        for run in (1, 2, 3):
            duck.clock = MORNING + timedelta(days=run - 1)
            room.arrive(run)
            room.job(session).run()
        ((_, day, total),) = room.answer() or []
        assert (str(day), total) == ("2026-03-01", 16)


def test_a_text_delivers_the_names_that_it_has_without_values(tmp_path: Path) -> None:
    query = BY_TEXT + "SELECT current_date, sum(x) FROM t"
    room = Room(tmp_path / "room", query, ARRIVALS, sources=SOURCES)
    with without_spark((("current_date()", "date"), ("sum(x)", "bigint"))) as (_, session):
        room.arrive(1)
        (manifest,) = room.job(session).run()
        assert manifest.output is not None
        assert "VIEW query__v1 (`current_date()`, `sum(x)`) AS" in room.job(session).work(1).program()


def test_the_plan_before_a_cycle_is_of_now_and_that_of_a_cycle_of_its_moment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    room = Room(tmp_path / "room", DUE, ARRIVALS, sources=SOURCES)
    with without_spark(TOTAL) as (duck, session):
        room.arrive(1)
        duck.clock = MORNING - timedelta(hours=1)
        assert "09:00:00" in str(room.job(session).planned().queries[""])
        duck.clock = MORNING
        room.job(session).run()
        duck.clock = MORNING + timedelta(hours=1)
        assert "10:00:00" in str(room.job(session).planned().queries[""])
        assert main(["status", "--json", "--job", str(room.file)]) == 0
        assert json.loads(capsys.readouterr().out)["conditions"]["moment"] == "2026-03-01 10:00:00 UTC"
        assert main(["explain", "--sql", "--job", str(room.file)]) == 0
        shown = capsys.readouterr().out
        assert "as of 2026-03-01 10:00:00 UTC, when the cycle began" in shown
        assert "2026-03-01 10:00:00+00:00" in shown


def test_a_query_that_changed_keeps_the_moment_of_the_cycle(tmp_path: Path) -> None:
    room = Room(tmp_path / "room", DUE, ARRIVALS, sources=SOURCES)
    with without_spark(TOTAL) as (duck, session):
        room.arrive(1)
        room.job(session).run()
        duck.clock = MORNING + timedelta(hours=4)
        room.arrive(2)
        room.write(query=DUE.replace("sum(x)", "sum(x + 1)"))
        room.job(session).run(carry_over=True)
        assert room.answer() == [(7,)]


def test_a_query_that_asks_for_the_moment_later_has_one_from_then_on(tmp_path: Path) -> None:
    room = Room(tmp_path / "room", "SELECT sum(x) AS total FROM t", ARRIVALS, sources=SOURCES)
    with without_spark(TOTAL) as (duck, session):
        room.arrive(1)
        room.job(session).run()
        assert not room.job(session).store.cycle(1).record().pinned
        duck.clock = MORNING + timedelta(hours=4)
        room.arrive(2)
        room.write(query=DUE)
        room.job(session).run(carry_over=True)
        assert room.answer() == [(7,)]  # 1, 2 and 3 of the first run, 1 of the second
        duck.clock = MORNING + timedelta(hours=9)
        room.arrive(3)
        room.job(session).run()
        assert room.answer() == [(10,)]


def test_a_cycle_of_an_earlier_version_is_begun_again(tmp_path: Path) -> None:
    room = Room(tmp_path / "room", BY_TEXT + DUE, ARRIVALS, sources=SOURCES)
    with without_spark(TOTAL) as (_, session):
        room.arrive(1)
        job = room.job(session)
        job.run()
        cycle = job.store.cycle(1)
        write_record(cycle.directory / "cycle.json", cycle.record().model_copy(update={"pinned": {}}))
        room.arrive(2)
        with pytest.raises(StateError, match="no value of current_timestamp"):
            job.run()


def test_a_column_called_user_asks_for_no_moment(tmp_path: Path) -> None:
    arrivals: Sequence[Arrival] = ({"t": [{"x": 1, "user": "ann"}]}, {"t": [{"x": 2, "user": "ann"}]})
    room = Room(tmp_path / "room", "SELECT user, sum(x) AS total FROM t GROUP BY user", arrivals, sources=SOURCES)
    with without_spark((("user", "string"), *TOTAL)) as (_, session):
        for run in (1, 2):
            room.arrive(run)
            room.job(session).run()
        assert room.answer() == [("ann", 3)]
        assert not room.job(session).store.cycle(1).record().pinned
        assert room.job(session).conditions().moment is None
