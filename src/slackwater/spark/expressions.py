"""The types of expressions by Spark's own analysis; nothing is executed."""

from __future__ import annotations

from collections.abc import Mapping

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from slackwater.algebra.types import Type
from slackwater.compile.views import quoted_name

_PROBE = "value"


def expression_type(session: SparkSession, text: str, columns: Mapping[str, Type]) -> Type | None:
    """The type of an expression over columns of given types; None where a cast to it would change it.

    Our types have names of fields in lower case, so structs with others cannot be said.
    """
    try:
        said = _type(session, text, columns)
        written = _type(session, f"CAST({text} AS {said})", columns)
    except (AnalysisException, Py4JError):
        return None
    return Type.parse(said) if said == written == said.lower() else None


def _type(session: SparkSession, text: str, columns: Mapping[str, Type]) -> str:
    nulls = ", ".join(f"CAST(NULL AS {kind}) AS {quoted_name(name)}" for name, kind in columns.items())
    below = f" FROM (SELECT {nulls})" if nulls else ""
    (field,) = session.sql(f"SELECT {text} AS {_PROBE}{below}").schema.fields
    return str(field.dataType.simpleString())
