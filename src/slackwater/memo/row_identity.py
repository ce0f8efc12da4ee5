"""The identity of a relation: a short text by which the plan of another day recognizes the relation.

An identity contains all that determines the number of rows, over base tables and canonical columns. It contains no
number of a group or run, no order of conjuncts, joins or branches, and no columns that are only computed or carried
along. Two relations with the same identity have the same number of rows on the same data.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from slackwater.algebra.once import once_for_each
from slackwater.algebra.predicates import matched_sides
from slackwater.algebra.relation import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Scan,
    Union,
    Values,
    Window,
)
from slackwater.algebra.scalar import Scalar, conjuncts
from slackwater.memo.memo import Memo
from slackwater.time.forms import Form, GroupId, GroupLeaf

_COPY = re.compile(r"~\d+")
"""The suffix of a canonical column name if a relation occurs a second time."""

Block = tuple[tuple[str, ...], frozenset[str]]
"""Filters and inner joins over some inputs, in any order: the inputs' identities and all conjuncts."""


class RowIdentities:
    """The identities of a memo's groups, each computed once."""

    def __init__(self, memo: Memo) -> None:
        self.memo = memo

    def of(self, group: GroupId) -> str:
        """The identity of a group."""
        inputs, tests = self._block(group)
        return inputs[0] if len(inputs) == 1 and not tests else _digest("rows", *inputs, "where", *sorted(tests))

    @once_for_each
    def tables(self, relation: Relation) -> frozenset[str]:
        """The base tables below a relation over groups or forms."""
        match relation:
            case GroupLeaf() | Form():
                return self.tables(self.memo[relation.group].expressions[0])
            case Scan():
                return frozenset((relation.table.name,))
            case _:
                return frozenset[str]().union(*map(self.tables, relation.inputs))

    @once_for_each
    def _block(self, group: GroupId) -> Block:
        return self._block_of(self.memo[group].expressions[0])

    def _block_of(self, node: Relation) -> Block:
        match node:
            case GroupLeaf():
                return self._block(node.group)
            case Project():
                return self._block_of(node.input)
            case Filter():
                inputs, tests = self._block_of(node.input)
                return inputs, tests | texts_of(node.predicate)
            case Join(kind=JoinKind.INNER):
                (left, one), (right, other) = self._block_of(node.left), self._block_of(node.right)
                return tuple(sorted((*left, *right))), one | other | texts_of(node.condition)
            case _:
                return (_digest(*self._parts(node)),), frozenset()

    def _parts(self, node: Relation) -> Iterable[str]:
        below = [self.of(part.group) for part in node.inputs if isinstance(part, GroupLeaf)]
        match node:
            case Scan():
                return "table", node.table.name.lower()
            case Values():
                return "values", *("|".join(cell.text for cell in row) for row in node.rows)
            case Join():
                return f"{node.kind} join", *below, *sorted(texts_of(node.condition))
            case Aggregate():
                # A row can change a sum without changing the groups, so deltas of sums and of groups differ in size.
                return "distinct" if node.is_distinct else "groups", *below, *sorted(c.id for c in node.keys)
            case Union():
                return "union", *sorted(below)
            case Limit():
                return "limit", str(node.count), str(node.offset), *below
            case Expand():
                return "sets", *map(str, node.sets), *(source.id for _, source in node.keys), *below
            case Window():
                partitions = (",".join(sorted(c.id for c in call.partition)) for _, call in node.calls)
                return "window", *sorted(partitions), *below
            case Generate():
                return "generate", node.generator.text, str(node.keep_empty), *below
            case _:
                return type(node).__name__, *below


def texts_of(predicate: Scalar) -> frozenset[str]:
    """A conjunction as texts that do not depend on the order of conjuncts, nor on that of the sides of equalities."""
    return frozenset(_text(part) for part in conjuncts(predicate))


def without_copies(text: str) -> str:
    """A text without the suffixes that tell copies of a relation apart."""
    return _COPY.sub("", text)


def _text(part: Scalar) -> str:
    sides = matched_sides(part)
    return " = ".join(sorted(side.text for side in sides)) if sides is not None else part.text


def _digest(*parts: str) -> str:
    return hashlib.blake2s("\x1f".join(parts).encode(), digest_size=8).hexdigest()
