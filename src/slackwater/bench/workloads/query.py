"""The benchmark queries, as DuckDB's packages word them and as Spark SQL.

The Spark text is sqlglot's transpilation, never an edit of one query; should a query need mending, mend the tree by
a rewrite that holds for all of them. None needs it today. What differs between the engines, and who minds it:

- nulls sort last in DuckDB, first in Spark: every ascending ORDER BY, in windows too, says NULLS LAST;
- `concat` skips nulls in DuckDB and returns null in Spark: its arguments are wrapped in COALESCE;
- `/` and `avg` on decimals give a double in DuckDB and a decimal in Spark, of six digits after the point or so: the
  Spark text keeps Spark's types, so compare such columns across engines with a tolerance;
- a zero divisor gives infinity in DuckDB and an error in Spark: left as it is;
- a column without an alias is named by each engine after its own fashion.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import sqlglot


@dataclass(frozen=True)
class WorkloadQuery:
    """One query of a workload: `name` is like "tpcds-q14"."""

    number: int
    name: str
    duckdb: str

    @cached_property
    def spark(self) -> str:
        """The query as Spark SQL, transpiled when it is first asked for: all of a workload take a second."""
        return to_spark(self.duckdb)


def to_spark(text: str) -> str:
    """DuckDB's SQL as Spark SQL with the same meaning, laid out to be read, comments left out."""
    return sqlglot.parse_one(text, read="duckdb").sql(dialect="spark", pretty=True, comments=False)
