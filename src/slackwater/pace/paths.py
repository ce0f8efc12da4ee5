"""The parts of a query: pieces of its dataflow between inputs, blocking operators and the answer [InQP §3.1.2].

An aggregate, a window and a limit block: they take in all that comes, and pass on what has changed when the part above
them runs. Every other operator passes rows on at once. A join is in the parts of both its inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from slackwater.algebra.relation import Aggregate, Limit, Relation, Scan, Window
from slackwater.pace.paces import DataflowPart

Through = tuple[tuple[Relation, int], ...]
"""The operators that rows pass on their way up, each with the input by which they enter it."""


@dataclass(frozen=True, slots=True)
class QueryPath:
    """A piece of a query: from an input or a blocking operator, through others, to the next one or to the answer."""

    start: Relation
    through: Through
    end: Relation | None
    """The blocking operator that takes the rows in; None for the answer."""
    part: DataflowPart


def is_blocking(relation: Relation) -> bool:
    return isinstance(relation, (Aggregate, Window, Limit))


def paths_of(relation: Relation) -> tuple[QueryPath, ...]:
    """All parts of a query, children first. An input that never changes begins none."""
    paths = _QueryPaths()
    paths.add(relation, None)
    return tuple(paths.parts)


class _QueryPaths:
    def __init__(self) -> None:
        self.parts: list[QueryPath] = []
        self._into: dict[int, tuple[int, ...]] = {}
        """The parts that end at a blocking operator, by its `id`."""

    def add(self, top: Relation, end: Relation | None) -> tuple[int, ...]:
        """Adds the parts that bring the rows of a relation to `end`; their positions."""
        added = []
        for start, through in _ways(top, ()):
            children: tuple[int, ...] = ()
            if is_blocking(start):
                if id(start) not in self._into:
                    self._into[id(start)] = self.add(start.inputs[0], start)
                children = self._into[id(start)]
                if not children:
                    continue  # nothing below it changes
            added.append(len(self.parts))
            name = start.table.name if isinstance(start, Scan) else type(start).__name__.lower()
            to = "answer" if end is None else type(end).__name__.lower()
            self.parts.append(QueryPath(start, through, end, DataflowPart(f"{name} → {to}", children)))
        return tuple(added)


def _ways(node: Relation, above: Through) -> Iterator[tuple[Relation, Through]]:
    """Where rows that reach a relation come from, and what they pass on their way up from there."""
    if is_blocking(node) or (isinstance(node, Scan) and node.table.changing):
        yield node, above
        return
    for position, below in enumerate(node.inputs):
        yield from _ways(below, ((node, position), *above))
