from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slackwater.errors import StateError
from slackwater.job.store.checksums import SMALL, TAIL, checksum_of_file, sampled_checksum
from slackwater.job.store.data_files import data_file


def in_full(path: Path) -> str:
    with path.open("rb") as file:
        return checksum_of_file(file, in_full=True)


def changed_at(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("size", [0, 1, 4, 8, SMALL])
def test_small_files_are_read_in_full(tmp_path: Path, size: int) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(size))
    before = sampled_checksum(path)
    assert before == in_full(path)
    if size:
        changed_at(path, size // 2)
        assert sampled_checksum(path) != before


def test_of_large_files_all_bytes_or_the_ends_and_a_sample(tmp_path: Path) -> None:
    path = tmp_path / "data"
    size = 3 * SMALL
    path.write_bytes(bytes(size))
    sampled, full = sampled_checksum(path), in_full(path)
    for position in (0, size - TAIL, size - 1):
        changed_at(path, position)
        assert sampled_checksum(path) != sampled
        changed_at(path, position)
    assert sampled_checksum(path) == sampled
    changed_at(path, size - TAIL - 1)  # between two blocks
    assert sampled_checksum(path) == sampled
    assert in_full(path) != full
    path.write_bytes(bytes(size + 1))
    assert sampled_checksum(path) != sampled


def test_a_parquet_footer_counts_in_full_however_long_it_is(tmp_path: Path) -> None:
    path = tmp_path / "wide.parquet"
    table = pa.table({f"column_{n}": pa.array([n], pa.int64()) for n in range(8000)})
    pq.write_table(table, path)
    size = path.stat().st_size
    footer = int.from_bytes(path.read_bytes()[-8:-4], "little")
    assert size > SMALL
    assert footer > 2 * TAIL
    before = sampled_checksum(path)
    for position in (size - 8 - footer, size - TAIL - 4097):
        changed_at(path, position)
        assert sampled_checksum(path) != before
        changed_at(path, position)


def test_a_file_that_was_just_written_and_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="just written and cannot be read: No such file") as raised:
        data_file(tmp_path / "part.csv", tmp_path)
    assert str(raised.value.place) == str(tmp_path / "part.csv")
