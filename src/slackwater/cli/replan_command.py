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

    found: CarriedOver

    @staticmethod
    def of(job: Job) -> ChangedQuery:
        return ChangedQuery(job.carried_over())

    def as_json(self) -> Json:
        found, unit = self.found, self.found.plan.unit
        return {
            "from_run": found.done + 1,
            "states": [
                {"state": step.name, "run": step.run, "rows": rows, "use": use.value}
                for step, rows, use in found.states
            ],
            "rebuilt": [
                {"step": step.name, "run": step.run, "cost": step.cost, "cost_cpu_s": unit.cpu_s(step.cost)}
                for step in found.again
            ],
            "cost": found.cost,
            "cost_cpu_s": unit.cpu_s(found.cost),
            "cost_without_states": found.cost_anew,
            "cost_without_states_cpu_s": unit.cpu_s(found.cost_anew),
            "plan": plan_to_value(found.plan),
        }

    def as_text(self) -> RenderableType:
        found = self.found
        states = plain_table("state", "made at", "", "rows", left=3)
        for step, rows, use in found.states:
            style = {Use.SERVES: "green", Use.UNFIT: "yellow"}.get(use, "")
            states.add_row(step.name, found.plan.time(step.run), Text(use.value, style=style), amount(rows))
        unit = found.plan.unit
        again = plain_table("reads again what was read", "at", unit.name_of_cost, left=2)
        for step in found.again:
            again.add_row(step.name, found.plan.time(step.run), unit.shown(step.cost))
        told = f"{unit.name_of_cost} of the rest: {unit.shown(found.cost)} with these states"
        told += f", {unit.shown(found.cost_anew)} without; nothing has run yet"
        parts: list[RenderableType] = [Text("the query has changed since the cycle began", style="bold"), Text()]
        parts += [states, Text()] if found.states else [Text("no state is there"), Text()]
        parts += [again, Text()] if found.again else [Text("nothing must be rebuilt"), Text()]
        hint = (
            "`slackwater run --carry-over` continues with these states; `slackwater run --new-cycle` begins a new cycle"
        )
        return Group(*parts, Text(told, style="bold"), Text(hint), Text(), Text(explained(found.plan)))


@dataclass(frozen=True)
class FromNow:
    """The rest of a cycle by the plan in force and by a new one."""

    found: Proposal | None

    @staticmethod
    def of(job: Job) -> FromNow:
        return FromNow(job.proposal())

    def as_json(self) -> Json:
        found = self.found
        if found is None:
            return {"from_run": None}
        return {
            "from_run": found.done + 1,
            "reasons": list(found.reasons),
            "cost": found.cost,
            "cost_cpu_s": None if found.cost is None else found.after.unit.cpu_s(found.cost),
            "cost_in_force": found.static_cost,
            "cost_in_force_cpu_s": None if found.static_cost is None else found.after.unit.cpu_s(found.static_cost),
            "taken": found.pays or found.required,
            "in_force": plan_to_value(found.before),
            "plan": plan_to_value(found.after),
        }

    def as_text(self) -> RenderableType:
        found = self.found
        if found is None:
            return Text("nothing is left to be planned: the cycle is complete")
        parts: list[RenderableType] = [Text(f"! {reason}", style="yellow") for reason in found.reasons]
        parts += [] if found.reasons else [Text("nothing is far from what was expected")]
        table = plain_table("", "plan in force", "planned now", left=3)
        for row in rest_rows(found.before, found.after, found.done):
            table.add_row(*row)
        parts += [Text(), table, Text(), Text(self._verdict(found), style="bold"), Text()]
        parts.append(Text(explained(found.after)))
        return Group(*parts)

    def _verdict(self, found: Proposal) -> str:
        taken = "the next run takes the new plan"
        if found.cost is None or found.static_cost is None:
            return taken if found.required else "the plan stays as it is"
        unit = found.after.unit
        told = f"{unit.name_of_cost} of the rest: {unit.shown(found.static_cost)} by the plan in force"
        told += f", {unit.shown(found.cost)} by the new one"
        if found.static_cost:
            told += f" ({100 * found.cost / found.static_cost:.0f} %)"
        if found.required:
            return f"{told}; {taken}: the schedule is another one"
        if not found.pays:
            return f"{told}; the plan stays as it is"
        return f"{told}; {taken}" if found.reasons else f"{told}; the plan stays as it is, for nothing was a surprise"


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
