from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from tests.job.duck import without_spark
from tests.job.room import Room
from tests.job.running.test_work import runs

from slackwater.errors import UserError
from slackwater.job.inputs.formats import check_formats
from slackwater.job.store.pins import listed
from slackwater.spark.session import Session


@pytest.fixture
def session() -> Iterator[Session]:
    with without_spark() as (_, spark):
        yield spark


def put(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def test_files_of_the_format_pass(tmp_path: Path) -> None:
    for format in ("parquet", "orc", "csv", "json"):
        (tmp_path / format).mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "parquet/part")
    orc.write_table(pa.table({"a": [1]}), tmp_path / "orc/part")
    put(tmp_path / "csv/orders.txt", "ORC,1")
    put(tmp_path / "json/part-1", '{"a": 1}')
    for format in ("parquet", "orc", "csv", "json"):
        check_formats("s", format, tmp_path / format, listed(tmp_path / format))


@pytest.mark.parametrize(
    "format, name, content, words",
    [
        ("parquet", "README", "about", "this is no parquet file"),
        ("parquet", "x.txt", "PAR", "this is no parquet file"),
        ("orc", "README.md", "about", "this is no orc file"),
        ("csv", "README", "about", "this is a document, and no csv file"),
        ("csv", "notes.md", "about", "this is a document, and no csv file"),
        ("json", "readme.txt", "about", "this is a document, and no json file"),
        ("csv", "part.csv", "PAR1...", "this is a parquet file, and should be csv"),
    ],
)
def test_others_are_named(tmp_path: Path, format: str, name: str, content: str, words: str) -> None:
    path = put(tmp_path / name, content)
    with pytest.raises(UserError, match=f"source `s`: {words}") as raised:
        check_formats("s", format, tmp_path, listed(tmp_path))
    assert str(raised.value.place) == str(path)
    assert "begin with `_` or `.`" in str(raised.value.hint)


def test_a_readme_in_the_directory_of_a_source(tmp_path: Path, session: Session) -> None:
    """At the first run, and at a later one; once it is called _README, it is nobody's business."""
    room = Room(tmp_path / "room")
    for run in (1, 2):
        room.arrive(run)
        readme = put(room.directory / "data/sales/README.md", "what this is about")
        with pytest.raises(UserError, match="source `sales`: this is no parquet file") as raised:
            room.job(session).run()
        assert str(raised.value.place) == str(readme)
        readme.rename(readme.with_name("_README.md"))
        assert [manifest.run for manifest in runs(room, session, run)] == [run]


def checksums(path: Path, size: int = 512, count: int | None = None) -> Path:
    chunks = -(-path.stat().st_size // size) if count is None else count
    crc = path.with_name(f".{path.name}.crc")
    crc.write_bytes(b"crc\0" + struct.pack(f">I{chunks}I", size, *range(chunks)))
    return crc


@pytest.mark.parametrize("count", [0, 1, 3])
def test_checksums_for_a_file_of_another_length_are_named(tmp_path: Path, count: int) -> None:
    """Before Spark stumbles over them."""
    path = put(tmp_path / "a.csv", "1,2\n" * 200)
    crc = checksums(path, count=count)
    with pytest.raises(
        UserError, match=r"source `s`: `.a.csv.crc` next to this file contains checksums of another"
    ) as raised:
        check_formats("s", "csv", tmp_path, listed(tmp_path))
    assert str(raised.value.place) == str(path)
    assert "remove `.a.csv.crc`" in str(raised.value.hint)
    checksums(path)
    check_formats("s", "csv", tmp_path, listed(tmp_path))
    crc.write_bytes(b"not ours")  # Hadoop does not use it
    check_formats("s", "csv", tmp_path, listed(tmp_path))
