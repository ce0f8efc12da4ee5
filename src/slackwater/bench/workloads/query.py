"""The benchmark queries, as DuckDB's packages word them and as Spark SQL.

The Spark text is a transpilation, never an edit of one query: what sqlglot leaves wrong is mended by the rewrites in
`TO_SPARK`, each of which holds for every query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import sqlglot
from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a workload: `name` is like "tpcds-q14"."""

    number: int
    name: str
    duckdb: str
    spark: str


Rewrite = Callable[[exp.Expression], exp.Expression]
TO_SPARK: Final[tuple[Rewrite, ...]] = ()


def to_spark(text: str) -> str:
    """DuckDB's SQL as Spark SQL with the same meaning, laid out to be read, comments left out."""
    tree = sqlglot.parse_one(text, read="duckdb")
    for rewrite in TO_SPARK:
        tree = tree.transform(rewrite)
    return tree.sql(dialect="spark", pretty=True, comments=False)
