"""One query that fails: the others are delivered, the error names it, and a later call makes up for it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.job.duck import Duck, without_spark
from tests.job.room import LARGE, SALES_AND_RETURNS, THREE_ARRIVALS, Heard, Room, Row, expected, several
from tests.job.running.test_work import runs

from slackwater.errors import RunError
from slackwater.job.job import Job
from slackwater.job.running.failures import QueryFailed
from slackwater.spark.session import Session

HUGE = 5 * 10**18
PRODUCTS = f"SELECT cat, max(code * {HUGE}) AS gross, count(*) AS n FROM codes GROUP BY cat"
"""It fails where a code is 2 or more: the product is no BIGINT."""


@pytest.fixture
def session() -> Iterator[Session]:
    with without_spark() as (_, spark):
        yield spark


def a_room(tmp_path: Path, *codes: int, **settings: object) -> Room:
    """A job of two queries; the second reads these codes, one at each run."""
    bringing = zip(THREE_ARRIVALS, codes, strict=True)
    arrivals = [{**sales, "codes": [{"cat": "a", "code": code}]} for sales, code in bringing]
    queries = several(gross=SALES_AND_RETURNS, products=PRODUCTS)
    expect = {"rows": 70_000_000, "arrives": {"10:00": 40_000_000, "14:00": 20_000_000, "24:00": 10_000_000}}
    sources = {**LARGE, "codes": {"expect": {**expect, "distinct": {"cat": 12}}}}
    return Room(tmp_path / "room", arrivals=arrivals, settings={**queries, **settings}, sources=sources)


def fails(room: Room, session: Session, run: int, heard: Heard | None = None) -> QueryFailed:
    room.arrive(run)
    with pytest.raises(QueryFailed) as raised:
        room.job(session).run(progress=heard)
    return raised.value


def products(runs: int) -> list[Row]:
    return [("a", HUGE, runs)]


def test_the_others_are_delivered_and_the_error_names_the_one(tmp_path: Path, session: Session) -> None:
    room, heard = a_room(tmp_path, 1, 2, 1), Heard()
    runs(room, session, 1)
    error = fails(room, session, 2, heard)
    assert error.message.startswith("the answer of products failed at 14:00: step `")
    assert "Overflow" in error.message
    assert "the run goes on without it; it holds up products" in "\n".join(heard.notes)
    assert room.answer("gross") == expected(THREE_ARRIVALS[:2])
    assert room.answer("products") == products(1), "the answer before stays"
    first, second = room.job().history()
    assert (list(second.answers), list(second.failed)) == (["gross"], ["products"])
    assert second.note == "failed: products"
    assert not first.failed


def test_it_is_tried_again_and_does_not_keep_the_others_from_going_on(tmp_path: Path, session: Session) -> None:
    room = a_room(tmp_path, 1, 2, 1)
    runs(room, session, 1)
    fails(room, session, 2)
    error = fails(room, session, 3)
    assert [line.split(":")[0] for line in error.message.splitlines()] == [
        "the answer of products failed at 14",
        "the answer of products failed at 24",
    ]
    assert room.answer("gross") == expected(THREE_ARRIVALS)
    assert room.answer("products") == products(1)
    assert [list(manifest.failed) for manifest in room.job().history()] == [[], ["products"], ["products"]]


class Passing:
    """A failure that passes: the first steps of one query fail, as where a machine is lost."""

    def __init__(self, duck: Duck, times: int) -> None:
        self.duck, self.left, self.execute = duck, times, duck.execute

    def __call__(self, statement: str) -> None:
        if "INSERT" in statement and ("products" in statement or "codes" in statement) and self.left:
            self.left -= 1
            raise OSError("the executor was lost")
        self.execute(statement)


@pytest.mark.parametrize("refresh", ["incremental", "full"])
def test_what_is_owed_is_delivered_later(tmp_path: Path, refresh: str) -> None:
    """By the query's text over the inputs of that run, whatever has arrived since."""
    with without_spark() as (duck, session):
        room = a_room(tmp_path, 1, 1, 1, refresh=refresh)
        with patch.object(duck, "execute", Passing(duck, 1)):
            fails(room, session, 1)
        assert room.answer("products") is None
        room.arrive(2)
        heard = Heard()
        late, second = room.job(session).run(progress=heard)
        assert "10:00: products failed, and is now computed from its text" in heard.notes
        assert (late.run, list(late.answers), late.failed) == (1, ["gross", "products"], {})
        assert (second.run, list(second.answers)) == (2, ["gross", "products"])
        assert room.answer("products") == products(2)
        assert room.answer("gross") == expected(THREE_ARRIVALS[:2])
        room.job(session).clean()
        assert room.job(session).clean(dry_run=True).paths == ()
        assert (room.answer("products"), room.answer("gross")) == (products(2), expected(THREE_ARRIVALS[:2]))


def test_the_last_run_of_a_cycle_is_made_up_for(tmp_path: Path) -> None:
    with without_spark() as (duck, session):
        room = a_room(tmp_path, 1, 1, 1)
        runs(room, session, 1, 2)
        with patch.object(duck, "execute", Passing(duck, 1)):
            fails(room, session, 3)
        (late,) = room.job(session).run()
        assert (late.run, late.failed) == (3, {})
        assert room.answer("products") == products(3)


def test_a_state_that_failed_early_is_computed_again(tmp_path: Path) -> None:
    """Where nothing is delivered, nothing is owed; the run that needs the state makes it from its inputs."""
    with without_spark() as (duck, session):
        room = a_room(tmp_path, 1, 1, 1, deliver="final")
        runs(room, session, 1)
        room.arrive(2)
        reads = {name for step in room.job(session).plan().run(2) for name in step.reads()}
        assert any(name.startswith("codes") for name in reads), "or nothing can fail"
        with patch.object(duck, "execute", Passing(duck, 1)):
            fails(room, session, 2)
        second = list(room.job().history())[1]
        assert (second.note, list(second.failed), second.answers) == ("failed: products", ["products"], {})
        heard = Heard()
        room.arrive(3)
        room.job(session).run(progress=heard)
        assert not any("from its text" in note for note in heard.notes)
        assert room.answer("products") == products(3)
        assert room.answer("gross") == expected(THREE_ARRIVALS)


def test_where_all_fail_nothing_is_committed(tmp_path: Path) -> None:
    with without_spark() as (_, session):
        room = a_room(tmp_path, 2, 1, 1)
        room.write(**several(products=PRODUCTS, more=PRODUCTS.replace("max", "min")))
        room.arrive(1)
        with pytest.raises(RunError, match="Overflow"):
            room.job(session).run()
        assert list(room.job().history()) == []
        assert not list(room.state.glob("cycle-*/data/*"))


def test_the_only_query_fails_as_ever(tmp_path: Path, session: Session) -> None:
    room = Room(tmp_path / "room", arrivals=a_room(tmp_path, 2, 1, 1).arrivals)
    room.write(query=PRODUCTS)
    room.arrive(1)
    with pytest.raises(RunError, match="Overflow"):
        room.job(session).run()
    assert list(Job(room.config()).history()) == []


def test_by_the_clock_the_last_run_of_yesterday_is_made_up_for(tmp_path: Path) -> None:
    """The cycle is complete, but owes an answer: the next call delivers it, and then begins the new day."""
    with without_spark() as (duck, session):
        room = a_room(tmp_path, 1, 1, 1)
        room.arrive(1)

        def at(moment: str) -> Job:
            return room.job(session, lambda: datetime.fromisoformat(moment).replace(tzinfo=UTC))

        assert len(at("2026-11-16 15:00").run()) == 2
        room.arrive(2)
        with patch.object(duck, "execute", Passing(duck, 1)), pytest.raises(QueryFailed):
            at("2026-11-17 00:05").run()
        room.arrive(3)
        late, first = at("2026-11-17 10:05").run()
        assert (late.cycle, late.run, late.failed, list(late.answers)) == (1, 3, {}, ["gross", "products"])
        assert (first.cycle, first.run, list(first.answers)) == (2, 1, ["gross", "products"])
        assert at("2026-11-17 10:15").run() == []
        assert room.answer("products") == products(3)
