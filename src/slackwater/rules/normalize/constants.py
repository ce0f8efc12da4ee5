"""Constant folding, in every operator that has scalars."""

from __future__ import annotations

from slackwater.algebra.fold import fold, simplify
from slackwater.algebra.relation import Aggregate, Filter, Join, Project, Relation
from slackwater.rules.declare import normalizes
from slackwater.rules.match import Written


@normalizes(Relation)
def fold_constants(_: Written, relation: Relation) -> Relation | None:
    """f(1 + 2)  =  f(3);  (a ∧ b) ∨ (a ∧ c)  =  a ∧ (b ∨ c)

    Predicates are also factored, so that a conjunct of every branch of an OR becomes a conjunct of its own. A value
    keeps its type. Not if an engine would raise an error (a sum beyond int) or round (a month without the day), and not
    for a random condition, which is drawn anew at each evaluation.
    """
    folded: Relation
    match relation:
        case Filter():
            folded = Filter(relation.input, simplify(relation.predicate))
        case Join():
            folded = Join(relation.kind, relation.left, relation.right, simplify(relation.condition))
        case Project():
            folded = Project(relation.input, tuple((column, fold(scalar)) for column, scalar in relation.items))
        case Aggregate():
            calls = tuple((column, call.map(fold)) for column, call in relation.calls)
            folded = Aggregate(relation.input, relation.keys, calls)
        case _:
            return None
    return folded
