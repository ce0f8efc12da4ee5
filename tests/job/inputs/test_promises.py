"""Which promises a source makes, and which files are still to be checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.job.config_texts import parsed, source

from slackwater.job.inputs.promises import Batches, promises_of, read_checked, trusted, unchecked
from slackwater.job.store.pins import FilePin
from slackwater.job.store.store import Store


def pin(name: str) -> FilePin:
    return FilePin(path=name, size=1, modified=1)


def pins(names: str) -> tuple[FilePin, ...]:
    return tuple(map(pin, names))


def batches(*names: str) -> Batches:
    return tuple(map(pins, names))


def found(by_run: list[str], checked: Batches) -> list[tuple[int, str, str]]:
    """The run, the new files and the earlier ones of what is to be checked, a letter a file."""
    todo = unchecked([pins(names) for names in by_run], checked)
    return [(each.run, "".join(p.path for p in each.new), "".join(p.path for p in each.earlier)) for each in todo]


@pytest.mark.parametrize(
    "by_run, checked, expected",
    [
        (["ab"], (), [(1, "ab", "")]),
        (["ab", "c"], batches("ab"), [(2, "c", "ab")]),
        (["ab", "c"], batches("ab", "c"), []),
        (["ab", "c", "d"], (), [(1, "ab", ""), (2, "c", "ab"), (3, "d", "abc")]),
        (["ab"], batches("ab", "c"), []),  # a run that is done again, when a later one was checked
        (["abcd"], batches("ab", "c"), [(1, "d", "abc")]),  # a new cycle reads it all at once
        (["ac"], batches("ab", "c"), [(1, "ac", "")]),  # the file that is gone may be missed
        (["a", "bc"], batches("ab", "c"), [(1, "a", "")]),
        (["", "a"], batches("a"), []),
    ],
)
def test_what_is_to_be_checked(by_run: list[str], checked: Batches, expected: list[tuple[int, str, str]]) -> None:
    assert found(by_run, checked) == expected


FILES = st.permutations("abcdef").map("".join)
CUTS = st.lists(st.integers(0, 6), min_size=3, max_size=3).map(sorted)


def parts(files: str, cuts: list[int]) -> list[str]:
    return [files[start:end] for start, end in zip([0, *cuts], cuts, strict=False)]


@given(FILES, CUTS, FILES, CUTS)
def test_each_run_stands_on_what_is_known(files: str, cuts: list[int], others: str, other_cuts: list[int]) -> None:
    """Whatever was checked before: a run is checked beside files that are known to keep the promises, or is known."""
    by_run, checked = parts(files, cuts), parts(others, other_cuts)
    prefixes = {frozenset("".join(checked[:number])) for number in range(len(checked) + 1)}
    todo = {run: (new, earlier) for run, new, earlier in found(by_run, batches(*checked))}
    for run in range(1, len(by_run) + 1):
        upto = frozenset("".join(by_run[:run]))
        if run in todo:
            new, earlier = todo[run]
            assert frozenset(earlier) in prefixes
            assert frozenset(new) | frozenset(earlier) == upto
        else:
            assert upto in prefixes
        prefixes.add(upto)


@pytest.mark.parametrize(
    "said, expected",
    [
        ("", []),
        ("key: a", ["not null (a)", "key (a)"]),
        ("keys: [[a, b], [c]], not_null: [d, a]", ["not null (a, b, c, d)", "key (a, b)", "key (c)"]),
        ("changes: feed", ["known _change_type", "paired updates", "exact changes"]),
        (
            "changes: feed, key: a",
            ["known _change_type", "not null (a)", "paired updates", "exact changes", "key (a)"],
        ),
    ],
)
def test_what_a_source_promises(said: str, expected: list[str]) -> None:
    config = parsed(source(f"path: x, {said}" if said else "path: x")).sources["sales"]
    assert [promise.name for promise in promises_of(config)] == expected


def test_what_is_trusted() -> None:
    sources = parsed(source("path: x, key: a, check: trust")).sources
    assert trusted(sources) == ["source `sales`: not null (a), key (a) trusted, not checked"]
    assert not trusted(parsed(source("path: x, check: trust")).sources)
    assert not trusted(parsed(source("path: x, key: a")).sources)


def test_a_damaged_record_says_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path, {})
    assert read_checked(store) == {}
    store.promises_file.write_text('{"checksum": 1, "record": {}}', encoding="utf-8")
    assert read_checked(store) == {}
