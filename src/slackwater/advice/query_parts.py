"""Parts of a query that could be worth a query of their own: aggregates without partial forms, and changing tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from slackwater.advice.lineage import Lineage
from slackwater.advice.words import call_in_words, quoted
from slackwater.algebra.relation import Aggregate, Output, Query, Scan
from slackwater.algebra.schema import Column
from slackwater.rules.partials import partials_of


@dataclass(frozen=True)
class QueryPart:
    """A part of a query that may be worth a query of its own."""

    what: str
    columns: frozenset[Column]
    """Those that it begins with."""
    lineage: Lineage
    table: str | None = None
    """The table whose columns these are."""

    def split(self, query: Query) -> tuple[list[Output], Query]:
        """The outputs that need this part, and the query without them."""
        touched = self.lineage.depend_on(self.columns)
        gone = [output for output in query.outputs if output.column in touched]
        left = tuple(output for output in query.outputs if output.column not in touched)
        return gone, Query(query.relation, left, tuple(key for key in query.order if key.column not in touched))

    def is_read_by(self, query: Query) -> bool:
        """Whether a query still reads the table, without any of its columns."""
        return any(isinstance(node, Scan) and node.table.name == self.table for node in query.relation.walk())


def parts_of(query: Query) -> Iterator[QueryPart]:
    """Aggregates that cannot be merged from parts, and tables that change."""
    lineage = Lineage((query,))
    for node in query.relation.walk():
        if isinstance(node, Aggregate):
            for column, call in node.calls:
                if partials_of(replace(node, calls=((column, call),)), signed=False) is None:
                    yield QueryPart(call_in_words(call.function, call.distinct), frozenset((column,)), lineage)
    tables = {base.table.name for base in lineage.base.values() if base.table.changing}
    for name in sorted(tables):
        yield QueryPart(quoted((name,)), lineage.of_table(name), lineage, name)
