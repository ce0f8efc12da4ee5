"""The files that runs are pinned to: checked before a run and once more before it is committed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.job.duck import without_spark
from tests.job.room import THREE_ARRIVALS, Heard, Room, expected
from tests.job.running.test_work import runs

from slackwater.errors import UserError
from slackwater.spark.session import Session


@pytest.fixture
def session() -> Iterator[Session]:
    with without_spark() as (_, spark):
        yield spark


@pytest.fixture
def room(tmp_path: Path, session: Session) -> Room:
    """A job after one run, its second arrival there."""
    job_room = Room(tmp_path / "room")
    runs(job_room, session, 1)
    job_room.arrive(2)
    return job_room


def swapped(path: Path) -> bytes:
    """Writes a file whose prices are in another order: its size, its times and the ranges of its columns are alike."""
    before, status = path.read_bytes(), path.stat()
    table = pq.ParquetFile(path).read()
    prices = table["price"].to_pylist()
    other = table.set_column(table.schema.get_field_index("price"), "price", pa.array(prices[::-1]))
    draft = path.with_name("_draft")
    pq.write_table(other, draft)
    os.utime(draft, ns=(status.st_atime_ns, status.st_mtime_ns))
    draft.rename(path)
    now = path.stat()
    assert (now.st_size, now.st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    return before


class Meddling(Heard):
    """Replaces an input once the first step of a run has begun."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.before = b""

    def step_begins(self, name: str) -> None:
        if not self.steps:
            self.before = swapped(self.path)
        super().step_begins(name)


@pytest.mark.parametrize("run", [1, 2])
def test_an_input_replaced_after_it_was_pinned_stops_the_run(room: Room, session: Session, run: int) -> None:
    path = room.directory / f"data/sales/part-{run}.parquet"
    meddling = Meddling(path)
    with pytest.raises(UserError, match="source `sales`: this file has been replaced by another of the same") as raised:
        room.job(session).run(progress=meddling)
    assert str(raised.value.place) == str(path)
    assert [manifest.run for manifest in room.job().history()] == [1]
    assert room.answer() == expected(THREE_ARRIVALS[:1])
    path.write_bytes(meddling.before)
    assert [manifest.run for manifest in room.job(session).run()] == [2]
    assert room.answer() == expected(THREE_ARRIVALS[:2])


def test_an_input_replaced_between_runs_is_noticed_though_size_and_time_are_alike(room: Room, session: Session) -> None:
    swapped(room.directory / "data/sales/part-1.parquet")
    with pytest.raises(UserError, match="has been replaced by another of the same size"):
        room.job(session).run()
    assert not list(room.state.glob("cycle-1/run-2.json"))
