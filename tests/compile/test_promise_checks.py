"""What footers prove of promises, which files can meet, and how offending rows are asked for."""

from __future__ import annotations

import pytest

from slackwater.catalog.statistics import Arrival
from slackwater.compile.promise_checks import (
    MOST_BROADCAST,
    ColumnFacts,
    ExactChanges,
    Facts,
    Key,
    KnownChanges,
    NotNull,
    PairedUpdates,
    Promise,
    Rows,
    bill_of,
    broken_promises,
    may_meet,
    row_text,
)

EXACT = ExactChanges(("k", "v"), ("k", "v"))


def kinds(low: str, high: str, nulls: int = 0) -> Facts:
    return {"_change_type": ColumnFacts(nulls, (low, high))}


@pytest.mark.parametrize(
    "promise, facts, proven",
    [
        (NotNull(("k",), ()), {"k": ColumnFacts(0)}, True),
        (NotNull(("k",), ()), {"k": ColumnFacts(1)}, False),
        (NotNull(("k", "l"), ()), {"k": ColumnFacts(0)}, False),
        (Key(("k",)), {"k": ColumnFacts(0, (1, 9))}, False),
        (KnownChanges(), kinds("insert", "insert"), True),
        (KnownChanges(), kinds("delete", "delete"), True),
        (KnownChanges(), kinds("insert", "insert", nulls=1), False),
        (KnownChanges(), kinds("delete", "insert"), False),  # `drop` lies between
        (KnownChanges(), kinds("upsert", "upsert"), False),
        (EXACT, kinds("insert", "insert"), True),
        (EXACT, kinds("delete", "delete"), False),
        (PairedUpdates(), kinds("insert", "insert"), True),
        (PairedUpdates(), kinds("update_postimage", "update_postimage"), False),
        (EXACT, {}, False),
    ],
)
def test_what_footers_prove(promise: Promise, facts: Facts, proven: bool) -> None:
    assert promise.proven_by(facts) is proven


@pytest.mark.parametrize(
    "one, other, meet",
    [
        ((1, 5), (5, 9), True),
        ((1, 5), (6, 9), False),
        ((6, 9), (1, 5), False),
        (("a", "c"), ("d", "e"), False),
        (("a", "c"), ("b", "z"), True),
        ((1, 5), ("6", "9"), True),  # a type that has changed says nothing
        (None, (1, 2), True),
    ],
)
def test_which_files_can_have_the_same_key(
    one: tuple[int, int] | tuple[str, str] | None, other: tuple[int, int] | tuple[str, str] | None, meet: bool
) -> None:
    new, earlier = {"k": ColumnFacts(0, one)}, {"k": ColumnFacts(0, other)}
    assert may_meet(["k"], new, earlier) is meet
    assert may_meet(["k"], new, {})
    both = {**new, "l": ColumnFacts(0, (1, 1))}, {**earlier, "l": ColumnFacts(0, (2, 2))}
    assert not may_meet(["k", "l"], *both)


def test_few_rows_are_sent() -> None:
    few, many = (
        Rows("n", "e", is_feed=False, added=MOST_BROADCAST),
        Rows("n", "e", is_feed=False, added=MOST_BROADCAST + 1),
    )
    assert "BROADCAST" in Key(("k",)).offenders(few)
    assert "BROADCAST" not in Key(("k",)).offenders(many)
    assert "BROADCAST" not in Key(("k",)).offenders(Rows("n", "e", is_feed=False))


def test_columns_with_names_of_all_kinds() -> None:
    text = broken_promises([Key(("a b", "c`d"))], Rows("n", "e", is_feed=False), 6)
    assert "n.`a b` = r.`a b` AND n.`c``d` = r.`c``d`" in text
    assert row_text(["it's"]) == "concat('it\\'s=', coalesce(CAST(`it's` AS STRING), 'NULL'))"


def test_a_check_costs_more_of_more_rows() -> None:
    widths = {"k": 8.0, "v": 8.0}
    for promise in (Key(("k",)), EXACT):
        few, more = (bill_of(promise, widths, Arrival(1e6, 1e5, 1e5), earlier).work for earlier in (0.0, 1e7))
        assert 0 < few < more
