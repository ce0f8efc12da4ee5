"""Checks that a query reads only sources, and no other table or view of the session, by Spark's own analysis.

Our parser has checked this before (`sql/undeclared.py`) and knows the place of each name. Spark may understand a text
differently, or understand one that our parser cannot. With Spark Connect there is no plan to inspect: there a text that
our parser cannot read is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from slackwater.algebra.schema import Field
from slackwater.errors import Place, UnsupportedError
from slackwater.spark.analyze import analyzed, fields_of
from slackwater.sql.statement import without_end
from slackwater.sql.undeclared import is_readable, undeclared

# As Spark prints a plan that it has parsed: `'UnresolvedRelation [shop, sales], [], false`, `CTE [a, b]`.
_RELATION = re.compile(r"UnresolvedRelation \[(.*?)\], \[")
_WITH_NAMES = re.compile(r"\bCTE \[(.*?)\]$", re.MULTILINE)
_ALL_NAMES = 2**31 - 1
_ANALYZED, _OPTIMIZED = "== Analyzed Logical Plan ==", "== Optimized Logical Plan =="
_VARIABLE = re.compile(r"variablereference\(([\w.]+)=")


def fields_over(session: SparkSession, text: str, sources: Iterable[str], file: str | None = None) -> tuple[Field, ...]:
    """The columns of a query. One that reads anything but sources, or a variable of the session, is refused."""
    frame = analyzed(session, text, file)
    _check_relations(frame, text, sources, file)
    return fields_of(frame.schema)


def _check_relations(frame: DataFrame, text: str, sources: Iterable[str], file: str | None) -> None:
    plans = _plans(frame)
    if plans is None:
        if not is_readable(text):
            message = "this query cannot be read, so it cannot be said which tables it reads"
            hint = "write it in another way, or use a session without Spark Connect"
            raise UnsupportedError(message, place=Place(file), hint=hint)
        return
    parsed, resolved = plans
    tables = {name.lower() for name in sources}
    named = tables | {name for names in _WITH_NAMES.findall(parsed) for name in names.lower().split(", ")}
    for name in (parts.replace(", ", ".") for parts in _RELATION.findall(parsed)):
        if name.lower() not in named:
            raise undeclared(name, tables, Place(file))
    if variable := _VARIABLE.search(resolved):
        message = f"the query reads the variable `{variable[1]}` of the session, which no run pins"
        raise UnsupportedError(message, place=Place(file), hint="write the value itself")


def plans_of(session: SparkSession, text: str, file: str | None = None) -> tuple[str, str]:
    """A query's plan as parsed and as analyzed, in Spark's own print; through Spark Connect, long lists are cut."""
    plans = _plans(analyzed(session, text, file))
    if plans is not None:
        return plans
    parsed, _, rest = str(session.sql(f"EXPLAIN EXTENDED {without_end(text)}").collect()[0][0]).partition(_ANALYZED)
    return parsed, rest.partition(_OPTIMIZED)[0]


def _plans(frame: DataFrame) -> tuple[str, str] | None:
    """A query's plan as parsed and as analyzed, in Spark's own print; none through Spark Connect."""
    java: Any = getattr(frame, "_jdf", None)
    if java is None:
        return None
    execution = java.queryExecution()
    return _printed(execution.logical()), _printed(execution.analyzed())


def _printed(plan: Any) -> str:
    """A plan in full: Spark's plain print cuts long lists of names."""
    verbose, suffixes, operator_ids, output_columns = True, False, False, False
    return str(plan.treeString(verbose, suffixes, _ALL_NAMES, operator_ids, output_columns))
