"""Checks of the promises of sources, as SQL: for each promise a query that returns the rows that violate it.

A promise is checked when files arrive: their rows against those of earlier files, which have been checked already. Only
violations that the new rows can cause are looked for, so earlier files are read only if they may match new rows.

A new kind of promise is a class here that implements `Promise`; `job/inputs/promises.py` assigns promises to sources.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from slackwater.catalog.statistics import Arrival
from slackwater.compile.views import ADDING, CHANGE_TYPE, TAKING, TIMES, quoted_name, quoted_text
from slackwater.physical.bill import Bill
from slackwater.physical.rates import Prices, Rates
from slackwater.rows.width import STRING

BEFORE, AFTER = "update_preimage", "update_postimage"
PROMISE, ROW, HASH = "slackwater__promise", "slackwater__row", "slackwater__hash"
MOST_BROADCAST = 1_000_000
"""The most new rows, or hashes of rows, that are broadcast."""

Value: TypeAlias = int | str


@dataclass(frozen=True)
class ColumnFacts:
    """The statistics of a column in a file's footer: the number of NULLs, and the range of the other values."""

    nulls: int
    range: tuple[Value, Value] | None = None


Facts: TypeAlias = Mapping[str, ColumnFacts]
"""The statistics of footers, by column; a column with incomplete statistics is left out."""


@dataclass(frozen=True)
class Rows:
    """The views that a check reads: the new rows, and the earlier rows that they may match, if any."""

    new: str
    earlier: str | None
    is_feed: bool
    added: float = math.inf
    taken: float = math.inf
    """The numbers of new rows that add, and that remove rows, as far as known."""

    def broadcast_hint(self, rows: float) -> str:
        """A hint to broadcast the new rows, if they are few, instead of shuffling the earlier ones."""
        return "/*+ BROADCAST(n) */ " if rows <= MOST_BROADCAST else ""

    @property
    def weight(self) -> str:
        """The change of a row's multiplicity. An unknown kind of change counts 0."""
        if not self.is_feed:
            return "1L"
        added, taken = _texts(ADDING), _texts(TAKING)
        return f"CASE WHEN {CHANGE_TYPE} IN ({added}) THEN 1L WHEN {CHANGE_TYPE} IN ({taken}) THEN -1L ELSE 0L END"


@dataclass(frozen=True)
class CheckVolume:
    """How many rows a check handles: read from files, broadcast, probed, grouped, shuffled to be joined.

    `hashed` counts values, of all columns.
    """

    read: float
    broadcast: float = 0.0
    probed: float = 0.0
    grouped: float = 0.0
    hashed: float = 0.0
    shuffled: float = 0.0


class Promise(Protocol):
    """What the producer of a source guarantees for all its rows.

    `reads` are the columns that a check needs, `shown` those that identify an offending row in a message. `meets_by`
    are the columns on which a new and an earlier row agree if they violate it together; None if one row violates it.
    """

    @property
    def name(self) -> str: ...

    @property
    def reads(self) -> tuple[str, ...]: ...

    @property
    def shown(self) -> tuple[str, ...]: ...

    @property
    def meets_by(self) -> tuple[str, ...] | None: ...

    def offenders(self, rows: Rows) -> str:
        """The query of the offending rows: `shown`, and as `TIMES` a number that `fault` explains."""

    def fault(self, times: int) -> str:
        """What is wrong with an offending row, in words."""

    def proven_by(self, facts: Facts) -> bool:
        """Whether the footers of the new files prove that their rows keep it."""

    def volume(self, arrival: Arrival, earlier: float) -> CheckVolume:
        """How many rows the check of an arrival handles, with this number of earlier rows."""


@dataclass(frozen=True)
class NotNull:
    """Columns that are never null."""

    columns: tuple[str, ...]
    shown: tuple[str, ...]
    meets_by: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        return f"not null ({', '.join(self.columns)})"

    @property
    def reads(self) -> tuple[str, ...]:
        return self.columns

    def offenders(self, rows: Rows) -> str:
        null = " OR ".join(f"{quoted_name(column)} IS NULL" for column in self.columns)
        return f"SELECT {_names(self.shown)}, 1L AS {TIMES} FROM {rows.new} WHERE {null}"

    def fault(self, times: int) -> str:
        return ""

    def proven_by(self, facts: Facts) -> bool:
        return all(column in facts and not facts[column].nulls for column in self.columns)

    def volume(self, arrival: Arrival, earlier: float) -> CheckVolume:
        return CheckVolume(read=arrival.changes)


@dataclass(frozen=True)
class Key:
    """Columns on which no two rows agree."""

    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"key ({', '.join(self.columns)})"

    @property
    def reads(self) -> tuple[str, ...]:
        return self.columns

    @property
    def shown(self) -> tuple[str, ...]:
        return self.columns

    @property
    def meets_by(self) -> tuple[str, ...]:
        return self.columns

    def offenders(self, rows: Rows) -> str:
        listed = f"{_names(self.columns)}, {rows.weight} AS {TIMES}"
        parts = [f"SELECT {listed} FROM {rows.new}"]
        if rows.earlier is not None:
            met = _meeting(rows, self.columns, ADDING)
            parts.append(f"SELECT {rows.broadcast_hint(rows.added)}{listed} FROM {rows.earlier} AS r {met}")
        return _added_up(parts, self.columns, "> 1")

    def fault(self, times: int) -> str:
        return f"{times} rows"

    def proven_by(self, facts: Facts) -> bool:
        return False

    def volume(self, arrival: Arrival, earlier: float) -> CheckVolume:
        new, added = arrival.changes, arrival.inserts + arrival.updates
        if not earlier:
            return CheckVolume(read=new, grouped=new)
        if added > MOST_BROADCAST:
            return CheckVolume(read=2 * new + earlier, probed=earlier, grouped=2 * new + earlier)
        return CheckVolume(read=2 * new + earlier, broadcast=added, probed=earlier, grouped=new)


@dataclass(frozen=True)
class KnownChanges:
    """Every row of a feed has one of the four change types."""

    name: str = f"known {CHANGE_TYPE}"
    reads: tuple[str, ...] = (CHANGE_TYPE,)
    shown: tuple[str, ...] = (CHANGE_TYPE,)
    meets_by: tuple[str, ...] | None = None

    def offenders(self, rows: Rows) -> str:
        unknown = f"{CHANGE_TYPE} IS NULL OR {CHANGE_TYPE} NOT IN ({_texts((*ADDING, *TAKING))})"
        return f"SELECT {CHANGE_TYPE}, count(*) AS {TIMES} FROM {rows.new} WHERE {unknown} GROUP BY {CHANGE_TYPE}"

    def fault(self, times: int) -> str:
        return f"{times} row{'s' if times != 1 else ''}"

    def proven_by(self, facts: Facts) -> bool:
        return _only(facts, (*ADDING, *TAKING))

    def volume(self, arrival: Arrival, earlier: float) -> CheckVolume:
        return CheckVolume(read=arrival.changes)


@dataclass(frozen=True)
class ExactChanges:
    """Every delete and preimage of a feed removes an existing row that is equal in all columns.

    A run is one batch, so it may remove a row that it adds. Rows are matched by the key, if there is one, and otherwise
    by all columns that can be joined on; matching rows are then compared in full.
    """

    columns: tuple[str, ...]
    meets_by: tuple[str, ...]
    has_key: bool = False
    name: str = "exact changes"

    @property
    def reads(self) -> tuple[str, ...]:
        return (*self.columns, CHANGE_TYPE)

    @property
    def shown(self) -> tuple[str, ...]:
        return self.columns

    def offenders(self, rows: Rows) -> str:
        met = _meeting(rows, self.meets_by, TAKING, by_hash=not self.has_key) if self.meets_by else ""
        listed = f"{rows.broadcast_hint(rows.taken)}{_names(self.columns)}, {rows.weight} AS {TIMES}"
        tables = [rows.new, *([rows.earlier] if rows.earlier is not None else [])]
        parts = [f"SELECT {listed} FROM {table} AS r {met}" for table in tables]
        return _added_up(parts, self.columns, "< 0")

    def fault(self, times: int) -> str:
        return f"taken away {-times} time{'s' if times != -1 else ''} more than it was there"

    def proven_by(self, facts: Facts) -> bool:
        return _only(facts, ADDING)

    def volume(self, arrival: Arrival, earlier: float) -> CheckVolume:
        taken, probed = arrival.updates + arrival.deletes, arrival.changes + earlier
        read, hashed = arrival.changes + probed, 0.0 if self.has_key else len(self.meets_by) * (taken + probed)
        if taken > MOST_BROADCAST:
            return CheckVolume(read=read, probed=probed, grouped=3 * taken + probed, hashed=hashed)
        return CheckVolume(read=read, broadcast=taken, probed=probed, grouped=2 * taken, hashed=hashed)


@dataclass(frozen=True)
class PairedUpdates:
    """A run of a feed has as many postimages as preimages; if there is a key, for each of its values."""

    key: tuple[str, ...] = ()
    name: str = "paired updates"
    meets_by: tuple[str, ...] | None = None

    @property
    def reads(self) -> tuple[str, ...]:
        return (*self.key, CHANGE_TYPE)

    @property
    def shown(self) -> tuple[str, ...]:
        return self.key

    def offenders(self, rows: Rows) -> str:
        surplus = f"CASE WHEN {CHANGE_TYPE} = '{AFTER}' THEN 1L ELSE -1L END"
        listed = f"{_names(self.key)}, " if self.key else ""
        update = f"{CHANGE_TYPE} IN ({_texts((BEFORE, AFTER))})"
        return _added_up([f"SELECT {listed}{surplus} AS {TIMES} FROM {rows.new} WHERE {update}"], self.key, "<> 0")

    def fault(self, times: int) -> str:
        kind, other = (AFTER, BEFORE) if times > 0 else (BEFORE, AFTER)
        return f"{abs(times)} {kind} without {other}"

    def proven_by(self, facts: Facts) -> bool:
        return _only(facts, ("insert",)) or _only(facts, ("delete",))

    def volume(self, arrival: Arrival, earlier: float) -> CheckVolume:
        return CheckVolume(read=arrival.changes, grouped=2 * arrival.updates)


# --- prices ----------------------------------------------------------------------------------------------------------


def bill_of(promise: Promise, widths: Mapping[str, float], arrival: Arrival, earlier: float) -> Bill:
    """The cost of checking an arrival against this number of earlier rows, by the built-in rates."""
    rates, prices = Rates(), Prices()
    volume = promise.volume(arrival, earlier)
    width = sum(widths.get(column, STRING) for column in promise.reads)
    size = volume.read * width
    return Bill(
        compute=rates.probe * volume.probed
        + rates.compute * volume.hashed
        + (rates.group + rates.merge) * volume.grouped,
        read=rates.read * volume.read + (rates.read_byte + prices.io * rates.compressed) * size,
        shuffle=(rates.shuffle + prices.network * width) * (volume.grouped + volume.shuffled),
        broadcast=rates.broadcast * volume.broadcast,
    )


# --- statements ------------------------------------------------------------------------------------------------------


def broken_promises(promises: Sequence[Promise], rows: Rows, most: int) -> str:
    """One query for all promises of a source: the number of the promise, an offending row as text, its `TIMES`."""
    parts = [
        f"(SELECT {number} AS {PROMISE}, {row_text(promise.shown)} AS {ROW}, CAST({TIMES} AS BIGINT) AS {TIMES}\n"
        f"FROM (\n{promise.offenders(rows)}\n)\nLIMIT {most})"
        for number, promise in enumerate(promises)
    ]
    return "\nUNION ALL\n".join(parts)


def files_of_rows(shown: Sequence[str], rows: Rows, texts: Sequence[str]) -> str:
    """The new files that contain rows with these texts."""
    return f"SELECT DISTINCT input_file_name() AS file FROM {rows.new} WHERE {row_text(shown)} IN ({_texts(texts)})"


def row_text(columns: Sequence[str]) -> str:
    """A row as text, for people."""
    parts: list[str] = []
    for number, column in enumerate(columns):
        label = quoted_text(f"{', ' if number else ''}{column}=")
        parts.append(f"{label}, coalesce(CAST({quoted_name(column)} AS STRING), 'NULL')")
    return f"concat({', '.join(parts)})" if parts else "''"


def may_meet(columns: Sequence[str], new: Facts, earlier: Facts) -> bool:
    """Whether rows of both can agree on some columns, by the ranges in the footers."""
    return not any(
        _apart(new[column].range, earlier[column].range) for column in columns if column in new and column in earlier
    )


def _apart(one: tuple[Value, Value] | None, other: tuple[Value, Value] | None) -> bool:
    if one is None or other is None or len({isinstance(end, str) for end in (*one, *other)}) > 1:
        return False
    low, high = max(one[0], other[0], key=_order), min(one[1], other[1], key=_order)
    return _order(low) > _order(high)


def _order(value: Value) -> tuple[int, str]:
    return (0, value) if isinstance(value, str) else (value, "")


def _only(facts: Facts, kinds: Sequence[str]) -> bool:
    """Whether all rows of a feed have the same change type, and it is one of `kinds`."""
    statistics = facts.get(CHANGE_TYPE)
    return statistics is not None and not statistics.nulls and statistics.range in [(kind, kind) for kind in kinds]


def _meeting(rows: Rows, columns: Sequence[str], kinds: Sequence[str], *, by_hash: bool = False) -> str:
    """The semi join that keeps the rows `r` that match a new row on some columns; in a feed, a new row of some kinds.

    A hash also matches NULLs, and is one number for any number of columns; it rarely matches rows that differ.
    """
    only = f" WHERE {CHANGE_TYPE} IN ({_texts(kinds)})" if rows.is_feed else ""
    if by_hash:
        hashes = f"SELECT xxhash64({_names(columns)}) AS {HASH} FROM {rows.new}{only}"
        return f"LEFT SEMI JOIN ({hashes}) AS n ON n.{HASH} = xxhash64({_names(columns, of='r.')})"
    same = " AND ".join(f"n.{quoted_name(column)} = r.{quoted_name(column)}" for column in columns)
    return f"LEFT SEMI JOIN (SELECT {_names(columns)} FROM {rows.new}{only}) AS n ON {same}"


def _added_up(parts: Sequence[str], columns: Sequence[str], having: str) -> str:
    listed = f"{_names(columns)}, " if columns else ""
    together = "\nUNION ALL\n".join(parts)
    grouped = f" GROUP BY {_names(columns)}" if columns else ""
    return f"SELECT {listed}sum({TIMES}) AS {TIMES} FROM (\n{together}\n){grouped} HAVING sum({TIMES}) {having}"


def _names(columns: Sequence[str], *, of: str = "") -> str:
    return ", ".join(f"{of}{quoted_name(column)}" for column in columns)


def _texts(values: Sequence[str]) -> str:
    return ", ".join(map(quoted_text, values))
