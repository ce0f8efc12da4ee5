"""Layout: the ways to compute an expression so that its rows lie as required, with the exchanges that it really needs.

From the root down, each operator hears what is required of its rows and says what it requires of its inputs in turn. An
exchange stands where Spark puts it: below a join's side, before a window, among the partial rows of an aggregate. So an
aggregate by the key of the join below it costs none, nor does a second join by the same key. At the leaves
requirements become demands: a way that is cheaper if a leaf lies so is kept beside the one that takes leaves as they
lie. Those are the *interesting* distributions, as interesting orders are in a classical optimizer. [Tempura §2.2(3)]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

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
    sent_past,
    within,
)
from slackwater.physical.operators import NO_WORK, Implementation, Work, may_broadcast, reduced_below, reducer
from slackwater.rows.estimate import Estimate, Rows
from slackwater.time.forms import Form

MOST_WAYS = 4
"""Ways that are followed up for one relation and requirement, the most promising ones."""

WORTH = 0.98
"""A way that demands something must not cost more than this part of one that takes rows as they lie."""


class Works(Protocol):
    """What a machine does for each piece of an expression."""

    def read(self, of: Relation, rows: Estimate) -> Work: ...

    def on_rows(self, node: Relation, rows: Rows) -> Work: ...

    def exchange(self, node: Relation, by: Columns, rows: Rows) -> Work: ...

    def exchange_of_partials(self, node: Aggregate, rows: Rows) -> Work: ...

    def may_send(self, join: Join, sent: Relation, rows: Rows) -> bool: ...

    def send(self, join: Join, sent: Relation, rows: Rows) -> Work: ...

    def build(self, join: Join, rows: Rows) -> Work: ...

    def probe(self, join: Join, sent: Relation | None, rows: Rows) -> Work: ...

    def reduce(self, join: Join, rows: Rows) -> tuple[Work, ...]: ...


class Layouts:
    """The ways to compute one expression, and every part of it.

    Any distribution may be asked of the leaves that `may_be_asked`; the others are taken as they lie.
    """

    def __init__(
        self,
        machine: Works,
        price: Callable[[Work], float],
        rows: Rows,
        may_be_asked: Callable[[Relation], bool],
    ) -> None:
        self.machine = machine
        self.price = price
        self.rows = rows
        self.may_be_asked = may_be_asked
        self._known: dict[tuple[int, Required | None], list[Implementation]] = {}

    def ways(self, node: Relation, required: Required | None = None) -> list[Implementation]:
        """The promising ways whose rows lie as required without being moved for it.

        If nothing is required, the first of them demands nothing either.
        """
        key = (id(node), required)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _promising(self._find(node, required))
        return known

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
        """Operators that leave rows where they are."""
        own = self.machine.on_rows(node, self.rows)
        below: tuple[Required | None, ...] | None = (None,) * len(node.inputs)
        if required is not None and not (isinstance(node, Limit) and meets(ONE_PLACE, required)):
            below = passed_on(node, required, self._key(node))
        if below is not None:
            for parts in self._combined(zip(node.inputs, below, strict=True)):
                yield self._way(parts, own)

    def _key(self, node: Relation) -> Columns | None:
        """The columns to hash a union's branches by, if any will do: a key of the first, under the union's names."""
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
        """Operators over groups of rows: with an exchange of their own, or over rows that lie together already."""
        own = self.machine.on_rows(node, self.rows)
        columns = frozenset(keys)
        if required is None or meets(by_each(columns), required):
            yield from (self._way((way,), moved, own) for way in self.ways(below))
        together = both(columns, required)
        if together is not None:
            yield from (self._way((way,), own) for way in self.ways(below, together))

    def _joins(self, node: Join, required: Required | None) -> Iterator[Implementation]:
        """A side sent everywhere, the other left where it is; or both moved by the join's key, maybe reduced before."""
        machine, rows = self.machine, self.rows
        equal, sides = may_broadcast(node)
        sending = [side for side in sides if machine.may_send(node, side, rows)]
        for sent in sending:
            large = node.left if sent is node.right else node.right
            past = None if required is None else sent_past(node, large, required)
            if required is None or past is not None:
                works = machine.send(node, sent, rows), machine.probe(node, sent, rows)
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
        """What reduces a side is computed for that first, and once more to be joined."""
        by = reducer(join)
        assert by is not None
        leaves = dict.fromkeys(node for node in by.walk() if isinstance(node, (Form, Scan)))
        read = [self.machine.read(leaf, self.rows(leaf)) for leaf in leaves]
        return [work.once_more() for work in (*read, *self.ways(by)[0].works)]

    def _reduced(self, right: Implementation, join: Join) -> Implementation:
        """What is done for the right side of a join once its left side has reduced it."""
        fewer = set(reduced_below(join.right, join.condition.columns & frozenset(join.right.columns)))
        share = self.rows(join).right_hit
        works = tuple(work.of_share(share) if work.of in fewer else work for work in right.works)
        return Implementation(works, right.demands, sum(map(self.price, works)))

    def _way(self, parts: Sequence[Implementation], *more: Work) -> Implementation:
        """Several ways beside each other and work on top, everything counted once."""
        busy = [part for part in parts if part.works or part.demands]
        if len(busy) < 2:
            below = busy[0] if busy else NO_WORK
            return Implementation(below.works + more, below.demands, below.price + sum(map(self.price, more)))
        works = {work.key: work for part in busy for work in part.works}
        works |= {work.key: work for work in more}
        demands = dict.fromkeys(demand for part in busy for demand in part.demands)
        return Implementation(tuple(works.values()), tuple(demands), sum(map(self.price, works.values())))

    def _moved(self, join: Join, number: int, keys: tuple[tuple[Column, Column], ...] | None) -> list[Implementation]:
        """One side of a join where the hash of its key puts it: there already, or moved."""
        side = join.inputs[number]
        by = join.condition.columns & frozenset(side.columns)
        there: list[Implementation] = []
        if keys is not None:
            by = frozenset(pair[number] for pair in keys)
            there = self.ways(side, Hash(by))
        moved = self.machine.exchange(side, by, self.rows)
        return _promising((*(self._way((way,), moved) for way in self.ways(side)), *there))

    def _combined(self, inputs: Iterable[tuple[Relation, Required | None]]) -> Iterator[tuple[Implementation, ...]]:
        """Every choice of a way for each input, the first of each first; of many inputs not every one."""
        found: list[tuple[Implementation, ...]] = [()]
        for node, required in inputs:
            found = [(*chosen, way) for chosen in found[: MOST_WAYS * MOST_WAYS] for way in self.ways(node, required)]
        return iter(found)


def _promising(ways: Iterable[Implementation]) -> list[Implementation]:
    """The cheapest that takes leaves as they lie, if one does, and then those that save something by their demands."""
    found = list(ways)
    if len(found) < 2:
        return found
    free = min((way for way in found if not way.demands), key=lambda way: way.price, default=None)
    kept = [] if free is None else [free]
    limit = math.inf if free is None else WORTH * free.price
    for way in sorted((way for way in found if way.demands and way.price <= limit), key=lambda way: way.price):
        if len(kept) < MOST_WAYS and not any(
            other.demands and set(other.demands) <= set(way.demands) for other in kept
        ):
            kept.append(way)
    return kept
