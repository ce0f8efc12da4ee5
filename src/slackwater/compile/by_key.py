"""States partitioned by key: bucketed files, which Spark can join or aggregate by the key without an exchange.

Spark saves an exchange only for *bucketed tables*, and a bucketed table must be in a catalog: a path or a temporary
view cannot be one. So a state is written through an external table over its directory, and read through one with a
partition for each part of the state. The tables are only names: they are dropped at the end of the run, the files
stay, and any other session can read the files directly.

Spark silently skips files of a bucket that a table does not have. So the number of buckets is part of the directory's
name, and parts with different numbers are read as plain files, which is always correct.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from slackwater.algebra.schema import Field
from slackwater.compile.views import columns_text, quoted_name, quoted_text, view_of_query

PART = "slackwater__part"
_DIRECTORY = re.compile(r"\.in(\d+)$")


def directory_by_key(name: str, buckets: int) -> str:
    """The name of the directory for a state's rows in this number of buckets."""
    return f"{name}.in{buckets}"


def buckets_of(parts: Sequence[str]) -> int | None:
    """The number of buckets of all parts of a state; None if they differ, or if one has none."""
    numbers = {int(suffix[1]) if (suffix := _DIRECTORY.search(part)) else None for part in parts}
    return numbers.pop() if len(numbers) == 1 else None


def write_by_key(
    table: str, directory: str, fields: Sequence[Field], by: Sequence[str], buckets: int, select: str
) -> tuple[str, ...]:
    """The statements that write rows to a directory, bucketed."""
    name = quoted_name(table)
    return (
        f"CREATE TABLE {name} ({columns_text(fields)})\n{_layout(by, buckets)} LOCATION {quoted_text(directory)}",
        f"INSERT OVERWRITE TABLE {name}\n{select}",
        drop(table),
    )


def read_by_key(
    view: str, table: str, directories: Sequence[str], fields: Sequence[Field], by: Sequence[str], buckets: int
) -> tuple[str, ...]:
    """The statements that create a view over the parts of a state; each part is a partition with its own location."""
    name = quoted_name(table)
    places = " ".join(f"PARTITION ({PART} = {n}) LOCATION {quoted_text(d)}" for n, d in enumerate(directories, start=1))
    own = ", ".join(quoted_name(field.name) for field in fields)
    return (
        f"CREATE TABLE {name} ({columns_text(fields)}, {PART} INT)\n{_layout(by, buckets, PART)}"
        f" LOCATION {quoted_text(directories[0])}",
        f"ALTER TABLE {name} ADD {places}",
        view_of_query(view, f"SELECT {own} FROM {name}"),
    )


def drop(table: str) -> str:
    """Drops the external table; its files stay."""
    return f"DROP TABLE IF EXISTS {quoted_name(table)}"


def _layout(by: Sequence[str], buckets: int, partition: str | None = None) -> str:
    parts = f"PARTITIONED BY ({partition}) " if partition else ""
    return f"USING parquet {parts}CLUSTERED BY ({', '.join(quoted_name(n) for n in by)}) INTO {buckets} BUCKETS"
