"""Rules: a rule is a pattern, a law, and a function that yields equals of what the pattern matches.

Every rule is a `Rule`, whatever its stage. It gets a *context*: an operator of the query, a `Match` in the memo, or a
`Goal`, which is the wanted form of an operator. Its results are fitted to the context: missing weights are added,
surplus columns are dropped, and several terms become a union. The decorators of `rules.declare` make rules of
functions. How the search treats a rule depends on its stage and its flags, never on its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from inspect import getdoc, unwrap
from types import ModuleType
from typing import Protocol

from slackwater.algebra.relation import Relation
from slackwater.errors import InternalError, Place, RuleError, SlackwaterError
from slackwater.memo.group import NO_FLAGS, RuleFlags
from slackwater.time.forms import Kind

Found = Relation | Sequence[Relation]
"""The result of a rule: a relation, or terms of a union."""


class RuleStage(StrEnum):
    """When a rule applies, and to what: relations first, then forms, by the papers' three kinds."""

    NORMALIZE = "normalization"
    REWRITE = "rewriting"
    EXPLORE = "exploration"
    SNAPSHOT = "snapshots"
    GENERATE = "TVR-generating"
    INTRA = "intra-TVR"
    INTER = "inter-TVR"


@dataclass(frozen=True, slots=True)
class RulePattern:
    """What a rule matches: an operator, optionally over some kinds of inputs; for a rule about forms also the form."""

    on: type[Relation]
    over: tuple[type[Relation], ...] = ()
    kind: Kind | None = None
    partial: bool = False

    def fits(self, node: Relation, below: Iterable[Relation]) -> bool:
        """Whether an operator, and one of its inputs, is of the required kind."""
        if not isinstance(node, self.on):
            return False
        return not self.over or any(isinstance(relation, self.over) for relation in below)


class Misfit(Exception):
    """The result of a rule lacks columns that its context requires."""


class RuleContext(Protocol):
    """The argument of a rule."""

    @property
    def node(self) -> Relation:
        """The operator."""

    def fitted(self, terms: Found) -> Relation | None:
        """The rule's result with the required columns; None if it is empty."""


Function = Callable[..., Iterable[Found]]  # type: ignore[explicit-any]  # contexts differ from stage to stage
"""From a context and its operator to equal relations."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A named law that the planner may use."""

    name: str
    doc: str
    """The whole docstring: the law, why it holds, when not, the citation."""
    stage: RuleStage
    pattern: RulePattern
    function: Function
    methods: frozenset[str] = frozenset()
    """The methods it belongs to, if not to all."""
    flags: RuleFlags = NO_FLAGS

    @property
    def sees_relation(self) -> bool:
        """Whether its result is the same for all equal expressions of a relation."""
        return self.pattern.on is Relation and self.stage in (RuleStage.INTRA, RuleStage.INTER)

    @property
    def is_built_in(self) -> bool:
        """Whether it is part of Slackwater: then its errors are internal ones."""
        return self.function.__module__.partition(".")[0] == __name__.partition(".")[0]

    @property
    def place(self) -> Place:
        """Where its function is defined."""
        code = getattr(unwrap(self.function), "__code__", None)
        return Place(code.co_filename, code.co_firstlineno) if code is not None else Place(self.function.__module__)

    def apply(self, context: RuleContext) -> Iterator[Relation]:
        """All results of the rule, fitted to its context."""
        try:
            results = self.function(context, context.node)
            if isinstance(results, Relation) or not isinstance(results, Iterable):
                raise self._mistake(f"returns {type(results).__name__}", "write `yield` instead of `return`")
            for result in results:
                if not isinstance(result, (Relation, list, tuple)):
                    raise self._mistake(f"yields {type(result).__name__}", "yield relations, or a list of terms")
                relation = context.fitted(result)
                if relation is not None:
                    yield relation
        except SlackwaterError:
            raise
        except Misfit as wrong:
            hint = "yield all required columns, and a weight only if rows may be removed"
            raise self._mistake(f"yields {wrong}", hint) from wrong
        except Exception as raised:
            what = f"raises {type(raised).__name__}: {raised}"
            raise self._mistake(what, f"fix it, or plan without it: --disable {self.name}") from raised

    def _mistake(self, what: str, hint: str) -> SlackwaterError:
        if self.is_built_in:
            return InternalError(f"rule {self.name} {what}")
        return RuleError(f"rule `{self.name}` {what}", place=self.place, hint=hint)


def declared(
    stage: RuleStage, pattern: RulePattern, *, methods: Iterable[str] = (), flags: RuleFlags = NO_FLAGS
) -> Callable[[Function], Rule]:
    """A decorator that makes a rule of a function; its docstring is the law."""

    def declare(function: Function) -> Rule:
        rule = Rule(function.__name__, getdoc(function) or "", stage, pattern, function, frozenset(methods), flags)
        if not rule.doc:
            raise RuleError(
                f"rule `{rule.name}` states no law",
                place=rule.place,
                hint="write the law as the first line of its docstring, such as: Δ(σp R)  =  σp(ΔR)",
            )
        return rule

    return declare


def rules_of(*modules: ModuleType) -> tuple[Rule, ...]:
    """The rules that some modules declare, in the order of the text, in which they are tried."""
    members = ((module.__name__, member) for module in modules for member in vars(module).values())
    return tuple(rule for home, rule in members if isinstance(rule, Rule) and rule.function.__module__ == home)
