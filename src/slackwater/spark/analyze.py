"""Spark's own analysis of a query or a table: names, order and types of the columns.

Analysis only: nothing runs. `session.sql` would execute a text that is a command, so a text is first put behind
DESCRIBE QUERY and into parentheses. There Spark's grammar takes a query and nothing else, on a cluster and through
Spark Connect alike, and Spark analyzes it without running it. Spark's refusal becomes a `ParseError` or a `BindError`
with Spark's own words, at the line and column that Spark names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from slackwater.algebra.schema import Field, TableSchema
from slackwater.algebra.types import Type
from slackwater.errors import BindError, ParseError, Place
from slackwater.spark.statements import our_error
from slackwater.sql.statement import without_end

ONE_QUERY = "a query is one SELECT, VALUES, TABLE or WITH … SELECT; Slackwater runs no other statement"

_POSITION = re.compile(r"\bline (\d+),? pos (\d+)")


def output_fields(session: SparkSession, text: str, file: str | None = None) -> tuple[Field, ...]:
    """The columns Spark would deliver for a query over the session's tables and views."""
    return fields_of(analyzed(session, text, file).schema)


def analyzed(session: SparkSession, text: str, file: str | None = None) -> DataFrame:
    """A query, analyzed and not run; a text that is anything else is refused before Spark could execute it."""
    query = without_end(text)
    with _refusals(file, lines_before=1):
        session.sql(f"DESCRIBE QUERY (\n{query}\n)")
    with _refusals(file):
        return session.sql(query)


@contextmanager
def _refusals(file: str | None, lines_before: int = 0) -> Iterator[None]:
    """Spark's refusals of a text as ours; the text starts so many lines below the statement's first."""
    try:
        yield
    except ParseException as error:
        raise ParseError(_words(error), place=_place(error, file, lines_before), hint=ONE_QUERY) from None
    except AnalysisException as error:
        raise BindError(_words(error), place=_place(error, file, lines_before)) from None
    except (PySparkException, Py4JJavaError) as error:  # a feature that is switched off, for example
        raise BindError(our_error(error).message, place=Place(file)) from None


def has_catalog_of_its_own(session: SparkSession) -> bool:
    """Whether tables that the session makes are its own and go with it, not entries of a metastore."""
    return session.conf.get("spark.sql.catalogImplementation", "hive") == "in-memory"


def _place(error: AnalysisException, file: str | None, lines_before: int) -> Place:
    """Where Spark found the mistake; it counts columns from zero."""
    position = _POSITION.search(str(error))
    return Place(file, int(position[1]) - lines_before, int(position[2]) + 1) if position else Place(file)


def table_schema(
    session: SparkSession, name: str, *, keys: Iterable[Iterable[str]] = (), changing: bool = True
) -> TableSchema:
    """A table or view of the session, as the binder needs it."""
    return TableSchema(name, fields_of(session.table(name).schema), tuple(frozenset(key) for key in keys), changing)


def fields_of(schema: StructType) -> tuple[Field, ...]:
    return tuple(Field(f.name, Type.parse(f.dataType.simpleString()), f.nullable) for f in schema.fields)


def user_aggregates(session: SparkSession) -> frozenset[str]:
    """The aggregate functions that a user has registered with this session, by name."""
    registered = [str(row[0]) for row in session.sql("SHOW USER FUNCTIONS").collect()]
    return frozenset(name.lower() for name in registered if "." not in name and _is_aggregate(session, name))


def _is_aggregate(session: SparkSession, name: str) -> bool:
    """Spark lets an aggregate stand beside a grouped key without naming it in GROUP BY; a scalar it refuses."""
    try:
        probe: DataFrame = session.sql(f"SELECT `{name}`(x) FROM VALUES (1, 2) AS t(k, x) GROUP BY k")
        return len(probe.schema.fields) == 1
    except AnalysisException:
        return False


def _words(error: AnalysisException) -> str:
    message = (error.getMessage() or str(error)).strip().splitlines()[0]
    return re.sub(r"\s*SQLSTATE: \w{5}.*", "", message)
