"""What a workload's tables are: columns, keys, references, and which of them change during a day.

Plain frozen data with no package behind it: a planner test can use the TPC tables without generating a row.
Invariant: every key, reference and measure names columns that exist, and a reference fits the key it points at; a
schema that breaks this cannot be built.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

import pyarrow as pa

from slackwater.errors import InternalError, UserError, did_you_mean


class Role(Enum):
    """What part a table plays in the business; everything but a dimension changes unless a pattern says otherwise."""

    DIMENSION = "dimension"
    SALES = "sales"
    RETURNS = "returns"
    STOCK = "stock"


@dataclass(frozen=True, slots=True)
class WorkloadColumn:
    """A column with its Spark SQL type."""

    name: str
    type: str
    nullable: bool


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key: `columns` hold the key of `table`, or a null.

    `owner` marks the one reference a row lives and dies by: the order of a line item, the sale of a return.
    """

    columns: tuple[str, ...]
    table: str
    owner: bool = False


@dataclass(frozen=True, slots=True)
class WorkloadTable:
    """A table of a workload.

    `unit` names the columns whose rows belong to one business event (the lines of one ticket); `skew_by` the column
    by whose values activity concentrates; `measure` the numeric column that an update changes.
    """

    name: str
    role: Role
    columns: tuple[WorkloadColumn, ...]
    key: tuple[str, ...]
    references: tuple[Reference, ...]
    unit: tuple[str, ...]
    skew_by: str
    measure: str | None

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def owner(self) -> Reference | None:
        """The reference that this table's rows live and die by."""
        return next((reference for reference in self.references if reference.owner), None)

    def arrow_schema(self) -> pa.Schema:
        return pa.schema([pa.field(c.name, arrow_type(c.type), nullable=c.nullable) for c in self.columns])


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a workload, by name, in the order they were given."""

    tables: tuple[WorkloadTable, ...]

    def __post_init__(self) -> None:
        for table in self.tables:
            _check(table, self)

    def __iter__(self) -> Iterator[WorkloadTable]:
        return iter(self.tables)

    def __getitem__(self, name: str) -> WorkloadTable:
        for table in self.tables:
            if table.name == name:
                return table
        names = [table.name for table in self.tables]
        raise UserError(f"no table `{name}` in this workload", hint=did_you_mean(name, names))

    @property
    def changing(self) -> frozenset[str]:
        """The tables that change during a day unless a pattern says otherwise."""
        return frozenset(table.name for table in self.tables if table.role is not Role.DIMENSION)

    def in_role(self, *roles: Role) -> frozenset[str]:
        return frozenset(table.name for table in self.tables if table.role in roles)


def table(
    name: str,
    columns: str,
    *,
    key: str,
    role: Role = Role.DIMENSION,
    references: Mapping[str, str] | None = None,
    owner: str | None = None,
    unit: str | None = None,
    skew_by: str | None = None,
    measure: str | None = None,
    nullable: bool = True,
) -> WorkloadTable:
    """A table from a compact text: `columns` is "name type, name type", other lists are names apart by blanks.

    Key columns are never null; the others are as `nullable` says. Without `measure`, the first decimal, else the
    first whole-number column that is no key and no reference.
    """
    keys = tuple(key.split())
    # A comma inside decimal(p,s) does not end a column.
    parsed = [tuple(item.split()) for item in re.split(r",(?![^(]*\))", columns)]
    refs = tuple(
        Reference(tuple(names.split()), target, owner=target == owner) for names, target in (references or {}).items()
    )
    if measure is None:
        taken = {*keys, *(column for reference in refs for column in reference.columns)}
        free = [(column, spark_type) for column, spark_type in parsed if column not in taken]
        decimals = [column for column, spark_type in free if spark_type.startswith("decimal")]
        integers = [column for column, spark_type in free if spark_type in ("int", "bigint")]
        measure = next(iter(decimals + integers), None)
    return WorkloadTable(
        name=name,
        role=role,
        columns=tuple(WorkloadColumn(column, kind, nullable and column not in keys) for column, kind in parsed),
        key=keys,
        references=refs,
        unit=tuple(unit.split()) if unit else keys,
        skew_by=skew_by or keys[0],
        measure=measure,
    )


_ARROW: Final[Mapping[str, pa.DataType]] = {
    "bigint": pa.int64(),
    "int": pa.int32(),
    "string": pa.string(),
    "date": pa.date32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
}


def arrow_type(spark_type: str) -> pa.DataType:
    """The Arrow type that holds a Spark SQL type of the workloads."""
    if spark_type in _ARROW:
        return _ARROW[spark_type]
    if spark_type.startswith("decimal(") and spark_type.endswith(")"):
        precision, scale = spark_type[len("decimal(") : -1].split(",")
        return pa.decimal128(int(precision), int(scale))
    raise InternalError(f"workload schema: no Arrow type for Spark type `{spark_type}`")


def _check(table: WorkloadTable, schema: Schema) -> None:
    columns = set(table.column_names)
    named = {*table.key, *table.unit, table.skew_by, *(c for r in table.references for c in r.columns)}
    if table.measure is not None:
        named.add(table.measure)
    if not named <= columns:
        raise InternalError(f"workload schema: `{table.name}` names {sorted(named - columns)}, which it does not have")
    for reference in table.references:
        target = schema[reference.table]
        if len(target.key) != len(reference.columns):
            raise InternalError(
                f"workload schema: `{table.name}` refers to `{target.name}` by {reference.columns}, "
                f"but its key is {target.key}"
            )
    if sum(reference.owner for reference in table.references) > 1:
        raise InternalError(f"workload schema: `{table.name}` has two owners")
