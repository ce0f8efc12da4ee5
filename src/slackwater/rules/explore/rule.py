"""What an exploration rule is: a pattern of operators in the memo, and the equal relations it knows of.

A pattern is an operator and, optionally, the operators its inputs must offer. A match binds the operator and, for each
input, one expression of the input's group. The rule yields relations over group leaves; the search adds them.

A rule about *whole* trees is shown an operator with everything below it, as it was written or as another such rule has
left it. What it yields is normalized and shown to these rules again, so that one rewrite can open the way for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import getdoc
from typing import TypeVar

from slackwater.algebra.relation import Relation
from slackwater.errors import InternalError
from slackwater.memo.memo import Memo
from slackwater.time.forms import GroupId, GroupLeaf

N = TypeVar("N", bound=Relation)


@dataclass(frozen=True)
class Match:
    """An operator of a group that a pattern fits, with a view on the memo around it."""

    group: GroupId
    node: Relation
    memo: Memo

    def seen_through(self, leaf: Relation) -> Relation:
        """The first expression of an input."""
        assert isinstance(leaf, GroupLeaf)
        return self.memo[leaf.group].expressions[0]


@dataclass(frozen=True, slots=True)
class ExploreRule:
    """A named rule that yields relations equal to one it is shown."""

    name: str
    law: str
    on: type[Relation]
    over: tuple[type[Relation], ...]
    expand: Callable[[Match], Iterator[Relation]]
    doc: str = ""
    """The whole docstring: the law, why it holds, when not, the citation."""
    whole: bool = False
    """Whether it is shown everything below the operator, not just groups."""

    def matches(self, match: Match) -> bool:
        if not isinstance(match.node, self.on):
            return False
        if not self.over:
            return True
        return any(isinstance(match.seen_through(below), self.over) for below in match.node.inputs)


def explores(
    on: type[N], over: type[Relation] | tuple[type[Relation], ...] = (), *, whole: bool = False
) -> Callable[[Callable[[Match, N], Iterator[Relation]]], ExploreRule]:
    """Declares an exploration rule for an operator, over inputs of some kind, or over the whole tree below."""

    def declare(function: Callable[[Match, N], Iterator[Relation]]) -> ExploreRule:
        name = function.__name__
        doc = getdoc(function) or ""
        if not doc:
            raise InternalError(f"rule {name} states no law")

        def expand(match: Match) -> Iterator[Relation]:
            assert isinstance(match.node, on)
            return function(match, match.node)

        kinds = over if isinstance(over, tuple) else (over,)
        return ExploreRule(name, doc.splitlines()[0], on, kinds, expand, doc, whole)

    return declare
