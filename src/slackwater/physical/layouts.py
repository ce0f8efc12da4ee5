"""Layout: the ways to compute an expression with a required distribution, and the exchanges that each needs.

From the root down, each operator gets a required distribution and passes requirements on to its inputs. Exchanges are
where Spark puts them: below the sides of a join, before a window, between partial and final aggregate. An aggregate by
the key of the join below it needs none, nor does a second join by the same key. A requirement that reaches a leaf
becomes a demand: a way that is cheaper if the leaf is partitioned so is kept beside the one without demands. These are
*interesting* distributions, like the interesting orders of a classical optimizer. [Tempura §2.2(3)]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from slackwater.algebra.relation import Aggregate, Join, Limit, Relation, Scan, Union, Values, Window
from slackwater.algebra.schema import Column
from slackwater.physical.distribution import (
    ONE_PLACE,
    Columns,
    Hash,
    Required,
    both,
    by_each,
    join_keys,
    joined,
    meets,
    passed_on,
    past_broadcast,
    within,
)
from slackwater.physical.machine import Machine
from slackwater.physical.operators import NO_WORK, Implementation, Work, may_broadcast, reduced_below, reducer
from slackwater.rows.estimate import Rows
from slackwater.time.forms import Form

MOST_WAYS = 4
"""Ways that are kept for one relation and requirement."""

WORTH = 0.98
"""A way with demands is kept if it costs at most this share of the cheapest without demands."""


class Layouts:
    """The ways to compute one expression, and every part of it.

    A way may demand a distribution of a leaf only if `may_be_asked` allows it.
    """

    def __init__(self, machine: Machine, rows: Rows, may_be_asked: Callable[[Relation], bool]) -> None:
        self.machine = machine
        self.price = machine.price
        self.rows = rows
        self.may_be_asked = may_be_asked
        self._ways: dict[tuple[int, Required | None], list[Implementation]] = {}

    def ways(self, node: Relation, required: Required | None = None) -> list[Implementation]:
        """The cheapest ways that deliver the required distribution without an exchange on top.

        If nothing is required, the first of them demands nothing either.
        """
        key = (id(node), required)
        ways = self._ways.get(key)
        if ways is None:
            ways = self._ways[key] = _promising(self._find(node, required))
        return ways

    def _find(self, node: Relation, required: Required | None) -> Iterator[Implementation]:
        match node:
            case Form() | Scan():
                if required is None:
                    yield NO_WORK
                elif self.may_be_asked(node):
                    yield Implementation((), ((node, required),), 0.0)
            case Values():
                yield NO_WORK
            case Join():
                yield from self._joins(node, required)
            case Aggregate():
                moved = self.machine.exchange_of_partials(node, self.rows)
                yield from self._gathered(node, node.input, node.keys, moved, required)
            case Window():
                partition = node.calls[0][1].partition if node.calls else ()
                moved = self.machine.exchange(node.input, frozenset(partition), self.rows)
                below = None if required is None else within(required, frozenset(node.input.columns))
                if required is None or below is not None:
                    yield from self._gathered(node, node.input, partition, moved, below)
            case _:
                yield from self._in_place(node, required)

    def _in_place(self, node: Relation, required: Required | None) -> Iterator[Implementation]:
        """Operators without an exchange."""
        own = self.machine.on_rows(node, self.rows)
        below: tuple[Required | None, ...] | None = (None,) * len(node.inputs)
        if required is not None and not (isinstance(node, Limit) and meets(ONE_PLACE, required)):
            below = passed_on(node, required, self._key(node))
        if below is not None:
            for parts in self._combined(zip(node.inputs, below, strict=True)):
                yield self._way(parts, own)

    def _key(self, node: Relation) -> Columns | None:
        """The columns to partition a union's branches by, if any will do: a key of the first branch."""
        if not isinstance(node, Union):
            return None
        names = {source: name for name, source in node.renaming(0).items()}
        for key in self.rows(node.branches[0]).keys:
            if key and key <= names.keys():
                return frozenset(names[column] for column in key)
        return None

    def _gathered(
        self, node: Relation, below: Relation, keys: Iterable[Column], moved: Work, required: Required | None
    ) -> Iterator[Implementation]:
        """Operators over groups of rows: with an exchange, or over an input that is clustered already."""
        own = self.machine.on_rows(node, self.rows)
        columns = frozenset(keys)
        if required is None or meets(by_each(columns), required):
            yield from (self._way((way,), moved, own) for way in self.ways(below))
        together = both(columns, required)
        if together is not None:
            yield from (self._way((way,), own) for way in self.ways(below, together))

    def _joins(self, node: Join, required: Required | None) -> Iterator[Implementation]:
        """A broadcast join, or a shuffled join whose right side may be reduced first."""
        machine, rows = self.machine, self.rows
        equal, sides = may_broadcast(node)
        sending = [side for side in sides if machine.may_broadcast(node, side, rows)]
        for sent in sending:
            large = node.left if sent is node.right else node.right
            past = None if required is None else past_broadcast(node, large, required)
            if required is None or past is not None:
                works = machine.broadcast(node, sent, rows), machine.probe(node, sent, rows)
                for parts in self._combined(((sent, None), (large, past))):
                    yield self._way(parts, *works)
        if not equal and sending:
            return
        keys = join_keys(node)
        hashed = None if keys is None else joined(node, keys)
        if required is not None and (hashed is None or not meets(hashed, required)):
            return
        works = machine.build(node, rows), machine.probe(node, None, rows)
        for left in self._moved(node, 0, keys):
            yield from (self._way((left, right), *works) for right in self._moved(node, 1, keys))
        if reducing := machine.reduce(node, rows):
            again = self._computed_again(node)
            for left, right in self._combined(((node.left, None), (node.right, None))):
                yield self._way((left, self._reduced(right, node)), *again, *reducing)

    def _computed_again(self, join: Join) -> list[Work]:
        """The reducer of a side is computed twice: to reduce it, and to join."""
        by = reducer(join)
        assert by is not None
        leaves = dict.fromkeys(node for node in by.walk() if isinstance(node, (Form, Scan)))
        read = [self.machine.read(leaf, self.rows(leaf)) for leaf in leaves]
        return [replace(work, again=True) for work in (*read, *self.ways(by)[0].works)]

    def _reduced(self, right: Implementation, join: Join) -> Implementation:
        """The right side of a join, reduced by the left side."""
        fewer = set(reduced_below(join.right, join.condition.columns & frozenset(join.right.columns)))
        share = self.rows(join).right_hit
        works = tuple(work.of_share(share) if work.of in fewer else work for work in right.works)
        return Implementation(works, right.demands, sum(map(self.price, works)))

    def _way(self, parts: Sequence[Implementation], *more: Work) -> Implementation:
        """Ways to compute the inputs and work on top; common work is counted once."""
        busy = [part for part in parts if part.works or part.demands]
        if len(busy) < 2:
            below = busy[0] if busy else NO_WORK
            return Implementation(below.works + more, below.demands, below.price + sum(map(self.price, more)))
        works = {work.key: work for part in busy for work in part.works}
        works |= {work.key: work for work in more}
        demands = dict.fromkeys(demand for part in busy for demand in part.demands)
        return Implementation(tuple(works.values()), tuple(demands), sum(map(self.price, works.values())))

    def _moved(self, join: Join, number: int, keys: tuple[tuple[Column, Column], ...] | None) -> list[Implementation]:
        """One side of a join, partitioned by its key: as it is, or by an exchange."""
        side = join.inputs[number]
        by = join.condition.columns & frozenset(side.columns)
        there: list[Implementation] = []
        if keys is not None:
            by = frozenset(pair[number] for pair in keys)
            there = self.ways(side, Hash(by))
        moved = self.machine.exchange(side, by, self.rows)
        return _promising((*(self._way((way,), moved) for way in self.ways(side)), *there))

    def _combined(self, inputs: Iterable[tuple[Relation, Required | None]]) -> Iterator[tuple[Implementation, ...]]:
        """Combinations of one way for each input, the first of each first; with many inputs, not all."""
        parts: list[tuple[Implementation, ...]] = [()]
        for node, required in inputs:
            parts = [(*chosen, way) for chosen in parts[: MOST_WAYS * MOST_WAYS] for way in self.ways(node, required)]
        return iter(parts)


def _promising(ways: Iterable[Implementation]) -> list[Implementation]:
    """The cheapest way without demands, if there is one, and those that are cheaper by their demands."""
    candidates = list(ways)
    if len(candidates) < 2:
        return candidates
    free = min((way for way in candidates if not way.demands), key=lambda way: way.price, default=None)
    kept = [] if free is None else [free]
    limit = math.inf if free is None else WORTH * free.price
    for way in sorted((way for way in candidates if way.demands and way.price <= limit), key=lambda way: way.price):
        if len(kept) < MOST_WAYS and not any(
            other.demands and set(other.demands) <= set(way.demands) for other in kept
        ):
            kept.append(way)
    return kept
