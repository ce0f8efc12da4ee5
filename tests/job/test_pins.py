from __future__ import annotations

import os
from pathlib import Path

import pytest

from slackwater.errors import UserError
from slackwater.job.pins import FilePin, arrived, check_unchanged, listed


def put(directory: Path, name: str, content: str = "rows") -> Path:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def test_files_are_listed_by_name_with_what_tells_them_apart(tmp_path: Path) -> None:
    for name in ("b.parquet", "a.parquet", "deep/er/c.parquet"):
        put(tmp_path, name)
    os.utime(tmp_path / "a.parquet", ns=(5, 7))
    found = listed(tmp_path)
    assert [pin.path for pin in found] == ["a.parquet", "b.parquet", "deep/er/c.parquet"]
    assert found[0] == FilePin(path="a.parquet", size=4, modified=7)


def test_what_spark_passes_over_is_not_there(tmp_path: Path) -> None:
    for name in (
        "_SUCCESS",
        ".a.crc",
        ".hidden=1/x.parquet",
        "_temporary/0/part.parquet",
        "x.parquet._COPYING_",
        "_k=1/a.parquet",
    ):
        put(tmp_path, name)
    assert [pin.path for pin in listed(tmp_path)] == ["_k=1/a.parquet"]


def test_what_spark_would_read_as_no_rows_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "half.parquet", "")
    with pytest.raises(UserError, match="empty") as raised:
        listed(tmp_path)
    assert raised.value.place is not None
    assert str(raised.value.place.file).endswith("half.parquet")


@pytest.mark.parametrize(
    "names, message",
    [
        (["a:b.parquet"], "cannot read a name with `:`"),
        (["a.parquet", "k=1/b.parquet"], "partitioned differently"),
        (["k=1/a.parquet", "m=1/b.parquet"], "partitioned differently"),
        (["k=1/m=1/a.parquet", "k=1/b.parquet"], "partitioned differently"),
    ],
)
def test_names_that_spark_cannot_take(tmp_path: Path, names: list[str], message: str) -> None:
    for name in names:
        put(tmp_path, name)
    with pytest.raises(UserError, match=message):
        listed(tmp_path)


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.parquet")).write_text("rows", encoding="utf-8")
    with pytest.raises(UserError, match="not UTF-8"):
        listed(tmp_path)


def test_a_link_to_nothing_and_a_directory_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UserError, match="a link to nothing"):
        listed(tmp_path)
    with pytest.raises(UserError, match="no such directory"):
        listed(tmp_path / "none")


def test_links_are_followed(tmp_path: Path) -> None:
    put(tmp_path, "elsewhere/x.parquet")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a.parquet").symlink_to(tmp_path / "elsewhere" / "x.parquet")
    (tmp_path / "source" / "sub").symlink_to(tmp_path / "elsewhere")
    assert [pin.path for pin in listed(tmp_path / "source")] == ["a.parquet", "sub/x.parquet"]


def test_an_arrival_is_what_no_run_has_pinned(tmp_path: Path) -> None:
    put(tmp_path, "a")
    first = listed(tmp_path)
    put(tmp_path, "0-late")
    assert [pin.path for pin in arrived(listed(tmp_path), first)] == ["0-late"]
    assert arrived(first, first) == ()


def test_a_pinned_file_that_is_not_what_it_was_is_named(tmp_path: Path) -> None:
    for name in ("gone", "longer", "again", "same"):
        put(tmp_path, name)
    pins = listed(tmp_path)
    check_unchanged("sales", tmp_path, pins)
    (tmp_path / "gone").unlink()
    put(tmp_path, "longer", "more rows")
    os.utime(tmp_path / "again", ns=(1, 1))
    by_name = {pin.path: pin for pin in pins}
    for name, words in (
        ("gone", "has vanished"),
        ("longer", r"has changed \(from 4 to 9 bytes\)"),
        ("again", "has been written again"),
    ):
        with pytest.raises(UserError, match=f"source `sales`: this file {words}") as raised:
            check_unchanged("sales", tmp_path, [by_name[name]])
        assert str(raised.value.place) == str(tmp_path / name)
        assert "--new-cycle" in str(raised.value.hint)
    with pytest.raises(UserError, match="and 2 more files"):
        check_unchanged("sales", tmp_path, pins)
