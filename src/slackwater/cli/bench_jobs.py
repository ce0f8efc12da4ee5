"""What the benchmarks that run jobs on Spark share: options, the loop over queries, a table by query."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

import click
from rich.status import Status
from rich.table import Table
from rich.text import Text

from slackwater.bench.arriving import prepare_data
from slackwater.bench.measure import Failed, Found, Measure, measure_all
from slackwater.bench.trial import Setting
from slackwater.bench.workloads import ArrivalPattern, Workload, WorkloadQuery, parse_pattern, workload
from slackwater.cli.bench_planning import chosen_queries
from slackwater.cli.output import TO_STDOUT, CommandOutput, Report, measuring, write_json
from slackwater.cli.query_options import WORKLOADS
from slackwater.errors import MachineError, Place, UserError
from slackwater.job.file.price_basis import Basis
from slackwater.job.learning.prices import ClusterPrices, read_prices
from slackwater.spark.session import open_session
from slackwater.time.timeline import Timeline

Arguments = ParamSpec("Arguments")
Outcome = TypeVar("Outcome")


def runs_days(command: Callable[Arguments, Outcome]) -> Callable[Arguments, Outcome]:
    """The options of every benchmark that runs days of jobs, whatever the jobs are."""
    for option in (
        click.option("--keep", is_flag=True, help="Keep the jobs' directories."),
        click.option(
            "--data",
            type=click.Path(path_type=Path, file_okay=False),
            help="Where data and jobs are kept; by default your own temporary directory.",
        ),
        click.option(
            "--warm-up", type=click.IntRange(min=0), default=1, show_default=True, help="Passes that do not count."
        ),
        click.option(
            "--repeat", type=click.IntRange(min=1), default=1, show_default=True, help="Passes; medians are shown."
        ),
        click.option(
            "--days",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Days to run before, so that plans use their row counts.",
        ),
        click.option("--master", default="local[*]", show_default=True, help="Spark's master."),
    ):
        command = option(command)
    return command


takes_basis = click.option(
    "--basis",
    type=click.Choice([basis.value for basis in Basis]),
    default=Basis.PROCESS.value,
    show_default=True,
    help="What plans count: all CPU time, or that of executors.",
)


def runs_jobs(command: Callable[Arguments, Outcome]) -> Callable[Arguments, Outcome]:
    """The options of every benchmark that runs the queries of a workload as jobs."""
    command = runs_days(command)
    for option in (
        click.option(
            "--prices",
            "prices_file",
            type=click.Path(path_type=Path, exists=True, dir_okay=False),
            help="Plan with these prices, as written by `calibrate --file`.",
        ),
        takes_basis,
        click.option("--queries", "numbers", metavar="LIST", help="Only these queries, e.g. 1,2."),
        click.option(
            "--arrivals", default="60/20/20", show_default=True, help="What arrives when: shares, r=4 or delta-big."
        ),
        click.option(
            "--sf", "scale_factor", type=float, default=1.0, show_default=True, help="Scale factor of the workload."
        ),
        click.option("--workload", "workload_name", type=click.Choice(WORKLOADS), default="tpch", show_default=True),
    ):
        command = option(command)
    return measuring(command)


@dataclass(frozen=True, slots=True)
class JobsBenchmarkOptions:
    """What all these commands are asked."""

    workload_name: str
    scale_factor: float
    arrivals: str
    numbers: str | None
    master: str
    repeat: int
    warm_up: int
    data: Path | None
    keep: bool
    json_file: str | None
    prices_file: Path | None = None
    basis: str = Basis.PROCESS.value
    days: int = 0
    chart_file: str | None = None
    given_pattern: ArrivalPattern | None = None
    """How rows arrive, where the command line does not say it."""

    @property
    def prices(self) -> ClusterPrices | None:
        """Those asked for; the built-in ones where none are."""
        if self.prices_file is None:
            return None
        wrong: list[str] = []
        prices = read_prices(self.prices_file, self.master, wrong.append)
        if wrong:
            raise UserError(wrong[0].partition(";")[0])
        return prices

    @property
    def work(self) -> Workload:
        return workload(self.workload_name)

    @property
    def pattern(self) -> ArrivalPattern:
        return self.given_pattern or parse_pattern(self.arrivals, self.work.tables)

    @property
    def times(self) -> list[str]:
        return [f"run {number}" for number in range(1, self.pattern.runs + 1)]

    def queries(self) -> list[WorkloadQuery]:
        return chosen_queries(self.work, self.numbers)


def asked_for(given: dict[str, object]) -> JobsBenchmarkOptions:
    """What the options of `runs_jobs` say."""
    return JobsBenchmarkOptions(**given)  # type: ignore[arg-type]


def measured_in_turn(
    output: CommandOutput,
    asked: JobsBenchmarkOptions,
    timeline: Timeline,
    how: Measure[Found],
    report: Callable[[Sequence[Found | Failed]], Report],
    past: Mapping[str, Found] | None = None,
) -> list[Found | Failed]:
    """Every query that is asked for, measured; the numbers so far are in the file after each."""
    queries = asked.queries()
    results: list[Found | Failed] = []

    def done(result: Found | Failed) -> None:
        results.append(result)
        if asked.json_file is not None and asked.json_file != TO_STDOUT:
            write_json(asked.json_file, report(results))

    with output.waiting("preparing the data") as shown:

        def begun(position: int, query: WorkloadQuery) -> None:
            if isinstance(shown, Status):
                shown.update(f"{query.name}, {position + 1} of {len(queries)}")

        data = prepare_data(asked.work, asked.scale_factor, asked.pattern, asked.data)
        basis = Basis(asked.basis)
        setting = Setting(
            data, timeline, asked.warm_up, asked.repeat, prices=asked.prices, basis=basis, days=asked.days
        )
        with job_directories(output, data.home, asked.keep) as jobs:
            session = open_session("slackwater bench", asked.master)
            measure_all(session, setting, queries, jobs, how, past=past or {}, begun=begun, done=done)
    return results


@contextmanager
def job_directories(output: CommandOutput, home: Path, keep: bool) -> Iterator[Path]:
    """A directory for jobs, which goes away with the block unless it is to be kept; then the user is told where."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        jobs = Path(tempfile.mkdtemp(prefix="jobs-", dir=home))
    except OSError as error:
        hint = "name a directory with `--data`"
        raise MachineError(f"cannot write to `{home}`: {error.strerror}", hint=hint) from None
    try:
        yield jobs
    finally:
        if not keep:
            shutil.rmtree(jobs, ignore_errors=True)
    if keep:
        output.stderr.print(Text(f"jobs are in {jobs}"))


def known_from(json_file: str | None, read: Callable[[object], dict[str, Found]]) -> dict[str, Found]:
    """What the file of --json has of an earlier benchmark, by query; nothing where it is yet to be written."""
    if json_file is None or json_file == TO_STDOUT:
        raise click.UsageError("--resume continues the file of --json FILE")
    path = Path(json_file)
    if not path.exists():
        return {}
    try:
        return read(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot be read: {error}", place=Place(json_file)) from None


def query_table(*columns: str) -> Table:
    """A table with a row for every query, and numbers beside it."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("query", vertical="bottom")
    for name in columns:
        table.add_column(name, justify="right", vertical="bottom")
    return table


def failures(failed: Sequence[Failed]) -> list[Text]:
    """A line for each query that could not be measured."""
    return [Text(f"{each.query} failed: {each.error}", style="red") for each in failed]
