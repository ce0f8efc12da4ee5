"""The initial memo of a search: the queries as they are written, and the form that answers each."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from slackwater.algebra.relation import Join, JoinKind, Query, Relation
from slackwater.catalog.statistics import Statistics
from slackwater.memo.memo import Memo
from slackwater.time.forms import Form
from slackwater.time.version import ChangingTables

DEEP = 10_000
"""The recursion limit of a search: relations are traversed recursively."""


def seeded_memo(queries: Mapping[str, Query], statistics: Statistics) -> tuple[Memo, dict[str, Form]]:
    """A memo of the queries' relations, and the form that answers each query."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), DEEP))
    scans = [scan for query in queries.values() for scan in query.relation.scans()]
    tables = sorted({scan.table.name for scan in scans if scan.table.changing})
    retracting = [name for name in tables if name in statistics and statistics[name].retracts]
    retracting += [scan.table.name for scan in scans if scan.table.changing and not scan.table.append_only]
    memo = Memo(ChangingTables.of(tables, first=_looked_up(queries)), retracting)
    leaves = {name: memo.insert(query.relation) for name, query in queries.items()}
    return memo, {name: memo.snapshot(leaf.group, memo[leaf.group].tables) for name, leaf in leaves.items()}


def _looked_up(queries: Mapping[str, Query]) -> set[str]:
    """Tables on the right side of outer, semi or anti joins: versions advance by these first."""
    sides: list[Relation] = []
    for node in (node for query in queries.values() for node in query.relation.walk()):
        if isinstance(node, Join) and node.kind is not JoinKind.INNER:
            sides += node.inputs if node.kind is JoinKind.FULL else (node.right,)
    return {scan.table.name for side in sides for scan in side.scans()}
