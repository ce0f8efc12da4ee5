"""`slackwater calibrate`: the prices of work on a cluster, fitted to a dozen statements."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.status import Status
from rich.text import Text

from slackwater.cli.job_commands import takes_job
from slackwater.cli.output import CommandOutput, reporting
from slackwater.cli.text import plain_table, seconds
from slackwater.job.file.price_basis import Basis
from slackwater.job.job import Job
from slackwater.job.learning.calibrate import PASSES, ROWS, Trial, calibrate_cluster
from slackwater.job.learning.calibration import work_in_seconds
from slackwater.job.learning.prices import ClusterPrices
from slackwater.json_text import Json
from slackwater.physical.bill import Bill, Item

MEANING = {
    Item.COMPUTE: "filters, joins, groups, sorting",
    Item.READ: "rows and bytes read from files",
    Item.WRITE: "rows and bytes written",
    Item.SHUFFLE: "rows moved between workers",
    Item.BROADCAST: "rows sent to every worker",
    Item.FIXED: "a statement, a source, an exchange",
}


@dataclass(frozen=True)
class CalibrationReport:
    """The prices, the statements that they were fitted to, and where they are kept."""

    prices: ClusterPrices
    trials: tuple[Trial, ...]
    kept: Path | None
    basis: Basis
    """What the plans count that go by these prices."""

    @property
    def factors(self) -> Bill:
        return self.prices.factors_by(self.basis)

    def as_json(self) -> Json:
        return {
            "cluster": self.prices.cluster,
            "basis": self.basis.value,
            "factors": {item.value: self.factors[item] for item in Item},
            "observations": {item.value: count for item, count in self.prices.counts.items()},
            "statements": [
                {
                    "name": trial.name,
                    "cpu_s": trial.cpu_s,
                    "process_cpu_s": trial.process_cpu_s,
                    "built_in_s": work_in_seconds(trial.bill),
                    "fitted_s": work_in_seconds(trial.bill, self.factors),
                }
                for trial in self.trials
            ],
            "file": None if self.kept is None else str(self.kept),
        }

    def as_text(self) -> RenderableType:
        prices = plain_table("work", "", "built in", "fitted", "observations", left=2)
        for item in Item:
            built_in, factor = (f"{factors[item]:.2f}" for factors in (self.basis.built_in, self.factors))
            prices.add_row(item.value, MEANING[item], built_in, factor, str(self.prices.counts[item]))
        table = plain_table("statement", "CPU", "built in", "fitted", "driver")
        for name in dict.fromkeys(trial.name for trial in self.trials):
            same = [trial for trial in self.trials if trial.name == name]
            bill = same[0].bill
            driver = [trial.process_cpu_s - trial.cpu_s for trial in same if trial.process_cpu_s is not None]
            table.add_row(
                name,
                seconds(statistics.median(trial.cpu_s for trial in same)),
                seconds(work_in_seconds(bill)),
                seconds(work_in_seconds(bill, self.factors)),
                seconds(statistics.median(driver) if driver else None),
            )
        where = "nothing was written" if self.kept is None else f"kept in {self.kept}; the next plan goes by them"
        costs = f"what work costs the {self.basis.value}, in parts of the built-in rates"
        title = Text(f"{self.prices.cluster}: {costs}", style="bold")
        return Group(title, prices, Text(), table, Text(), Text(where))


@click.command()
@click.option(
    "--rows", type=click.IntRange(min=1000), default=ROWS, show_default=True, help="Rows of the largest table."
)
@click.option(
    "--repeat", type=click.IntRange(min=1), default=PASSES, show_default=True, help="How often each statement counts."
)
@click.option("--dry-run", is_flag=True, help="Show the prices without storing them.")
@click.option("--master", help="Calibrate this cluster without a job; the prices go to --file.")
@click.option(
    "--file", type=click.Path(path_type=Path, dir_okay=False), help="Where to store the prices without a job."
)
@takes_job
@reporting
@click.pass_obj
def calibrate(
    output: CommandOutput,
    rows: int,
    repeat: int,
    dry_run: bool,
    master: str | None,
    file: Path | None,
    path: Path | None,
) -> None:
    """Measure the prices of work on a job's cluster with small statements, and use them for plans.

    This takes one to two minutes. Every run of the job refines the prices; use this command for a new cluster.
    """
    if (master is None) != (file is None):
        raise click.UsageError("--master and --file must be used together, for a cluster without a job")
    if master is not None and path is not None:
        raise click.UsageError("--job and --master cannot be combined")
    with output.waiting("starting") as shown:

        def begun(what: str) -> None:
            if isinstance(shown, Status):
                shown.update(what)

        if master is not None and file is not None:
            prices, trials = calibrate_cluster(master, None if dry_run else file, rows=rows, passes=repeat, begun=begun)
            kept, basis = file, Basis.PROCESS
        else:
            job = Job.open(path)
            prices, trials = job.calibrate(rows=rows, passes=repeat, dry_run=dry_run, begun=begun)
            kept, basis = job.store.prices_file, job.config.prices
    output.report(CalibrationReport(prices, tuple(trials), None if dry_run else kept, basis))
