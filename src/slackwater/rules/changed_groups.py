"""The groups that a change really makes differ, each with its old and its new row.

A group that is touched need not change: a later order is not the first one, and a row that goes may have a twin. So the
partial aggregates of old rows stand beside those of the change, and only groups whose results differ are passed on.
"""

from __future__ import annotations

from slackwater.algebra import types as t
from slackwater.algebra.relation import Filter, Generate, Join, JoinKind, Project, Relation
from slackwater.algebra.scalar import (
    TRUE,
    Scalar,
    call,
    case_when,
    cast,
    conjunction,
    disjunction,
    greater,
    is_not_null,
    literal,
    negation,
    null_safe_equality,
    reference,
)
from slackwater.algebra.schema import Column, ColumnId
from slackwater.rules.partials import Partials
from slackwater.rules.signed import SIGN, matched_twins, twin
from slackwater.time.forms import WEIGHT

_IS = Column(ColumnId("#is"), "is_there", t.BOOLEAN)
_WAS = Column(ColumnId("#was"), "was_there", t.BOOLEAN)


def changed_groups(partials: Partials, groups: Relation, change: Relation) -> Relation:
    """The signed rows of an Aggregate, from the partials of old groups and of a change; its keys are not empty."""
    keys = [(key, reference(key)) for key in partials.keys]
    results = Project(_beside(partials, groups, change), (*keys, *_results(partials)))
    changed = Filter(results, negation(conjunction(null_safe_equality(*both) for both in _compared(partials))))
    signs = Generate(changed, call("explode", call("sequence", literal(-1), literal(1), literal(2))), (SIGN,))
    is_new = greater(reference(SIGN), literal(0))
    is_old = negation(is_new)
    alive = disjunction((conjunction((is_new, reference(_IS))), conjunction((is_old, reference(_WAS)))))
    values = [(c, case_when(is_new, reference(c), reference(twin(c)))) for c, _ in partials.finals]
    return Project(Filter(signs, alive), (*keys, *values, (WEIGHT, cast(reference(SIGN), WEIGHT.type))))


def _beside(partials: Partials, groups: Relation, change: Relation) -> Relation:
    """Each group of a change with its merged partials and, as twins, the old ones."""
    twins, same = matched_twins(groups, partials.keys)
    parts = tuple((twin(part.column), reference(part.column)) for part in partials.parts)
    old = Project(groups, (*twins.items, *parts, (_WAS, TRUE)))
    pairs = Join(JoinKind.LEFT, partials.merge(change), old, same)
    merged = [(part.column, part.with_twin()) for part in partials.parts]
    before = [(column, reference(column)) for column in (*(column for column, _ in parts), _WAS)]
    return Project(pairs, (*((key, reference(key)) for key in partials.keys), *merged, *before))


def _results(partials: Partials) -> list[tuple[Column, Scalar]]:
    """The results of each group now and, as twins, before; and whether it has rows."""
    renamed = {part.column: twin(part.column) for part in partials.parts}
    now = list(partials.finals)
    before = [(twin(column), value.rename(renamed)) for column, value in now]
    is_there, was_there = TRUE, is_not_null(reference(_WAS))
    if partials.rows is not None:
        is_there = greater(reference(partials.rows), literal(0))
        old_rows = call("coalesce", reference(twin(partials.rows)), literal(0))
        was_there = greater(old_rows, literal(0))
    return [*now, *before, (_IS, is_there), (_WAS, was_there)]


def _compared(partials: Partials) -> list[tuple[Scalar, Scalar]]:
    return [
        (reference(one), reference(other)) for one, other in ((_IS, _WAS), *((c, twin(c)) for c, _ in partials.finals))
    ]
