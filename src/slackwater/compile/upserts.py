"""Records without preimages as exact changes, in SQL: what Debezium, DMS and most other CDC tools deliver.

The table after a run holds, for every key, the winning record among all records up to that run, unless that record is
a delete. The record with the greatest sequence wins; without a sequence, that of the latest run. Records that are equal
in all columns count as one. A tie between records that differ is an error, and so is a NULL in a key or in a sequence.

`table` computes this from the records. `changes` computes the change of one run from its records and the changes of the
runs before it: a changelog, with both images of an update, and with the deletes, which are kept so that a late record
does not restore a deleted row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slackwater.algebra.schema import Field
from slackwater.algebra.types import Type
from slackwater.compile.views import quoted_name, quoted_text
from slackwater.physical.bill import Bill
from slackwater.physical.rates import Prices, Rates
from slackwater.rows.width import type_width
from slackwater.time.forms import WEIGHT

CHANGE = "slackwater__change"
"""The column of a changelog with the kind of the row."""

INSERT, BEFORE, AFTER, DELETE, TOMBSTONE = "insert", "update_preimage", "update_postimage", "delete", "tombstone"
RECORDS = (INSERT, AFTER, TOMBSTONE)
"""The kinds of rows that are records as they arrived; rows of other kinds are replaced by these."""

ROW, DELETED, RUN, RANK, TAKING = (f"slackwater__{word}" for word in ("row", "deleted", "run", "rank", "taking"))
RIVAL = "slackwater__rival"
"""Names of added columns. A rival is a record that ties with the winner; without a tie it is the winner itself."""

Numbered = Sequence[tuple[int, str]]
"""Views by the run that brought their rows."""


@dataclass(frozen=True)
class Upserts:
    """What the records of a source mean."""

    source: str
    fields: tuple[Field, ...]
    key: tuple[str, ...]
    sequence: tuple[str, ...] = ()
    """Expressions over a record; the first that differs decides."""
    deletes: str | None = None
    """An expression: whether a record is a delete; NULL means it is not."""

    @property
    def changelog_fields(self) -> tuple[Field, ...]:
        return (*self.fields, Field(CHANGE, Type.parse("string"), nullable=False))

    # --- by definition -----------------------------------------------------------------------------------------------

    def table(self, records: Numbered) -> str:
        """The table after these records, by the definition."""
        read = "\n  UNION ALL\n  ".join(self._read(view, run) for run, view in records)
        return f"SELECT {self._unpacked}\nFROM ({self._alone(self._winners(read, RUN))})\nWHERE NOT {DELETED}"

    # --- step by step ------------------------------------------------------------------------------------------------

    def changes(self, records: str, earlier: Numbered) -> str:
        """The changelog of a run: its records against the winners of the earlier changelogs."""
        winners = self._winners(self._read(records, 0))
        if not earlier:
            change = f"CASE WHEN {DELETED} THEN '{TOMBSTONE}' ELSE '{INSERT}' END AS {CHANGE}"
            return f"SELECT {self._unpacked}, {change}\nFROM ({self._alone(winners)})"
        return (
            f"WITH slackwater__arrived AS (\n{winners}\n), slackwater__current AS (\n{self._current(earlier)}\n)\n"
            f"SELECT {self._unpacked}, {CHANGE}\n"
            f"FROM (\n  SELECT CASE WHEN {TAKING} THEN slackwater__old ELSE slackwater__new END AS {ROW},\n"
            f"    {_KIND} AS {CHANGE}\n"
            f"  FROM (\n{self._compared}\n  )\n"
            f"  CROSS JOIN (SELECT false AS {TAKING} UNION ALL SELECT true AS {TAKING})\n"
            f"  WHERE slackwater__wins AND (slackwater__live OR NOT {TAKING})\n)"
        )

    def change_of(self, changelog: str) -> str:
        """The change of a run, each row with its weight."""
        weight = f"CASE WHEN {CHANGE} IN ('{INSERT}', '{AFTER}') THEN 1L ELSE -1L END AS {WEIGHT.name}"
        return f"SELECT {self._columns}, {weight}\nFROM {changelog}\nWHERE {CHANGE} <> '{TOMBSTONE}'"

    def version_of(self, changelogs: Numbered) -> str:
        """The table after the last of these changelogs: the latest record of every key, unless it is a delete."""
        if len(changelogs) == 1:
            ((_, only),) = changelogs
            return f"SELECT {self._columns}\nFROM {only}\nWHERE {CHANGE} = '{INSERT}'"
        rank = f"row_number() OVER (PARTITION BY {self._keys} ORDER BY {RUN} DESC) AS {RANK}"
        kept = self._kept(changelogs, f"{self._columns}, {CHANGE}")
        return (
            f"SELECT {self._columns}\nFROM (\n  SELECT *, {rank}\n  FROM ({kept})\n)\n"
            f"WHERE {RANK} = 1 AND {CHANGE} <> '{TOMBSTONE}'"
        )

    # --- parts of these ----------------------------------------------------------------------------------------------

    @property
    def _columns(self) -> str:
        return ", ".join(quoted_name(f.name) for f in self.fields)

    @property
    def _keys(self) -> str:
        return ", ".join(map(quoted_name, self.key))

    @property
    def _unpacked(self) -> str:
        return ", ".join(f"{ROW}.{quoted_name(f.name)} AS {quoted_name(f.name)}" for f in self.fields)

    @property
    def _places(self) -> list[str]:
        """The added columns that hold the sequence."""
        return [f"slackwater__sequence{n}" for n, _ in enumerate(self.sequence, start=1)]

    def _read(self, view: str, run: int) -> str:
        """Records with their sequence and whether they are deletes; a NULL in a key or a sequence is an error."""
        shown = f"to_json(struct({self._columns}))"
        key = f"source `{self.source}`: a record has NULL in its key ({', '.join(self.key)})"
        columns = [
            _never_null(quoted_name(f.name), key, shown) if f.name in self.key else quoted_name(f.name)
            for f in self.fields
        ]
        for text, place in zip(self.sequence, self._places, strict=True):
            said = f"source `{self.source}`: a record has no sequence, `{text}` is NULL"
            columns.append(_never_null(f"({text}\n)", said, shown, place))
        return f"SELECT {', '.join(columns)}, {self._is_delete}, {run} AS {RUN} FROM {quoted_name(view)}"

    @property
    def _is_delete(self) -> str:
        return f"coalesce(({self.deletes}\n), false) AS {DELETED}" if self.deletes else f"false AS {DELETED}"

    def _winners(self, read: str, otherwise: str | None = None) -> str:
        """The winning record of each key, and its rival: by the sequence or, without one, by `otherwise`."""
        order = self._places or ([otherwise] if otherwise else [])
        rank = f"rank() OVER (PARTITION BY {self._keys} ORDER BY {', '.join(f'{o} DESC' for o in order) or '1'})"
        kept = "".join(f", max({column}) AS {column}" for column in (*self._places, DELETED))
        return (
            f"  SELECT {self._keys}, max({ROW}) AS {ROW}, min({ROW}) AS {RIVAL}{kept}\n"
            f"  FROM (\n  SELECT *, struct({self._columns}) AS {ROW}, {rank} AS {RANK}\n  FROM (\n  {read}\n  )\n  )\n"
            f"  WHERE {RANK} = 1\n  GROUP BY {self._keys}"
        )

    def _alone(self, winners: str) -> str:
        """The winners; a rival that differs from its winner is an error."""
        one = f"CASE WHEN {ROW} <=> {RIVAL} THEN {ROW} ELSE {self._tied(RIVAL, ROW)} END AS {ROW}"
        return f"\n  SELECT {one}, {DELETED}\n  FROM (\n{winners}\n)\n"

    def _tied(self, one: str, other: str) -> str:
        what = "two different records of one key have the same sequence"
        if not self.sequence:
            what = "one run has two different records of one key: set `sequence`, which decides the later one"
        return _error(f"source `{self.source}`: {what}: ", f"to_json({one})", "' and '", f"to_json({other})")

    def _kept(self, changelogs: Numbered, columns: str) -> str:
        """The records of changelogs, each with its run."""
        records = ", ".join(f"'{kind}'" for kind in RECORDS)
        selects = (f"SELECT {columns}, {n} AS {RUN} FROM {log} WHERE {CHANGE} IN ({records})" for n, log in changelogs)
        return "\n  UNION ALL\n  ".join(selects)

    def _current(self, changelogs: Numbered) -> str:
        """The current winners of the keys that have arrived."""
        places = "".join(f", ({t}\n) AS {p}" for t, p in zip(self.sequence, self._places, strict=True))
        rank = f"row_number() OVER (PARTITION BY {self._keys} ORDER BY {RUN} DESC) AS {RANK}"
        return (
            f"  SELECT {self._keys}, struct({self._columns}) AS {ROW}, {self._is_delete}{places}\n"
            f"  FROM (\n  SELECT slackwater__kept.*, {rank}\n"
            f"  FROM (\n  {self._kept(changelogs, self._columns)}\n  ) AS slackwater__kept\n"
            f"  LEFT SEMI JOIN slackwater__arrived AS slackwater__a ON {self._same_key('slackwater__kept')}\n  )\n"
            f"  WHERE {RANK} = 1"
        )

    @property
    def _compared(self) -> str:
        """Every arrived record next to the current winner, and whether it wins."""
        return (
            f"  SELECT slackwater__a.{ROW} AS slackwater__new, slackwater__c.{ROW} AS slackwater__old,\n"
            f"    slackwater__a.{DELETED} AS {DELETED},\n"
            f"    slackwater__c.{DELETED} IS NOT NULL AND NOT slackwater__c.{DELETED} AS slackwater__live,\n"
            f"    {self._wins} AS slackwater__wins\n"
            f"  FROM slackwater__arrived AS slackwater__a\n"
            f"  LEFT JOIN slackwater__current AS slackwater__c ON {self._same_key('slackwater__c')}"
        )

    @property
    def _wins(self) -> str:
        new, rival, old = f"slackwater__a.{ROW}", f"slackwater__a.{RIVAL}", f"slackwater__c.{ROW}"
        tied = self._tied(rival, new)
        alone = f"CASE WHEN {new} <=> {rival} THEN true ELSE {tied} END"
        cases = [f"WHEN slackwater__c.{DELETED} IS NULL THEN {alone}"]
        for place in self._places:
            cases.append(f"WHEN slackwater__a.{place} > slackwater__c.{place} THEN {alone}")
            cases.append(f"WHEN slackwater__a.{place} < slackwater__c.{place} THEN false")
        cases += [f"WHEN NOT ({new} <=> {rival}) THEN {tied}", f"WHEN {new} <=> {old} THEN false"]
        return f"CASE {' '.join(cases)} ELSE {self._tied(old, new) if self.sequence else 'true'} END"

    def _same_key(self, other: str) -> str:
        return " AND ".join(f"slackwater__a.{quoted_name(c)} = {other}.{quoted_name(c)}" for c in self.key)


_KIND = (
    f"CASE WHEN {TAKING} THEN CASE WHEN {DELETED} THEN '{DELETE}' ELSE '{BEFORE}' END"
    f" WHEN {DELETED} THEN '{TOMBSTONE}' WHEN slackwater__live THEN '{AFTER}' ELSE '{INSERT}' END"
)


def _never_null(value: str, said: str, shown: str, name: str | None = None) -> str:
    refused = _error(f"{said}: ", shown)
    return f"CASE WHEN {value} IS NULL THEN {refused} ELSE {value} END AS {name or value}"


def _error(said: str, *shown: str) -> str:
    return f"raise_error(concat({', '.join((quoted_text(said), *shown))}))"


def bill_of(fields: Sequence[Field], arrived: float, before: float) -> Bill:
    """The cost of a changelog by the built-in rates: of the records that arrived, and of those before."""
    rates, prices = Rates(), Prices()
    width = sum(type_width(f.type) for f in fields)
    files, read = prices.io * rates.compressed, arrived + before
    written = arrived * (2.0 if before else 1.0)
    return Bill(
        compute=(rates.sort + rates.window_call + rates.merge + rates.emit) * arrived + rates.probe * before,
        read=(rates.read + (rates.read_byte + files) * width) * read,
        write=(rates.write + (rates.write_byte + files) * width) * written,
        shuffle=(rates.shuffle + prices.network * width) * arrived,
    )


def kinds_of(changes: Iterable[str]) -> tuple[int, int, int]:
    """How many rows a changelog inserts, updates and deletes."""
    kinds = list(changes)
    return kinds.count(INSERT), kinds.count(AFTER), kinds.count(DELETE)
