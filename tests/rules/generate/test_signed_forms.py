"""A group may take rows back as it was written and only grow as an equal expression does: its change has weights."""

from __future__ import annotations

import pytest

from slackwater.algebra.relation import Aggregate, AggregateCall, Filter, Project, Relation, Scan
from slackwater.algebra.scalar import TRUE, cast, literal, reference
from slackwater.algebra.schema import Column, ColumnId
from slackwater.algebra.types import BIGINT, INT
from slackwater.catalog.table import table
from slackwater.memo.memo import Memo
from slackwater.rules.generate.row_deltas import delta_of_filter, delta_of_project
from slackwater.rules.goal import Goal
from slackwater.rules.rule import Rule
from slackwater.time.forms import WEIGHT
from slackwater.time.version import OLD, ChangingTables

KEY, COUNT = Column(ColumnId("t.k"), "k", INT), Column(ColumnId("n"), "n", BIGINT)
ROWS = Scan(table("t", {"k": "int"}), (KEY,))
COUNTED = Aggregate(ROWS, (KEY,), ((COUNT, AggregateCall("count", (), BIGINT)),))
ONES = Project(ROWS, ((KEY, reference(KEY)), (COUNT, cast(literal(1), BIGINT))))


@pytest.mark.parametrize("rule, equal", [(delta_of_project, ONES), (delta_of_filter, Filter(ONES, TRUE))])
def test_the_change_of_an_equal_expression_has_the_weights_of_the_group(rule: Rule, equal: Relation) -> None:
    memo = Memo(ChangingTables.of(["t"]))
    group = memo[memo.insert(COUNTED).group]
    assert memo.add(group.id, equal, "equal")
    form, node = memo.delta(group.id, OLD, group.tables), group.expressions[1]
    assert form.signed
    assert not memo.retracts(node)
    (tree,) = rule.apply(Goal(form, node, memo))
    assert WEIGHT in tree.columns
    assert set(tree.columns) == set(form.columns)
