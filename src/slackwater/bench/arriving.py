"""A workload on disk, in files as a user has them: generated once, and divided over the runs of a schedule.

    <home>/workloads/tpch/sf1-…/<table>/                         tables whole; those that never change are read here
    <home>/arrivals/tpch/sf1-…-<pattern>/<table>/run-2.parquet   what a run brings to a table that changes

What is there is used again. Arrivals appear under their final name in one rename, after every file is written.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

import pyarrow.parquet as pq
import sqlglot
from sqlglot import exp

from slackwater.algebra.schema import Field
from slackwater.algebra.types import Type
from slackwater.bench.workloads import CHANGE_TYPE, ArrivalPattern, Dataset, Workload, WorkloadQuery, split
from slackwater.bench.workloads.workload_sizes import arriving_together, workload_statistics
from slackwater.catalog.statistics import Arrival, Statistics
from slackwater.errors import MachineError

_ELSEWHERE = "name a directory with `--data`"


@dataclass(frozen=True)
class ArrivingData:
    """A workload at a scale factor, and what of it arrives when."""

    work: Workload
    pattern: ArrivalPattern
    home: Path
    dataset: Dataset
    arrived: Path

    @property
    def runs(self) -> int:
        return self.pattern.runs

    @cached_property
    def changing(self) -> frozenset[str]:
        return self.pattern.changing_tables(self.work.tables)

    def directory(self, table: str) -> Path:
        """Where all files of a table lie."""
        return self.arrived / table if table in self.changing else self.dataset.path(table)

    def file(self, table: str, run: int) -> Path:
        """What a run brings to a table that changes."""
        return self.arrived / table / f"run-{run}.parquet"

    def files(self, table: str, run: int) -> tuple[Path, ...]:
        """The same as all the files that appear for a run."""
        return (self.file(table, run),)

    def is_feed(self, table: str) -> bool:
        """Whether rows of the table are also updated or deleted, and so carry `_change_type`."""
        return table in self.changing and CHANGE_TYPE in pq.read_schema(self.file(table, 1)).names

    def fields(self, table: str) -> tuple[Field, ...]:
        return tuple(Field(c.name, Type.parse(c.type), c.nullable) for c in self.work.tables[table].columns)

    def tables_of(self, query: WorkloadQuery) -> tuple[str, ...]:
        """The tables that a query reads, in the workload's order."""
        named = {table.name.lower() for table in sqlglot.parse_one(query.spark, read="spark").find_all(exp.Table)}
        return tuple(table.name for table in self.work.tables if table.name in named)

    @cached_property
    def statistics(self) -> Statistics:
        """What is known of the workload's columns, and the rows that do arrive, counted in the files.

        Not what arrives together: a job learns it from its own arrivals, or its file promises it.
        """
        statistics = workload_statistics(self.work, self.dataset.scale_factor, self.pattern)
        return {name: replace(each, arrivals=self.arrivals(name), meets={}) for name, each in statistics.items()}

    def promises(self, table: str) -> dict[str, list[str]]:
        """What a job file says of rows that arrive together, as its author would: lines come with their orders."""
        together = arriving_together(self.work.tables[table], self.pattern, self.changing)
        append_only = {name: not self.is_feed(name) for name in (table, *(each.table for each in together.values()))}
        return {each.table: [column] for column, each in together.items()} if all(append_only.values()) else {}

    def arrivals(self, table: str) -> tuple[Arrival, ...]:
        """What each run brings to a table; all of one that never changes is there at the first."""
        if table not in self.changing:
            return (Arrival(float(self.dataset.rows(table))), *(Arrival(0.0) for _ in range(1, self.runs)))
        return tuple(_arrival(self.file(table, run), self.is_feed(table)) for run in range(1, self.runs + 1))


def _arrival(file: Path, is_feed: bool) -> Arrival:
    if not is_feed:
        return Arrival(float(pq.read_metadata(file).num_rows))
    kinds = Counter(pq.read_table(file, columns=[CHANGE_TYPE]).column(0).to_pylist())
    return Arrival(float(kinds["insert"]), float(kinds["update_postimage"]), float(kinds["delete"]))


def prepare_data(
    work: Workload, scale_factor: float, pattern: ArrivalPattern, home: Path | None = None
) -> ArrivingData:
    """The data in `home`, by default in a directory of the user's own for what is temporary."""
    chosen = home.absolute() if home is not None else own_directory()
    dataset = work.generate(scale_factor, chosen)
    arrived = chosen / "arrivals" / work.name / f"{dataset.directory.name}-{_digest(pattern)}"
    if not arrived.is_dir():
        _write(dataset, pattern, arrived)
    return ArrivingData(work, pattern, chosen, dataset, arrived)


def _write(dataset: Dataset, pattern: ArrivalPattern, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise MachineError(f"cannot write to `{target.parent}`: {error.strerror}", hint=_ELSEWHERE) from None
    try:
        split(dataset, pattern).write(scratch / "tables")
        (scratch / "tables").rename(target)
    except OSError as error:
        if not target.is_dir():  # else somebody was faster, and theirs is as good
            raise MachineError(f"cannot write `{target}`: {error.strerror}", hint=_ELSEWHERE) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def own_directory() -> Path:
    """The user's own directory for data and jobs of benchmarks, below that for temporary files."""
    directory = Path(tempfile.gettempdir()) / f"slackwater-bench-{os.getuid()}"
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise MachineError(f"cannot make `{directory}`: {error.strerror}", hint=_ELSEWHERE) from None
    if directory.stat().st_uid != os.getuid():
        raise MachineError(f"`{directory}` belongs to somebody else", hint=_ELSEWHERE)
    return directory


def _digest(pattern: ArrivalPattern) -> str:
    values = {key: sorted(value) if isinstance(value, frozenset) else value for key, value in asdict(pattern).items()}
    return hashlib.blake2s(json.dumps(values, sort_keys=True).encode(), digest_size=5).hexdigest()
