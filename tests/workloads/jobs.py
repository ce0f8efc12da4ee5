"""Benchmark queries as jobs on Spark: the files of a run appear before it, and what it delivers is verified.

A job that delivers once, from rows that only arrive, counts its sources as a user's does; the others are told.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from slackwater.bench.workloads import ArrivalPattern, Arrivals, Dataset, Workload, WorkloadQuery, split
from slackwater.catalog.arrival import Change
from slackwater.catalog.measured import measured
from slackwater.catalog.statistics import Statistics
from slackwater.job.file.config import parse_job
from slackwater.job.job import Job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEDULE = ("14:00", "19:00", "24:00")
WEIGHTS = (0.25, 0.3, 1.0)
SHARES = (0.6, 0.2, 0.2)
RETRACTED = 0.05


@dataclass
class Jobs:
    """A benchmark whose files arrive in three runs."""

    workload: Workload
    dataset: Dataset
    retracting: bool
    directory: Path
    session: SparkSession
    arrivals: Arrivals = field(init=False)

    def __post_init__(self) -> None:
        share = RETRACTED if self.retracting else 0.0
        self.arrivals = split(self.dataset, ArrivalPattern(shares=SHARES, deletes=share, updates=share))
        self.arrivals.write(self._arriving)

    @cached_property
    def statistics(self) -> Statistics:
        """What counting would tell, of all tables at once."""
        changes = {table: self.arrivals.changes(table) for table in self.arrivals.changing}
        standing = {table: (Change.of(self.dataset.read(table)),) for table in self.arrivals.static}
        return measured({**changes, **standing}, {t.name: (t.key,) for t in self.workload.tables if t.key})

    @property
    def _arriving(self) -> Path:
        return self.directory / "arriving"

    def check(self, query: WorkloadQuery, deliver: str) -> None:
        """Runs a query's job; fails where a run delivers something else than batch."""
        with self._job(query, deliver) as job:
            tables = list(job.config.sources)
            for run, time in enumerate(SCHEDULE, start=1):
                self._arrive(job.config.directory / "data", tables, run)
                (manifest,) = job.run(time)
                assert (manifest.output is not None) is (deliver == "every" or run == len(SCHEDULE))
                if manifest.output is not None:
                    verdict = job.verify(time)
                    gap = verdict.difference
                    assert verdict.equal, f"{query.name}, {time}: missing {gap.missing[:3]}, extra {gap.extra[:3]}"

    @contextmanager
    def _job(self, query: WorkloadQuery, deliver: str) -> Iterator[Job]:
        home = self.directory / f"{query.name}-{deliver}"
        tables = [t.name for t in self.workload.tables if t.name in query.spark.lower()]
        for table in tables:
            (home / "data" / table).mkdir(parents=True)
        counts_itself = deliver == "final" and not self.retracting
        statistics = None if counts_itself else {table: self.statistics[table] for table in tables}
        try:
            config = parse_job(self._text(query, deliver, tables), home / "slackwater.yml")
            yield Job(config, self.session, statistics=statistics, clock=None)
        finally:
            shutil.rmtree(home)

    def _text(self, query: WorkloadQuery, deliver: str, tables: list[str]) -> str:
        return yaml.safe_dump(
            {
                "name": query.name,
                "query": query.spark,
                "schedule": list(SCHEDULE),
                "weights": list(WEIGHTS),
                "deliver": deliver,
                # At this scale batch is cheaper by the fixed price of a statement; here plans must keep something.
                "refresh": "incremental",
                "replan": "never",
                "sources": {table: self._source(table) for table in tables},
                "output": {"path": "out/answer"},
            }
        )

    def _source(self, table: str) -> dict[str, object]:
        entry: dict[str, object] = {"path": f"data/{table}"}
        if key := self.workload.tables[table].key:
            entry["key"] = list(key)
        if table in self.arrivals.static:
            return {**entry, "static": True}
        return {**entry, "changes": "feed" if self.arrivals.is_feed(table) else "append"}

    def _arrive(self, data: Path, tables: list[str], run: int) -> None:
        for table in tables:
            if table in self.arrivals.changing:
                name = f"run-{run}.parquet"
                os.link(self._arriving / table / name, data / table / name)
            elif run == 1:
                source = self.dataset.path(table)
                files = [source] if source.is_file() else sorted(source.glob("*.parquet"))
                for file in files:
                    shutil.copyfile(file, data / table / file.name)
