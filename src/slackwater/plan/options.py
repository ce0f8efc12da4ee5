"""Everything that steers a planning problem beside the query and the data: one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, field

from slackwater.physical.model import CostModel, EngineCost
from slackwater.rows.feedback import History
from slackwater.rules.catalogue import RuleBook
from slackwater.rules.rule import Rule
from slackwater.search.cells import Measure
from slackwater.search.explore import Budget, Score, in_order_of_demand
from slackwater.search.objective import Objective, WeightedSum
from slackwater.time.timeline import Timeline


@dataclass(frozen=True)
class Options:
    """Everything that steers a planning problem beside the query and the data."""

    methods: tuple[str, ...] | None = None
    disable: tuple[str, ...] = ()
    extra_rules: tuple[Rule, ...] = ()
    model: CostModel = field(default_factory=EngineCost)
    objective: Objective | None = None
    budget: Budget = field(default_factory=Budget)
    score: Score = in_order_of_demand
    """Which form is explored next, the least first: it matters where the budget is small."""
    exact: bool = False
    """Whether the statistics are the truth, so that what they call empty is empty."""
    measure: Measure | None = None
    """Counts rows instead of estimating them, where the data is at hand."""
    history: History = ()
    """What earlier cycles have counted: estimates are corrected by it."""
    keeping: bool = False
    """Whether every query must use changing rows of an earlier run, even where batch is cheaper: to compare."""
    sharing: bool = True
    """Whether parts that are used more than once may be computed once: to compare."""
    check_memo: bool = False
    """Whether the memo's invariants are checked after every firing: for tests."""

    @property
    def rules(self) -> RuleBook:
        """The rules in force. A name that is wrong is refused here."""
        return RuleBook.of(self.methods, self.disable, self.extra_rules)

    def objective_of(self, timeline: Timeline) -> Objective:
        """The objective that was asked for, or the sum of each run's cost at its price."""
        return self.objective or WeightedSum(timeline.weights)
