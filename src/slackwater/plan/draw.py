"""Plans as pictures: Mermaid, Graphviz, and a self-contained HTML page.

All three show the same graph: a box for each step, grouped by run, a cylinder for each source, and an arrow from each
source or step to its readers. Only the HTML page contains the trees of the steps, collapsed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from slackwater.figures import number
from slackwater.plan.explain import (
    by_history,
    count,
    loads,
    meaning,
    readers,
    source_name,
    step_tree,
    timeline_rows,
    verdict,
)
from slackwater.plan.plan import Plan, Purpose, Step, answer_of


@dataclass(frozen=True)
class _Graph:
    """Sources and steps by id, and which reads which."""

    sources: dict[str, str]
    steps: dict[str, Step]
    edges: tuple[tuple[str, str], ...]

    @staticmethod
    def of(plan: Plan) -> _Graph:
        steps = {f"step{i}": step for i, step in enumerate(plan.steps, 1)}
        by_name = {step.name: key for key, step in steps.items()}
        ids: dict[str, str] = {}
        edges: dict[tuple[str, str], None] = {}
        for key, step in steps.items():
            for scan in step.relation.scans():
                label = source_name(plan, scan) or scan.table.name
                origin = by_name.get(scan.table.name) or ids.setdefault(label, f"source{len(ids) + 1}")
                edges[origin, key] = None
        return _Graph({key: label for label, key in ids.items()}, steps, tuple(edges))


def plan_to_mermaid(plan: Plan) -> str:
    """A flowchart for Mermaid."""
    graph = _Graph.of(plan)
    lines = ["flowchart LR"]
    for key, label in graph.sources.items():
        lines.append(f'  {key}[("{_mermaid(label)}")]')
    for run in plan.runs:
        lines.append(f'  subgraph run{run}["{_mermaid(_title(plan, run))}"]')
        for key, step in graph.steps.items():
            if step.run == run:
                shape = ('(["', '"])') if step.purpose is Purpose.OUTPUT else ('["', '"]')
                lines.append(f"    {key}{shape[0]}{_mermaid('<br/>'.join(_label(plan, step)))}{shape[1]}")
        lines.append("  end")
    lines += [f"  {origin} --> {reader}" for origin, reader in graph.edges]
    return "\n".join(lines)


def plan_to_dot(plan: Plan) -> str:
    """A graph for Graphviz."""
    graph = _Graph.of(plan)
    lines = ["digraph plan {", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif"];']
    for key, label in graph.sources.items():
        lines.append(f"  {key} [shape=cylinder, label={_dot(label)}];")
    for run in plan.runs:
        lines += [f"  subgraph cluster_{run} {{", f"    label={_dot(_title(plan, run))};"]
        for key, step in graph.steps.items():
            if step.run == run:
                style = ", style=rounded" if step.purpose is Purpose.OUTPUT else ""
                lines.append(f"    {key} [label={_dot(chr(10).join(_label(plan, step)))}{style}];")
        lines.append("  }")
    lines += [f"  {origin} -> {reader};" for origin, reader in graph.edges]
    return "\n".join([*lines, "}"])


def plan_to_html(plan: Plan) -> str:
    """A fragment of HTML: the timeline as a table, and each step's tree, collapsed. No scripts, no other files."""
    return "\n".join(_html(plan))


def _title(plan: Plan, run: int) -> str:
    return f"{plan.time(run)} · weight {number(plan.weight(run))}"


def _label(plan: Plan, step: Step) -> list[str]:
    if step.purpose is Purpose.OUTPUT:
        return [f"deliver {answer_of(step.answers)}"]
    verb = "save" if step.purpose is Purpose.STATE else "keep"
    return [f"{verb} {step.name}", meaning(plan, step)]


def _mermaid(text: str) -> str:
    return text.replace('"', "#quot;")


def _dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


_STYLE = """\
<style>
.slackwater { font-family: system-ui, sans-serif; font-size: 14px; }
.slackwater table { border-collapse: collapse; margin: 0.5em 0 1em; }
.slackwater th, .slackwater td { padding: 0.2em 0.9em 0.2em 0; text-align: left; border-bottom: 1px solid #8884; }
.slackwater td.number { text-align: right; font-variant-numeric: tabular-nums; }
.slackwater pre { font-size: 12px; line-height: 1.35; overflow-x: auto; margin: 0.3em 0 0.8em 1.2em; }
.slackwater summary { cursor: pointer; }
.slackwater .warning { color: #b00; font-weight: bold; }
</style>"""


def _html(plan: Plan) -> Iterator[str]:
    yield _STYLE
    yield '<div class="slackwater">'
    yield f"<p>{escape(verdict(plan))}</p>"
    for limit in plan.limits:
        yield f'<p class="warning">Incomplete: {escape(limit)}</p>'
    yield "<table>"
    yield "<tr><th></th>" + "".join(f"<th>{escape(time)}</th>" for time in plan.times) + "</tr>"
    for name, *marks in timeline_rows(plan):
        yield f"<tr><th>{escape(name)}</th>" + "".join(f"<td>{escape(mark)}</td>" for mark in marks) + "</tr>"
    costs = ((plan.unit.name_of_cost, plan.cost), ("batch", plan.batch_cost))
    rows = [("weight", [number(value_of_run) for value_of_run in plan.weights])]
    rows += [(name, [plan.unit.shown(value_of_run) for value_of_run in values]) for name, values in costs]
    for name, values in rows:
        cells = "".join(f'<td class="number">{value}</td>' for value in values)
        yield f"<tr><th>{name}</th>{cells}</tr>" if cells else ""
    yield "</table>"
    for run in plan.runs:
        yield f"<h4>{escape(_title(plan, run))}</h4>"
        steps = plan.run(run)
        if not steps:
            yield "<p>nothing to do</p>"
        for step in steps:
            yield from _html_step(plan, step)
    yield f"<p>rules: {escape(', '.join(plan.rules))}</p>"
    yield "</div>"


def _html_step(plan: Plan, step: Step) -> Iterator[str]:
    notes = [f"about {count(step.rows)}{by_history(step)}"]
    notes += [f"for {', '.join(plan.time(r) for r in readers(plan, step))}"] if readers(plan, step) else []
    notes += [f"loads {', '.join(loads(plan, step))}"] if loads(plan, step) else []
    notes += [f"serves {', '.join(plan.serves(step))}"] if any(plan.queries) else []
    title = ": ".join(_label(plan, step))
    yield f"<details><summary>{escape(title)} ({escape('; '.join(notes))})</summary>"
    yield f"<pre>{escape(step_tree(plan, step))}</pre></details>"
