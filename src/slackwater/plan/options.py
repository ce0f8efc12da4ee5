"""The options of planning, as one frozen value."""

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
    """All settings of a planning problem beside the queries and the statistics."""

    methods: tuple[str, ...] | None = None
    disable: tuple[str, ...] = ()
    extra_rules: tuple[Rule, ...] = ()
    model: CostModel = field(default_factory=EngineCost)
    objective: Objective | None = None
    budget: Budget = field(default_factory=Budget)
    score: Score = in_order_of_demand
    """Which form is explored next, the least first; matters only if the budget is too small."""
    exact: bool = False
    """Whether the statistics are exact, so that a table without rows is known to be empty."""
    measure: Measure | None = None
    """Counts rows instead of estimating them, if the data is available."""
    history: History = ()
    """Row counts of earlier cycles, which correct estimates."""
    keeping: bool = False
    """Whether every query must use changing rows of an earlier run even if batch is cheaper; for comparisons."""
    sharing: bool = True
    """Whether parts that are used more than once may be computed once; for comparisons."""
    wide: bool = False
    """Whether a part may pass over runs: then there are changes from any run to any later one."""
    check_memo: bool = False
    """Whether the memo's invariants are checked after every firing; for tests."""

    @property
    def rules(self) -> RuleBook:
        """The enabled rules. An unknown name raises an error."""
        return RuleBook.of(self.methods, self.disable, self.extra_rules)

    def objective_of(self, timeline: Timeline) -> Objective:
        """The chosen objective; by default the weighted sum of the runs' costs."""
        return self.objective or WeightedSum(timeline.weights)
