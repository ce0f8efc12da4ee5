"""States by key: files that say which part of a hash their rows have, so that Spark need not move them again.

Spark leaves out an exchange only for *bucketed tables*, and it knows those only through a catalog: neither a path nor
a temporary view can say it. So a state by key is written through a table that stands for its directory while the
statement runs, and read through one that has a partition for each of the state's parts. The tables are names, no
more: they are dropped when the run is over, the files stay, and a session that never heard of them reads the files.

Spark skips, without a word, files of a bucket that a table does not have. So the number of buckets is part of the
directory's name, and parts that disagree are read as plain files, which is right however they lie.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from slackwater.algebra.schema import Field
from slackwater.compile.views import columns_text, quoted_name, quoted_text, view_of_query

PART = "slackwater__part"
_DIRECTORY = re.compile(r"\.in(\d+)$")


def directory_by_key(name: str, buckets: int) -> str:
    """The name of a directory for a state's rows in so many buckets."""
    return f"{name}.in{buckets}"


def buckets_of(parts: Sequence[str]) -> int | None:
    """How many buckets all parts of a state have; None where they differ, or where one has none."""
    found = {int(told[1]) if (told := _DIRECTORY.search(part)) else None for part in parts}
    return found.pop() if len(found) == 1 else None


def write_by_key(
    table: str, directory: str, fields: Sequence[Field], by: Sequence[str], buckets: int, select: str
) -> tuple[str, ...]:
    """The statements that write rows to a directory, each to the file of its bucket."""
    name = quoted_name(table)
    return (
        f"CREATE TABLE {name} ({columns_text(fields)})\n{_layout(by, buckets)} LOCATION {quoted_text(directory)}",
        f"INSERT OVERWRITE TABLE {name}\n{select}",
        drop(table),
    )


def read_by_key(
    view: str, table: str, directories: Sequence[str], fields: Sequence[Field], by: Sequence[str], buckets: int
) -> tuple[str, ...]:
    """The statements that make a view over the parts of a state; a part is a partition with a place of its own."""
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
    """The table's name is forgotten; its files stay."""
    return f"DROP TABLE IF EXISTS {quoted_name(table)}"


def _layout(by: Sequence[str], buckets: int, partition: str | None = None) -> str:
    parts = f"PARTITIONED BY ({partition}) " if partition else ""
    return f"USING parquet {parts}CLUSTERED BY ({', '.join(quoted_name(n) for n in by)}) INTO {buckets} BUCKETS"
