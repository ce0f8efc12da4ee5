"""What a rule is: a pattern, a law, and a function that says what equals what the pattern finds.

Every rule is a `Rule`, whatever its stage. It is shown a *context*: an operator as it was written, a `Match` in the
memo, or a `Goal`, which is a form wanted of an operator. What it yields is fitted to the context, so a rule need not
care for weights, for columns beyond those that are asked for, or for terms that stand side by side. The decorators of
`rules.declare` make rules of functions. How the search treats a rule hangs on its stage and its flags, never on its
name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from inspect import getdoc, unwrap
from typing import Protocol

from slackwater.algebra.relation import Relation
from slackwater.errors import InternalError, Place, RuleError, SlackwaterError
from slackwater.memo.group import NO_FLAGS, RuleFlags
from slackwater.time.forms import Form, Kind

Found = Relation | Sequence[Relation]
"""What a rule yields: a relation, or terms whose rows stand side by side."""


class RuleStage(StrEnum):
    """When a rule is asked, and about what: relations first, then forms, by the papers' trichotomy."""

    NORMALIZE = "normalization"
    REWRITE = "rewriting"
    EXPLORE = "exploration"
    SNAPSHOT = "snapshots"
    GENERATE = "TVR-generating"
    INTRA = "intra-TVR"
    INTER = "inter-TVR"


@dataclass(frozen=True, slots=True)
class RulePattern:
    """What a rule looks at: an operator, maybe over inputs of some kinds, and for a rule about forms which form."""

    on: type[Relation]
    over: tuple[type[Relation], ...] = ()
    kind: Kind | None = None
    partial: bool = False

    def fits(self, node: Relation, below: Iterable[Relation]) -> bool:
        """Whether an operator is of the kind that is looked for, and one of its inputs too."""
        if not isinstance(node, self.on):
            return False
        return not self.over or any(isinstance(relation, self.over) for relation in below)

    def asks_for(self, form: Form) -> bool:
        return form.kind is self.kind and form.partial is self.partial


class Misfit(Exception):
    """What a rule has yielded lacks columns that its context asks for."""


class RuleContext(Protocol):
    """What a rule is shown."""

    @property
    def node(self) -> Relation:
        """The operator."""

    def fitted(self, found: Found) -> Relation | None:
        """What a rule has yielded, with the columns that are asked for; None where it is nothing."""


Function = Callable[..., Iterable[Found]]  # type: ignore[explicit-any]  # contexts differ from stage to stage
"""From a context and its operator to what equals it."""


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
    """The methods it belongs to, where it does not belong to all."""
    flags: RuleFlags = NO_FLAGS

    @property
    def law(self) -> str:
        return self.doc.splitlines()[0]

    @property
    def sees_relation(self) -> bool:
        """Whether it says the same whichever of a relation's equal expressions it is shown."""
        return self.pattern.on is Relation and self.stage in (RuleStage.INTRA, RuleStage.INTER)

    @property
    def is_built_in(self) -> bool:
        """Whether it is one of ours: then what goes wrong in it is no mistake of the user."""
        return self.function.__module__.partition(".")[0] == __name__.partition(".")[0]

    @property
    def place(self) -> Place:
        """Where its function is written."""
        code = getattr(unwrap(self.function), "__code__", None)
        return Place(code.co_filename, code.co_firstlineno) if code is not None else Place(self.function.__module__)

    def apply(self, context: RuleContext) -> Iterator[Relation]:
        """Everything that the rule finds, fitted to its context."""
        try:
            said = self.function(context, context.node)
            if isinstance(said, Relation) or not isinstance(said, Iterable):
                raise self._mistake(f"returns {type(said).__name__}", "write `yield` in place of `return`")
            for found in said:
                if not isinstance(found, (Relation, list, tuple)):
                    raise self._mistake(f"yields {type(found).__name__}", "yield relations, or a list of terms")
                relation = context.fitted(found)
                if relation is not None:
                    yield relation
        except SlackwaterError:
            raise
        except Misfit as wrong:
            hint = "yield all columns that are asked for, and a weight only where rows may go"
            raise self._mistake(f"yields {wrong}", hint) from wrong
        except Exception as raised:
            told = f"raises {type(raised).__name__}: {raised}"
            raise self._mistake(told, f"mend it, or plan without it: --disable {self.name}") from raised

    def _mistake(self, what: str, hint: str) -> SlackwaterError:
        if self.is_built_in:
            return InternalError(f"rule {self.name} {what}")
        return RuleError(f"rule `{self.name}` {what}", place=self.place, hint=hint)


def declared(
    function: Function,
    stage: RuleStage,
    pattern: RulePattern,
    *,
    methods: Iterable[str] = (),
    flags: RuleFlags = NO_FLAGS,
) -> Rule:
    """The rule that a function is; its docstring is the law."""
    rule = Rule(function.__name__, getdoc(function) or "", stage, pattern, function, frozenset(methods), flags)
    if not rule.doc:
        raise RuleError(
            f"rule `{rule.name}` states no law",
            place=rule.place,
            hint="write the law as the first line of its docstring, such as: Δ(σp R)  =  σp(ΔR)",
        )
    return rule
