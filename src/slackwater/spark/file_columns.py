"""The columns that Spark sees in files, and the files of a table in its catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from slackwater.algebra.schema import Field
from slackwater.compile.views import escaped_path
from slackwater.errors import BindError, Place, UserError
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
        reason = our_error(error)
        raise UserError(
            f"Spark cannot read these files as {format}: {reason.message}",
            place=reason.place or Place(directory),
            hint=reason.hint or "fix or remove the damaged files, then run again",
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
        facts = {row["col_name"]: row["data_type"] for row in rows}
        files = session.table(name).inputFiles()
    except AnalysisException as error:
        raise BindError((error.getMessage() or str(error)).strip().splitlines()[0]) from None
    if facts.get("Type") == "VIEW" or "Location" not in facts:
        raise UserError(f"`{name}` is not a table of files", hint="name a table that is stored, or give a `path`")
    directory = facts["Location"].removeprefix("file:").rstrip("/")
    directory = "/" + directory.lstrip("/")
    local = ["/" + file.removeprefix("file:").lstrip("/") for file in files]
    return TableFiles(facts["Provider"].lower(), directory, tuple(f.removeprefix(directory + "/") for f in local))
