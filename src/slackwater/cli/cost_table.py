"""A table of what jobs have cost beside batch: four lines for each, one for each cost; then all of them together."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from slackwater.bench.cost_ratios import SHARES, CostKind, QueryResult, Ratios, Together
from slackwater.bench.measure import Measurements
from slackwater.cli.text import size


def cost_table(subject: str, together: Together) -> Table:
    """`subject` is what a line is about: a query, a job."""
    runs = max(len(query.weights) for query in together.queries)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(subject)
    table.add_column("seconds of")
    ratios = ("deadline", "weighted", "total")
    for name in ("batch", *(f"run {n}" for n in range(1, runs + 1)), *ratios, "planning s", "kept", "equal"):
        table.add_column(name, justify="right")
    for query in together.queries:
        for cost in CostKind:
            asides = told_asides(query.measured) if cost is CostKind.EXECUTORS else ()
            table.add_row(query.name if asides else "", cost.value, *_seconds(query, cost, runs), *asides)
        table.add_section()
    empty = [""] * (runs + 1)
    for share, name in SHARES:
        for cost in CostKind:
            first = cost is CostKind.EXECUTORS
            spread = _ratios(together.spread(share, cost))
            table.add_row(Text(name if first else "", style="bold"), cost.value, *empty, *spread)
    for cost in CostKind:
        first = cost is CostKind.EXECUTORS
        sums = [f"{together.batch(cost):.2f}", *empty[1:]]
        table.add_row(Text("all" if first else "", style="bold"), cost.value, *sums, *_ratios(together.ratios(cost)))
    return table


def cost_verdict(together: Together, equal: int) -> str:
    """All queries together, in a sentence: executors, everything, and how many are dearer than batch."""
    executors, everything = together.ratios(CostKind.EXECUTORS), together.ratios(CostKind.EVERYTHING)
    wall = together.ratios(CostKind.WALL).deadline
    count, dearer = len(together.queries), together.dearer(CostKind.EVERYTHING)
    return (
        f"at the deadline {executors.deadline:.2f} of batch's executor CPU, weighted {executors.weighted:.2f}, "
        f"in total {executors.total:.2f}; everything counted {everything.deadline:.2f}, {everything.weighted:.2f} and "
        f"{everything.total:.2f}; wall time at the deadline {wall:.2f}; {dearer} of "
        f"{count} dearer than batch at the deadline by more than a tenth, everything counted; "
        f"{equal} of {count} equal to batch"
    )


def told_asides(measured: Measurements) -> tuple[str, str, str | Text]:
    """What goes with the ratios; a dash where nothing is kept, and so batch is what runs at the deadline."""
    kept = size(measured.state_bytes) if measured.keeps else size(None)
    return f"{measured.planning_s:.1f}", kept, "yes" if measured.equal else Text("NO", style="bold red")


def told_ratio(value: float) -> Text:
    return Text(f"{value:.2f}", style="red" if value > 1 else "")


def _seconds(query: QueryResult, cost: CostKind, most_runs: int) -> list[str | Text]:
    batch, runs = query.batch(cost), query.runs(cost)
    empty = [""] * (most_runs - len(runs))
    return [f"{batch:.2f}", *(f"{run:.2f}" for run in runs), *empty, *_ratios(query.ratios(cost))]


def _ratios(ratios: Ratios) -> list[Text]:
    return [told_ratio(value) for value in ratios.each]
