"""Sub-queries inside expressions become Apply operators.

Resolving an expression replaces each sub-query in it by a numbered placeholder. `SubqueryLowering` then places them on
the relation the expression is evaluated over: as SEMI or ANTI where one is a condition of its own, else as a column.

Every quantified form is an EXISTS: `x IN R` holds when R has a row with x = b, and is unknown when it has none but has
one where x = b is unknown. `x op ALL R` is the negation of `x not-op ANY R`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from slackwater.algebra import types as t
from slackwater.algebra.nullability import never_null
from slackwater.algebra.properties import properties
from slackwater.algebra.relation import Filter, Project, Relation
from slackwater.algebra.scalar import (
    FALSE,
    NULL,
    TRUE,
    Scalar,
    binary,
    case_when,
    conjunction,
    disjunction,
    is_null,
    negation,
    reference,
)
from slackwater.errors import counted
from slackwater.sql.apply import Apply, ApplyKind
from slackwater.sql.context import Bound, Context
from slackwater.sql.tree import with_parts

_NEGATED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
}
_COMPARISONS = tuple(_NEGATED)

Placed = dict[tuple[exp.Expr, bool], Scalar]
"""What stands for a sub-query that has its place already, by its node and by whether it was only a filter there."""


def placeholder_in(node: exp.Expr | None) -> str | None:
    """The number of the sub-query that a node stands for."""
    node = node.unnest() if isinstance(node, exp.Paren) else node
    return node.name if isinstance(node, exp.Placeholder) and node.args.get("kind") == "subquery" else None


@dataclass(frozen=True)
class Quantified:
    """A sub-query used as a condition: is there a row for which the test holds?"""

    query: str
    operands: tuple[exp.Expr, ...] = ()
    comparison: type[exp.Binary] = exp.EQ
    negated: bool = False

    @staticmethod
    def read(node: exp.Expr) -> Quantified | None:
        """EXISTS, IN, ANY and ALL, with a NOT in front or without."""
        if isinstance(node, exp.Paren):
            return Quantified.read(node.this)
        if isinstance(node, exp.Not):
            inner = Quantified.read(node.this)
            return (
                None if inner is None else Quantified(inner.query, inner.operands, inner.comparison, not inner.negated)
            )
        if isinstance(node, exp.Exists) and (number := placeholder_in(node.this)):
            return Quantified(number)
        if isinstance(node, exp.In) and (number := placeholder_in(node.args.get("query"))):
            left = node.this.unnest()
            return Quantified(number, tuple(left.expressions) if isinstance(left, exp.Tuple) else (left,))
        if isinstance(node, _COMPARISONS):
            kind = type(node)
            assert issubclass(kind, exp.Binary)
            match node.expression:
                case exp.Any() as some if number := placeholder_in(some.this):
                    return Quantified(number, (node.this,), kind)
                case exp.All() as every if number := placeholder_in(every.this):
                    return Quantified(number, (node.this,), _NEGATED[kind], negated=True)
        return None


@dataclass
class SubqueryLowering:
    """Places the sub-queries of some expressions on a growing relation.

    `scalar_of` wraps a resolved tree over a relation; `bind_query` binds the sub-query behind a placeholder. `placed`
    may be shared: the ORDER BY that names a select item means the item's own sub-query, not another.
    """

    context: Context
    relation: Relation
    bind_query: Callable[[str], Bound]
    scalar_of: Callable[[exp.Expr, Relation], Scalar]
    placed: Placed = field(default_factory=dict)

    def filter(self, predicate: exp.Expr) -> None:
        """Keeps the rows that satisfy a resolved predicate."""
        rest: list[Scalar] = []
        for part in _conjuncts(predicate):
            quantified = Quantified.read(part)
            if quantified is None:
                rest.append(self._wrap(self.values(part, as_filter=True)))
                continue
            kind = ApplyKind.ANTI if quantified.negated else ApplyKind.SEMI
            operands, right = self._operands(quantified), self.bind_query(quantified.query)
            test = self._test(quantified, operands, right, part)
            if quantified.negated and not self._always_known(operands, right):
                test = disjunction((test, is_null(test)))
            self.relation = Apply(kind, self.relation, _filtered(right.relation, test))
        self.relation = _filtered(self.relation, conjunction(rest))

    def values(self, tree: exp.Expr, *, as_filter: bool = False) -> exp.Expr:
        """The tree with each sub-query replaced by a column of the relation.

        `as_filter` says that unknown and false mean the same here, which holds below AND and OR of a WHERE.
        """
        if (quantified := Quantified.read(tree)) is not None:
            return self._mark(quantified, tree, as_filter=as_filter).tree.copy()
        if number := placeholder_in(tree):
            return self._scalar(number, tree).tree.copy()
        if not tree.find(exp.Placeholder):
            return tree.copy()
        through = as_filter and isinstance(tree, (exp.And, exp.Or, exp.Paren))
        return with_parts(tree, lambda part: self.values(part, as_filter=through))

    def _scalar(self, number: str, node: exp.Expr) -> Scalar:
        if scalar := self._found(node, as_filter=False):
            return scalar
        right = self.bind_query(number)
        if len(right.named) != 1:
            raise self.context.wrong(f"a sub-query used as a value has {len(right.named)} columns, not one", node)
        value = right.columns[0]
        result = self.context.factory.like(value)
        only = Project(right.relation, ((value, reference(value)),))
        self.relation = Apply(ApplyKind.SCALAR, self.relation, only, result)
        return self._place(node, reference(result), as_filter=False)

    def _mark(self, quantified: Quantified, node: exp.Expr, *, as_filter: bool) -> Scalar:
        if scalar := self._found(node, as_filter=as_filter):
            return scalar
        operands, right = self._operands(quantified), self.bind_query(quantified.query)
        is_known = self._always_known(operands, right) or (as_filter and not quantified.negated)
        holds = self._exists(right, self._test(quantified, operands, right, node))
        answer = holds
        if not is_known:
            again = self.context.renamed(right)
            unknown = self._exists(again, is_null(self._test(quantified, operands, again, node)))
            answer = case_when(holds, TRUE, case_when(unknown, NULL, FALSE))
        return self._place(node, negation(answer) if quantified.negated else answer, as_filter=as_filter)

    def _found(self, node: exp.Expr, *, as_filter: bool) -> Scalar | None:
        """What was placed for the node, if it is still at hand: an Aggregate does not let it through."""
        scalar = self.placed.get((node, as_filter))
        return scalar if scalar is not None and scalar.columns <= set(self.relation.columns) else None

    def _place(self, node: exp.Expr, answer: Scalar, *, as_filter: bool) -> Scalar:
        self.placed[node.copy(), as_filter] = answer
        return answer

    def _wrap(self, tree: exp.Expr) -> Scalar:
        return self.scalar_of(tree, self.relation)

    def _exists(self, right: Bound, test: Scalar) -> Scalar:
        mark = self.context.factory.new("found", t.BOOLEAN)
        self.relation = Apply(ApplyKind.MARK, self.relation, _filtered(right.relation, test), mark)
        return reference(mark)

    def _operands(self, quantified: Quantified) -> tuple[Scalar, ...]:
        return tuple(self._wrap(self.values(operand)) for operand in quantified.operands)

    def _test(self, quantified: Quantified, operands: tuple[Scalar, ...], right: Bound, node: exp.Expr) -> Scalar:
        if operands and len(operands) != len(right.named):
            values, width = counted(len(operands), "value"), counted(len(right.named), "column")
            raise self.context.wrong(f"{values} compared with a sub-query of {width}", node)
        kind = quantified.comparison
        pairs = zip(operands, right.columns, strict=False)
        return conjunction(binary(kind, x, reference(b)) for x, b in pairs)

    def _always_known(self, operands: tuple[Scalar, ...], right: Bound) -> bool:
        """Whether the comparison can never be unknown."""
        left_known, right_known = properties(self.relation).not_null, properties(right.relation).not_null
        compared = right.columns[: len(operands)]
        return all(never_null(x, left_known) for x in operands) and all(c in right_known for c in compared)


def _filtered(relation: Relation, predicate: Scalar) -> Relation:
    return relation if predicate == TRUE else Filter(relation, predicate)


def _conjuncts(tree: exp.Expr) -> list[exp.Expr]:
    tree = tree.unnest()
    return [*_conjuncts(tree.this), *_conjuncts(tree.expression)] if isinstance(tree, exp.And) else [tree]
