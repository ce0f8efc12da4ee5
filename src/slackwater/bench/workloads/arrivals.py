"""A data set divided over the runs of a schedule, in memory or as files.

Invariants: a delete names a row that was present before its run, version and all; with inserts only, what arrives
over all runs is the table itself. Rows are copied only when asked for, one table at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from slackwater.bench.workloads.dataset import Dataset
from slackwater.bench.workloads.lots import Mask, fingerprint, salt
from slackwater.bench.workloads.pattern import ArrivalPattern
from slackwater.bench.workloads.timetable import Timetable, integers, timetables
from slackwater.bench.workloads.workload_schema import WorkloadTable
from slackwater.catalog.arrival import Change
from slackwater.errors import UserError, did_you_mean


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """What each run brings to each changing table; the other tables of the data set stand still."""

    dataset: Dataset
    pattern: ArrivalPattern
    timetables: Mapping[str, Timetable]

    @property
    def runs(self) -> int:
        return self.pattern.runs

    @property
    def changing(self) -> tuple[str, ...]:
        return tuple(self.timetables)

    @property
    def static(self) -> tuple[str, ...]:
        return tuple(table.name for table in self.dataset.schema if table.name not in self.timetables)

    def is_feed(self, table: str) -> bool:
        """Whether the table sees deletes or updates, and so is written as a change feed."""
        return self._timetable(table).retracts

    def sizes(self, table: str) -> tuple[tuple[int, int], ...]:
        """For each run the number of rows inserted and deleted, an update counting as one of each."""
        timetable = self._timetable(table)
        came = np.bincount(timetable.arrives, minlength=self.runs + 1)
        went = np.bincount(timetable.leaves, minlength=self.runs + 1)
        updates = [len(rows) for rows in timetable.updated]
        return tuple((int(came[run]) + updates[run], int(went[run]) + updates[run]) for run in range(self.runs))

    def changes(self, table: str) -> tuple[Change, ...]:
        """What each run brings to the table, in memory."""
        return tuple(change for change, _ in self._play(table))

    def snapshot(self, table: str, run: int) -> pa.Table:
        """The table after run `run`, counting from one; after run zero nothing has arrived."""
        if not 0 <= run <= self.runs:
            raise UserError(f"there is no run {run}", hint=f"there are runs 1 to {self.runs}")
        if run == 0:
            self._timetable(table)
            return self.dataset.schema[table].arrow_schema().empty_table()
        _, rows = next(islice(self._play(table), run - 1, None))
        return rows.filter(pa.array(self._timetable(table).present_after(run - 1)))

    def write(self, directory: Path, run: int | None = None) -> None:
        """Write `<directory>/<table>/run-<n>.parquet` for every changing table, for one run or for all.

        A table that sees deletes or updates is written as a change feed, with `_change_type`, at every run; the
        others as plain rows. A file appears under its name only when it is complete.
        """
        wanted = range(1, self.runs + 1) if run is None else (run,)
        if run is not None and not 1 <= run <= self.runs:
            raise UserError(f"there is no run {run}", hint=f"there are runs 1 to {self.runs}")
        for table in self.changing:
            (directory / table).mkdir(parents=True, exist_ok=True)
            for position, change in enumerate(self.changes(table), start=1):
                if position in wanted:
                    rows = change.feed() if self.is_feed(table) else change.inserts
                    hidden = directory / table / f".run-{position}.parquet"
                    pq.write_table(rows, hidden)
                    hidden.rename(directory / table / f"run-{position}.parquet")

    def _timetable(self, table: str) -> Timetable:
        if table not in self.timetables:
            self.dataset.schema[table]
            raise UserError(f"`{table}` does not change under this pattern", hint=did_you_mean(table, self.timetables))
        return self.timetables[table]

    def _play(self, name: str) -> Iterator[tuple[Change, pa.Table]]:
        """Each run's change, and all rows, present or not, in their versions after that run."""
        timetable, table = self._timetable(name), self.dataset.schema[name]
        rows = self.dataset.read(name)
        for run in range(self.runs):
            came = rows.filter(pa.array(timetable.arrives == run))
            went = rows.filter(pa.array(timetable.leaves == run))
            updates = len(timetable.updated[run])
            if updates:
                changed = np.zeros(rows.num_rows, dtype=np.bool_)
                changed[timetable.updated[run]] = True
                before = rows.filter(pa.array(changed))
                rows = _updated(rows, table, changed, salt(self.pattern.seed, name, "measure", run))
                came = pa.concat_tables([came, rows.filter(pa.array(changed))])
                went = pa.concat_tables([went, before])
            yield Change(came, went, updates), rows


def split(dataset: Dataset, pattern: ArrivalPattern) -> Arrivals:
    """Divide the changing tables of a data set over the runs of a pattern."""
    return Arrivals(dataset, pattern, timetables(dataset, pattern))


def _updated(rows: pa.Table, table: WorkloadTable, changed: Mask, salted: int) -> pa.Table:
    """The rows with another measure where `changed`: a few units less above 100, a few more below or for a null.

    So a version always differs from the one before, no type overflows, and what was not negative stays so.
    """
    assert table.measure is not None
    position = rows.column_names.index(table.measure)
    column = rows.column(position).combine_chunks()
    mask = pa.array(changed)
    old = column.filter(mask)
    keys = [integers(rows, name)[changed] for name in table.key]
    # One byte: a cast from a wider integer would ask for more digits than a narrow decimal has.
    steps = pa.array((fingerprint(keys, salted) % np.uint64(9)).astype(np.int8) + np.int8(1)).cast(column.type)
    limit = pa.scalar(100, pa.int8()).cast(column.type)
    moved = pc.if_else(pc.less_equal(old, limit), pc.add(old, steps), pc.subtract(old, steps)).cast(column.type)
    new = pc.coalesce(moved, steps)
    return rows.set_column(position, rows.schema.field(position), pc.replace_with_mask(column, mask, new))
