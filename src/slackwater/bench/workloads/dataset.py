"""Generated data on disk: one directory of parquet a table, complete or absent.

Invariant: a data set's directory appears under its final name in one rename, after every table is written. An
interrupted generation leaves no directory of that name; a second call finds the first one's and generates nothing.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from slackwater.bench.workloads.generator import Generator, quoted
from slackwater.bench.workloads.workload_schema import Schema
from slackwater.errors import MachineError, UserError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_ELSEWHERE: Final = "set SLACKWATER_CACHE to a directory with room"


@dataclass(frozen=True, slots=True)
class Dataset:
    """A workload's tables at one scale factor."""

    workload: str
    schema: Schema
    scale_factor: float
    directory: Path

    def path(self, table: str) -> Path:
        """The directory of a table's parquet files."""
        return self.directory / self.schema[table].name

    def rows(self, table: str) -> int:
        """How many rows a table has, from the files' footers."""
        return sum(int(pq.read_metadata(file).num_rows) for file in sorted(self.path(table).glob("*.parquet")))

    def read(self, table: str, columns: Sequence[str] | None = None) -> pa.Table:
        """A table in memory, with the types and the nullability of its schema."""
        schema = self.schema[table].arrow_schema()
        wanted = pa.schema([schema.field(name) for name in columns]) if columns is not None else schema
        return pq.read_table(self.path(table), columns=wanted.names).cast(wanted)

    def attach(self, connection: DuckDBPyConnection) -> None:
        """Make every table a view of this DuckDB connection."""
        for table in self.schema:
            files = quoted(self.path(table.name) / "*.parquet")
            connection.execute(f"CREATE OR REPLACE VIEW {table.name} AS SELECT * FROM read_parquet({files})")


def default_cache() -> Path:
    """`$SLACKWATER_CACHE`, or `slackwater` in the user's cache directory."""
    chosen = os.environ.get("SLACKWATER_CACHE")
    if chosen:
        return Path(chosen)
    users = os.environ.get("XDG_CACHE_HOME")
    return (Path(users) if users else Path.home() / ".cache") / "slackwater"


def generate(workload: str, schema: Schema, generator: Generator, scale_factor: float, cache: Path) -> Dataset:
    """The data set at this scale factor, generated into `cache` unless it is there already."""
    if not scale_factor > 0:
        raise UserError(f"a scale factor of {scale_factor!r} has no data", hint="try 0.01, 0.1 or 1")
    directory = cache / "workloads" / workload / f"sf{scale_factor:g}-{generator.version}"
    dataset = Dataset(workload, schema, scale_factor, directory)
    if directory.is_dir():
        return dataset
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    except OSError as error:
        raise MachineError(f"cannot write to the cache directory `{cache}`: {error}", hint=_ELSEWHERE) from error
    try:
        _write(schema, generator, scale_factor, scratch)
        _publish(scratch / "tables", directory)
    except OSError as error:
        raise MachineError(f"cannot generate `{directory}`: {error}", hint=_ELSEWHERE) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return dataset


def _write(schema: Schema, generator: Generator, scale_factor: float, scratch: Path) -> None:
    """Generate into a database file in `scratch`, then copy each table to `scratch/tables/<name>/`."""
    import duckdb

    with generator.open(scratch / "generator.duckdb") as connection:
        try:
            generator.generate(connection, scale_factor)
            for table in schema:
                target = scratch / "tables" / table.name
                target.mkdir(parents=True)
                columns = ", ".join(f"{column.name}::{column.type} AS {column.name}" for column in table.columns)
                file = quoted(target / "part-0.parquet")
                connection.execute(f"COPY (SELECT {columns} FROM {table.name}) TO {file} (FORMAT parquet)")
        except duckdb.Error as error:
            raise MachineError(f"DuckDB could not generate the data: {error}", hint=_ELSEWHERE) from error


def _publish(finished: Path, directory: Path) -> None:
    try:
        finished.rename(directory)
    except OSError:
        # Somebody else finished the same data set first; theirs is as good.
        if not directory.is_dir():
            raise
