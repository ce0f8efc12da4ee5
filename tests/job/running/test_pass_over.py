"""Jobs whose parts pass over runs: what arrived at several runs is read as one, of every kind of source."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.inputs.test_changelogs import QUERIES, Upserting, outcome
from tests.job.room import THREE_ARRIVALS, Room, expected
from tests.job.running.test_work import runs
from tests.job.upserted import UPSERTS, delivered, history

from slackwater.job.job import Job
from slackwater.time.source_names import wide_changes

DEAR_MIDDLE = {"weights": [0.1, 1000.0, 1.0], "deliver": "final", "pace": {"pass_over": True}}


def wide_reads(job: Job, table: str) -> list[range]:
    read = {name for step in job.plan().steps for name in step.reads()}
    return [runs for _, runs in wide_changes(table, read)]


def test_files_of_several_runs_are_read_at_once(tmp_path: Path) -> None:
    room = Room(tmp_path / "room", settings=DEAR_MIDDLE)
    with without_spark() as (_, session):
        runs(room, session, 1)
        assert [*wide_reads(room.job(session), "sales")] == [range(2, 4)]
        assert "from 14:00 to 24:00" in str(room.job(session).plan())
        (second,) = runs(room, session, 2)
        assert second.note == "nothing to do"
        runs(room, session, 3)
        assert room.answer() == expected(THREE_ARRIVALS)


def test_runs_that_brought_nothing(tmp_path: Path) -> None:
    arrivals = [THREE_ARRIVALS[0], {"sales": [], "returns": []}, {"sales": [], "returns": []}]
    room = Room(tmp_path / "room", arrivals=arrivals, settings=DEAR_MIDDLE)
    with without_spark() as (_, session):
        runs(room, session, 1, 2, 3)
        assert room.answer() == expected(arrivals)


@pytest.mark.parametrize("query", QUERIES)
def test_upserts_of_several_runs_are_read_at_once(tmp_path: Path, query: str) -> None:
    wide = 0
    for seed in range(3):
        dice = random.Random(f"{query} {seed}")
        room = Upserting.of(tmp_path / str(seed), query, delivered(dice, history(dice)), UPSERTS, **DEAR_MIDDLE)
        with without_spark(QUERIES[query][1]) as (duck, session):
            room.run(session, 1)
            wide += len(wide_reads(room.job(session), "orders"))
            room.run(session, 2, 3)
            assert room.answer() == room.expected(3) == outcome(room, duck)
    assert wide, "or it shows nothing"
