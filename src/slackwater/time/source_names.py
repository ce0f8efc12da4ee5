"""The names by which steps read a table at a version, a table's delta, or a state.

They are plain identifiers, the same for the planner, the compiler and the runtime.
"""

from __future__ import annotations

from slackwater.algebra.relation import Relation, Scan
from slackwater.algebra.schema import Column, Field, TableSchema
from slackwater.algebra.types import BIGINT
from slackwater.sql.names import output_names
from slackwater.time.forms import WEIGHT


def snapshot_name(table: str, version: int) -> str:
    """A changing table after a run."""
    return f"{_plain(table)}__v{version}"


def change_name(table: str, interval: int) -> str:
    """The rows of a changing table that arrived for a run; with a weight for each row, if rows can be retracted."""
    return f"{_plain(table)}__d{interval}"


def _plain(table: str) -> str:
    return table.replace(".", "_")


def snapshot_source(scan: Scan, version: int) -> Relation:
    if not scan.table.changing:
        return scan
    fields = scan.table.fields
    return Scan(TableSchema(snapshot_name(scan.table.name, version), fields, scan.table.keys), scan.columns)


def change_source(scan: Scan, interval: int, *, signed: bool) -> Relation:
    fields, columns = scan.table.fields, scan.columns
    if signed:
        fields, columns = (*fields, Field(WEIGHT.name, BIGINT, nullable=False)), (*columns, WEIGHT)
    return Scan(TableSchema(change_name(scan.table.name, interval), fields), columns)


def state_source(name: str, columns: tuple[Column, ...]) -> Relation:
    """A saved relation, with the column names of the step that saved it."""
    spelt = output_names(columns)
    return Scan(TableSchema(name, tuple(Field(spelt[c], c.type) for c in columns)), columns)
