"""Catalog files: tables and their statistics, as JSON.

    {"sales": {"columns": {"o_id": "int", "cat": "string", "price": "double"},
               "keys": [["o_id"]],
               "changes": "append",
               "rows": 7,
               "arrives": {"14:00": 4, "24:00": {"inserts": 4, "deletes": 1}},
               "distinct": {"cat": 2},
               "nulls": {"cat": 0.1},
               "frequent": {"cat": {"a": 0.8}},
               "bounds": {"price": [0, 1, 2, 5, 100]}}}

Only `columns` is required. `nulls` are shares of rows, `frequent` shares of what is not null; `bounds` are of equal
depth, from the least value to the greatest, days as text. `changing: false` is for a static table; `changes` says
whether rows are only added (`append`) or may also be updated and deleted (`feed`); by default this follows from the
arrivals. `"with": {"orders": ["id"]}` names tables whose rows arrive in the same run as the rows that refer to them, by
the columns with their key; `after` those whose rows arrive then or before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from slackwater.algebra.schema import KeyReference, TableSchema
from slackwater.algebra.types import DATE, Type
from slackwater.algebra.value_tests import constant_of
from slackwater.catalog.quantiles import Bounds
from slackwater.catalog.stated_sizes import StatedSizes, statistics
from slackwater.catalog.statistics import Arrival, Frequent, Statistics
from slackwater.catalog.table import Catalog, table
from slackwater.errors import Place, UserError, did_you_mean
from slackwater.json_text import read_json

ENTRIES = (
    *("columns", "keys", "changing", "changes", "with", "after"),
    *("rows", "arrives", "distinct", "nulls", "frequent", "bounds"),
)
CHANGES = ("append", "feed", "upserts")
COUNTS = ("inserts", "updates", "deletes")
EXAMPLE = '{"sales": {"columns": {"price": "double"}, "keys": [["id"]], "changing": true}}'


@dataclass(frozen=True)
class DescribedTables:
    """A catalog with the sizes that its file states."""

    catalog: Catalog
    sizes: Mapping[str, StatedSizes]
    place: Place | None = None

    def statistics(self, times: Sequence[str]) -> Statistics:
        """The sizes over the runs of a schedule."""
        return statistics(self.catalog, self.sizes, times, self.place)


def load_tables(path: Path) -> DescribedTables:
    """Reads a catalog file."""
    place = Place(str(path))
    try:
        content = read_json(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        raise UserError("no such catalog file", place=place) from None
    except OSError as error:
        raise UserError(f"cannot read the catalog: {error.strerror}", place=place) from None
    except UnicodeDecodeError:
        raise UserError("this file is not UTF-8 text", place=place) from None
    if not isinstance(content, dict):
        raise UserError("a catalog is an object of tables", place=place, hint=f"e.g. {EXAMPLE}")
    entries = [_Entry(str(name), entry, place) for name, entry in content.items()]
    keys = {entry.name: entry.keys() for entry in entries}
    return DescribedTables(Catalog.of(e.schema(keys) for e in entries), {e.name: e.sizes() for e in entries}, place)


def load_catalog(path: Path) -> Catalog:
    """The tables of a catalog file, without their sizes."""
    return load_tables(path).catalog


class _Entry:
    """One table of a catalog file."""

    def __init__(self, name: str, entry: object, place: Place) -> None:
        self.name = name
        self.place = place
        columns = entry.get("columns") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(columns, dict):
            raise self._refused("needs `columns`", f"e.g. {EXAMPLE}")
        self.entry: dict[str, object] = entry
        self.columns = {str(column): str(kind) for column, kind in columns.items()}
        self._known(entry, ENTRIES, "an unknown entry")

    def schema(self, keys: Mapping[str, list[list[str]]]) -> TableSchema:
        """The table, beside the keys of all tables."""
        changing = self.entry.get("changing", True)
        if not isinstance(changing, bool):
            raise self._refused("says neither true nor false of `changing`")
        changes = self.entry.get("changes", "feed" if self._retracts() else "append")
        if changes not in CHANGES:
            raise self._refused(f"has `changes` of {changes!r}", did_you_mean(str(changes), CHANGES))
        if changes == "upserts" and len(self.keys()) != 1:
            raise self._refused("brings upserts, which have one key", 'e.g. "keys": [["o_id"]]')
        try:
            made = table(self.name, self.columns, keys=self.keys(), changing=changing)
        except UserError as error:
            raise UserError(error.message, place=self.place, hint=error.hint) from None
        together, later = (tuple(self._references(word, keys)) for word in ("with", "after"))
        return replace(made, append_only=changes == "append", arrives_with=together, arrives_after=later)

    def _references(self, word: str, keys: Mapping[str, list[list[str]]]) -> Iterator[KeyReference]:
        """Columns with keys of rows of other tables, by the table they refer to."""
        for name, columns in self._object(word):
            if not isinstance(columns, list) or not all(column in self.columns for column in columns):
                raise self._refused(
                    f"has `{word}.{name}` that is no list of columns", f'e.g. "{word}": {{"{name}": ["id"]}}'
                )
            key = next((key for key in keys.get(name, ()) if len(key) == len(columns)), None)
            if key is None:
                raise self._refused(f"has `{word}.{name}`, which has no key of {len(columns)} columns")
            yield KeyReference(tuple(map(str, columns)), name, tuple(key))

    def _retracts(self) -> bool:
        return any(arrival.updates or arrival.deletes for arrival in self.sizes().arrives.values())

    def keys(self) -> list[list[str]]:
        keys = self.entry.get("keys", [])
        if not isinstance(keys, list) or not all(isinstance(key, list) for key in keys):
            raise self._refused(
                "has keys that are no lists of columns", 'e.g. "keys": [["o_id"], ["region", "number"]]'
            )
        return [[str(column) for column in key] for key in keys]

    def sizes(self) -> StatedSizes:
        rows = self.entry.get("rows")
        return StatedSizes(
            None if rows is None else self._number(rows, "rows"),
            {time: self._arrival(time, value) for time, value in self._object("arrives")},
            {column: self._number(value, f"distinct.{column}") for column, value in self._object("distinct")},
            {column: self._share(value, f"nulls.{column}") for column, value in self._object("nulls")},
            {column: self._frequent(column, value) for column, value in self._object("frequent")},
            {column: self._bounds(column, value) for column, value in self._object("bounds")},
        )

    def _frequent(self, column: str, value: object) -> Frequent:
        if not isinstance(value, dict):
            raise self._refused(f"has `frequent.{column}` that is no object", 'e.g. "frequent": {"cat": {"a": 0.8}}')
        kind = Type.parse(self.columns.get(column, "string"))
        shares = [(constant_of(str(v), kind), self._share(s, f"frequent.{column}.{v}")) for v, s in value.items()]
        if sum(share for _, share in shares) > 1.0 + 1e-6:
            raise self._refused(f"has frequent values of `{column}` with more than all rows")
        return tuple(sorted(shares, key=lambda each: -each[1]))

    def _bounds(self, column: str, value: object) -> Bounds:
        places = [_place(each) for each in value] if isinstance(value, list) else []
        bounds = tuple(place for place in places if place is not None)
        if len(bounds) < 2 or len(bounds) < len(places) or list(bounds) != sorted(bounds):
            raise self._refused(f"has `bounds.{column}` that are no numbers or days in order", "e.g. [0, 1, 5, 100]")
        return bounds

    def _share(self, value: object, what: str) -> float:
        share = self._number(value, what)
        if share > 1.0:
            raise self._refused(f"has `{what}` of more than 1: {value}")
        return share

    def _arrival(self, time: str, arrival: object) -> Arrival:
        if not isinstance(arrival, dict):
            return Arrival(self._number(arrival, f"arrives.{time}"))
        self._known(arrival, COUNTS, f"at {time} an unknown count")
        counts = {name: self._number(value, f"arrives.{time}.{name}") for name, value in arrival.items()}
        return Arrival(counts.get("inserts", 0.0), counts.get("updates", 0.0), counts.get("deletes", 0.0))

    def _object(self, name: str) -> Iterable[tuple[str, object]]:
        entries = self.entry.get(name, {})
        if not isinstance(entries, dict):
            raise self._refused(f"has `{name}` that is no object")
        return ((str(key), value) for key, value in entries.items())

    def _number(self, value: object, what: str) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
            raise self._refused(f"has `{what}` that is no number: {value!r}")
        if value < 0:
            raise self._refused(f"has `{what}` below zero: {value}")
        return float(value)

    def _known(self, entries: Mapping[object, object], names: Sequence[str], what: str) -> None:
        for name in sorted(str(key) for key in entries.keys() - set(names)):
            raise self._refused(f"has {what} `{name}`", did_you_mean(name, names))

    def _refused(self, message: str, hint: str | None = None) -> UserError:
        return UserError(f"table `{self.name}` {message}", place=self.place, hint=hint)


def _place(value: object) -> float | None:
    """A number, or a day as text."""
    if isinstance(value, str):
        place = constant_of(value, DATE)
        return place if isinstance(place, float) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
