"""A job: what a user runs, by command or from Python.

    import slackwater

    job = slackwater.Job.open("slackwater.yml")
    print(job.plan())
    job.run(all=True)
    assert job.verify().equal

A `Job` reads its directories again at every call and keeps only its Spark session in memory, so commands and notebooks
can be mixed. `run` holds the job's lock; everything else only reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from slackwater.catalog.statistics import Statistics
from slackwater.errors import UserError, did_you_mean
from slackwater.job.cycle.carry import CarriedOver
from slackwater.job.cycle.conditions import Conditions
from slackwater.job.cycle.cycle_planner import CyclePlanner
from slackwater.job.cycle.cycles import Cycles
from slackwater.job.cycle.due import Asked, Calendar, Clock, system_clock
from slackwater.job.cycle.planned import Planned
from slackwater.job.cycle.query_analysis import QueryAnalysis
from slackwater.job.cycle.replan import Proposal
from slackwater.job.cycle.tidy import Cleaned, all_of, emptied, size_of, spent
from slackwater.job.cycle.turns import following, turns
from slackwater.job.file.config import find_job, load_job
from slackwater.job.file.describe import job_line, job_table
from slackwater.job.file.places import check_apart
from slackwater.job.file.sections import JobConfig
from slackwater.job.history import History
from slackwater.job.inputs.counting import SourceStatistics
from slackwater.job.inputs.job_sources import JobSources
from slackwater.job.inputs.repin import Repinned, Repinning
from slackwater.job.learning.calibrate import PASSES, ROWS, Trial, calibrate
from slackwater.job.learning.forecasts import SourceForecast, forecasts, today
from slackwater.job.learning.prices import ClusterPrices, cluster_of, read_prices
from slackwater.job.learning.regret import Regret, finished_cycles, regrets
from slackwater.job.learning.statistics_collector import StatisticsCollector
from slackwater.job.running.after_run import verified_of
from slackwater.job.running.check_prices import Promised, promised_by, promised_in
from slackwater.job.running.comparisons import Comparisons
from slackwater.job.running.execution import Execution
from slackwater.job.running.failures import refuse_failed
from slackwater.job.running.interrupts import interrupts_say
from slackwater.job.running.runner import Progress, Silent
from slackwater.job.running.verify import Verdict
from slackwater.job.running.work import RunWork
from slackwater.job.status import Status, status_of
from slackwater.job.store.accounts import (
    Phase,
    account_of,
    add_to_account,
    charged_to,
    is_command,
    metered_runs,
)
from slackwater.job.store.answer_directory import AnswerDirectory
from slackwater.job.store.at_work import at_work
from slackwater.job.store.manifest import Manifest
from slackwater.job.store.publishing import show_last, show_last_of
from slackwater.job.store.removal import remove
from slackwater.job.store.store import Store
from slackwater.pace.final_work import LastRunGoal, goals_of_pairs
from slackwater.plan.plan import ONLY, Plan
from slackwater.rows.feedback import History as CountedBefore
from slackwater.spark.death import forget_dead_jvm, saying_if_spark_died

if TYPE_CHECKING:
    from slackwater.spark.session import Session


class Job:
    """A job file, its directories and its Spark."""

    def __init__(
        self,
        config: JobConfig,
        session: Session | None = None,
        *,
        statistics: Statistics | None = None,
        methods: tuple[str, ...] | None = None,
        prices: ClusterPrices | None = None,
        history: CountedBefore | None = None,
        clock: Clock | None = system_clock,
    ) -> None:
        """`statistics`, where they are known, take the place of what the job would count and guess.

        `methods` are those to plan with, to compare; by default all. `prices` are those of a cluster that is known,
        `history` is what days before have counted, where that is to take the place of the job's own cycles. `clock`
        says the time; without one no run is due by itself, and each call of `run` takes the next.
        """
        self.config = config
        self.store = Store(
            config.state, {name: AnswerDirectory(query.output.path) for name, query in config.queries.items()}
        )
        self._session = session
        self._starts_spark = session is None
        self._clock = clock
        self._sources = JobSources(config, self.store, self.session)
        self._statistics = StatisticsCollector(self._sources, statistics, history)
        analysis = QueryAnalysis(config, self.session)
        self._planner = CyclePlanner(self._statistics, analysis, methods, prices)
        self._cycles = Cycles(self._planner)

    def __repr__(self) -> str:
        return job_line(self.config)

    def _repr_html_(self) -> str:
        return job_table(self.config).as_html()

    @staticmethod
    def open(
        path: str | Path | None = None, session: Session | None = None, *, clock: Clock | None = system_clock
    ) -> Job:
        """The job of a file, of a directory or, by default, of where we are."""
        place = Path(path) if path is not None else Path.cwd()
        return Job(load_job(find_job(place) if place.is_dir() else place), session, clock=clock)

    def session(self) -> Session:
        """The job's Spark, started when it is first needed, and again where its JVM has died."""
        if self._starts_spark and self._session is not None and forget_dead_jvm():
            self._session = None
        if self._session is None:
            with charged_to(Phase.START):
                from slackwater.spark.session import open_session

                spark = self.config.spark
                self._session = open_session(f"slackwater {self.config.name}", spark.master, spark.connect, spark.conf)
        return self._session

    # --- planning ----------------------------------------------------------------------------------------------------

    def plan(self) -> Plan:
        """The plan of the cycle that is under way; if none is, the one that the next run would make."""
        cycle = self._cycles.open()
        return cycle.plan() if cycle is not None else self.planned().plan

    def planned(self) -> Planned:
        """The job planned now, with all that the planner found; nothing is written but counts of columns."""
        cycle = self.store.current()
        values = cycle.record().pinned if cycle is not None else None
        with saying_if_spark_died():
            return self._planner.begin(self._sources.now(), values)[0]

    def by_text(self, planned: Planned | None = None) -> Mapping[str, str]:
        """The queries that are computed by their texts and why: by a plan, or in the cycle under way."""
        cycle = self._cycles.open() if planned is None else None
        return cycle.record().by_text_now if cycle is not None else (planned or self.planned()).reasons

    def goals(self, planned: Planned | None = None) -> tuple[LastRunGoal, ...]:
        """How a plan, or that of the cycle under way, stands to the job's goals on the last run."""
        cycle = self._cycles.open() if planned is None else None
        if cycle is not None:
            return goals_of_pairs(cycle.record().goals_now)
        has_goals = self.config.final_work is not None or self.config.latency is not None
        return (planned or self.planned()).goals if has_goals else ()

    def conditions(self) -> Conditions:
        """What answers depend on beside inputs: of the cycle that is under way or, if none is, as one would begin."""
        return self._cycles.conditions(self.store.current())

    def promised(self, planned: Planned | None = None) -> Promised:
        """What sources promise, what of it is checked and at what price: by a plan, or of the cycle under way."""
        cycle = self._cycles.open() if planned is None else None
        if cycle is not None:
            return promised_in(cycle.record(), cycle.plan(), self.config.sources)
        return promised_by(planned or self.planned(), self.config.sources)

    def proposal(self) -> Proposal | None:
        """The rest of the cycle planned with what is there now, beside the plan in force; None if nothing is left."""
        return self._cycles.proposal()

    def query_changed(self) -> bool:
        """Whether the cycle that is under way could go on with the job's queries, though they are not its own."""
        return self._cycles.query_changed()

    def carried_over(self) -> CarriedOver:
        """The rest of the cycle for queries that have changed: which states serve them, and what is to do again."""
        return self._cycles.carried_over()

    # --- running -----------------------------------------------------------------------------------------------------

    def run(
        self,
        at: str | int | None = None,
        *,
        early: bool = False,
        all: bool = False,
        new_cycle: bool = False,
        skip_missed: bool = False,
        carry_over: bool = False,
        progress: Progress | None = None,
    ) -> list[Manifest]:
        """Does the runs that are due by now, and none that is not; what is committed stays.

        Where the times of the schedule are names, nothing is due by itself: the next run is done. So it is with
        `early`; with `at` all runs up to one of the schedule, with `all` those that are left, due or not.

        Runs before `at` that were missed are made up for first or, with `skip_missed`, left out of the cycle. Before
        each run the rest is planned anew where something is not as it was expected. Where a query has changed, the
        cycle goes on with it only by `carry_over`, and with those of its states that serve the new text.
        """
        if at is not None:
            self.config.timeline.run_at(at)
        asked, reporter = Asked(at, early, all), progress or Silent()
        check_apart(self.config)
        with (
            interrupts_say("what was committed before stays, and nothing else"),
            saying_if_spark_died(),
            metered_runs(),
            self.store.lock,
        ):
            for directory in self.store.answer_directories.values():
                directory.check()
            show_last(self.store)
            if carry_over:
                self._cycles.carry_over(reporter.note)
            done: list[Manifest] = []
            for turn in turns(
                self._cycles, self._calendar(), asked, reporter.note, new_cycle=new_cycle, skip_missed=skip_missed
            ):
                done += Execution(self._cycles).runs_of(turn, skip_missed, reporter)
            refuse_failed(done)
            return done

    def _calendar(self) -> Calendar | None:
        """The days of the schedule, at this moment."""
        calendar = Calendar.of(self.config, self._clock)
        return calendar.at_this_moment() if calendar is not None else None

    def end_command(self, done: Sequence[Manifest]) -> None:
        """After the runs of a command: Spark is stopped, and the account of the last run holds that too.

        In a program of somebody's own, where Spark may be needed further, this does nothing.
        """
        if done and is_command():
            from slackwater.spark.session import shut_down

            with charged_to(Phase.END):
                shut_down()
            self._session = None
            add_to_account(self.store.cycle(done[-1].cycle), done[-1])

    # --- looking -----------------------------------------------------------------------------------------------------

    def work(self, run: str | int | None = None) -> RunWork:
        """What a run has computed or, the next one, would compute now; nothing is written."""
        cycle = self._cycles.open()
        if cycle is None:
            raise UserError(
                "no run has begun yet", hint="`slackwater plan` shows the plan; `slackwater run` starts the first run"
            )
        committed = {m.run: m for m in cycle.manifests()}
        timeline = self._cycles.timeline(cycle)
        number = timeline.run_at(run) if run is not None else max(committed, default=0) + 1
        number = min(number, timeline.last)
        if number > max(committed, default=0) + 1:
            raise UserError(f"run {number} comes after runs that are still to be done", hint="ask for the next one")
        return Execution(self._cycles).work(cycle, number, committed, pin=False)

    def status(self) -> Status:
        """Where the job stands."""
        cycle = self._cycles.open()
        rescheduled = self._cycles.rescheduled(cycle) if cycle is not None else ()
        status = status_of(self.config, cycle, self._cycles.timeline(cycle), rescheduled)
        following_run = following(self._cycles, self._calendar())
        return replace(status, following=following_run, at_work=at_work(self.store, cycle))

    def history(self, last: int | None = None) -> History:
        """The committed runs of all cycles, or of the last ones, whose manifests are not damaged."""
        return self.history_of([manifest for cycle in self.store.cycles(last) for manifest in cycle.readable()])

    def history_of(self, runs: Sequence[Manifest]) -> History:
        """Some committed runs, with their accounts."""
        accounts = [account_of(self.store.cycle(manifest.cycle), manifest) for manifest in runs]
        verified = [verified_of(self.store.cycle(manifest.cycle), manifest) for manifest in runs]
        return History(tuple(runs), tuple(accounts), tuple(verified), tuple(self.config.queries))

    def regrets(self, last: int | None = None) -> list[Regret]:
        """What finished cycles, all or the last ones, cost beside the best that is known of the same inputs."""
        return regrets(finished_cycles(self.store.cycles(last)))

    def calibrate(
        self,
        *,
        rows: int = ROWS,
        passes: int = PASSES,
        dry_run: bool = False,
        begun: Callable[[str], None] = lambda _: None,
    ) -> tuple[ClusterPrices, list[Trial]]:
        """Measures what work costs on the job's Spark; plans go by that from now on, unless it is a dry run."""
        file, cluster = self.store.prices_file, cluster_of(self.config.spark)
        with self.store.lock as lock:
            measured, trials = calibrate(
                self.session(), cluster, rows=rows, passes=passes, scratch=self.store.state, begun=begun
            )
            prices = ClusterPrices.fitted(cluster, measured.trials, read_prices(file, cluster).runs)
            if not dry_run:
                with lock.ours():
                    prices.write(file)
        return prices, trials

    def forecast(self, on: date | None = None) -> list[SourceForecast]:
        """What each changing source is expected to bring at each time of a day, by default today."""
        return forecasts(self.config, self.store, on or today())

    def statistics(self, source: str | None = None, *, full: bool = False) -> list[SourceStatistics]:
        """What is known of the columns that the queries use, once files that are new have been counted.

        Large arrivals are sampled, unless `full`. Where nothing is new Spark is not needed.
        """
        if source is not None and source not in self.config.sources:
            raise UserError(f"no source {source}", hint=did_you_mean(source, list(self.config.sources)))
        names = list(self.config.sources) if source is None else [source]
        return self._statistics.of_sources(names, full=full)

    # --- verifying ---------------------------------------------------------------------------------------------------

    def verify(self, run: str | int | None = None, *, query: str | None = None, sample: float | None = None) -> Verdict:
        """Compares what a run has delivered, by default the last, with the batch answer on the same inputs.

        Of several queries one must be named; `verdicts` compares them all.
        """
        (verdict,) = Comparisons(self._cycles).verdicts([self._query_name(query)], run, sample).values()
        return verdict

    def verdicts(self, run: str | int | None = None, *, sample: float | None = None) -> dict[str, Verdict]:
        """The same for every query that was delivered, by name: each as the run, or the last run, has left it."""
        return Comparisons(self._cycles).verdicts(list(self.config.queries), run, sample)

    def measure_batch(self, run: str | int | None = None) -> dict[str, float]:
        """What the batch query of everything that a run delivered, by default the last, takes; kept for `regrets`."""
        return Comparisons(self._cycles).measure_batch(run)

    def _query_name(self, query: str | None) -> str:
        names = list(self.config.queries)
        name = ONLY if query is None else query
        if name in names:
            return name
        if query is None:
            raise UserError("this job has several queries", hint=f"name one of {', '.join(names)}")
        hint = "the job has one query, and that has no name" if ONLY in names else did_you_mean(query, names)
        raise UserError(f"no query {query}", hint=hint)

    # --- inputs that were replaced -----------------------------------------------------------------------------------

    def repin(
        self,
        files: Sequence[str | Path] = (),
        *,
        source: str | None = None,
        forget: Sequence[str | Path] = (),
        dry_run: bool = False,
    ) -> Repinned:
        """Takes pinned files that were replaced as they are now: all, those of a source, or some by their paths.

        The runs that stood on them are done again by the next `run`. Of files that have vanished, those to `forget` are
        pinned no more; any other is an error.
        """
        if source is not None and source not in self.config.sources:
            raise UserError(f"no source {source}", hint=did_you_mean(source, list(self.config.sources)))
        with nullcontext() if dry_run else self.store.lock:
            cycle = self._cycles.open()
            if cycle is None:
                raise UserError("no run has begun yet", hint="nothing is pinned")
            repinning = Repinning(cycle, self._sources.of(cycle))
            chosen = repinning.chosen(source, [Path(file) for file in files], [Path(file) for file in forget])
            return repinning.outcome(chosen) if dry_run else repinning.apply(chosen)

    # --- cleaning ----------------------------------------------------------------------------------------------------

    def clean(self, *, everything: bool = False, dry_run: bool = False) -> Cleaned:
        """Removes what no run needs any more: leftovers of interrupted runs, spent states, answers that were replaced.

        With `everything`, all states, plans and history of the job go too; the last answer stays.
        """
        check_apart(self.config)
        with self.store.lock as lock:
            if not dry_run:
                for name in self.store.answer_directories:
                    with suppress(UserError):  # a path that is taken, or cannot be written: no reason to keep the rest
                        show_last_of(self.store, name)
            paths = all_of(self.store) if everything else [*self.store.leftovers(), *spent(self.store)]
            removable = [path for path in dict.fromkeys(paths) if path.exists() or path.is_symlink()]
            freed = sum([size_of(path) if dry_run else remove(path, lock.ours) for path in removable])
            for path in () if dry_run else emptied(self.store):
                remove(path, lock.ours)
        return Cleaned(tuple(removable), freed)
