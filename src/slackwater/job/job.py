"""A job: what a user runs, by command or from Python.

    import slackwater

    job = slackwater.Job.open("slackwater.yml")
    print(job.plan())
    job.run(all=True)
    assert job.verify().equal

A `Job` looks at its directories anew with every call and keeps nothing in memory but its Spark session, so commands
and notebooks can take turns. `run` holds the job's lock; everything else only reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from slackwater.algebra.relation import Query
from slackwater.catalog.statistics import Statistics
from slackwater.catalog.table import Catalog
from slackwater.cost.feedback import History as CountedBefore
from slackwater.errors import StateError, UserError, counted, did_you_mean
from slackwater.job.accounts import (
    Phase,
    account_of,
    add_to_account,
    charged_to,
    is_command,
    metered_runs,
    record_attempt,
)
from slackwater.job.after_run import is_to_be_verified, refuse_differing, verified_of, verify_run
from slackwater.job.at_work import at_work
from slackwater.job.calibrate import PASSES, ROWS, Trial, calibrate
from slackwater.job.carry import CarriedOver
from slackwater.job.check_prices import Promised, promised_by, promised_in
from slackwater.job.conditions import Conditions
from slackwater.job.config import find_job, load_job
from slackwater.job.counting import SourceStatistics
from slackwater.job.cycles import Cycles
from slackwater.job.damage import damaged_file, damaged_states
from slackwater.job.describe import job_line, job_table
from slackwater.job.due import Asked, Calendar, Clock, system_clock
from slackwater.job.forecasts import SourceForecast, forecasts, today
from slackwater.job.history import History
from slackwater.job.inputs import files_of, pinned_inputs
from slackwater.job.interrupts import interrupts_say, interrupts_say_if_committed
from slackwater.job.manifest import Manifest, write_record
from slackwater.job.moment import at_moment
from slackwater.job.places import check_apart
from slackwater.job.planning import Planned, bound_query
from slackwater.job.prepare import Preparation
from slackwater.job.prices import ClusterPrices, cluster_of, learn, read_prices
from slackwater.job.regret import BatchRecord, Regret, finished_cycles, regrets
from slackwater.job.removal import remove
from slackwater.job.repin import Repinned, Repinning
from slackwater.job.replan import Proposal
from slackwater.job.runner import Progress, Silent, execute
from slackwater.job.sections import JobConfig
from slackwater.job.shelf import Shelf
from slackwater.job.status import Status, status_of
from slackwater.job.store import Cycle, Store
from slackwater.job.tidy import Cleaned, all_of, emptied, size_of, spent
from slackwater.job.turns import Turn, following, turns
from slackwater.job.verify import Verdict, Verification, output_fields_of
from slackwater.job.work import Work
from slackwater.plan.plan import ONLY, Plan
from slackwater.spark.death import forget_dead_jvm, saying_if_spark_died
from slackwater.time.timeline import Timeline

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
        self.store = Store(config.state, {name: Shelf(query.output.path) for name, query in config.queries.items()})
        self._session = session
        self._starts_spark = session is None
        self._clock = clock
        self._preparation = Preparation(config, self.store, self.session, statistics, methods, prices, history)
        self._cycles = Cycles(self._preparation)

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

    @charged_to(Phase.START)
    def session(self) -> Session:
        """The job's Spark, started when it is first needed, and again where its JVM has died."""
        if self._starts_spark and self._session is not None and forget_dead_jvm():
            self._session = None
        if self._session is None:
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
            return self._preparation.planned(self._preparation.sources_now(), values)[0]

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
            self._run_number(at, self.config.timeline)
        asked, told = Asked(at, early, all), progress or Silent()
        check_apart(self.config)
        with (
            interrupts_say("what was committed before stays, and nothing else"),
            saying_if_spark_died(),
            metered_runs(),
            self.store.lock,
        ):
            for shelf in self.store.shelves.values():
                shelf.check()
            self._show_last()
            if carry_over:
                self._cycles.carry_over(told)
            done: list[Manifest] = []
            for turn in turns(
                self._cycles, self._calendar(), asked, told, new_cycle=new_cycle, skip_missed=skip_missed
            ):
                done += self._runs_of(turn, skip_missed, told)
            return done

    def _calendar(self) -> Calendar | None:
        """The days of the schedule, at this moment."""
        calendar = Calendar.of(self.config, self._clock)
        return calendar.at_this_moment() if calendar is not None else None

    def _runs_of(self, turn: Turn, skip_missed: bool, progress: Progress) -> list[Manifest]:
        """Does the runs of a cycle that are asked for."""
        cycle, at = turn.cycle, turn.asked.at
        committed = self._committed(cycle, progress)
        skipped = self._missed(cycle, committed, at) if skip_missed else []
        done: list[Manifest] = []
        while self._goes_on(turn, committed, done):
            self._cycles.revise(cycle, committed, skipped, progress)
            skipped = []
            timeline = self._cycles.timeline(cycle)
            last = self._run_number(at, timeline) if at is not None else timeline.last
            run = next((run for run in timeline.runs if run not in committed and run <= last), None)
            if run is None:
                break
            with interrupts_say_if_committed(cycle, run):
                committed[run] = self._one(cycle, run, committed, progress)
            done.append(committed[run])
            with interrupts_say_if_committed(cycle, run), charged_to(Phase.COMMIT):
                self._show_last()
                with self.store.lock.ours():
                    learn(self.store.prices_file, cluster_of(self.config.spark), committed[run])
            verdicts = self._verify_run(cycle, committed[run], timeline.last)
            self._record_account(cycle, committed[run])
            refuse_differing(verdicts)
        return done

    def _verify_run(self, cycle: Cycle, manifest: Manifest, last: int) -> dict[str, Verdict]:
        """Compares what a run has delivered, where the job file asks for it."""
        asked = self.config.verify
        if asked is None or not is_to_be_verified(asked, manifest, last):
            return {}
        sample = asked.sample

        def compare(name: str) -> Verdict:
            return self._verification(cycle, name, manifest).run(self._cycles.session(cycle), sample)

        return verify_run(cycle, manifest, compare)

    def _goes_on(self, turn: Turn, committed: Mapping[int, Manifest], done: Sequence[Manifest]) -> bool:
        """Whether a cycle has, or may have, one more run to do."""
        if turn.asked.at is not None:
            return not self._is_over(turn.cycle, committed, turn.asked.at)
        if turn.asked.all:
            return True
        if turn.asked.early or turn.is_due is None:
            return not done
        time = self._cycles.next_time(turn.cycle, committed.keys())
        return time is not None and turn.is_due(time)

    def _record_account(self, cycle: Cycle, manifest: Manifest) -> None:
        record_attempt(cycle, manifest.run, manifest.attempt, self.config.spark, manifest.total.get("cpu_s"))

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

    def _is_over(self, cycle: Cycle, committed: Mapping[int, Manifest], at: str | int) -> bool:
        """Whether all runs up to one are done; then what waits, or does not, is for a later run to look at."""
        timeline = self._cycles.timeline(cycle)
        if self._cycles.rescheduled(cycle):
            return False  # the rest is planned first, and then is another
        return {*timeline.runs[: self._run_number(at, timeline)]} <= committed.keys()

    def _missed(self, cycle: Cycle, committed: Mapping[int, Manifest], at: str | int | None) -> list[str]:
        """The runs before one that were not done, by their times."""
        timeline = self._cycles.timeline(cycle)
        if at is None:
            hint = "name the run to do, e.g. `--at 24:00 --skip-missed`"
            raise UserError("which runs are to be left out?", hint=hint)
        last = self._run_number(at, timeline)
        return [timeline.time(run) for run in timeline.runs if run < last and run not in committed]

    def _one(self, cycle: Cycle, run: int, committed: Mapping[int, Manifest], progress: Progress) -> Manifest:
        """One run; where it fails over states that turn out to be damaged, it starts over without them."""
        for path in self.store.attempts(cycle, run):  # we hold the lock, so nobody is at it
            remove(path, self.store.lock.ours)
        suspect = frozenset[str]()
        while True:
            work = self._work(cycle, run, committed, pin=True, suspect=suspect, note=progress.note)
            self._say_lost(work, progress)
            try:
                return execute(work, lambda: self._cycles.session(cycle), progress)
            except (UserError, OSError) as error:
                self.store.lock.check()  # who lost the lock may find its files gone: then that is the reason
                found = damaged_states(work) - suspect if isinstance(error, UserError) else None
                if not found:
                    self._record_failure(work)
                    raise
                suspect |= found
            except BaseException:
                self._record_failure(work)
                raise

    def _record_failure(self, work: Work) -> None:
        if not work.cycle.manifest_file(work.run).exists():  # else another process, which took our lock, has done it
            record_attempt(work.cycle, work.run, work.attempt, self.config.spark)

    def _say_lost(self, work: Work, progress: Progress) -> None:
        for name in work.lost():
            where = damaged_file(work, name) or self.store.state
            progress.note(f"{where}: state {name} is missing or damaged; computing it again from its inputs")
        for name, paths in work.beside.items():
            more = f" (and {counted(len(paths) - 1, 'more file')})" if len(paths) > 1 else ""
            progress.note(f"{paths[0]}: this is no file of state {name} and is not read{more}; remove it")

    def _work(
        self,
        cycle: Cycle,
        run: int,
        committed: Mapping[int, Manifest],
        *,
        pin: bool,
        suspect: frozenset[str] = frozenset(),
        note: Callable[[str], None] = lambda _: None,
    ) -> Work:
        sources = self._preparation.sources_of(cycle)
        pins = pinned_inputs(cycle, run, sources, pin=pin, note=note)
        if pin:
            sources = self._preparation.counted(sources, files_of(pins))
        before = [manifest for number, manifest in sorted(committed.items()) if number < run]
        record = cycle.record()
        return Work(
            self.config,
            self.store,
            cycle,
            cycle.plan(),
            sources,
            run,
            pins,
            before,
            record.revision,
            record.asked_since,
            suspect,
        )

    def _committed(self, cycle: Cycle, progress: Progress) -> dict[int, Manifest]:
        """The committed runs.

        One whose manifest is damaged counts as not done, and so does the last that delivered a query if its answer is
        not there: they are done again from their pins.
        """
        found: dict[int, Manifest] = {}
        for run in self._cycles.timeline(cycle).runs:
            try:
                manifest = cycle.manifest(run)
            except StateError as error:
                progress.note(f"{error}; doing run {run} again from its pinned inputs")
                continue
            if manifest is not None:
                found[run] = manifest
        for name, shelf in self.store.shelves.items():
            answer = next((m.answers[name] for m in reversed(found.values()) if name in m.answers), None)
            if answer is not None and not shelf.holds(answer):
                progress.note(f"{shelf.answers / answer.directory}: the last answer is missing or damaged")
                found = {run: manifest for run, manifest in found.items() if manifest.answers.get(name) != answer}
        return found

    def _show_last(self) -> None:
        """Shows the last answer of every query, where that was not done or was interrupted."""
        for name in self.store.shelves:
            self._show_last_of(name)

    def _show_last_of(self, query: str) -> None:
        """Which one is the last is asked while nobody else can commit another, and it is never an older one."""
        shelf = self.store.shelves[query]
        with self.store.lock.ours():
            last = self.store.last_delivered(query)
            if last is not None and shelf.holds(last) and not self.store.shows_later(query, last):
                shelf.publish(last.directory)

    def _run_number(self, at: str | int, timeline: Timeline) -> int:
        times = timeline.times
        if isinstance(at, int) and 1 <= at <= len(times):
            return at
        if str(at) not in times:
            raise UserError(f"no run at {at}", hint=did_you_mean(str(at), times))
        return times.index(str(at)) + 1

    # --- looking -----------------------------------------------------------------------------------------------------

    def work(self, run: str | int | None = None) -> Work:
        """What a run has computed or, the next one, would compute now; nothing is written."""
        cycle = self._cycles.open()
        if cycle is None:
            raise UserError("no run has begun yet", hint="`slackwater plan` shows the plan; `slackwater run` begins")
        committed = {m.run: m for m in cycle.manifests()}
        timeline = self._cycles.timeline(cycle)
        number = self._run_number(run, timeline) if run is not None else max(committed, default=0) + 1
        number = min(number, timeline.last)
        if number > max(committed, default=0) + 1:
            raise UserError(f"run {number} comes after runs that are still to be done", hint="ask for the next one")
        return self._work(cycle, number, committed, pin=False)

    def status(self) -> Status:
        """Where the job stands."""
        cycle = self._cycles.open()
        rescheduled = self._cycles.rescheduled(cycle) if cycle is not None else ()
        found = status_of(self.config, cycle, self._cycles.timeline(cycle), rescheduled)
        following_run = following(self._cycles, self._calendar())
        return replace(found, following=following_run, at_work=at_work(self.store, cycle))

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
            found, trials = calibrate(
                self.session(), cluster, rows=rows, passes=passes, scratch=self.store.state, begun=begun
            )
            prices = ClusterPrices.fitted(cluster, found.trials, read_prices(file, cluster).runs)
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
        return self._preparation.statistics_of(names, full=full)

    # --- verifying ---------------------------------------------------------------------------------------------------

    def verify(self, run: str | int | None = None, *, query: str | None = None, sample: float | None = None) -> Verdict:
        """Compares what a run has delivered, by default the last, with the batch answer on the same inputs.

        Of several queries one must be named; `verdicts` compares them all.
        """
        (verdict,) = self._verdicts([self._query_name(query)], run, sample).values()
        return verdict

    def verdicts(self, run: str | int | None = None, *, sample: float | None = None) -> dict[str, Verdict]:
        """The same for every query that was delivered, by name: each as the run, or the last run, has left it."""
        return self._verdicts(list(self.config.queries), run, sample)

    @saying_if_spark_died()
    def _verdicts(self, queries: Sequence[str], run: str | int | None, sample: float | None) -> dict[str, Verdict]:
        cycle = self._cycles.open()
        timeline = self._cycles.timeline(cycle)
        manifests: list[Manifest] = []
        if cycle is not None:
            manifests = cycle.manifests() if run is None else cycle.readable()
            manifests = [m for m in manifests if m.run >= cycle.record().asked_since]
        if run is not None:
            manifests = [m for m in manifests if m.run == self._run_number(run, timeline)]
        last = {name: manifest for name in queries for manifest in manifests if name in manifest.answers}
        if cycle is None or not last:
            due = frozenset[int]().union(*map(timeline.due, queries))
            what = "nothing has been delivered yet" if run is None else f"run {run} has delivered nothing"
            times = ", ".join(timeline.time(number) for number in sorted(due))
            raise UserError(what, hint=f"answers are delivered at {times}; `slackwater status` says what is done")
        session = self._cycles.session(cycle)
        return {name: self._verification(cycle, name, last[name]).run(session, sample) for name in last}

    def measure_batch(self, run: str | int | None = None) -> dict[str, float]:
        """What the batch query of everything that a run delivered, by default the last, takes; kept for `regrets`."""
        cycle = self._cycles.open()
        number = None if run is None else self._run_number(run, self._cycles.timeline(cycle))
        found = [m for m in (cycle.readable() if cycle is not None else []) if m.answers and number in (None, m.run)]
        if cycle is None or not found:
            raise UserError(
                "nothing has been delivered that could be measured", hint="`slackwater status` says what is"
            )
        session = self._cycles.session(cycle)
        taken: dict[str, float] = {}
        for name in found[-1].answers:
            cpu_s = self._verification(cycle, name, found[-1]).measured(session)
            if cpu_s is None:
                raise UserError("this Spark does not say what work costs", hint="over Spark Connect it cannot be known")
            taken[name] = cpu_s
        write_record(cycle.directory / f"batch-{found[-1].run}.json", BatchRecord(run=found[-1].run, cpu_s=taken))
        return taken

    def _verification(self, cycle: Cycle, name: str, manifest: Manifest) -> Verification:
        record, sources = cycle.record(), self._preparation.sources_of(cycle)
        pins = pinned_inputs(cycle, manifest.run, sources, pin=False)
        fields = output_fields_of(record.answers[name])
        catalog = Catalog.of(source.schema for source in sources.values())
        query = at_moment(self.config.queries[name], catalog, record.pinned, record.aggregates)
        bound: Query | None = None
        with suppress(UserError):
            bound = bound_query(query, catalog, fields)
        shelf = self.store.shelves[name]
        last = self.store.last_delivered(name)
        return Verification(query, shelf, sources, pins, manifest, fields, bound, self.config.tolerance, last)

    def _query_name(self, query: str | None) -> str:
        known = list(self.config.queries)
        name = ONLY if query is None else query
        if name in known:
            return name
        if query is None:
            raise UserError("this job has several queries", hint=f"name one of {', '.join(known)}")
        hint = "the job has one query, and that has no name" if ONLY in known else did_you_mean(query, known)
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
            repinning = Repinning(cycle, self._preparation.sources_of(cycle))
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
                for name in self.store.shelves:
                    with suppress(UserError):  # a path that is taken, or cannot be written: no reason to keep the rest
                        self._show_last_of(name)
            paths = all_of(self.store) if everything else [*self.store.leftovers(), *spent(self.store)]
            found = [path for path in dict.fromkeys(paths) if path.exists() or path.is_symlink()]
            freed = sum([size_of(path) if dry_run else remove(path, lock.ours) for path in found])
            for path in () if dry_run else emptied(self.store):
                remove(path, lock.ours)
        return Cleaned(tuple(found), freed)
