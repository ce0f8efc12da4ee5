"""`slackwater plan --from-now`, and `slackwater plan` after a query has changed: the rest of a cycle, planned again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.console import Group, RenderableType
from rich.text import Text

from slackwater.cli.text import amount, plain_table
from slackwater.job.cycle.carry import CarriedOver, Use
from slackwater.job.cycle.replan import Proposal
from slackwater.job.job import Job
from slackwater.json_text import Json
from slackwater.plan.codec import plan_to_value
from slackwater.plan.explain import action
from slackwater.plan.explain import explain as explained
from slackwater.plan.plan import Plan

Row = tuple[str, str, str]


@dataclass(frozen=True)
class ChangedQuery:
    """Which states of a cycle serve a query that has changed, what must be rebuilt, and what the rest costs."""

    carry_over: CarriedOver

    @staticmethod
    def of(job: Job) -> ChangedQuery:
        return ChangedQuery(job.carried_over())

    def as_json(self) -> Json:
        carry_over, unit = self.carry_over, self.carry_over.plan.unit
        return {
            "from_run": carry_over.done + 1,
            "states": [
                {"state": step.name, "run": step.run, "rows": rows, "use": use.value}
                for step, rows, use in carry_over.states
            ],
            "rebuilt": [
                {"step": step.name, "run": step.run, "cost": step.cost, "cost_cpu_s": unit.cpu_s(step.cost)}
                for step in carry_over.again
            ],
            "cost": carry_over.cost,
            "cost_cpu_s": unit.cpu_s(carry_over.cost),
            "cost_without_states": carry_over.cost_anew,
            "cost_without_states_cpu_s": unit.cpu_s(carry_over.cost_anew),
            "plan": plan_to_value(carry_over.plan),
        }

    def as_text(self) -> RenderableType:
        carry_over = self.carry_over
        states = plain_table("state", "made at", "", "rows", left=3)
        for step, rows, use in carry_over.states:
            style = {Use.SERVES: "green", Use.UNFIT: "yellow"}.get(use, "")
            states.add_row(step.name, carry_over.plan.time(step.run), Text(use.value, style=style), amount(rows))
        unit = carry_over.plan.unit
        again = plain_table("reads again what was read", "at", unit.name_of_cost, left=2)
        for step in carry_over.again:
            again.add_row(step.name, carry_over.plan.time(step.run), unit.shown(step.cost))
        costs = f"{unit.name_of_cost} of the rest: {unit.shown(carry_over.cost)} with these states"
        costs += f", {unit.shown(carry_over.cost_anew)} without; nothing has run yet"
        parts: list[RenderableType] = [Text("the query has changed since the cycle began", style="bold"), Text()]
        parts += [states, Text()] if carry_over.states else [Text("no state is there"), Text()]
        parts += [again, Text()] if carry_over.again else [Text("nothing must be rebuilt"), Text()]
        hint = (
            "`slackwater run --carry-over` continues with these states; `slackwater run --new-cycle` begins a new cycle"
        )
        return Group(*parts, Text(costs, style="bold"), Text(hint), Text(), Text(explained(carry_over.plan)))


@dataclass(frozen=True)
class FromNow:
    """The rest of a cycle by the plan in force and by a new one."""

    proposal: Proposal | None

    @staticmethod
    def of(job: Job) -> FromNow:
        return FromNow(job.proposal())

    def as_json(self) -> Json:
        offer = self.proposal
        if offer is None:
            return {"from_run": None}
        return {
            "from_run": offer.done + 1,
            "reasons": list(offer.reasons),
            "cost": offer.cost,
            "cost_cpu_s": None if offer.cost is None else offer.after.unit.cpu_s(offer.cost),
            "cost_in_force": offer.static_cost,
            "cost_in_force_cpu_s": None if offer.static_cost is None else offer.after.unit.cpu_s(offer.static_cost),
            "taken": offer.pays or offer.required,
            "in_force": plan_to_value(offer.before),
            "plan": plan_to_value(offer.after),
        }

    def as_text(self) -> RenderableType:
        offer = self.proposal
        if offer is None:
            return Text("nothing is left to be planned: the cycle is complete")
        parts: list[RenderableType] = [Text(f"! {reason}", style="yellow") for reason in offer.reasons]
        parts += [] if offer.reasons else [Text("nothing is far from what was expected")]
        table = plain_table("", "plan in force", "planned now", left=3)
        for row in rest_rows(offer.before, offer.after, offer.done):
            table.add_row(*row)
        parts += [Text(), table, Text(), Text(self._verdict(offer), style="bold"), Text()]
        parts.append(Text(explained(offer.after)))
        return Group(*parts)

    def _verdict(self, offer: Proposal) -> str:
        taken = "the next run takes the new plan"
        if offer.cost is None or offer.static_cost is None:
            return taken if offer.required else "the plan stays as it is"
        unit = offer.after.unit
        costs = f"{unit.name_of_cost} of the rest: {unit.shown(offer.static_cost)} by the plan in force"
        costs += f", {unit.shown(offer.cost)} by the new one"
        if offer.static_cost:
            costs += f" ({100 * offer.cost / offer.static_cost:.0f} %)"
        if offer.required:
            return f"{costs}; {taken}: the schedule is another one"
        if not offer.pays:
            return f"{costs}; the plan stays as it is"
        return f"{costs}; {taken}" if offer.reasons else f"{costs}; the plan stays as it is, for nothing was a surprise"


def rest_rows(before: Plan, after: Plan, done: int) -> list[Row]:
    """Two plans for the rest of a schedule, side by side: a time, and one action of each plan at that time."""
    rows: list[Row] = []
    for time in _merged(before.times[done:], after.times[done:]):
        left, right = (_done_at(plan, time, done) for plan in (before, after))
        for number, (one, other) in enumerate(zip_longest(left, right, fillvalue="")):
            rows.append(("" if number else time, one, other))
    return rows


def _merged(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """The times of both, in order; a time of only one of them comes before the next common one."""
    times: list[str] = []
    waiting = list(after)
    for time in before:
        if time in waiting:
            times += waiting[: waiting.index(time)]
            waiting = waiting[waiting.index(time) + 1 :]
        times.append(time)
    return [*times, *waiting]


def _done_at(plan: Plan, time: str, done: int) -> list[str]:
    if time not in plan.times[done:]:
        return ["no run"]
    steps = plan.run(plan.times.index(time) + 1)
    states = {state.name: state for state in plan.states}
    loaded = dict.fromkeys(name for step in steps for name in step.reads() if name in states)
    lines = [f"load {name}" for name in loaded if states[name].run < plan.times.index(time) + 1]
    return [*lines, *map(action, steps)] or ["nothing"]
