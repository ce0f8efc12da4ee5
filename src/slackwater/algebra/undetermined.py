"""What of an answer is up to chance: random values, and picks among rows that no order tells apart.

`rand()` has another value each time it is computed. `first` without an order, `row_number` over ties and LIMIT pick one
of several rows, each of which is right. Floating-point sums are no matter of chance here: their last digits depend on
the order of additions, and a tolerance takes care of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from slackwater.algebra.properties import Columns
from slackwater.algebra.relation import Aggregate, AggregateCall, Limit, Relation, Window
from slackwater.algebra.scalar import function_name
from slackwater.algebra.stability import unstable_columns


@dataclass(frozen=True)
class Chance:
    """The part that chance has in the rows of a relation."""

    relation: Relation

    @cached_property
    def _by_node(self) -> dict[int, Columns]:
        found: dict[int, Columns] = {}
        for node in self.relation.walk():
            found[id(node)] = self._decided(node, [found[id(each)] for each in node.inputs])
        return found

    def _decided(self, node: Relation, below: Sequence[Columns]) -> Columns:
        """The columns of a node that are up to chance, given those of its inputs."""
        found = unstable_columns(node, below, rounding=False)
        return found - _only_values(node) if self._has_guards and not any(below) else found

    @cached_property
    def _has_guards(self) -> bool:
        """Whether anything raises an error, as sub-queries do that must give one row."""
        return any(scalar.can_raise for node in self.relation.walk() for scalar in node.scalars)

    @property
    def columns(self) -> Columns:
        """The columns whose values are up to chance; all of them, where it is up to chance which rows there are."""
        return self._by_node[id(self.relation)]

    def causes(self) -> list[str]:
        """Where chance comes in, in words."""
        return list(dict.fromkeys(cause for node in self.relation.walk() for cause in self._causes(node)))

    def random(self) -> str | None:
        """A function in it that has another value each time it is computed."""
        return next((name for node in self.relation.walk() for name in _random_calls(node)), None)

    def picked_twice(self) -> str | None:
        """What makes a pick that two parts of the query read; computed for each, they might see different ones."""
        readers = Counter(id(below) for node in self.relation.walk() for below in node.inputs)
        shared = (n for n in self.relation.walk() if readers[id(n)] > 1 and self._by_node[id(n)])
        return next((cause for top in shared for node in top.walk() for cause in self._causes(node)), None)

    def _causes(self, node: Relation) -> Iterator[str]:
        """How chance comes in at one operator, whatever its inputs are."""
        yield from (f"{name}()" for name in _random_calls(node))
        decided = self._decided(node, [frozenset()] * len(node.inputs))
        match node:
            case Aggregate(calls=calls):
                for column, made in calls:
                    if column in decided and not any(scalar.is_random for scalar in made.scalars):
                        yield f"{made.function}() of rows in no order"
            case Window(calls=windows):
                for column, window in windows:
                    if column in decided and not window.function.is_random:
                        yield f"{function_name(window.function.tree)}() over rows that tie"
            case Limit(order=order) if decided:
                yield "LIMIT among rows that tie" if order else "LIMIT without ORDER BY"
            case _:
                pass


def _only_values(node: Relation) -> Columns:
    """The value of a sub-query that must give one row: any of its rows, beside their number, which is checked."""
    match node:
        case Aggregate(calls=((_, AggregateCall(function="count", arguments=())), (kept, made))):
            return frozenset((kept,)) if made.function == "any_value" else frozenset()
        case _:
            return frozenset()


def _random_calls(node: Relation) -> Iterator[str]:
    for scalar in node.scalars:
        yield from scalar.random_calls
