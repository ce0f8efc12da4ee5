"""What Spark sees in files: their columns, and how the columns are spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from slackwater.algebra.predicates import days_since_epoch
from slackwater.algebra.schema import Field
from slackwater.algebra.types import Type
from slackwater.engine.views import escaped_path
from slackwater.errors import BindError, Place, RunError, UserError
from slackwater.spark.analyze import fields_of
from slackwater.spark.statements import our_error


def columns_of_files(
    session: SparkSession,
    format: str,
    directory: str,
    paths: Sequence[str],
    options: Mapping[str, str],
    schema: str | None = None,
) -> tuple[Field, ...]:
    """The columns of files, partitions of their directories included; `schema` says them where it is given."""
    reader = session.read.format(format).options(**dict(options))
    if schema is not None:
        reader = reader.schema(schema)
    if any("=" in path for path in paths):
        reader = reader.option("basePath", directory)
    try:
        return fields_of(reader.load([escaped_path(f"{directory}/{path}") for path in paths]).schema)
    except (PySparkException, Py4JError) as error:
        found = our_error(error)
        raise UserError(
            f"Spark cannot read these files as {format}: {found.message}",
            place=found.place or Place(directory),
            hint=found.hint or "mend or take away what is broken, then run again",
        ) from None


@dataclass(frozen=True)
class TableFiles:
    """The files of a table of the catalog."""

    format: str
    directory: str
    paths: tuple[str, ...]


def files_of_table(session: SparkSession, name: str) -> TableFiles:
    """Where a table of the Spark catalog keeps its rows."""
    try:
        rows = session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
        found = {row["col_name"]: row["data_type"] for row in rows}
        files = session.table(name).inputFiles()
    except AnalysisException as error:
        raise BindError((error.getMessage() or str(error)).strip().splitlines()[0]) from None
    if found.get("Type") == "VIEW" or "Location" not in found:
        raise UserError(f"`{name}` is no table of files", hint="name a table that is stored, or give a `path`")
    directory = found["Location"].removeprefix("file:").rstrip("/")
    directory = "/" + directory.lstrip("/")
    local = ["/" + file.removeprefix("file:").lstrip("/") for file in files]
    return TableFiles(found["Provider"].lower(), directory, tuple(f.removeprefix(directory + "/") for f in local))


@dataclass(frozen=True)
class Spread:
    """How one column is spread: different values, share of nulls, least and greatest, bytes of a value."""

    distinct: float
    null_share: float
    range: tuple[float, float] | None
    width: float | None


def spread_of_columns(session: SparkSession, view: str, fields: Sequence[Field]) -> dict[str, Spread]:
    """Counts, in one pass over a view, how columns are spread."""
    counted = [field for field in fields if _is_plain(field.type)]
    if not counted:
        return {}
    items = ["count(*) AS `rows`"]
    for number, field in enumerate(counted):
        name = "`" + field.name.replace("`", "``") + "`"
        items += [f"approx_count_distinct({name}) AS d{number}", f"count({name}) AS n{number}"]
        if _has_range(field.type):
            items += [f"min({name}) AS l{number}", f"max({name}) AS h{number}"]
        if field.type.text == "string":
            items.append(f"avg(length({name})) AS w{number}")
    try:
        (row,) = session.sql(f"SELECT {', '.join(items)} FROM `{view}`").collect()
    except (PySparkException, Py4JError) as error:
        found_error = our_error(error)
        message = f"the columns of `{view}` cannot be counted: {found_error.message}"
        raise RunError(message, place=found_error.place, hint=found_error.hint) from None
    told = row.asDict()
    rows = float(told["rows"])
    found: dict[str, Spread] = {}
    for number, field in enumerate(counted):
        nulls = 1.0 - float(told[f"n{number}"]) / rows if rows else 0.0
        low, high = _position(told.get(f"l{number}")), _position(told.get(f"h{number}"))
        between = (low, high) if low is not None and high is not None else None
        width = told.get(f"w{number}")
        found[field.name] = Spread(
            min(float(told[f"d{number}"]), rows), nulls, between, None if width is None else 4.0 + float(width)
        )
    return found


def _is_plain(kind: Type) -> bool:
    return kind.is_numeric or kind.text in ("string", "date", "timestamp", "timestamp_ntz", "boolean")


def _has_range(kind: Type) -> bool:
    return kind.is_numeric or kind.text == "date"


def _position(value: object) -> float | None:
    """A value on the line that ranges are measured on: numbers as they are, dates in days."""
    if value is None:
        return None
    return days_since_epoch(value) if isinstance(value, date) else float(str(value))
