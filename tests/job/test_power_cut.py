"""A power cut: the disk has forgotten whatever nobody asked it to keep.

What outlives it is worked out from the calls of fsync: a file as it was when it was last synced, a name if its
directory was synced while it had it. The job is put into that condition after every call, and goes on.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.job.crashing import live
from tests.job.duck import without_spark
from tests.job.room import THREE_ARRIVALS, Room, expected
from tests.job.test_crash import check_what_is_visible

from slackwater.errors import StateError
from slackwater.job.disk import sync_file

Image = dict[Path, bytes | str | None]
"""Every file with its content, every link with where it leads, every directory; each after the one that holds it."""


@dataclass
class Disk:
    """What of a directory would be there after a power cut."""

    top: Path
    names: dict[Path, dict[str, int | str | None]] = field(default_factory=dict)
    """What was in a directory: a file by its inode, a link by where it leads, another directory."""
    contents: dict[int, bytes] = field(default_factory=dict)
    synced: list[Path] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    """Synced files stay open, or another file could get the number of one that is gone."""

    def sync(self, descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.is_relative_to(self.top):
            self.synced.append(path)
            if path.is_dir():
                self.names[path] = {p.name: _entry(p) for p in path.iterdir()}
            else:
                self.contents[path.stat().st_ino] = path.read_bytes()
                self.held.append(os.dup(descriptor))

    def close(self) -> None:
        for descriptor in self.held:
            os.close(descriptor)

    def image(self) -> Image:
        found: Image = {}

        def visit(directory: Path) -> None:
            for name, entry in self.names.get(directory, {}).items():
                found[directory / name] = self.contents.get(entry, b"") if isinstance(entry, int) else entry
                visit(directory / name)

        visit(self.top)
        return found


def _entry(path: Path) -> int | str | None:
    if path.is_symlink():
        return str(path.readlink())
    return None if path.is_dir() else path.stat().st_ino


def restored(room: Room, image: Image, arrived: int) -> None:
    """Puts a job's directories into the condition of an image; sources keep what had arrived."""
    for place in (room.state, room.output.parent):
        shutil.rmtree(place, ignore_errors=True)
    for path in (room.directory / "data").rglob("part-*.parquet"):
        if int(path.stem.removeprefix("part-")) > arrived:
            path.unlink()
    for path, content in image.items():
        if not path.is_relative_to(room.state) and not path.is_relative_to(room.output.parent):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.mkdir(exist_ok=True)
        elif isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content)
            os.utime(path, (0, 0))  # starting again takes a while


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
        restored(room, image, arrived)
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
            store.shelves[name].answers / f.path for name, answer in manifest.answers.items() for f in answer.files
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
