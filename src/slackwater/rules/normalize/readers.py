"""Filters that all readers of a shared relation have in common are applied to the relation itself.

A filter of one reader stays there, or the relation would no longer be shared (decision 6). But if each reader has one,
a row that fails them all is not needed. Like pruning, this considers all readers at once, from the root down.
"""

from __future__ import annotations

from collections.abc import Sequence

from slackwater.algebra.fold import simplify
from slackwater.algebra.relation import Filter, Query, Relation
from slackwater.algebra.scalar import Scalar, conjunction, conjuncts, disjunction, disjuncts
from slackwater.rules.normalize.filters import filtered
from slackwater.rules.normalize.inference import holds


def ask_for_all_readers(query: Query) -> Query:
    """σp S, σq S  =  σp S', σq S'      S' is σ(p' ∨ q') S, p' and q' what p and q say of the same columns

    S is read twice or more and stays one relation. A row that no reader keeps is not computed; the readers' filters
    stay. Not if a reader has no filter, nor for conjuncts that are random or can raise an error.
    """
    readers: dict[int, list[Relation]] = {}
    for node in query.relation.walk():
        for below in node.inputs:
            readers.setdefault(id(below), []).append(node)

    def asked(node: Relation, inputs: list[Relation]) -> Relation:
        return filtered(node.with_inputs(*inputs), _news(node, readers.get(id(node), ())))

    relation = query.relation.bottom_up(asked)
    return query if relation is query.relation else query.with_relation(relation)


def _news(relation: Relation, readers: Sequence[Relation]) -> list[Scalar]:
    """The common filters of all readers that the relation does not satisfy already.

    A disjunction is common only if every reader has it, and never becomes part of a larger one: the inferred filter
    reappears at other readers, and would grow from round to round.
    """
    if len(readers) < 2 or not relation.is_work:
        return []
    asked = [_asked(reader) for reader in readers]
    common = [part for part in asked[0] if all(part in parts for parts in asked)]
    tests = [[part for part in parts if len(disjuncts(part)) == 1] for parts in asked]
    for columns in dict.fromkeys(part.columns for part in tests[0]):
        branches = [[part for part in parts if part.columns and part.columns <= columns] for parts in tests]
        if all(branches):
            common += conjuncts(simplify(disjunction(conjunction(branch) for branch in branches)))
    return [part for part in dict.fromkeys(common) if part.columns and not holds(part, relation)]


def _asked(reader: Relation) -> list[Scalar]:
    return [part for part in conjuncts(reader.predicate) if part.may_move] if isinstance(reader, Filter) else []
