"""Two plans for the rest of a schedule, side by side: what each loads, keeps and delivers, run by run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from slackwater.plan.plan import Plan, Purpose, Step, answer_of

Row = tuple[str, str, str]


def rest_rows(before: Plan, after: Plan, done: int) -> list[Row]:
    """As rows: a time, and one action of each plan at that time."""
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
    return [*lines, *(_action(step) for step in steps)] or ["nothing"]


def _action(step: Step) -> str:
    match step.purpose:
        case Purpose.OUTPUT:
            return f"deliver {answer_of(step.answers)}"
        case Purpose.SCRATCH:
            return f"keep {step.name} for this run"
        case Purpose.STATE:
            return f"save {step.name}"
