"""The statistics that a job plans with: those it was given, or what is counted of its sources and expected of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slackwater.algebra.schema import Field
from slackwater.algebra.types import Type
from slackwater.catalog.statistics import Arrival, Statistics
from slackwater.job.file.sections import JobConfig
from slackwater.job.inputs.batches import Batch, JoinedColumn, SourceCounts, known_counts, known_joins, known_samples
from slackwater.job.inputs.counting import Counting, SourceStatistics, is_current, shown
from slackwater.job.inputs.job_sources import JobSources
from slackwater.job.inputs.sources import Source
from slackwater.job.learning.forecasts import whole_cycles
from slackwater.job.learning.job_statistics import Evidence, evidence, job_statistics
from slackwater.job.learning.meetings import in_words, meetings, met
from slackwater.job.learning.row_history import history_of
from slackwater.job.store.accounts import Phase, charged_to
from slackwater.job.store.pins import FilePin, listed
from slackwater.job.store.store import Store
from slackwater.rows.feedback import History
from slackwater.rows.other_arrivals import bringing
from slackwater.spark.column_counting import is_plain

if TYPE_CHECKING:
    from slackwater.spark.session import Session

WORTH_COUNTING = 10_000.0
"""Rows of an arrival that are counted in the middle of a cycle: fewer change no plan."""


@dataclass(frozen=True)
class StatisticsCollector:
    """What is known of the data of a job's sources."""

    sources: JobSources
    given: Statistics | None = None
    """Statistics that take the place of what would be counted."""
    given_history: History | None = None
    """What days before have counted, where that takes the place of the job's own cycles."""

    @property
    def config(self) -> JobConfig:
        return self.sources.config

    @property
    def store(self) -> Store:
        return self.sources.store

    @property
    def session(self) -> Callable[[], Session]:
        return self.sources.session

    def history(self) -> History:
        """What days before have counted; the job's own cycles are not asked where statistics are given."""
        if self.given_history is not None:
            return self.given_history
        return history_of(self.store) if self.given is None else ()

    def now(self, sources: Mapping[str, Source]) -> Statistics:
        """The statistics of the sources with the files that are there, once those that are new have been counted."""
        if self.given is not None:
            return self.given
        files = {name: source.listed() for name, source in sources.items()}
        return self._counted(self.sources.counted(sources, files), files)

    @charged_to(Phase.INPUTS)
    def _counted(self, sources: Mapping[str, Source], now: Mapping[str, Sequence[FilePin]]) -> Statistics:
        times = self.config.timeline.times
        cycles = whole_cycles(self.store, len(times))
        counting = Counting(self.store, self.session, patient=True)
        counts = counting.counts(sources, now, self._columns_used(sources))
        whole = {name: counted.whole for name, counted in counts.items()}
        sizes = {name: evidence(source, now[name], cycles, times) for name, source in sources.items()}
        return self._statistics(sources, sizes, whole)

    @charged_to(Phase.INPUTS)
    def amounts(self, sources: Mapping[str, Source]) -> Statistics:
        """What the sources bring at each run; nothing is known of their columns."""
        times = self.config.timeline.times
        files = {name: source.listed() for name, source in sources.items()}
        cycles = whole_cycles(self.store, len(times))
        counted = self.sources.counted(sources, files)
        sizes = {name: evidence(source, files[name], cycles, times) for name, source in counted.items()}
        return job_statistics(counted, sizes, {}, self.config.timeline, {}, self.config.rates)

    def _statistics(
        self, sources: Mapping[str, Source], sizes: Mapping[str, Evidence], counted: Mapping[str, Batch]
    ) -> Statistics:
        learned = meetings(known_joins(self.store), known_samples(self.store))
        return job_statistics(sources, sizes, counted, self.config.timeline, learned, self.config.rates)

    def learns_joins(self, sources: Mapping[str, Source]) -> bool:
        """Whether it matters by which columns queries join the sources."""
        return self.given is None and sum(source.changing for source in sources.values()) > 1

    @charged_to(Phase.INPUTS)
    def learn_from(self, waiting: Mapping[str, Arrival], sources: Mapping[str, Source]) -> list[str]:
        """Counts what waits for a run, if it tells when rows arrive that refer to each other; says what is new.

        That is the second arrival of a job: from then on something is known. A few rows are not worth it.
        """
        joined, samples = known_joins(self.store), known_samples(self.store)
        if self.given is not None or meetings(joined, samples):
            return []
        asked = [each for each in joined if met(each, samples) and _bring_enough(waiting, each)]
        names = {name for each in asked for name in (each.source, each.other)}
        if not names:
            return []
        own = {name: source for name, source in sources.items() if name in names}
        now = {name: source.listed() for name, source in own.items()}
        Counting(self.store, self.session).counts(own, now, self._columns_used(own))
        learned = meetings(asked, known_samples(self.store))
        return [in_words(name, column, each) for name, of in learned.items() for column, each in of.items()]

    @charged_to(Phase.INPUTS)
    def so_far(self, sources: Mapping[str, Source], arrivals: Mapping[str, tuple[Arrival, ...]]) -> Statistics:
        """What is known of sources that bring so much, at whatever runs, without counting columns anew."""
        statistics = self.given
        if statistics is None:
            counted = {name: counts.whole for name, counts in known_counts(self.store).items()}
            sizes = {name: Evidence(source.rows(source.listed())) for name, source in sources.items()}
            for name, each in arrivals.items():  # as if it came evenly: only the sum matters for how columns are spread
                sizes[name] = Evidence(sum(arrival.changes for arrival in each) / self.config.timeline.last)
            statistics = self._statistics(sources, sizes, counted)
        return {n: bringing(table, arrivals[n]) if n in arrivals else table for n, table in statistics.items()}

    def _columns_used(self, sources: Mapping[str, Source]) -> dict[str, list[Field]]:
        """The columns of each source whose names the queries have: more than they use, never fewer."""
        return {name: [f for f in source.fields if self._names(f.name)] for name, source in sources.items()}

    def _names(self, column: str) -> bool:
        """Whether a column is named in the queries' texts, or may be meant by a star."""
        text = "\n".join(query.text for query in self.config.queries.values())
        letters = "".join(c.lower() if c.isalnum() or c == "_" else " " for c in text)
        words = letters.split() if column.isidentifier() else text.lower()
        return "*" in text or column.lower() in words

    def of_sources(self, names: Sequence[str], *, full: bool) -> list[SourceStatistics]:
        """What was counted of sources, once everything that is new has been."""
        times = self.config.timeline.times
        counts = known_counts(self.store)
        if not all(self._is_counted(name, counts.get(name), full=full) for name in names):
            sources = {name: source for name, source in self.sources.now().items() if name in names}
            now = {name: source.listed() for name, source in sources.items()}
            counting = Counting(self.store, self.session, full=full)
            counts = counting.counts(sources, now, self._columns_used(sources))
        return [shown(self.store, name, counts.get(name), times) for name in names]

    def _is_counted(self, name: str, counts: SourceCounts | None, *, full: bool) -> bool:
        """Whether nothing is left to be counted, as far as can be said without Spark."""
        path = self.config.sources[name].path
        if counts is None or path is None:
            return False
        used = [column for column, kind in counts.columns.items() if self._names(column) and is_plain(Type.parse(kind))]
        return is_current(counts, listed(path), used, full=full)


def _bring_enough(waiting: Mapping[str, Arrival], joined: JoinedColumn) -> bool:
    brought = [waiting[name].changes if name in waiting else 0.0 for name in (joined.source, joined.other)]
    return min(brought) > 0.0 and sum(brought) >= WORTH_COUNTING
