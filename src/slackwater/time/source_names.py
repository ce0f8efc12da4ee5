"""The names by which steps read a table at a version, a table's delta, or a state.

They are plain identifiers, the same for the planner, the compiler and the runtime.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from slackwater.algebra.relation import Relation, Scan
from slackwater.algebra.schema import Column, Field, TableSchema
from slackwater.algebra.types import BIGINT
from slackwater.sql.names import output_names
from slackwater.time.forms import WEIGHT
from slackwater.time.frame import Frame


def snapshot_name(table: str, version: int) -> str:
    """A changing table after a run."""
    return f"{_plain(table)}__v{version}"


def change_name(table: str, run: int, first: int | None = None) -> str:
    """The rows of a changing table that arrived for a run, or from a first to a last run.

    With a weight for each row, if rows can be retracted.
    """
    return f"{_plain(table)}__d{run}" if first in (None, run) else f"{_plain(table)}__d{first}_{run}"


_OF_SEVERAL_RUNS = re.compile(r"(.+)__d(\d+)_(\d+)")


def wide_changes(table: str, names: Iterable[str]) -> Iterator[tuple[str, range]]:
    """Those of some names that are the rows of a table of several runs, and the runs."""
    for name in names:
        match = _OF_SEVERAL_RUNS.fullmatch(name)
        if match is not None and match[1] == _plain(table):
            yield name, range(int(match[2]), int(match[3]) + 1)


def _plain(table: str) -> str:
    return table.replace(".", "_")


def snapshot_source(scan: Scan, version: int) -> Relation:
    if not scan.table.changing:
        return scan
    fields = scan.table.fields
    return Scan(TableSchema(snapshot_name(scan.table.name, version), fields, scan.table.keys), scan.columns)


def change_source(scan: Scan, frame: Frame, *, signed: bool) -> Relation:
    fields, columns = scan.table.fields, scan.columns
    if signed:
        fields, columns = (*fields, Field(WEIGHT.name, BIGINT, nullable=False)), (*columns, WEIGHT)
    return Scan(TableSchema(change_name(scan.table.name, frame.until, frame.runs[0]), fields), columns)


def state_source(name: str, columns: tuple[Column, ...]) -> Relation:
    """A saved relation, with the column names of the step that saved it."""
    spelt = output_names(columns)
    return Scan(TableSchema(name, tuple(Field(spelt[c], c.type) for c in columns)), columns)
