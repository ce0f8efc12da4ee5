"""The join-disjunctive normal form: terms, what a change affects, and when there is no such form."""

from __future__ import annotations

import pytest

from slackwater.algebra.normal_form import Block
from slackwater.algebra.relation import Join, JoinKind, Project, Relation, Scan
from slackwater.algebra.scalar import Scalar, conjunction, equality, is_null, literal, reference
from slackwater.algebra.schema import Column, ColumnId
from slackwater.algebra.types import INT
from slackwater.catalog.table import table

LEFT, FULL, INNER = JoinKind.LEFT, JoinKind.FULL, JoinKind.INNER


def scan(name: str) -> Scan:
    schema = table(name, {"k": "int", "v": "int"}, keys=[["k"]])
    return Scan(schema, tuple(Column(ColumnId(f"{name}.{column}"), column, INT) for column in ("k", "v")))


A, B, C = scan("a"), scan("b"), scan("c")


def key(relation: Scan) -> Column:
    return relation.columns[0]


def meet(one: Scan, other: Scan) -> Scalar:
    return equality(reference(key(one)), reference(key(other)))


def named(block: Block, terms: object) -> list[str]:
    assert isinstance(terms, (tuple, frozenset))
    names = [leaf.table.name for leaf in block.leaves if isinstance(leaf, Scan)]
    return sorted("".join(names[n] for n in sorted(term)) for term in terms)


@pytest.mark.parametrize(
    "relation, terms, affected",
    [
        (Join(LEFT, A, B, meet(A, B)), ["a", "ab"], {"a": [], "b": ["a"]}),
        (Join(FULL, A, B, meet(A, B)), ["a", "ab", "b"], {"a": ["b"], "b": ["a"]}),
        (
            Join(LEFT, A, Join(LEFT, B, C, meet(B, C)), meet(A, B)),
            ["a", "ab", "abc"],
            {"a": [], "b": ["a"], "c": ["ab"]},
        ),
        (
            Join(LEFT, A, Join(LEFT, B, C, meet(B, C)), meet(A, C)),
            ["a", "abc"],
            {"a": [], "b": ["a"], "c": ["a"]},
        ),
        (
            Join(FULL, A, Join(LEFT, B, C, meet(B, C)), meet(A, B)),
            ["a", "ab", "abc", "b", "bc"],
            {"a": ["b", "bc"], "b": ["a"], "c": ["ab", "b"]},
        ),
        (Join(INNER, Join(LEFT, A, B, meet(A, B)), C, meet(A, C)), ["abc", "ac"], {"a": [], "b": ["ac"], "c": []}),
    ],
)
def test_terms_and_what_a_leaf_affects(relation: Relation, terms: list[str], affected: dict[str, list[str]]) -> None:
    block = Block(relation)
    assert named(block, block.terms) == terms
    for number, leaf in enumerate(block.leaves):
        assert isinstance(leaf, Scan)
        assert named(block, block.indirectly_affected(number)) == affected[leaf.table.name]


def test_larger_terms_come_first() -> None:
    block = Block(Join(FULL, A, Join(LEFT, B, C, meet(B, C)), meet(A, B)))
    assert [len(term) for term in block.indirectly_affected(2)] == [2, 1]


def test_no_form_where_nulls_fulfil_a_condition() -> None:
    lax = conjunction((meet(A, C), is_null(reference(key(B)))))
    assert Block(Join(LEFT, Join(LEFT, A, B, meet(A, B)), C, lax)).terms is None


def test_the_direct_part_never_pads_its_leaf() -> None:
    nested = Join(FULL, A, Join(LEFT, B, C, meet(B, C)), meet(A, B))
    block = Block(nested)
    assert block.directly_affected(2) == Join(LEFT, Join(INNER, B, C, meet(B, C)), A, meet(A, B))
    assert block.directly_affected(0) == Join(LEFT, A, nested.right, meet(A, B))
    assert Block(Join(LEFT, A, B, meet(A, B))).directly_affected(0) == Join(LEFT, A, B, meet(A, B))


def test_a_block_without_a_key_is_widened() -> None:
    below = Join(LEFT, B, C, meet(B, C))
    narrow = Project(below, tuple((c, reference(c)) for c in below.columns if c != key(C)))
    block = Block(Join(LEFT, A, narrow, meet(A, B)))
    assert (block.key(0), block.key(2), block.witness(1)) == ((key(A),), None, key(B))
    wide = block.widened()
    assert wide is not None
    assert (wide.key(2), wide.witness(2)) == ((key(C),), key(C))
    assert wide.widened() is None


def test_a_tested_column_is_a_witness_only_where_its_side_can_be_padded() -> None:
    loose = Scan(
        table("d", {"k": "int", "v": "int"}), (Column(ColumnId("d.k"), "k", INT), Column(ColumnId("d.v"), "v", INT))
    )
    met = equality(reference(key(A)), reference(key(loose)))
    assert Block(Join(LEFT, A, loose, met)).witness(1) == key(loose)
    assert Block(Join(FULL, A, loose, met)).witness(1) is None
    assert Block(Join(LEFT, A, loose, equality(reference(key(A)), literal(1)))).witness(1) is None
