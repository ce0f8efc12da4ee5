"""Constants worked out, in every operator that holds a scalar."""

from __future__ import annotations

from slackwater.algebra.fold import fold, simplify
from slackwater.algebra.relation import Aggregate, Filter, Join, Project, Relation
from slackwater.rules.declare import normalizes
from slackwater.rules.written import Written


@normalizes(Relation)
def fold_constants(_: Written, relation: Relation) -> Relation | None:
    """f(1 + 2)  =  f(3);  (a ∧ b) ∨ (a ∧ c)  =  a ∧ (b ∨ c)

    Predicates are also factored, so that what every branch of an OR asks for becomes a conjunct of its own. A value
    keeps its type. Not where an engine would raise (a sum beyond int) or round (a month that lacks the day), and not
    for a random condition, which asked twice is two draws.
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


RULES = (fold_constants,)
