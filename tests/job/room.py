"""A small job in a directory of its own, whose rows arrive run by run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from slackwater.catalog.statistics import Arrival as Came
from slackwater.job.cycle.due import Clock
from slackwater.job.file.config import load_job
from slackwater.job.file.sections import JobConfig
from slackwater.job.job import Job
from slackwater.job.running.work import RunWork
from slackwater.job.store.manifest import Manifest
from slackwater.spark.metrics import Measured
from slackwater.spark.session import Session

Rows = Sequence[Mapping[str, object]]
Row = tuple[object, ...]
Arrival = Mapping[str, Rows]
"""The rows that a run brings to each source."""

SALES_AND_RETURNS = """\
SELECT cat, sum(CASE WHEN cost IS NULL THEN price ELSE -cost END) AS gross, count(*) AS n
FROM sales LEFT JOIN returns ON sales.o_id = returns.r_id
GROUP BY cat
"""

BUSY = f"{SALES_AND_RETURNS}HAVING count(*) > 2\n"
"""The same, of few categories: what it is made of is the same."""

BY_TEXT = """\
WITH RECURSIVE twice(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM twice WHERE i < 2)
SELECT cat, sum(price * i) AS gross, count(*) AS n FROM sales CROSS JOIN twice GROUP BY cat
"""
"""A query that Slackwater cannot take apart."""

THREE_ARRIVALS: Sequence[Arrival] = (
    {
        "sales": [{"o_id": n, "cat": "abc"[n % 3], "price": 10 * n} for n in range(1, 8)],
        "returns": [{"r_id": 2, "cost": 5}],
    },
    {
        "sales": [{"o_id": n, "cat": "bcd"[n % 3], "price": 7 * n} for n in range(8, 12)],
        "returns": [{"r_id": 3, "cost": 1}, {"r_id": 9, "cost": 4}],
    },
    {"sales": [{"o_id": 12, "cat": "a", "price": 1}], "returns": [{"r_id": 1, "cost": 2}]},
)

_TIMES = {"10:00": "60%", "14:00": "20%", "24:00": "20%"}
LARGE: Mapping[str, Mapping[str, object]] = {
    "sales": {"expect": {"rows": 70_000_000, "arrives": _TIMES, "distinct": {"cat": 12, "o_id": 70_000_000}}},
    "returns": {"expect": {"rows": 7_000_000, "arrives": _TIMES, "distinct": {"r_id": 7_000_000}}},
}
"""Told to expect this much, the planner saves partial sums at the first run and at the second."""


def several(**queries: str | Mapping[str, object]) -> dict[str, object]:
    """Settings of a job with these queries, each by its text or with what else is said; outputs are named alike."""
    full = {name: {"query": query} if isinstance(query, str) else query for name, query in queries.items()}
    entries = {name: {"output": {"path": f"out/{name}"}, **query} for name, query in full.items()}
    return {"query": None, "output": None, "queries": entries}


def expected(arrivals: Sequence[Arrival]) -> list[Row]:
    """The answer of `SALES_AND_RETURNS` once these have arrived."""
    cost = {row["r_id"]: row["cost"] for arrival in arrivals for row in arrival.get("returns", ())}
    sums: dict[str, tuple[int, int]] = {}
    for row in (row for arrival in arrivals for row in arrival.get("sales", ())):
        gross, count = sums.get(str(row["cat"]), (0, 0))
        back = cost.get(row["o_id"])
        sums[str(row["cat"])] = gross + (int(str(row["price"])) if back is None else -int(str(back))), count + 1
    return sorted((cat, *numbers) for cat, numbers in sums.items())


@dataclass
class Room:
    """A directory with a job file, a query and data."""

    directory: Path
    query: str = SALES_AND_RETURNS
    arrivals: Sequence[Arrival] = THREE_ARRIVALS
    settings: Mapping[str, object] = field(default_factory=dict)
    sources: Mapping[str, Mapping[str, object]] = field(default_factory=lambda: LARGE)

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        if not self.file.exists():
            self.write()

    @property
    def file(self) -> Path:
        return self.directory / "slackwater.yml"

    @property
    def state(self) -> Path:
        return self.directory / "state"

    @property
    def output(self) -> Path:
        return self.output_of("answer")

    def output_of(self, query: str) -> Path:
        return self.directory / "out" / query

    def write(self, **changed: object) -> None:
        """Writes the job file, without what is None, and makes the directories of its sources."""
        tables = dict.fromkeys(name for arrival in self.arrivals for name in arrival) or dict.fromkeys(self.sources)
        entries: dict[str, object] = {
            "name": "room",
            "query": self.query,
            "schedule": ["10:00", "14:00", "24:00"],
            "weights": [0.2, 0.2, 1],
            "deliver": "every",
            "refresh": "incremental",
            "replan": "never",
            "sources": {name: {"path": f"data/{name}", **self.sources.get(name, {})} for name in tables},
            "output": {"path": "out/answer"},
            **self.settings,
            **changed,
        }
        for name in tables:
            (self.directory / "data" / name).mkdir(parents=True, exist_ok=True)
        content = {key: value for key, value in entries.items() if value is not None}
        self.file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")

    def config(self) -> JobConfig:
        return load_job(self.file)

    def job(self, session: Session | None = None, clock: Clock | None = None) -> Job:
        """The job; without a clock every call of `run` takes the next run, whatever the time is."""
        return Job(self.config(), session, clock=clock)

    def arrive(self, run: int) -> None:
        """Brings the files of a run, each at once; what is there already stays."""
        for name, rows in self.arrivals[run - 1].items():
            if rows:
                self.bring(name, f"part-{run}.parquet", rows)

    def bring(self, source: str, name: str, rows: Rows, schema: pa.Schema | None = None) -> Path:
        path = self.directory / "data" / source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            draft = path.with_name(f".{path.name}.{os.getpid()}")
            pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], schema=schema), draft)
            draft.rename(path)
        return path

    def answer(self, query: str = "answer") -> list[Row] | None:
        """What an output's path shows."""
        output = self.output_of(query)
        return rows_of(output) if output.exists() else None


def rows_of(directory: Path) -> list[Row]:
    files = [path for path in sorted(directory.iterdir()) if path.suffix == ".parquet"]
    tables = [pq.ParquetFile(path).read() for path in files]
    rows = [tuple(row.values()) for table in tables for row in table.to_pylist()]
    return sorted(rows, key=lambda row: tuple((cell is None, str(cell)) for cell in row))


class Heard:
    """Who listens to a run and remembers."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.steps: list[str] = []
        self.runs: list[int] = []

    def run_begins(self, work: RunWork) -> None:
        self.runs.append(work.run)

    def step_begins(self, name: str) -> None:
        self.steps.append(name)

    def step_ends(self, name: str, rows: int | None, measured: Measured) -> None: ...

    def run_ends(self, manifest: Manifest) -> None: ...

    def note(self, text: str) -> None:
        self.notes.append(text)


@contextmanager
def as_if_large() -> Iterator[None]:
    """Each run is thought to have read what `LARGE` expects of the first, so that its states are worth something."""
    with patch(
        "slackwater.job.cycle.situation.arrival_of", lambda name, _: Came({"sales": 4.2e7, "returns": 4.2e6}[name])
    ):
        yield
