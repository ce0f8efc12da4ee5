"""A power cut: the disk has forgotten whatever nobody asked it to keep.

The job is put into the condition that `power.py` works out after every call of fsync, and goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.job.crashing import live
from tests.job.duck import without_spark
from tests.job.power import Disk, Image, restored
from tests.job.room import THREE_ARRIVALS, Room, expected
from tests.job.test_crash import check_what_is_visible

from slackwater.errors import StateError
from slackwater.job.store.disk import sync_file


def put_back(room: Room, image: Image, arrived: int) -> None:
    """The job after a power cut; sources keep what had arrived."""
    for path in (room.directory / "data").rglob("part-*.parquet"):
        if int(path.stem.removeprefix("part-")) > arrived:
            path.unlink()
    restored(room, image)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path / "room")


@pytest.fixture
def disk(room: Room) -> Iterator[Disk]:
    made = Disk(room.directory)
    yield made
    made.close()


def test_a_power_cut_takes_a_run_or_nothing(room: Room, disk: Disk) -> None:
    images: list[tuple[Image, int]] = []
    sync = os.fsync

    def watched(descriptor: int) -> None:
        sync(descriptor)
        disk.sync(descriptor)
        image = disk.image()
        if not images or images[-1][0] != image:
            images.append((image, len(list((room.directory / "data" / "sales").iterdir()))))

    with patch("os.fsync", watched), without_spark() as (_, session):
        live(room, session)
    assert len(images) > 10  # how many differ depends on which steps end first
    committed = [len([path for path in image if path.match("state/cycle-1/run-*.json")]) for image, _ in images]
    assert (committed[0], committed[-1]) == (0, 3)
    for image, arrived in reversed(images):  # what has not arrived yet goes, and comes back with another time
        put_back(room, image, arrived)
        check_what_is_visible(room.directory)
        with without_spark() as (_, session):
            live(room, session)
        assert room.answer() == expected(THREE_ARRIVALS)


def test_everything_a_manifest_names_is_synced_before_it(room: Room, disk: Disk) -> None:
    sync = os.fsync
    created: list[tuple[Path, int]] = []
    link = os.link

    def watched(descriptor: int) -> None:
        sync(descriptor)
        disk.sync(descriptor)

    def linked(source: Path, target: Path) -> None:
        created.append((target, len(disk.synced)))
        link(source, target)

    with patch("os.fsync", watched), patch("os.link", linked), without_spark() as (_, session):
        live(room, session)
    store = room.job().store
    (cycle,) = store.cycles()
    at = dict(created)
    for manifest in cycle.manifests():
        before = set(disk.synced[: at[cycle.manifest_file(manifest.run)]])
        files = [store.state / file.path for state in manifest.states.values() for file in state.files]
        assert manifest.answers
        files += [
            store.answer_directories[name].path / f.path
            for name, answer in manifest.answers.items()
            for f in answer.files
        ]
        assert files
        assert {*files, *(file.parent for file in files), *(file.parent.parent for file in files)} <= before
    assert not [path for path in disk.synced if "sales_returns_v1" in path.parts], "scratch need not be kept"


@pytest.mark.parametrize("number, expectation", [(22, None), (95, None), (28, "No space left"), (5, "Input/output")])
def test_file_systems_that_cannot_sync(tmp_path: Path, number: int, expectation: str | None) -> None:
    def refuse(_: int) -> None:
        raise OSError(number, os.strerror(number))

    path = tmp_path / "part.parquet"
    path.write_bytes(b"x")
    with patch("os.fsync", refuse):
        if expectation is None:
            sync_file(path)
        else:
            with pytest.raises(StateError, match=expectation) as raised:
                sync_file(path)
            assert str(raised.value.place) == str(path)
