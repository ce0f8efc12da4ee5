"""What a rule is, and the facts a rule may ask for.

A rule is a function of one relation that returns an equal one, or None where it does not apply. Its name is the
function's; the first line of its docstring is its law. The decorator says which operator it looks at and, if it also
looks *into* an input, of which kind that input must be: a rule is never shown the inside of a shared relation.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from inspect import getdoc
from typing import TypeVar

from slackwater.algebra.relation import Relation
from slackwater.errors import InternalError

R = TypeVar("R", bound=Relation)


@dataclass(frozen=True)
class Facts:
    """What rules may use beside the relation itself."""

    shared: AbstractSet[Relation] = frozenset()
    """Relations with several readers, not to be taken apart from above."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A named, always-good rewrite of one operator."""

    name: str
    law: str
    on: type[Relation]
    over: tuple[type[Relation], ...]
    rewrite: Callable[[Relation, Facts], Relation | None]
    doc: str = ""
    """The whole docstring: the law, why it holds, when not, the citation."""

    def matches(self, relation: Relation) -> bool:
        """Whether the operator, and the input it looks into, are of the kind the rule is for."""
        if not isinstance(relation, self.on):
            return False
        return not self.over or any(isinstance(below, self.over) for below in relation.inputs)


def normalizes(
    on: type[R], over: type[Relation] | tuple[type[Relation], ...] = ()
) -> Callable[[Callable[[R, Facts], Relation | None]], Rule]:
    """Declares a normalization rule for an operator, and for the operators right below it that it takes apart."""

    def declare(function: Callable[[R, Facts], Relation | None]) -> Rule:
        name = function.__name__
        doc = getdoc(function) or ""
        if not doc:
            raise InternalError(f"rule {name} states no law")
        law = doc.splitlines()[0]

        def rewrite(relation: Relation, facts: Facts) -> Relation | None:
            assert isinstance(relation, on)
            return function(relation, facts)

        return Rule(name, law, on, over if isinstance(over, tuple) else (over,), rewrite, doc)

    return declare
