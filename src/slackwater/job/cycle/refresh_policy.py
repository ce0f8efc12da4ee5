"""The refresh policy of a job: what it is to the planner, and which plans it takes.

With `auto` the queries are computed by their texts where nothing early pays, or promises too little to be sure of,
unless our rewriting promises a lot: Spark knows its own way with a text, and small differences between estimates are
none. `full` takes the texts always. `incremental strict` refuses every part of a query that would be computed anew.
"""

from __future__ import annotations

from math import inf

from slackwater.algebra.relation import Limit, Project
from slackwater.errors import UserError
from slackwater.job.cycle.planned import query_prefix
from slackwater.job.file.sections import Refresh
from slackwater.memo.group import Group
from slackwater.memo.memo import Memo
from slackwater.physical.model import EngineCost
from slackwater.plan.options import Options
from slackwater.plan.plan import ONLY, Plan
from slackwater.plan.planner import Planning
from slackwater.search.explore import is_last_resort
from slackwater.time.forms import Kind

REWRITTEN = 0.85
"""A batch plan of ours must promise to cost less than this part of the text."""

KEPT = 0.93
"""A plan that keeps anything must promise to cost less than this part of the text."""

IDLE = "nothing that an early run could do pays"


def options_for(refresh: Refresh, methods: tuple[str, ...] | None, model: EngineCost) -> Options:
    """What a refresh policy is to the planner."""
    if refresh is Refresh.FULL:
        return Options(methods=(), model=model)
    keeping = refresh in (Refresh.INCREMENTAL, Refresh.INCREMENTAL_STRICT)
    return Options(methods, model=model, keeping=keeping)


def is_by_text(refresh: Refresh, plan: Plan, text: float, idle: str) -> bool:
    """Whether all queries are computed by their texts, which cost `text`; `idle` says why a plan keeps nothing."""
    return refresh is Refresh.FULL or (refresh is Refresh.AUTO and bool(idle) and plan.rank >= REWRITTEN * text)


def needed(refresh: Refresh, as_text: float) -> float:
    """The part of a batch plan that a plan with states must cost less than; `as_text` is what the texts cost of it."""
    match refresh:
        case Refresh.AUTO:
            return KEPT * as_text
        case Refresh.FULL:
            return 1.0
        case Refresh.INCREMENTAL | Refresh.INCREMENTAL_STRICT:
            return inf


def why_not_early(plan: Plan, text: float, done: int) -> str:
    """Why a plan is not worth its states, in words; nothing where it is. `text` is what the queries' texts cost."""
    states = {state.name for state in plan.states}
    if not any(step.name in states or states & set(step.reads()) for step in plan.steps if step.run > done):
        return IDLE
    if plan.rank < KEPT * text:
        return ""
    promised = 100 * (1 - plan.rank / text) if text else 0.0
    return f"what early runs could do promises {promised:.1f} %, less than estimates can tell apart"


def check_incremental(planning: Planning) -> None:
    """Refuses a plan that computes a part of a query from scratch."""
    for name in planning.roots:
        if parts := not_incremental(planning, name):
            raise UserError(
                f"{query_prefix(name)}not incremental: {parts[0]}" + "".join(f"\n  nor: {part}" for part in parts[1:]),
                hint="`refresh: auto` or `incremental` would compute this part from scratch",
            )


def not_incremental(planning: Planning, query: str = ONLY) -> list[str]:
    """The parts of a query that every run would compute from scratch, in words.

    What stands on top of the query, a last projection or the first rows of the answer, is part of delivering it.
    """
    memo = planning.memo
    parts: list[str] = []
    group = memo[planning.roots[query].group]
    while isinstance(group.expressions[0], (Project, Limit)):
        (below,) = group.expressions[0].inputs
        group = memo[memo.insert(below).group]
    for group in sorted(_below(memo, group), key=lambda group: group.id):
        if not group.tables or memo.scan_of(group.id) is not None:
            continue
        ways = [
            way for form, ways in group.forms.items() for way in ways if form.kind is not Kind.SNAPSHOT or form.partial
        ]
        if all(map(is_last_resort, ways)):
            tables = ", ".join(sorted(group.properties.changing_tables))
            parts.append(f"{type(group.expressions[0]).__name__.lower()} over {tables}")
    return list(dict.fromkeys(parts))


def _below(memo: Memo, top: Group) -> list[Group]:
    """A group and those that it was written with, not what was found since."""
    groups, waiting = {top.id: top}, [top]
    while waiting:
        for below in waiting.pop().expressions[0].inputs:
            group = memo[memo.insert(below).group]
            if group.id not in groups:
                groups[group.id] = group
                waiting.append(group)
    return list(groups.values())
