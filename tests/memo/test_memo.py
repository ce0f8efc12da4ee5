"""The memo: each relation has one group, however it is reached."""

from __future__ import annotations

from slackwater.algebra import types as t
from slackwater.algebra.relation import Relation, Scan, Union
from slackwater.algebra.schema import Column, ColumnId
from slackwater.catalog.table import table
from slackwater.memo.memo import Memo
from slackwater.time.version import ChangingTables


def test_an_input_that_is_read_twice_at_every_level_is_inserted_once() -> None:
    """As a tree, the relation has 2^60 leaves."""
    relation: Relation = Scan(table("a", {"id": "bigint"}), (Column(ColumnId("id"), "id", t.BIGINT),))
    for _ in range(60):
        relation = Union((relation, relation), relation.columns, (relation.columns, relation.columns))
    memo = Memo(ChangingTables.of(["a"]))
    leaf = memo.insert(relation)
    assert len(memo) == 61
    assert memo.insert(relation) is leaf
