"""Directories of a job that are one by a link are found out, and nothing is read, removed or written there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import THREE_ARRIVALS, Room, expected

from slackwater.errors import UserError


@pytest.fixture
def room(tmp_path: Path) -> Room:
    job_room = Room(tmp_path / "room")
    job_room.arrive(1)
    return job_room


def refused(room: Room) -> str:
    with pytest.raises(UserError) as raised:
        room.config()
    return str(raised.value)


def test_a_state_that_is_a_source_by_a_link(room: Room) -> None:
    room.state.symlink_to("data/sales")
    text = refused(room)
    assert "the state and source `sales` are the same directory" in text
    assert f"{room.directory / 'data' / 'sales'}" in text
    assert "give each its own" in text


def test_an_output_that_lies_in_a_source_by_a_link(room: Room) -> None:
    (room.directory / "out").symlink_to("data/returns")
    assert "the output lies within source `returns`" in refused(room)


def test_a_source_that_is_the_state_by_a_link(room: Room) -> None:
    (room.directory / "state" / "sales").mkdir(parents=True)
    (room.directory / "data" / "sales").rename(room.directory / "data" / "old")
    (room.directory / "data" / "sales").symlink_to(room.state / "sales")
    assert "source `sales` lies within the state" in refused(room)


def test_answers_that_are_kept_in_a_source_by_a_link(room: Room) -> None:
    """`clean` would remove what is there."""
    room.output.parent.mkdir()
    (room.output.parent / ".answer").symlink_to(room.directory / "data")
    assert "source `sales` lies where the output keeps its answers" in refused(room)


def test_links_that_lead_apart_are_fine(room: Room, tmp_path: Path) -> None:
    """A source, the state and the directory of the output may each lie elsewhere."""
    for name in ("data/sales", "state", "out"):
        elsewhere = tmp_path / "disk" / name
        elsewhere.mkdir(parents=True)
        place = room.directory / name
        if place.exists():
            elsewhere.rmdir()
            place.rename(elsewhere)
        place.symlink_to(elsewhere)
    with without_spark() as (_, session):
        for run in (1, 2):
            room.arrive(run)
            room.job(session).run(run)
            assert room.output.is_symlink()  # and that is no reason to refuse it
        room.job(session).clean()
    assert room.answer() == expected(THREE_ARRIVALS[:2])


def test_a_link_within_a_source_that_leads_to_our_own_files(room: Room) -> None:
    with without_spark() as (_, session):
        job = room.job(session)
        job.run(1)
        (room.directory / "data" / "sales" / "more").symlink_to(room.output.parent)
        for command in (job.run, job.clean):
            with pytest.raises(UserError, match="source `sales`") as raised:
                command()
            assert raised.value.hint == "give each its own"
    assert [manifest.run for manifest in room.job().history()] == [1]


def test_a_link_that_leads_in_a_circle(room: Room) -> None:
    room.state.symlink_to("state")
    assert room.config().state == room.state
