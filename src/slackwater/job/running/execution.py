"""Executes the runs of a cycle in order: each is worked out, executed, published, learned from, verified and accounted
for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from slackwater.errors import SlackwaterError, StateError, UserError, counted
from slackwater.job.cycle.cycles import Cycles
from slackwater.job.cycle.owed import owed
from slackwater.job.cycle.turns import Turn
from slackwater.job.inputs.references import BrokenAssumption
from slackwater.job.inputs.run_inputs import files_of, pinned_inputs
from slackwater.job.learning.prices import cluster_of, learn
from slackwater.job.running.after_run import is_to_be_verified, refuse_differing, verify_run
from slackwater.job.running.comparisons import Comparisons
from slackwater.job.running.damage import damaged_file, damaged_states
from slackwater.job.running.failures import by_texts, held_up
from slackwater.job.running.interrupts import interrupts_say_if_committed
from slackwater.job.running.runner import Progress, execute
from slackwater.job.running.verify import Verdict
from slackwater.job.running.work import RunWork
from slackwater.job.store.accounts import Phase, charged_to, record_attempt
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.manifest import Manifest
from slackwater.job.store.publishing import show_last
from slackwater.job.store.removal import remove
from slackwater.spark.death import jvm_death


@dataclass(frozen=True)
class Execution:
    """What does the runs of a job; whoever asks for one holds the job's lock."""

    cycles: Cycles

    def runs_of(self, turn: Turn, skip_missed: bool, progress: Progress) -> list[Manifest]:
        """Does the runs of a cycle that are asked for."""
        cycle, at = turn.cycle, turn.asked.at
        committed = self._committed(cycle, progress)
        late = [
            self._deliver_late(cycle, run, owing, committed, progress)
            for run, owing in owed(committed, self.cycles.timeline(cycle)).items()
        ]
        skipped = self._missed(cycle, committed, at) if skip_missed else []
        done: list[Manifest] = []
        while self._goes_on(turn, committed, done):
            self.cycles.revise(cycle, committed, skipped, progress.note)
            skipped = []
            timeline = self.cycles.timeline(cycle)
            last = timeline.run_at(at) if at is not None else timeline.last
            run = next((run for run in timeline.runs if run not in committed and run <= last), None)
            if run is None:
                break
            with interrupts_say_if_committed(cycle, run):
                committed[run] = self._one(cycle, run, committed, progress)
            done.append(committed[run])
            with interrupts_say_if_committed(cycle, run), charged_to(Phase.COMMIT):
                show_last(self.cycles.store)
                with self.cycles.store.lock.ours():
                    learn(self.cycles.store.prices_file, cluster_of(self.cycles.config.spark), committed[run])
            verdicts = self._verify_run(cycle, committed[run], timeline.last)
            self._record_account(cycle, committed[run])
            refuse_differing(verdicts)
        return [*late, *done]

    def _deliver_late(
        self, cycle: Cycle, run: int, queries: Sequence[str], committed: dict[int, Manifest], progress: Progress
    ) -> Manifest:
        """What a run owes, each query by its text; what fails again stays as it is."""
        progress.note(f"{committed[run].time}: {', '.join(queries)} failed, and is now computed from its text")
        for query in queries:
            work = self.work(cycle, run, committed, pin=True, note=progress.note)
            work.plan = by_texts(work.plan, run, [query], cycle.record().answers)
            work.amends = committed[run]
            try:
                with interrupts_say_if_committed(cycle, run):
                    committed[run] = execute(work, lambda: self.cycles.session(cycle), progress, lambda _: None)
            except UserError as error:
                self.cycles.store.lock.check()
                again = {**committed[run].failed, query: str(error)}
                committed[run] = committed[run].model_copy(update={"failed": again})
            self._record_account(cycle, committed[run])
            show_last(self.cycles.store)
        return committed[run]

    def _verify_run(self, cycle: Cycle, manifest: Manifest, last: int) -> dict[str, Verdict]:
        """Compares what a run has delivered, where the job file asks for it."""
        asked = self.cycles.config.verify
        if asked is None or not is_to_be_verified(asked, manifest, last):
            return {}
        sample = asked.sample

        def compare(name: str) -> Verdict:
            return Comparisons(self.cycles).verification(cycle, name, manifest).run(self.cycles.session(cycle), sample)

        return verify_run(cycle, manifest, compare)

    def _goes_on(self, turn: Turn, committed: Mapping[int, Manifest], done: Sequence[Manifest]) -> bool:
        """Whether a cycle has, or may have, one more run to do."""
        if turn.asked.at is not None:
            return not self._is_over(turn.cycle, committed, turn.asked.at)
        if turn.asked.all:
            return True
        if turn.asked.early or turn.is_due is None:
            return not done
        time = self.cycles.next_time(turn.cycle, committed.keys())
        return time is not None and turn.is_due(time)

    def _is_over(self, cycle: Cycle, committed: Mapping[int, Manifest], at: str | int) -> bool:
        """Whether all runs up to one are done; then what waits, or does not, is for a later run to look at."""
        timeline = self.cycles.timeline(cycle)
        if self.cycles.rescheduled(cycle):
            return False  # the rest is planned first, and then is another
        return {*timeline.runs[: timeline.run_at(at)]} <= committed.keys()

    def _missed(self, cycle: Cycle, committed: Mapping[int, Manifest], at: str | int | None) -> list[str]:
        """The runs before one that were not done, by their times."""
        timeline = self.cycles.timeline(cycle)
        if at is None:
            hint = "name it, e.g. `--at 24:00 --skip-missed`"
            raise UserError("--skip-missed needs to know which run to execute", hint=hint)
        last = timeline.run_at(at)
        return [timeline.time(run) for run in timeline.runs if run < last and run not in committed]

    def _committed(self, cycle: Cycle, progress: Progress) -> dict[int, Manifest]:
        """The committed runs.

        One whose manifest is damaged counts as not done, and so does the last that delivered a query if its answer is
        not there: they are done again from their pins.
        """
        committed: dict[int, Manifest] = {}
        for run in self.cycles.timeline(cycle).runs:
            try:
                manifest = cycle.manifest(run)
            except StateError as error:
                progress.note(f"{error}; repeating run {run} from its pinned inputs")
                continue
            if manifest is not None:
                committed[run] = manifest
        for name, directory in self.cycles.store.answer_directories.items():
            answer = next((m.answers[name] for m in reversed(committed.values()) if name in m.answers), None)
            if answer is not None and not directory.holds(answer):
                progress.note(f"{directory.path / answer.directory}: the last answer is missing or damaged")
                committed = {
                    run: manifest for run, manifest in committed.items() if manifest.answers.get(name) != answer
                }
        return committed

    # --- one run -----------------------------------------------------------------------------------------------------

    def _one(self, cycle: Cycle, run: int, committed: Mapping[int, Manifest], progress: Progress) -> Manifest:
        """One run; where it fails over states that turn out to be damaged, it starts over without them."""
        for path in self.cycles.store.attempts(cycle, run):  # we hold the lock, so nobody is at it
            remove(path, self.cycles.store.lock.ours)
        suspect, failed = frozenset[str](), dict[str, str]()
        while True:
            work = self.work(cycle, run, committed, pin=True, suspect=suspect, note=progress.note)
            work.failed = failed
            self._say_lost(work, progress)
            failing: list[str] = []
            try:
                return execute(work, lambda: self.cycles.session(cycle), progress, failing.append)
            except BrokenAssumption as broken:
                self.cycles.give_up(cycle, committed, broken, progress.note)
            except (SlackwaterError, OSError) as error:
                self.cycles.store.lock.check()  # who lost the lock may find its files gone: then that is the reason
                damaged = damaged_states(work) - suspect if isinstance(error, UserError) else None
                more = {name: str(error) for name in failing}
                if damaged:
                    suspect |= damaged
                elif more and self._goes_on_without(replace(work, failed={**failed, **more}), progress):
                    failed |= more
                else:
                    self._record_failure(work)
                    raise
            except BaseException:
                self._record_failure(work)
                raise

    def _goes_on_without(self, work: RunWork, progress: Progress) -> bool:
        """Whether a run is done without what has failed: Spark is alive, and not every query needs it."""
        held = held_up(work)
        if jvm_death() is not None or held >= {*work.plan.queries}:
            return False
        names = ", ".join(name or "the query" for name in sorted(held)) or "nothing"
        progress.note(f"{list(work.failed.values())[-1]}\nthe run goes on without it; it holds up {names}")
        return True

    def _record_failure(self, work: RunWork) -> None:
        if not work.cycle.manifest_file(work.run).exists():  # else another process, which took our lock, has done it
            record_attempt(work.cycle, work.run, work.attempt, self.cycles.config.spark)

    def _record_account(self, cycle: Cycle, manifest: Manifest) -> None:
        record_attempt(cycle, manifest.run, manifest.attempt, self.cycles.config.spark, manifest.total.get("cpu_s"))

    def _say_lost(self, work: RunWork, progress: Progress) -> None:
        for name in work.lost():
            where = damaged_file(work, name) or self.cycles.store.state
            progress.note(f"{where}: state {name} is missing or damaged; computing it again from its inputs")
        for name, paths in work.beside.items():
            more = f" (and {counted(len(paths) - 1, 'more file')})" if len(paths) > 1 else ""
            progress.note(f"{paths[0]}: this file does not belong to state {name} and is not read{more}; remove it")

    def work(
        self,
        cycle: Cycle,
        run: int,
        committed: Mapping[int, Manifest],
        *,
        pin: bool,
        suspect: frozenset[str] = frozenset(),
        note: Callable[[str], None] = lambda _: None,
    ) -> RunWork:
        sources = self.cycles.sources.of(cycle)
        pins = pinned_inputs(cycle, run, sources, pin=pin, note=note)
        if pin:
            sources = self.cycles.sources.counted(sources, files_of(pins))
        before = [manifest for number, manifest in sorted(committed.items()) if number < run]
        record = cycle.record()
        return RunWork(
            self.cycles.config,
            self.cycles.store,
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
