"""Exploration without what makes it short, to measure what that is worth. Plans are the same either way.

- `pruning`: the difference of two snapshots is tried only for a delta that no other rule gives.
- `guidance`: a snapshot is merged only from the one before it, and a delta is never put together from deltas. Without
  it every version in between is merged too. Tempura merges over the runs of a schedule; in a memo that holds one
  interval, versions in between are those in which some tables are new and others old.
- `symmetry`: one interval is explored and stands for all. It cannot be switched off as such, being how the memo is
  made; in place of that every interval is explored by itself, in a memo of its own.         [Tempura §5.3]

What is found in excess is forgotten before plans are chosen: some of it leads in circles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import thread_time
from typing import Final

from slackwater.algebra.relation import Limit, Query, Relation, Scan
from slackwater.catalog.statistics import Statistics
from slackwater.errors import UserError, did_you_mean
from slackwater.memo.group import Alternative
from slackwater.plan.gc_paused import gc_paused
from slackwater.plan.options import Options
from slackwater.plan.plan import ONLY
from slackwater.plan.planner import Exploration, Planning, choose_plan
from slackwater.plan.seed import seeded_memo
from slackwater.rules.declare import converts
from slackwater.rules.goal import Goal
from slackwater.rules.intra.merges import consolidated
from slackwater.rules.rule import Found, Rule
from slackwater.rules.signed import all_of, weighted
from slackwater.search.explore import Explorer, is_last_resort
from slackwater.search.relational import RelationalExplorer
from slackwater.search.trace import Trace
from slackwater.time.forms import WEIGHT, Form, Kind
from slackwater.time.timeline import Timeline
from slackwater.time.version import OLD, Mask

PRUNING, GUIDANCE, SYMMETRY = SPEED_UPS = ("pruning", "guidance", "symmetry")


@converts(Kind.SNAPSHOT)
def merge_from_between(goal: Goal, node: Relation) -> Iterator[Found]:
    """R'  =  R@m +# ΔR(m → new), for every version m in which one table less is new

    Costs no less than merging with the old snapshot, of which R@m is made itself.
    """
    if isinstance(node, (Scan, Limit)) or goal.form.until == OLD:
        return
    columns = goal.form.columns
    for between in _one_table_less(goal.form.until, OLD):
        before = goal.memo.snapshot(goal.form.group, between)
        change = goal.memo.delta(goal.form.group, between, goal.form.until)
        if change.signed:
            together = all_of((*columns, WEIGHT), [weighted(before), change])
            yield consolidated(together, columns, unique=bool(goal.group.properties.keys))
        else:
            yield [before, change]


@converts(Kind.DELTA)
def put_together_deltas(goal: Goal, node: Relation) -> Iterator[Found]:
    """ΔR  =  ΔR(old → m) +# ΔR(m → new), for every version m in which one table less is new"""
    if isinstance(node, (Scan, Limit)):
        return
    for between in _one_table_less(goal.form.until, goal.form.since):
        first = goal.memo.delta(goal.form.group, goal.form.since, between)
        second = goal.memo.delta(goal.form.group, between, goal.form.until)
        yield [first, second]


def _one_table_less(until: Mask, since: Mask) -> Iterator[Mask]:
    """The versions strictly between two in which all tables but one are as new."""
    changed = until & ~since
    bits = [1 << n for n in range(changed.bit_length()) if changed >> n & 1]
    for bit in bits if len(bits) > 1 else ():
        yield Mask(until & ~bit)


@dataclass
class SlowExplorer(Explorer):
    """An explorer that also looks where no good plan is."""

    without: frozenset[str] = frozenset()
    _excess: list[tuple[Form, Alternative]] = field(default_factory=list)

    def explore(self, *wanted: Form) -> None:
        super().explore(*wanted)
        for form, alternative in self._excess:
            self.memo.alternatives(form).remove(alternative)
        self._cut_circles()

    def _expand(self, form: Form, *, to_batch: bool) -> list[Alternative]:
        alternatives = super()._expand(form, to_batch=to_batch)
        more = [
            alternative
            for rule in self._unpromising(form, alternatives, to_batch=to_batch)
            for alternative in self._fire(rule, form)
        ]
        self._excess += [(form, alternative) for alternative in more]
        return [*alternatives, *more]

    def _unpromising(self, form: Form, alternatives: list[Alternative], *, to_batch: bool) -> list[Rule]:
        if not alternatives or to_batch or form.partial or (form.signed and not self.memo[form.group].has_deltas):
            return []
        rules: list[Rule] = []
        if PRUNING in self.without and not any(map(is_last_resort, alternatives)):
            rules += [rule for rule in self._rules_for(form) if rule.flags.last_resort]
        if GUIDANCE in self.without:
            rules += [rule for rule in _UNGUIDED if rule.pattern.kind is form.kind]
        return rules


_UNGUIDED: Final = (merge_from_between, put_together_deltas)


@dataclass(frozen=True)
class SlowPlanner:
    """Plans a query as `plan_query` does, after an exploration without some speed-ups."""

    without: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in self.without:
            if name not in SPEED_UPS:
                raise UserError(f"no speed-up `{name}`", hint=did_you_mean(name, SPEED_UPS))

    @gc_paused()
    def __call__(self, query: Query, statistics: Statistics, timeline: Timeline, options: Options) -> Planning:
        intervals = timeline.last if SYMMETRY in self.without else 1
        explored = [self._explored({ONLY: query}, statistics, options) for _ in range(intervals)]
        whole = replace(explored[-1], explore_seconds=sum(each.explore_seconds for each in explored))
        return choose_plan(whole, statistics, timeline, options)

    def _explored(self, queries: Mapping[str, Query], statistics: Statistics, options: Options) -> Exploration:
        started = thread_time()
        memo, roots = seeded_memo(queries, statistics)
        trace, rules = Trace(), options.rules
        RelationalExplorer(memo, rules.rules, trace).explore()
        explorer = SlowExplorer(memo, rules, trace, options.score, options.budget, without=frozenset(self.without))
        explorer.explore(*roots.values())
        return Exploration(queries, memo, trace, roots, thread_time() - started)
