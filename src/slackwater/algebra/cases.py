"""Values told case by case: IF, CASE and COALESCE as one list of tests and what is said when they hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from slackwater.algebra.predicates import is_null_test
from slackwater.algebra.scalar import FALSE, NULL, TRUE, Scalar, call, conjuncts, equality, is_not_null, negation

Branch = tuple[Scalar, Scalar]
"""A condition and the value under it, where no branch before applies."""


@dataclass(frozen=True, slots=True)
class Case:
    """A value, and the tests that hold just where it is the one."""

    tests: tuple[Scalar, ...]
    value: Scalar


def cases(scalar: Scalar) -> Iterator[Case]:
    """Every case of a value; of any row exactly one holds. What is not told by cases is one."""
    branches = branches_of(scalar)
    passed: tuple[Scalar, ...] = ()
    for condition, value in branches:
        for inner in cases(value):
            yield Case((*passed, *conjuncts(condition), *inner.tests), inner.value)
        passed = (*passed, _not_true(condition))
    if not branches:
        yield Case((), scalar)


def negated_value(scalar: Scalar) -> Scalar | None:
    """The x of `-x`."""
    return scalar.part(scalar.tree.this) if isinstance(scalar.tree, exp.Neg) else None


def branches_of(scalar: Scalar) -> list[Branch]:
    """IF, CASE and COALESCE as branches, the last for all other rows; nothing for anything else."""
    tree = scalar.tree
    if isinstance(tree, exp.If):
        return [(scalar.part(tree.this), scalar.part(tree.args["true"])), _otherwise(tree, "false", scalar)]
    if isinstance(tree, exp.Case):
        branches = [(scalar.part(branch.this), scalar.part(branch.args["true"])) for branch in tree.args["ifs"]]
        if tree.this is not None:
            branches = [(equality(scalar.part(tree.this), tested), value) for tested, value in branches]
        return [*branches, _otherwise(tree, "default", scalar)]
    if isinstance(tree, exp.Coalesce):
        values = [scalar.part(argument) for argument in (tree.this, *tree.expressions)]
        return [*((is_not_null(value), value) for value in values[:-1]), (TRUE, values[-1])]
    return []


def _otherwise(tree: exp.Expr, name: str, scalar: Scalar) -> Branch:
    given = tree.args.get(name)
    return TRUE, NULL if given is None else scalar.part(given)


def _not_true(condition: Scalar) -> Scalar:
    """That a condition is false or null."""
    plain = is_null_test(condition) or is_null_test(negation(condition))
    return negation(condition if plain is not None else call("coalesce", condition, FALSE))
