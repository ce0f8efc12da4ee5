from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from slackwater.errors import UserError
from slackwater.job.store.pins import FilePin, arrived, change_since, check_unchanged, identified, listed


def put(directory: Path, name: str, content: str = "rows") -> Path:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def test_files_are_listed_by_name_with_what_tells_them_apart(tmp_path: Path) -> None:
    for name in ("b.parquet", "a.parquet", "deep/er/c.parquet"):
        put(tmp_path, name)
    os.utime(tmp_path / "a.parquet", ns=(5, 7))
    pins = listed(tmp_path)
    assert [pin.path for pin in pins] == ["a.parquet", "b.parquet", "deep/er/c.parquet"]
    status = (tmp_path / "a.parquet").stat()
    expected = FilePin(path="a.parquet", size=4, modified=7, inode=status.st_ino, changed=status.st_ctime_ns)
    assert pins[0] == expected


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
        (["a:b.parquet"], "cannot read files with `:`"),
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
    with pytest.raises(UserError, match="link is broken"):
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


# --- what a file is known by ------------------------------------------------------------------------------------------


def pinned(directory: Path, name: str, content: str) -> FilePin:
    put(directory, name, content)
    (pin,) = (pin for pin in listed(directory) if pin.path == name)
    return identified(directory, pin, in_full=True)


def replaced_as_cp_does(path: Path, content: str) -> None:
    """Another file by the same name, of the same size and time, as `cp -p` leaves it."""
    status = path.stat()
    draft = path.with_name("_draft")
    draft.write_text(content, encoding="utf-8")
    os.utime(draft, ns=(status.st_atime_ns, status.st_mtime_ns))
    draft.rename(path)


def overwritten_in_place(path: Path, content: str) -> None:
    status = path.stat()
    path.write_text(content, encoding="utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("replace", [replaced_as_cp_does, overwritten_in_place])
def test_a_file_replaced_with_the_same_size_and_time_is_named(
    tmp_path: Path, replace: Callable[[Path, str], None]
) -> None:
    pin = pinned(tmp_path, "a.csv", "1,2,3")
    replace(tmp_path / "a.csv", "1,9,3")
    (now,) = listed(tmp_path)
    assert (now.size, now.modified) == (pin.size, pin.modified)
    assert not now.is_same(pin)
    with pytest.raises(UserError, match="has been replaced by another of the same size"):
        check_unchanged("sales", tmp_path, [pin])


@pytest.mark.parametrize("replace", [replaced_as_cp_does, overwritten_in_place])
def test_a_file_that_was_brought_back_is_what_it_was(tmp_path: Path, replace: Callable[[Path, str], None]) -> None:
    pin = pinned(tmp_path, "a.csv", "1,2,3")
    replace(tmp_path / "a.csv", "1,9,3")
    replace(tmp_path / "a.csv", "1,2,3")
    assert change_since(tmp_path, pin) is None
    os.utime(tmp_path / "a.csv", ns=(1, 1))
    assert change_since(tmp_path, pin) is None


def test_a_mode_or_another_name_is_no_change(tmp_path: Path) -> None:
    pin = pinned(tmp_path, "a.csv", "1,2,3")
    (tmp_path / "a.csv").chmod(0o600)
    (tmp_path / "_link").hardlink_to(tmp_path / "a.csv")
    assert change_since(tmp_path, pin) is None


def test_an_unchanged_file_is_not_read_again(tmp_path: Path) -> None:
    pin = pinned(tmp_path, "a.csv", "1,2,3")
    with patch("slackwater.job.store.pins.checksum_of_file", side_effect=AssertionError):
        assert change_since(tmp_path, pin) is None


def test_pins_of_older_versions_go_by_size_and_time(tmp_path: Path) -> None:
    put(tmp_path, "a.csv", "1,2,3")
    (now,) = listed(tmp_path)
    old = FilePin.model_validate_json(f'{{"path": "a.csv", "size": 5, "modified": {now.modified}}}')
    assert change_since(tmp_path, old) is None
    os.utime(tmp_path / "a.csv", ns=(1, 1))
    assert change_since(tmp_path, old) == "has been written again"


def test_a_file_that_grows_while_it_is_pinned_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path, "a.csv", "1,2,3")
    (pin,) = listed(tmp_path)

    def growing(*_: object, **__: object) -> str:
        path.write_text("1,2,3\n4", encoding="utf-8")
        return ""

    with (
        patch("slackwater.job.store.pins.checksum_of_file", growing),
        pytest.raises(UserError, match="this file is still being written"),
    ):
        identified(tmp_path, pin, in_full=True)


def test_what_is_known_by_a_checksum_is_compared_by_it() -> None:
    pin = FilePin(path="a", size=1, modified=1, inode=1, changed=1, checksum="x", in_full=True)
    assert pin.is_same(pin.model_copy(update={"modified": 2, "inode": 2}))
    assert not pin.is_same(pin.model_copy(update={"checksum": "y"}))
    assert not pin.is_same(pin.model_copy(update={"checksum": None, "inode": 2}))
    assert not pin.is_same(pin.model_copy(update={"path": "b"}))
