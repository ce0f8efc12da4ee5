"""What earlier cycles have shown of sizes, and how estimates are corrected by it.

Steps are counted when they are executed. What they count is told by *subject*: the identity of a relation, in which
form, at which run. What is learned of it is not a number of rows, which changes every day, but by what factor an
operator's own formula is off: a filter's share, a join's matches, the number of groups. So a correction holds for
larger and smaller inputs and flows to everything above. Read next: `learning`, which finds the factors.

    with nothing seen, every factor is one, and every estimate is what the formulas say.

The same operator elsewhere is a relative: the same tests, condition or grouping keys, for a filter also with more
tests. Over the same tables it is corrected alike, over others by the square root.
                                                                          [Tang et al. 2020, Stillger et al. 2001]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from slackwater.algebra.relation import Aggregate, Filter, Generate, Join, Relation
from slackwater.catalog.statistics import Arrival
from slackwater.memo.memo import Memo
from slackwater.memo.row_identity import RowIdentities, texts_of, without_copies
from slackwater.time.forms import Form, GroupId, Kind


@dataclass(frozen=True, slots=True)
class Subject:
    """What a step computes, whatever the plan: a relation by its identity, a form, and the changing tables at its ends.

    `interval` is the run whose change it is, or after which a version stands; 0 for what never changes.
    """

    identity: str
    kind: Kind
    partial: bool
    interval: int
    since: tuple[str, ...]
    until: tuple[str, ...]

    @staticmethod
    def of(identities: RowIdentities, form: Form, interval: int) -> Subject:
        names = identities.memo.tables
        ends = (tuple(sorted(names.tables(mask))) for mask in (form.since, form.until))
        return Subject(identities.of(form.group), form.kind, form.partial, interval, *ends)


@dataclass(frozen=True, slots=True)
class RowCount:
    """A subject and the rows that were counted of it."""

    subject: Subject
    rows: float


@dataclass(frozen=True, slots=True)
class Day:
    """A cycle that was executed, in full or so far: what arrived at each run, and what its steps counted."""

    arrivals: Mapping[str, tuple[Arrival, ...]]
    seen: tuple[RowCount, ...]


History = tuple[Day, ...]
"""Earlier cycles, the latest last."""

Operator = tuple[str, frozenset[str]]
"""What relatives have in common: a kind of operator, and the texts of its tests or keys."""


FILTER = "filter"


@dataclass(eq=False)
class Corrections:
    """Factors of a memo's groups: for their versions, and for their changes beside that."""

    identities: RowIdentities
    sizes: dict[GroupId, float] = field(default_factory=dict)
    changes: dict[GroupId, float] = field(default_factory=dict)
    _alike: dict[tuple[Operator, frozenset[str]], float] = field(default_factory=dict)
    _elsewhere: dict[Operator, float] = field(default_factory=dict)
    _found: dict[Relation, float] = field(default_factory=dict)

    @staticmethod
    def none(memo: Memo) -> Corrections:
        return Corrections(RowIdentities(memo))

    def __bool__(self) -> bool:
        return bool(self.sizes or self.changes)

    def of_group(self, group: GroupId) -> float:
        """For the versions of a group: its own factor, else that of its relatives."""
        known = self.sizes.get(group)
        if known is not None:
            return known
        return self._relative(self.identities.memo[group].expressions[0]) if self._elsewhere else 1.0

    def of(self, node: Relation) -> float:
        """For an operator of an expression over forms, by its relatives.

        How many groups a change touches is decided by its rows rather than by how many groups there are; and partial
        rows that are merged have been corrected themselves.
        """
        if not self._elsewhere:
            return 1.0
        if isinstance(node, Aggregate):
            leaves = [leaf for leaf in node.walk() if isinstance(leaf, Form)]
            if any(leaf.partial or leaf.kind is not Kind.SNAPSHOT for leaf in leaves):
                return max(1.0, self._relative(node)) if all(leaf.partial for leaf in leaves) else 1.0
        return self._relative(node)

    def of_change(self, group: GroupId) -> float:
        return self.changes.get(group, 1.0)

    def with_relatives(self, *, keep: bool = False) -> Corrections:
        """What was learned of groups said of their relatives as well; of the groups themselves only if it is kept."""
        alike: dict[tuple[Operator, frozenset[str]], list[float]] = {}
        for group, factor in sorted(self.sizes.items()):
            node = self.identities.memo[group].expressions[0]
            if (operator := operator_of(node)) is not None:
                alike.setdefault((operator, self.identities.tables(node)), []).append(factor)
        elsewhere: dict[Operator, list[float]] = {}
        for (operator, _), factors in alike.items():
            elsewhere.setdefault(operator, []).extend(factors)
        return Corrections(
            self.identities,
            self.sizes if keep else {},
            self.changes if keep else {},
            {key: mean(factors) for key, factors in alike.items()},
            {key: math.sqrt(mean(factors)) for key, factors in elsewhere.items()},
        )

    def _relative(self, node: Relation) -> float:
        known = self._found.get(node)
        if known is None:
            known = self._found[node] = self._by_relatives(node)
        return known

    def _by_relatives(self, node: Relation) -> float:
        operator = self._known(operator_of(node))
        if operator is None:
            return 1.0
        return self._alike.get((operator, self.identities.tables(node)), self._elsewhere[operator])

    def _known(self, operator: Operator | None) -> Operator | None:
        """The operator itself or, of a filter, the one that has most of its tests and no other."""
        if operator is None or operator in self._elsewhere or operator[0] != FILTER:
            return operator if operator in self._elsewhere else None
        within = [known for known in self._elsewhere if known[0] == FILTER and known[1] < operator[1]]
        return max(within, key=lambda known: (len(known[1]), sorted(known[1])), default=None)


def operator_of(node: Relation) -> Operator | None:
    """What relatives of an operator have in common; None where its rows follow from its inputs'."""
    match node:
        case Filter():
            return FILTER, _plain(texts_of(node.predicate))
        case Join():
            return f"{node.kind} join", _plain(texts_of(node.condition))
        case Aggregate() if node.keys:
            return "groups", _plain(key.id for key in node.keys)
        case Generate():
            return "generate", _plain((node.generator.text,))
        case _:
            return None


def _plain(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(map(without_copies, texts))


def mean(factors: Iterable[float]) -> float:
    """The geometric mean."""
    logs = [math.log(factor) for factor in factors]
    return math.exp(math.fsum(logs) / len(logs)) if logs else 1.0
