"""A job on Spark whose disk is really full: a small file system of its own, with less and less room left on it.

Needs the right to mount one; elsewhere it is skipped, and `test_damage.py` has the same without Spark.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.job.room import THREE_ARRIVALS, Room, expected

from slackwater.errors import UserError
from slackwater.spark.session import Session

KIB = 1024


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """A job whose file, sources, state and output are on a disk of one MiB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, check=False, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no `mount` on this machine")
    if done.returncode:
        pytest.skip(f"a file system cannot be mounted here: {done.stderr.strip()}")
    try:
        yield Room(place / "room")
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(room: Room, left: int) -> Path:
    """Takes all the space but so many bytes."""
    ballast = room.directory / "ballast"
    there = os.statvfs(room.directory)
    ballast.write_bytes(b"\1" * (there.f_bavail * there.f_frsize - left))
    return ballast


def test_a_full_disk(room: Room, spark: Session) -> None:
    """With no space, with a little, with a little more: a clear error each time, then there is enough."""
    room.arrive(1)
    room.job(spark).run()
    room.arrive(2)
    room.arrive(3)
    refused: list[UserError] = []
    for left in range(0, 400 * KIB, 8 * KIB):
        ballast = fill(room, left)
        try:
            room.job(spark).run()
            break
        except UserError as error:
            refused.append(error)
        finally:
            ballast.unlink()
        check_nothing_half_done(room, refused[-1])
    else:
        raise AssertionError("a run should have had enough in the end")
    assert len(refused) >= 3
    assert room.answer() == expected(THREE_ARRIVALS)
    assert room.job(spark).verify().equal
    room.job(spark).run(all=True)
    assert room.answer() == expected(THREE_ARRIVALS)
    assert room.job(spark).verify().equal
    room.job(spark).clean()
    assert not room.job(spark).clean(dry_run=True).paths


def check_nothing_half_done(room: Room, error: UserError) -> None:
    assert error.message.endswith(": No space left on device")
    assert str(error.place).startswith((str(room.state), str(room.output.parent)))
    assert room.answer() == expected(THREE_ARRIVALS[:1])
    assert [manifest.run for manifest in room.job().history()] == [1]
    status = room.job().status()
    assert status.next is not None
    assert status.next.run == 2
    assert not status.next.damaged
