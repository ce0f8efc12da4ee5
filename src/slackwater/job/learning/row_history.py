"""Row counts of a job's earlier cycles, for the estimates of its next plans.

They come from the manifests alone: these state what each source brought and how many rows each step left. The history
of a cycle ends at a damaged manifest, or at a run that is still to come.
"""

from __future__ import annotations

from collections.abc import Iterator

from slackwater.job.learning.forecasts import arrival_of
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.manifest import Manifest
from slackwater.job.store.store import Store
from slackwater.rows.feedback import Day, History, RowCount
from slackwater.rows.learning import DAYS


def history_of(store: Store) -> History:
    """The last cycles, the one under way included."""
    days = (_day(list(_in_order(cycle))) for cycle in store.cycles(last=DAYS))
    return tuple(day for day in days if day.counts)


def _in_order(cycle: Cycle) -> Iterator[Manifest]:
    """The manifests of the first runs, as far as none is missing."""
    for expected, manifest in enumerate(cycle.readable(), start=1):
        if manifest.run != expected:
            return
        yield manifest


def _day(manifests: list[Manifest]) -> Day:
    sources = dict.fromkeys(name for manifest in manifests for name in manifest.arrived)
    return Day(
        {name: tuple(arrival_of(name, manifest) for manifest in manifests) for name in sources},
        tuple(
            RowCount(step.subject, float(step.rows))
            for manifest in manifests
            for step in manifest.steps
            if step.subject is not None and step.rows is not None
        ),
    )
