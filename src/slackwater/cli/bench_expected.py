"""`slackwater bench expected`: what a workload should cost at scale factors that this machine cannot hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.status import Status
from rich.table import Table
from rich.text import Text

from slackwater.bench.expected import (
    Agreement,
    ExpectedBenchmark,
    ExpectedCost,
    ExpectedSetting,
    MeasuredCost,
    expected_costs,
    measured_costs,
)
from slackwater.bench.workloads import WorkloadQuery, parse_pattern, workload
from slackwater.cli.bench_jobs import takes_basis
from slackwater.cli.bench_planning import chosen_queries, listed, prices
from slackwater.cli.cost_table import told_ratio
from slackwater.cli.output import CommandOutput, measuring, plain
from slackwater.cli.query_options import WORKLOADS
from slackwater.errors import Place, UserError
from slackwater.job.file.price_basis import Basis
from slackwater.json_text import Json, read_json
from slackwater.spark.cluster_memory import memory_by
from slackwater.spark.session import LOCAL_PARTITIONS, driver_memory_gib
from slackwater.time.timeline import Timeline


@dataclass(frozen=True, slots=True)
class ExpectedReport:
    """Every query, then all together, then how far measurements agree."""

    benchmark: ExpectedBenchmark

    def as_json(self) -> Json:
        return plain(self.benchmark.as_json())

    def as_text(self) -> RenderableType:
        bench = self.benchmark
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("query")
        for each in bench.scale_factors:
            for name in ("text s", "deadline", "weighted"):
                table.add_column(f"SF {each:g}\n{name}", justify="right")
        columns = [bench.at(each) for each in bench.scale_factors]
        for row in zip(*columns, strict=True):
            cells = ((f"{c.text_s:.2f}", told_ratio(c.ratio.deadline), told_ratio(c.ratio.weighted)) for c in row)
            table.add_row(row[0].query, *(cell for triple in cells for cell in triple))
        table.add_section()
        sums = ((sum(cost.text_s for cost in column), bench.together(column[0].scale_factor)) for column in columns)
        triples = ((f"{text:.1f}", told_ratio(both.deadline), told_ratio(both.weighted)) for text, both in sums)
        table.add_row(Text("all", style="bold"), *(cell for triple in triples for cell in triple))
        lines = [
            f"SF {each:g}: {bench.together(each).deadline:.2f} of the texts at the deadline, "
            f"{bench.together(each).weighted:.2f} weighted; {bench.by_text(each)} of {len(bench.at(each))} queries by "
            f"their texts; {bench.dearer(each)} clearly dearer"
            for each in bench.scale_factors
        ]
        agreement = [Text(_agreement(each)) for each in bench.agreements()]
        return Group(table, Text(), *(Text(line, style="bold") for line in lines), *agreement)


@dataclass(frozen=True, slots=True)
class _ExpectedOptions:
    """What the command is asked."""

    workload_name: str
    scale_factors: str
    numbers: str | None
    arrivals: str
    weights: str | None
    basis: str
    settings: tuple[str, ...]
    files: tuple[Path, ...]

    @property
    def setting(self) -> ExpectedSetting:
        work = workload(self.workload_name)
        pattern = parse_pattern(self.arrivals, work.tables)
        times = [f"run {number}" for number in range(1, pattern.runs + 1)]
        timeline = Timeline.of(times, prices(self.weights, pattern.runs), "final")
        return ExpectedSetting(work, pattern, timeline, Basis(self.basis), memory_by(self.cluster))

    @property
    def cluster(self) -> dict[str, str]:
        """Settings of Spark that say how much memory there is: those of a local session, unless told."""
        local = {
            "spark.master": "local[*]",
            "spark.driver.memory": f"{driver_memory_gib()}g",
            "spark.sql.shuffle.partitions": str(LOCAL_PARTITIONS),
        }
        given = dict(map(_pair, self.settings))
        return given if "spark.master" in given else {**local, **given}

    def queries(self) -> list[WorkloadQuery]:
        return chosen_queries(workload(self.workload_name), self.numbers)

    def factors(self) -> list[float]:
        try:
            return [float(part) for part in listed(self.scale_factors)]
        except ValueError:
            hint = "write numbers, e.g. 1,10,100"
            raise UserError(f"`{self.scale_factors}` is not a list of scale factors", hint=hint) from None

    def measured(self) -> dict[float, dict[str, MeasuredCost]]:
        """The measurements by scale factor; files of one are put together."""
        measured: dict[float, dict[str, MeasuredCost]] = {}
        for file in self.files:
            value = read_json(file.read_text(encoding="utf-8"), str(file))
            name, scale_factor, costs = measured_costs(value, Basis(self.basis))
            if name != self.workload_name:
                raise UserError(f"measurements of {name}, not of {self.workload_name}", place=Place(str(file)))
            measured.setdefault(scale_factor, {}).update(costs)
        return measured


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise UserError(f"`{text}` is not a setting", hint="write it as spark.driver.memory=8g")
    return key.strip(), value.strip()


def _agreement(each: Agreement) -> str:
    return (
        f"SF {each.scale_factor:g}, {each.queries} queries measured: batch took {each.batch:.2f} of what was expected "
        f"in the median, nine of ten within a factor of {each.batch_off:.1f}; at the deadline "
        f"{each.measured.deadline:.2f}, expected {each.expected.deadline:.2f}; weighted {each.measured.weighted:.2f}, "
        f"expected {each.expected.weighted:.2f}"
    )


@click.command()
@click.option("--workload", "workload_name", type=click.Choice(WORKLOADS), default="tpch", show_default=True)
@click.option("--sf", "scale_factors", metavar="LIST", default="1,10,100,1000", show_default=True)
@click.option("--queries", "numbers", metavar="LIST", help="Only these queries, e.g. 1,2.")
@click.option("--arrivals", default="60/20/20", show_default=True, help="What arrives when: shares, r=4 or delta-big.")
@click.option("--weights", metavar="LIST", help="The price of work at each run; by default 0.25,0.3,1 or alike.")
@takes_basis
@click.option(
    "--conf",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="A setting of the cluster to plan for, e.g. spark.master=yarn; by default a local session here.",
)
@click.option(
    "--measured",
    "files",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="Compare with measurements, as written by `bench progressive --json`.",
)
@measuring
@click.pass_obj
def expected(output: CommandOutput, /, json_file: str | None, **given: object) -> None:
    """Estimate the cost of answers by a deadline at several scale factors, without data and without Spark.

    Each query is planned as a job with `refresh: auto`. Costs are in seconds of tasks, by built-in prices; ratios are
    to the query's own text on Spark.
    """
    asked = _ExpectedOptions(**given)  # type: ignore[arg-type]
    setting, measured = asked.setting, asked.measured()
    with output.waiting(f"Planning {asked.workload_name} ...") as shown:

        def done(cost: ExpectedCost) -> None:
            if isinstance(shown, Status):
                shown.update(f"{cost.query} at scale factor {cost.scale_factor:g} is planned ...")

        costs = expected_costs(setting, asked.factors(), asked.queries(), done)
    bench = ExpectedBenchmark(asked.workload_name, setting.basis, setting.memory, costs, measured)
    output.report_measurements(ExpectedReport(bench), json_file)
