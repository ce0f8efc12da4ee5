from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pytest

from slackwater.errors import StateError
from slackwater.job.store.manifest import (
    DataFile,
    Manifest,
    OutputRecord,
    StateRecord,
    StepRecord,
    read_record,
    write_record,
)
from slackwater.job.store.pins import FilePin


def a_manifest() -> Manifest:
    file = DataFile(path="cycle-1/data/1-x/s/part.parquet", size=12, rows=3)
    return Manifest(
        job="room",
        cycle=1,
        run=1,
        time="10:00",
        attempt="x",
        started="then",
        finished="now",
        pins={"sälés": (FilePin(path="Größe, {1}.parquet", size=1, modified=2),)},
        states={"s": StateRecord(files=(file, file), made_at=1)},
        output=OutputRecord(directory="1-1-x", files=(), made_at=1, rows=None),
        steps=(
            StepRecord(name="s", purpose="state", meaning="…", expected_rows=1.5, expected_cost=2, rows=3, measured={}),
        ),
        total={"cpu_s": 0.1, "jobs": None},
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "run-1.json"


def test_is_read_back_as_it_was(path: Path) -> None:
    write_record(path, a_manifest())
    assert read_record(path, Manifest) == a_manifest()
    assert [p.name for p in path.parent.iterdir()] == ["run-1.json"]


def test_a_state_knows_its_rows_bytes_and_parts() -> None:
    state = a_manifest().states["s"]
    assert (state.rows, state.bytes, state.parts) == (6, 24, ("cycle-1/data/1-x/s",))


def test_where_there_is_none(path: Path) -> None:
    assert read_record(path, Manifest) is None


def test_half_a_manifest_is_none_at_any_length(path: Path) -> None:
    write_record(path, a_manifest())
    whole = path.read_bytes()
    for length in (*range(0, len(whole) - 2, 17), len(whole) - 2):
        path.write_bytes(whole[:length])
        with pytest.raises(StateError, match="this file is damaged") as raised:
            read_record(path, Manifest)
        assert raised.value.place is not None
        assert raised.value.place.file == str(path)


def test_a_flipped_bit_is_noticed(path: Path) -> None:
    write_record(path, a_manifest())
    whole = path.read_bytes()
    for position in range(0, len(whole), 13):
        for bit in (1, 32):
            damaged = bytes((*whole[:position], whole[position] ^ bit, *whole[position + 1 :]))
            path.write_bytes(damaged)
            record = None
            with suppress(StateError):
                record = read_record(path, Manifest)
            # A space may have become another kind of space.
            assert record is None or (record == a_manifest() and json.loads(damaged) == json.loads(whole))


@pytest.mark.parametrize("text", ["", "null", "[]", "3", '{"record": {}}', '{"checksum": "x", "record": {"run": 1}}'])
def test_a_file_that_is_not_ours(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StateError, match="this file is damaged"):
        read_record(path, Manifest)


def test_a_record_of_another_version(path: Path) -> None:
    write_record(path, FilePin(path="p", size=1, modified=1))
    with pytest.raises(StateError, match="written by another version"):
        read_record(path, Manifest)


def test_what_cannot_be_written_leaves_what_was_there(path: Path) -> None:
    write_record(path, a_manifest())
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    other = a_manifest().model_copy(update={"run": 2})
    with patch("os.fsync", side_effect=full), pytest.raises(StateError, match="No space left on device") as raised:
        write_record(path, other)
    assert str(raised.value.place) == str(path)
    assert read_record(path, Manifest) == a_manifest()
    assert [p.name for p in path.parent.iterdir()] == ["run-1.json"]


def test_a_directory_that_cannot_be_synced_is_no_failure(path: Path) -> None:
    """The rename has happened: to say that it has not would have the run's data thrown away."""
    sync = os.fsync

    def refuse(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112
            raise OSError(errno.EINVAL, "no directories here")
        sync(descriptor)

    with patch("os.fsync", refuse):
        write_record(path, a_manifest())
    assert read_record(path, Manifest) == a_manifest()


def test_a_place_where_no_file_can_be(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(StateError, match="cannot be written"):
        write_record(tmp_path / "state" / "run-1.json", a_manifest())
