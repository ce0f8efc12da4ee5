"""Pinned files that were replaced: taken as they are now, and what stood on them computed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.job.duck import without_spark
from tests.job.room import THREE_ARRIVALS, Arrival, Room, expected
from tests.job.running.test_work import runs

from slackwater.errors import UserError
from slackwater.job.inputs import repin
from slackwater.job.store.cycle_directory import Cycle
from slackwater.spark.session import Session

OTHER: Mapping[int, Arrival] = {
    1: {**THREE_ARRIVALS[0], "sales": [{"o_id": 1, "cat": "q", "price": 77}]},
    2: {**THREE_ARRIVALS[1], "sales": [{"o_id": 8, "cat": "q", "price": 11}, {"o_id": 9, "cat": "r", "price": 13}]},
}


@pytest.fixture
def session() -> Iterator[Session]:
    with without_spark() as (_, spark):
        yield spark


@pytest.fixture
def room(tmp_path: Path, session: Session) -> Room:
    """A job after all its runs."""
    job_room = Room(tmp_path / "room")
    runs(job_room, session, 1, 2, 3)
    return job_room


def file_of(room: Room, run: int) -> Path:
    return room.directory / f"data/sales/part-{run}.parquet"


def replace(room: Room, run: int) -> Path:
    """Brings other sales in place of those of a run."""
    path = file_of(room, run)
    path.unlink()
    return room.bring("sales", path.name, OTHER[run]["sales"])


def answer_with(*replaced: int) -> list[tuple[object, ...]]:
    arrivals = dict(enumerate(THREE_ARRIVALS, start=1))
    return expected(list({**arrivals, **{run: OTHER[run] for run in replaced}}.values()))


def cycle_of(room: Room) -> Cycle:
    cycle = room.job().store.current()
    assert cycle is not None
    return cycle


def done(room: Room) -> list[int]:
    return [manifest.run for manifest in room.job().history()]


def test_a_replaced_file_is_pinned_and_the_runs_that_stood_on_it_are_done_again(room: Room, session: Session) -> None:
    path = replace(room, 2)
    with pytest.raises(UserError, match="since a run was pinned to it") as raised:
        room.job(session).verify()
    assert "slackwater repin" in str(raised.value.hint)
    repinned = room.job().repin()
    assert [(each.source.name, each.path, each.run) for each in repinned.files] == [("sales", path, 2)]
    assert repinned.runs == {2: "14:00", 3: "24:00"}
    assert done(room) == [1]
    assert [path.name for path in sorted(cycle_of(room).directory.glob("*.replaced-*"))] == [
        "run-2.replaced-1.json",
        "run-3.replaced-1.json",
    ]
    assert [manifest.run for manifest in room.job(session).run(all=True)] == [2, 3]
    assert room.answer() == answer_with(2)
    assert room.job().repin().files == ()
    room.job().clean()
    assert room.answer() == answer_with(2)


def test_several_files_and_twice(room: Room, session: Session) -> None:
    replace(room, 2)
    replace(room, 1)
    assert room.job().repin(source="sales").runs.keys() == {1, 2, 3}
    room.job(session).run(all=True)
    assert room.answer() == answer_with(1, 2)
    file_of(room, 1).unlink()
    room.arrive(1)
    assert room.job().repin([file_of(room, 1)]).runs.keys() == {1, 2, 3}
    room.job(session).run(all=True)
    assert room.answer() == answer_with(2)


def test_a_dry_run_changes_nothing(room: Room) -> None:
    replace(room, 2)
    before = {path: path.read_bytes() for path in cycle_of(room).directory.glob("*.json")}
    repinned = room.job().repin(dry_run=True)
    assert len(repinned.files) == 1
    assert repinned.runs.keys() == {2, 3}
    assert {path: path.read_bytes() for path in cycle_of(room).directory.glob("*.json")} == before


def test_a_run_that_is_pinned_and_not_committed(tmp_path: Path, session: Session) -> None:
    room = Room(tmp_path / "room")
    runs(room, session, 1)
    room.arrive(2)
    with (
        patch("slackwater.job.running.execution.execute", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        room.job(session).run()
    replace(room, 2)
    repinned = room.job().repin()
    assert ([each.run for each in repinned.files], repinned.runs) == ([2], {})
    room.job(session).run()
    room.arrive(3)
    room.job(session).run()
    assert room.answer() == answer_with(2)


def test_only_what_was_replaced_can_be_named(room: Room) -> None:
    replace(room, 2)
    with pytest.raises(UserError, match="this file has not changed since run 1 was pinned to it"):
        room.job().repin([file_of(room, 1)])
    with pytest.raises(UserError, match="no run of this cycle is pinned to this file"):
        room.job().repin([room.file])
    with pytest.raises(UserError, match="no source slaes") as raised:
        room.job().repin(source="slaes")
    assert "sales" in str(raised.value.hint)
    assert room.job().repin(source="returns").files == ()
    assert done(room) == [1, 2, 3]


def test_what_cannot_be_read_is_not_pinned(room: Room) -> None:
    file_of(room, 2).write_text("mended badly", encoding="utf-8")
    with pytest.raises(UserError, match="this is no parquet file"):
        room.job().repin()
    file_of(room, 2).unlink()
    room.bring("sales", "part-2.parquet", [{"o_id": 8, "cat": "q"}])
    with pytest.raises(UserError, match="it has no column `price`"):
        room.job().repin()
    assert done(room) == [1, 2, 3]


def test_a_file_that_has_vanished_must_be_forgotten_by_name(room: Room, session: Session) -> None:
    path = file_of(room, 2)
    path.unlink()
    with pytest.raises(UserError, match="this file has vanished") as raised:
        room.job().repin()
    assert "--forget" in str(raised.value.hint)
    replace(room, 1)
    with pytest.raises(UserError, match="this file is still there"):
        room.job().repin(forget=[file_of(room, 1)])
    assert done(room) == [1, 2, 3]
    assert room.job().repin(forget=[path]).runs.keys() == {2, 3}
    assert room.job().repin().runs.keys() == {1}
    room.job(session).run(all=True)
    arrivals = [OTHER[1], {"returns": THREE_ARRIVALS[1]["returns"]}, THREE_ARRIVALS[2]]
    assert room.answer() == expected(arrivals)


def test_pins_that_only_manifests_have_are_kept(room: Room, session: Session) -> None:
    replace(room, 2)
    for run in (2, 3):
        cycle_of(room).pins_file(run).unlink()
    room.job().repin()
    room.job(session).run(all=True)
    assert room.answer() == answer_with(2)


class Dying:
    """Lets a process die after so many writes."""

    def __init__(self, left: int) -> None:
        self.left = left

    def after(self, write: Callable[..., None]) -> Callable[..., None]:
        def writing(*given: object) -> None:
            write(*given)
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

        return writing


@pytest.mark.parametrize("fatal", [1, 2, 4, 5, 6])
def test_a_crash_leaves_what_no_run_goes_on_from(room: Room, session: Session, fatal: int) -> None:
    """After a write: kept pins (1), manifests set aside (2 to 4), new pins (5, 6)."""
    cycle_of(room).pins_file(3).unlink()
    replace(room, 2)
    replace(room, 1)
    dying = Dying(fatal)
    with (
        patch.object(Cycle, "write_pins", dying.after(Cycle.write_pins)),
        patch.object(repin, "_set_aside", dying.after(repin._set_aside)),
        pytest.raises(KeyboardInterrupt),
    ):
        room.job().repin()
    left = room.job().repin(dry_run=True)
    assert len(left.files) == (2 if fatal < 5 else 6 - fatal)
    if left.files:
        with suppress(UserError):
            assert room.job(session).run(all=True) == []
        room.job().repin()
    room.job(session).run(all=True)
    assert room.answer() == answer_with(1, 2)
