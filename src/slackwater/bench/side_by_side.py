"""The plans of two sets of methods for one query, as jobs on Spark side by side: what each has cost, and whether it is
right.

Passes alternate, so that neither always meets the warmer Spark. Plans that do the same are run once, also where two
prices of early work have led to them: what they cost is counted run by run, before prices.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from slackwater.bench.effectiveness import REFERENCE, TOGETHER, EffectivenessCase, Outcome, signature
from slackwater.bench.measure import by_turns, in_words
from slackwater.bench.trial import JobTrial, Setting, TrialSpent
from slackwater.bench.workloads import WorkloadQuery

if TYPE_CHECKING:
    from slackwater.spark.session import Session

Known = dict[tuple[str, str, str, object], TrialSpent]


@dataclass
class SideBySide:
    """Measures cases in one session; `results` is what plans have cost that were met before."""

    session: Session
    directory: Path
    results: Known = field(default_factory=dict)
    _jobs: int = 0

    def measure(self, outcome: Outcome, query: WorkloadQuery, setting: Setting) -> Outcome:
        """The outcome with what the plans of all methods and of the reference alone have cost."""
        try:
            return replace(outcome, measured=self._measure(outcome.case, query, setting))
        except Exception as error:
            return replace(outcome, error=in_words(error))

    def _measure(self, case: EffectivenessCase, query: WorkloadQuery, setting: Setting) -> dict[str, TrialSpent]:
        trials = {name: self._trial(query, setting, name) for name in (REFERENCE, TOGETHER)}
        keys = {name: (case.query, case.pattern, case.scenario, signature(t.plan())) for name, t in trials.items()}
        new = {keys[name]: name for name in trials if keys[name] not in self.results}
        costs = by_turns({name: trials[name] for name in new.values()}, setting)
        self.results |= {key: costs[name] for key, name in new.items()}
        return {name: self.results[key] for name, key in keys.items()}

    def _trial(self, query: WorkloadQuery, setting: Setting, name: str) -> JobTrial:
        self._jobs += 1
        methods = None if name == TOGETHER else (name,)
        return JobTrial(
            self.session, replace(setting, methods=methods), query, self.directory / f"{self._jobs}-{query.name}-{name}"
        )
