"""Queries whose answer their inputs do not determine: which of them are computed by their text, and what is compared.

A query with a random value is computed by its text at each delivery: a value that one run has kept, and another one of
the same row that a later run computes, would be an answer that no batch query gives. So is one that picks among rows
that tie and reads its pick twice. Other picks, such as `first` of a group, are planned like everything else: whichever
row a run takes, some batch query takes it as well.

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
from slackwater.algebra.relation import Aggregate, AggregateCall, Limit, Query, Relation, Window
from slackwater.algebra.scalar import function_name
from slackwater.algebra.schema import Field
from slackwater.algebra.stability import unstable_columns
from slackwater.errors import Place, UnsupportedError
from slackwater.job.file.sections import JobQuery
from slackwater.sql.random_calls import random_calls


@dataclass(frozen=True)
class Chance:
    """The part that chance has in the rows of a relation."""

    relation: Relation

    @cached_property
    def _by_node(self) -> dict[int, Columns]:
        by_node: dict[int, Columns] = {}
        for node in self.relation.walk():
            by_node[id(node)] = self._decided(node, [by_node[id(each)] for each in node.inputs])
        return by_node

    def _decided(self, node: Relation, below: Sequence[Columns]) -> Columns:
        """The columns of a node that are up to chance, given those of its inputs."""
        columns = unstable_columns(node, below, rounding=False)
        return columns - _only_values(node) if self._has_guards and not any(below) else columns

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


def check_chance(query: Query, file: str | None) -> None:
    """Refuses to take a query apart whose parts might each see another outcome of chance."""
    chance = Chance(query.relation)
    if (name := chance.random()) is not None:
        message = f"{name}() has another value each time it is computed"
    elif (cause := chance.picked_twice()) is not None:
        message = f"{cause} is up to chance, and the query reads it twice"
    else:
        return
    raise UnsupportedError(message, place=Place(file))


@dataclass(frozen=True)
class Undetermined:
    """Why the answer of a query is not determined by its inputs, and the columns of it that are."""

    reason: str
    comparable: tuple[Field, ...] = ()


def undetermined(query: JobQuery, bound: Query | None, fields: tuple[Field, ...]) -> Undetermined | None:
    """What cannot be compared of an answer; None where all of it can be.

    The rows that LIMIT takes last are no part of this: that they may be others of a tie is known of them.
    """
    if bound is None:
        names = random_calls(query.text)
        return Undetermined(f"{names[0]}() has another value each time it is computed") if names else None
    is_cut = isinstance(bound.relation, Limit)
    chance = Chance(bound.relation.inputs[0] if is_cut else bound.relation)
    touched = [output.column in chance.columns for output in bound.outputs]
    if not any(touched) and not (is_cut and chance.columns):
        return None
    causes = ", ".join(chance.causes())
    settled = tuple(field for field, by_chance in zip(fields, touched, strict=True) if not by_chance)
    return Undetermined(f"{causes}: up to chance", () if is_cut else settled)
