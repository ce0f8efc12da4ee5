"""Rows of text files that are counted without Spark: as many as Spark counts, or left to it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.job.room import Room

from slackwater.job.file.file_format import Format
from slackwater.job.inputs import text_lines
from slackwater.job.inputs.row_counting import RowCounting
from slackwater.job.inputs.text_lines import counts_by_line, rows_of_lines

QUERY = "SELECT cat, sum(price) AS gross FROM sales GROUP BY cat"
CSV_LINES = ("a,1", "b,2", '"x y",3', "", "", " ", "\t", " c,4", "\x01", "d,5 ", "é,6", "#e,7", "[f,8")
JSON_LINES = ('{"cat": "a", "price": 1}', ' {"cat": "b", "price": 2} ', "", " ", "\t", '{"cat": "é"}', "{}")


def written(directory: Path, lines: tuple[str, ...], suffix: str, count: int) -> list[Path]:
    """Files of random lines, with all kinds of line ends, some without a last one."""
    choose, files = random.Random(7), []
    for number in range(count):
        end = choose.choice(("\n", "\n", "\r\n"))
        text = "".join(choose.choice(lines) + end for _ in range(choose.randrange(1, 9)))
        files.append(directory / f"{number}.{suffix}")
        files[-1].write_bytes((text if choose.random() < 0.7 else text.rstrip("\r\n") or "\n").encode())
    return files


@pytest.mark.parametrize(
    "format, options, lines",
    [
        ("csv", {}, CSV_LINES),
        ("csv", {"header": True, "enforceSchema": True}, CSV_LINES),
        ("json", {}, JSON_LINES),
    ],
)
@pytest.mark.parametrize("chunk", [1 << 22, 7])
def test_as_many_as_spark_counts(
    format: str,
    options: dict[str, object],
    lines: tuple[str, ...],
    chunk: int,
    tmp_path: Path,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_lines, "_CHUNK", chunk)
    entry = {"format": format, "options": options, "schema": "cat STRING, price BIGINT"}
    room = Room(tmp_path / "job", QUERY, (), {}, {"sales": entry})
    files = written(room.directory / "data" / "sales", lines, format, 60)
    job = room.job(spark)
    source = job._sources.now()["sales"]
    read_as = {name: str(value).lower() for name, value in options.items()}
    assert counts_by_line(Format(format), read_as)
    by_spark = {
        file.pin.path: file.rows
        for file in RowCounting(job.store, job.session)._count_by_spark(source, source.listed())
    }
    here = {file.name: rows_of_lines(file, Format(format), read_as) for file in files}
    assert here == by_spark
    assert sum(rows or 0 for rows in here.values()) > 100


@pytest.mark.parametrize(
    "name, content, format",
    [
        ("a.csv.gz", b"a,1\n", Format.CSV),
        ("a.csv", b"a,1\rb,2\n", Format.CSV),
        ("a.csv", b"\xef\xbb\xbfa,1\n", Format.CSV),
        ("a.json", b'{"cat": "a"}\n[{"cat": "b"}, {"cat": "c"}]\n', Format.JSON),
        ("a.json", b'  [{"cat": "b"}, {"cat": "c"}]\n', Format.JSON),
    ],
)
def test_what_only_spark_can_say_is_left_to_it(name: str, content: bytes, format: Format, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert rows_of_lines(tmp_path / name, format, {}) is None


@pytest.mark.parametrize(
    "options",
    [
        {"multiLine": "true"},
        {"comment": "#"},
        {"lineSep": ";"},
        {"mode": "dropmalformed"},
        {"MODE": "DROPMALFORMED"},
        {"encoding": "x"},
    ],
)
def test_options_that_may_change_what_a_record_is(options: dict[str, str]) -> None:
    assert not counts_by_line(Format.CSV, options)


def test_other_formats_say_their_rows_themselves() -> None:
    assert not counts_by_line(Format.PARQUET, {})


def test_a_job_counts_plain_files_without_a_statement(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"format": "csv", "options": {"header": True}, "schema": "cat STRING, price BIGINT"}
    room = Room(tmp_path / "job", QUERY, (), {}, {"sales": entry})
    (room.directory / "data" / "sales" / "1.csv").write_text("cat,price\na,1\nb,2\n", encoding="utf-8")
    monkeypatch.setattr(RowCounting, "_count_by_spark", lambda *_: pytest.fail("Spark was asked"))
    (first,) = room.job(spark).run()
    assert first.arrived == {"sales": 2}
