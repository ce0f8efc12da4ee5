"""Delivered answers compared with the batch query, and its measured cost."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from slackwater.algebra.relation import Query
from slackwater.catalog.table import Catalog
from slackwater.errors import UserError
from slackwater.job.cycle.binding import bound_query
from slackwater.job.cycle.cycles import Cycles
from slackwater.job.cycle.moment import at_moment
from slackwater.job.inputs.run_inputs import pinned_inputs
from slackwater.job.learning.regret import BatchRecord
from slackwater.job.running.verify import Verdict, Verification
from slackwater.job.store.column_records import fields_of
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.manifest import Manifest, write_record
from slackwater.spark.death import saying_if_spark_died


@dataclass(frozen=True)
class Comparisons:
    """The answers of a job beside those of its queries' own texts."""

    cycles: Cycles

    @saying_if_spark_died()
    def verdicts(self, queries: Sequence[str], run: str | int | None, sample: float | None) -> dict[str, Verdict]:
        cycle = self.cycles.open()
        timeline = self.cycles.timeline(cycle)
        manifests: list[Manifest] = []
        if cycle is not None:
            manifests = cycle.manifests() if run is None else cycle.readable()
            manifests = [m for m in manifests if m.run >= cycle.record().asked_since]
        if run is not None:
            manifests = [m for m in manifests if m.run == timeline.run_at(run)]
        last = {name: manifest for name in queries for manifest in manifests if name in manifest.answers}
        if cycle is None or not last:
            due = frozenset[int]().union(*map(timeline.due, queries))
            what = "nothing has been delivered yet" if run is None else f"run {run} has delivered nothing"
            times = ", ".join(timeline.time(number) for number in sorted(due))
            raise UserError(what, hint=f"answers are delivered at {times}; `slackwater status` shows what is done")
        session = self.cycles.session(cycle)
        return {name: self.verification(cycle, name, last[name]).run(session, sample) for name in last}

    def measure_batch(self, run: str | int | None = None) -> dict[str, float]:
        """What the batch query of everything that a run delivered, by default the last, takes; kept for `regrets`."""
        cycle = self.cycles.open()
        number = None if run is None else self.cycles.timeline(cycle).run_at(run)
        delivered = [
            m for m in (cycle.readable() if cycle is not None else []) if m.answers and number in (None, m.run)
        ]
        if cycle is None or not delivered:
            raise UserError("no answer has been delivered yet", hint="`slackwater status` says what is")
        session = self.cycles.session(cycle)
        taken: dict[str, float] = {}
        for name in delivered[-1].answers:
            cpu_s = self.verification(cycle, name, delivered[-1]).measured(session)
            if cpu_s is None:
                raise UserError("this Spark does not report CPU time", hint="it is not available with Spark Connect")
            taken[name] = cpu_s
        write_record(
            cycle.directory / f"batch-{delivered[-1].run}.json", BatchRecord(run=delivered[-1].run, cpu_s=taken)
        )
        return taken

    def verification(self, cycle: Cycle, name: str, manifest: Manifest) -> Verification:
        record, sources = cycle.record(), self.cycles.sources.of(cycle)
        pins = pinned_inputs(cycle, manifest.run, sources, pin=False)
        fields = fields_of(record.answers[name])
        catalog = Catalog.of(source.schema for source in sources.values())
        query = at_moment(self.cycles.config.queries[name], catalog, record.pinned, record.aggregates)
        bound: Query | None = None
        with suppress(UserError):
            bound = bound_query(query, catalog, fields)
        answer_directory = self.cycles.store.answer_directories[name]
        last = self.cycles.store.last_delivered(name)
        return Verification(
            query, answer_directory, sources, pins, manifest, fields, bound, self.cycles.config.tolerance, last
        )
