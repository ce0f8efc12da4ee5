"""Temporary views, as SQL: which files a version or a delta of a table is read from.

Everything a run reads is a temporary view over an exact list of files, so the SQL text of a run can be printed and run
by hand. The rows of a change feed carry `_change_type`. In a delta they have a weight instead; a version has the rows
whose weights add up to more than 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slackwater.algebra.schema import Field
from slackwater.time.forms import WEIGHT

CHANGE_TYPE = "_change_type"
ADDING = ("insert", "update_postimage")
TAKING = ("delete", "update_preimage")

TIMES, COPY = "slackwater__times", "slackwater__copy"
"""Names of columns that are added to a feed's own."""

_SPECIAL = frozenset("{}[]*?,\\^")


@dataclass(frozen=True)
class Files:
    """Files of one format below one directory; `paths` are relative to it."""

    format: str
    base: str
    paths: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)


def view_of_files(name: str, files: Files, fields: Sequence[Field] | None) -> str:
    """A view over files; without `fields`, the engine infers the columns."""
    if not files.paths:
        return view_of_nothing(name, fields or ())
    options = {"path": _pattern(files.base, files.paths), **files.options}
    if any("=" in path for path in files.paths):
        options["basePath"] = files.base
    said = ", ".join(f"{quoted_name(key)} {quoted_text(value)}" for key, value in options.items())
    columns = f" ({columns_text(fields)})" if fields else ""
    return f"CREATE OR REPLACE TEMPORARY VIEW {quoted_name(name)}{columns}\nUSING {files.format} OPTIONS ({said})"


def view_of_nothing(name: str, fields: Sequence[Field]) -> str:
    """A view without rows."""
    nulls = ", ".join(f"CAST(NULL AS {f.type.text}) AS {quoted_name(f.name)}" for f in fields) or "1 AS nothing"
    return f"CREATE OR REPLACE TEMPORARY VIEW {quoted_name(name)} AS\nSELECT {nulls} WHERE false"


def view_of_query(name: str, query: str, columns: Sequence[str] = ()) -> str:
    """A view of a query's result; `columns` renames its columns."""
    named = f" ({', '.join(map(quoted_name, columns))})" if columns else ""
    return f"CREATE OR REPLACE TEMPORARY VIEW {quoted_name(name)}{named} AS\n{query}"


def change_of_feed(name: str, feed: str, fields: Sequence[Field]) -> str:
    """The rows of a change feed, each with its weight."""
    columns = ", ".join(quoted_name(f.name) for f in fields)
    return view_of_query(name, f"SELECT {columns}, {_weight(feed)} AS {WEIGHT.name}\nFROM {quoted_name(feed)}")


def version_of_feed(name: str, feed: str, fields: Sequence[Field], *, unique: bool) -> str:
    """The rows that remain after a change feed, each as often as its weights add up to."""
    columns = ", ".join(quoted_name(f.name) for f in fields)
    summed = (
        f"SELECT {columns}, sum({_weight(feed)}) AS {TIMES}\n  FROM {quoted_name(feed)}\n  GROUP BY {columns}\n"
        f"  HAVING sum({_weight(feed)}) > 0"
    )
    copies = "" if unique else f"\nLATERAL VIEW explode(sequence(1L, {TIMES})) AS {COPY}"
    return view_of_query(name, f"SELECT {columns}\nFROM (\n  {summed}\n){copies}")


def _weight(feed: str) -> str:
    added, taken = (", ".join(quoted_text(kind) for kind in kinds) for kinds in (ADDING, TAKING))
    refused = f"raise_error(concat('{feed}: unknown {CHANGE_TYPE} ', coalesce({CHANGE_TYPE}, 'null')))"
    return f"CASE WHEN {CHANGE_TYPE} IN ({added}) THEN 1L WHEN {CHANGE_TYPE} IN ({taken}) THEN -1L ELSE {refused} END"


def _pattern(base: str, paths: Sequence[str]) -> str:
    """One glob for all the files: alternatives in braces, special characters escaped."""
    escaped = [escaped_path(path) for path in paths]
    chosen = escaped[0] if len(escaped) == 1 else "{" + ",".join(escaped) + "}"
    return f"{escaped_path(base)}/{chosen}"


def escaped_path(path: str) -> str:
    """A path as a glob that matches only itself."""
    return "".join(f"\\{letter}" if letter in _SPECIAL else letter for letter in path)


def columns_text(fields: Sequence[Field]) -> str:
    """Columns as a statement declares them."""
    return ", ".join(f"{quoted_name(f.name)} {f.type.text}" for f in fields)


def quoted_name(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else "`" + name.replace("`", "``") + "`"


def quoted_text(text: str) -> str:
    """A SQL string literal; `${` is escaped so that Spark does not substitute variables."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{") + "'"
