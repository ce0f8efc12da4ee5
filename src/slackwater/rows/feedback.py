"""Row counts of earlier cycles, and the corrections of estimates that follow from them.

The rows of every executed step are counted, by *subject*: the identity of a relation, the form, the run. What is
learned is not a number of rows, which changes every day, but the factor by which an operator's formula is wrong: of a
filter's selectivity, a join's matches, the number of groups. So a correction holds for larger and smaller inputs and
applies to everything above. Read next: `learning`, which finds the factors.

    Without row counts, every factor is 1, and every estimate is that of the formulas.

A relative of an operator has the same predicates, condition or grouping keys, for a filter also more predicates. Over
the same tables it gets the same correction, over other tables its square root.
                                                                          [Tang et al. 2020, Stillger et al. 2001]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from slackwater.algebra.once import once_for_each
from slackwater.algebra.relation import Aggregate, Filter, Generate, Join, Relation
from slackwater.catalog.statistics import Arrival
from slackwater.memo.row_identity import RowIdentities, texts_of, without_copies
from slackwater.time.forms import Form, GroupId, Kind


@dataclass(frozen=True, slots=True)
class Subject:
    """What a step computes, independent of the plan: a relation's identity, a form, its versions by changing tables.

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
    """A subject and its counted rows."""

    subject: Subject
    rows: float


@dataclass(frozen=True, slots=True)
class Day:
    """An executed cycle, complete or not: what arrived at each run, and the row counts of its steps."""

    arrivals: Mapping[str, tuple[Arrival, ...]]
    counts: tuple[RowCount, ...]


History = tuple[Day, ...]
"""Earlier cycles, the latest last."""

Operator = tuple[str, frozenset[str]]
"""What relatives have in common: a kind of operator, and the texts of its predicates or keys."""


FILTER = "filter"


@dataclass(eq=False)
class Corrections:
    """Factors of a memo's groups: for their versions, and additional ones for their deltas."""

    identities: RowIdentities
    sizes: dict[GroupId, float] = field(default_factory=dict)
    changes: dict[GroupId, float] = field(default_factory=dict)
    _alike: dict[tuple[Operator, frozenset[str]], float] = field(default_factory=dict)
    _elsewhere: dict[Operator, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.sizes or self.changes)

    def of_group(self, group: GroupId) -> float:
        """For the versions of a group: its own factor, else that of its relatives."""
        factor = self.sizes.get(group)
        if factor is not None:
            return factor
        return self._relative(self.identities.memo[group].expressions[0]) if self._elsewhere else 1.0

    def of(self, node: Relation) -> float:
        """For an operator of an expression over forms, by its relatives.

        The groups of a delta depend on its rows rather than on the number of groups; and partial aggregates that are
        merged have been corrected already.
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
        """Corrections of the groups' relatives; with `keep`, also those of the groups themselves."""
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

    @once_for_each
    def _relative(self, node: Relation) -> float:
        operator = self._closest(operator_of(node))
        if operator is None:
            return 1.0
        return self._alike.get((operator, self.identities.tables(node)), self._elsewhere[operator])

    def _closest(self, operator: Operator | None) -> Operator | None:
        """The operator itself or, for a filter, the one with the largest subset of its predicates."""
        if operator is None or operator in self._elsewhere or operator[0] != FILTER:
            return operator if operator in self._elsewhere else None
        within = [other for other in self._elsewhere if other[0] == FILTER and other[1] < operator[1]]
        return max(within, key=lambda other: (len(other[1]), sorted(other[1])), default=None)


def operator_of(node: Relation) -> Operator | None:
    """What relatives of an operator have in common; None if its rows follow from its inputs."""
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
