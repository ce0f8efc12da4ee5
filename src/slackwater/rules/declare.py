"""Decorators that make rules of functions, one for each stage.

- `normalizes`: always an improvement, so applied until none fires, before the search.
- `rewrites`: an operator with everything below it, written another way.
- `explores`: an operator over groups of the memo, written another way.
- `generates`: a form from forms of the operator's inputs (TVR-generating).
- `converts`: a form from other forms of the same relation, for any operator (intra-TVR).
- `relates`: a form through a relative of the relation, such as its never retracted part (inter-TVR).
- `snapshots`: batch, which has one rule (`generate/snapshots.py`).

The function's name is the rule's, the first line of its docstring the law.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar

from slackwater.algebra.relation import Relation
from slackwater.memo.group import NO_FLAGS, RuleFlags
from slackwater.rules.goal import Goal
from slackwater.rules.match import Match, Written
from slackwater.rules.rule import Found, Rule, RulePattern, RuleStage, declared
from slackwater.time.forms import Kind

N = TypeVar("N", bound=Relation)
Kinds = type[Relation] | tuple[type[Relation], ...]


def _kinds(over: Kinds) -> tuple[type[Relation], ...]:
    return over if isinstance(over, tuple) else (over,)


def normalizes(on: type[N], over: Kinds = ()) -> Callable[[Callable[[Written, N], Relation | None]], Rule]:
    """A rule that improves one operator, or returns None; `over` are the operators below that it matches."""

    def declare(function: Callable[[Written, N], Relation | None]) -> Rule:
        @wraps(function)
        def better(written: Written, node: N) -> tuple[Relation, ...]:
            improved = function(written, node)
            return () if improved is None else (improved,)

        return declared(RuleStage.NORMALIZE, RulePattern(on, _kinds(over)))(better)

    return declare


def rewrites(
    on: type[N], over: Kinds = (), *, flags: RuleFlags = NO_FLAGS
) -> Callable[[Callable[[Match, N], Iterator[Relation]]], Rule]:
    """A rule that sees the whole tree below an operator."""
    return declared(RuleStage.REWRITE, RulePattern(on, _kinds(over)), flags=flags)


def explores(on: type[N], over: Kinds = ()) -> Callable[[Callable[[Match, N], Iterator[Relation]]], Rule]:
    """A rule that sees an operator over groups; one of these must have an expression with an operator of `over`."""
    return declared(RuleStage.EXPLORE, RulePattern(on, _kinds(over)))


Body = Callable[[Goal, N], Iterator[Found]]


@dataclass(frozen=True, slots=True)
class FormRules:
    """The decorator of a stage of rules about forms; a rule belongs to all methods, if none is named."""

    stage: RuleStage

    def __call__(
        self,
        kind: Kind,
        of: type[N] = Relation,  # type: ignore[assignment]
        *,
        partial: bool = False,
        methods: Iterable[str] = (),
        flags: RuleFlags = NO_FLAGS,
    ) -> Callable[[Body[N]], Rule]:
        return declared(self.stage, RulePattern(of, kind=kind, partial=partial), methods=methods, flags=flags)


generates = FormRules(RuleStage.GENERATE)
"""A rule for a form of an operator, from forms of its inputs."""
converts = FormRules(RuleStage.INTRA)
"""A rule for a form from other forms of the same relation."""
relates = FormRules(RuleStage.INTER)
"""A rule for a form through a relative of the relation."""
snapshots = FormRules(RuleStage.SNAPSHOT)
"""The rule of batch: a snapshot of an operator from snapshots of its inputs."""
