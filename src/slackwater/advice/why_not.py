"""Why a plan does no more work early: what it would have to keep, what stands in the way, what would change it.

The answer is about the last run that delivers. It is printed by `slackwater explain`; see `docs/why-not.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf

from slackwater.advice.file_text import FileKind
from slackwater.advice.obstacles import Obstacle, obstacles
from slackwater.advice.planned_problem import PlannedProblem
from slackwater.advice.remedies import MOSTLY_FIXED, Remedies, Remedy, fixed_share
from slackwater.advice.words import listed, quoted
from slackwater.figures import amount, size
from slackwater.json_text import Json
from slackwater.physical.unit import Unit
from slackwater.plan.plan import Plan, Purpose, Step

FAST = 0.5
"""Seconds of CPU that a search may have taken for other plans to be tried without being asked for."""
MOST_STATES = 3
"""States that are named, the largest."""


def asks_little(problem: PlannedProblem) -> bool:
    """Whether planning again is so fast that it need not be asked for."""
    return problem.planning.explore_seconds + problem.planning.choose_seconds < FAST


@dataclass(frozen=True)
class WhyNot:
    """Why a plan does no more work early."""

    plan: Plan
    needed: float
    """The part of a full recompute that a plan with states must cost less than."""
    keeping: Plan | None
    """The cheapest plan that keeps a state, where the plan itself is not worth its states."""
    obstacles: tuple[Obstacle, ...]
    remedies: tuple[Remedy, ...] | None
    """None where no other plans were tried."""
    vain: tuple[str, ...] = ()
    """What was tried and does not help, in words."""
    off: bool = False
    """Whether no method is allowed to keep anything."""

    # --- in words ----------------------------------------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        """For people."""
        yield "why not earlier" if self.keeping is None and not self.off else "why full recompute"
        yield from ("  " + line for line in self._verdict())
        if not self.off:
            yield from ("  " + line for line in self._in_the_way())
        if self.remedies is None:
            yield "  `--why-not` shows what would change this"
        else:
            yield from ("  " + line for line in self._changes())

    @cached_property
    def _last(self) -> str:
        return self.plan.time(max(self.plan.delivers))

    def _verdict(self) -> Iterator[str]:
        shown, full = self.plan.unit.shown, self.plan.batch_rank
        name = self.plan.unit.name_of_cost
        if self.off:
            yield f"{name} {shown(full)}: no method that keeps anything is allowed"
            return
        if self.keeping is None:
            saved = 1 - self.plan.rank / full if full else 0.0
            yield f"{name} {shown(self.plan.rank)}, full recompute {shown(full)}: {_percent(saved)} less"
            yield f"left for {self._last}: {shown(self.plan.cost[max(self.plan.delivers) - 1])}"
            return
        kept = self.keeping
        if not kept.states:
            yield f"{name} of a full recompute {shown(full)}; nothing can be kept for a later run"
            return
        yield f"{name} {shown(kept.rank)} with early work, full recompute {shown(full)}: {self._gain(kept)}"
        states = sorted(kept.states, key=lambda state: -state.size)
        more = f", and {len(states) - MOST_STATES} smaller states" if len(states) > MOST_STATES else ""
        yield f"the cheapest plan that keeps anything keeps {listed(map(self._state, states[:MOST_STATES]))}{more}:"
        saved = self._saved(kept)
        saves = f"saves {shown(saved)}" if saved > 0 else "saves nothing"
        yield f"  early work costs {shown(self._early(kept))} at its prices and {saves} at {self._last}"

    def _gain(self, kept: Plan) -> str:
        if kept.rank >= kept.batch_rank * 0.9995:
            return "no gain"
        gain = _percent(1 - kept.rank / kept.batch_rank)
        return (
            f"{gain} less, but only more than {_percent(1 - self.needed)} is taken"
            if self.needed < 1
            else f"{gain} less"
        )

    def _early(self, kept: Plan) -> float:
        """What runs before the last delivery cost more than in a full recompute, at their prices."""
        last = max(kept.delivers)
        return sum(kept.weight(r) * (kept.cost[r - 1] - kept.batch_cost[r - 1]) for r in kept.runs if r < last)

    def _saved(self, kept: Plan) -> float:
        last = max(kept.delivers)
        return sum(kept.weight(r) * (kept.batch_cost[r - 1] - kept.cost[r - 1]) for r in kept.runs if r >= last)

    def _state(self, state: Step) -> str:
        return f"{_subject(state)} at {self.plan.time(state.run)} ({amount(state.rows)} rows, {size(state.size)})"

    def _in_the_way(self) -> Iterator[str]:
        if self.plan.limits:
            yield "the search was not complete: " + "; ".join(self.plan.limits)
        fixed = fixed_share(self.plan)
        if fixed >= MOSTLY_FIXED and self.keeping is not None:
            yield f"{_percent(fixed)} of a full recompute are fixed costs of statements; early runs only add to them"
        shown = [each for each in self.obstacles if each.reasons or fixed < MOSTLY_FIXED]
        if not shown:
            return
        yield f"to compute only what changed at {self._last}, as a share of computing all rows, costs"
        for obstacle in shown:
            yield f"  {_percent(obstacle.share)} after {obstacle.operator} ({_percent(obstacle.share_below)} before it)"
            yield from (f"    {reason}" for reason in obstacle.reasons)
            yield from (f"    needs {need.in_words(self.plan.unit)}" for need in obstacle.needs)

    def _changes(self) -> Iterator[str]:
        assert self.remedies is not None
        if self.remedies:
            yield "what would change it"
        for remedy in self.remedies:
            shown = self.plan.unit.shown
            saved = _percent(1 - remedy.cost / remedy.batch) if remedy.batch else "0 %"
            yield f"  if {remedy.said}:"
            yield from (f"    {line}" for line in remedy.lines())
            yield f"    {shown(remedy.cost)}, full recompute {shown(remedy.batch)}: {saved} less"
        if self.vain:
            yield f"would not {'pay' if self.keeping is not None else 'bring 10 %'}: {'; '.join(self.vain)}"

    # --- for programs ------------------------------------------------------------------------------------------------

    def as_value(self) -> dict[str, Json]:
        unit, kept = self.plan.unit, self.keeping
        value: dict[str, Json] = {
            "cost": self.plan.rank,
            "batch_cost": self.plan.batch_rank,
            "taken_below": self.needed * self.plan.batch_rank if self.needed < inf else None,
            "fixed_share": fixed_share(self.plan),
            "limits": list(self.plan.limits),
            "obstacles": [_obstacle_value(obstacle, unit) for obstacle in self.obstacles],
        }
        if kept is not None:
            value["best_with_states"] = {
                "cost": kept.rank,
                "early_cost": self._early(kept),
                "saves": self._saved(kept),
                "states": [
                    {"name": s.name, "of": _subject(s), "time": kept.time(s.run), "rows": s.rows, "bytes": s.size}
                    for s in kept.states
                ],
            }
        if self.remedies is not None:
            value["what_would_change_it"] = [remedy.as_value(unit) for remedy in self.remedies]
            value["would_not_help"] = list(self.vain)
        return value


def why_not(problem: PlannedProblem, kind: FileKind, *, tries: bool) -> WhyNot:
    """Why the plan of a problem does no more work early; with `tries`, what would change that."""
    plan = problem.plan
    off = problem.options.methods == ()
    pays = problem.pays(plan)
    keeping = None if pays or off else problem.chosen_again(keeping=True)
    hindering = () if off else obstacles(problem.planning, problem.timeline, problem.options)
    tried = Remedies(problem, kind)
    remedies = tried.remedies() if tries else None
    return WhyNot(plan, problem.needed, keeping, hindering, remedies, tuple(tried.vain), off)


def is_idle(plan: Plan) -> bool:
    """Whether a plan leaves everything to the runs that deliver."""
    return not any(step.purpose is Purpose.STATE for step in plan.steps)


def _subject(state: Step) -> str:
    """What a state holds, from its meaning, which is an operator over tables."""
    operator, _, rest = state.meaning.partition(":")[0].partition(" over ")
    first, *others = rest.split(", ")
    rows = f"`{first}` joined with {quoted(others)}" if others else f"`{first}`"
    return f"groups of {rows}" if operator.endswith("aggregate") else rows


def _obstacle_value(obstacle: Obstacle, unit: Unit) -> dict[str, Json]:
    needs: list[Json] = [
        {"of": need.what, "rows": need.rows, "bytes": need.bytes, "save_cost": need.save, "load_cost": need.load}
        for need in obstacle.needs
    ]
    return {
        "operator": obstacle.operator,
        "share_of_full_cost": obstacle.share,
        "share_of_inputs": obstacle.share_below,
        "reasons": list(obstacle.reasons),
        "needs": needs,
        "unit": unit.value,
    }


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if abs(share) >= 0.095 else f"{100 * share:.1f} %"
