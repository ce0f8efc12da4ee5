"""What bookkeeping costs: `status`, `history` and `run` of a job with many input files and a long history.

Two jobs of the same query and the same few rows a file: a small one, and one with as many files and cycles as asked. A
first cycle is run for real; the history is made of it, written by the same functions that write records of runs. Then
every command is called as a user calls it, in a process of its own, Spark's start included.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from slackwater.errors import RunError
from slackwater.job.job import Job
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.manifest import write_record
from slackwater.job.store.store import Store

if TYPE_CHECKING:
    from slackwater.spark.session import Session

FEW_FILES = 10
"""The files of the small job, and those that a cycle of the history has read."""
FACTOR, EXTRA_S = 2.0, 5.0
"""What the large job may take: so many times the small one's time, and so many seconds more."""
COMMANDS = (("status",), ("history",), ("run", "--early"))
PASSES = 2
"""How often each is called; the faster call counts. A cycle has so many runs beside its first."""
QUERY = "SELECT cat, sum(price) AS gross, count(*) AS n FROM sales GROUP BY cat"
MAIN = "from slackwater.cli.main import main; raise SystemExit(main())"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Size:
    """How much a job has to keep books of."""

    files: int
    cycles: int


SMALL = Size(FEW_FILES, 1)


@dataclass(frozen=True, slots=True)
class Timed:
    """A command of both jobs: seconds on the wall clock and of the processor, Spark's process included; the best."""

    command: str
    small_s: float
    large_s: float
    small_cpu_s: float
    large_cpu_s: float

    @property
    def allowed_s(self) -> float:
        return FACTOR * self.small_s + EXTRA_S

    @property
    def is_within(self) -> bool:
        return self.large_s <= self.allowed_s


@dataclass(frozen=True, slots=True)
class BookkeepingBenchmark:
    """All commands."""

    size: Size
    commands: tuple[Timed, ...]

    @property
    def is_within(self) -> bool:
        return all(timed.is_within for timed in self.commands)

    def as_json(self) -> dict[str, object]:
        return {
            "files": self.size.files,
            "cycles": self.size.cycles,
            "commands": [{**asdict(t), "allowed_s": t.allowed_s, "is_within": t.is_within} for t in self.commands],
        }


def measure_bookkeeping(
    directory: Path, session: Session, size: Size, say: Say = lambda _: None
) -> BookkeepingBenchmark:
    """Makes both jobs in a directory and times every command of each."""
    jobs = {"small": SMALL, "large": size}
    for name, job_size in jobs.items():
        say(f"{name}: {job_size.files:,} files, {job_size.cycles:,} cycles")
        make_job(directory / name, session, job_size)
    times = []
    for command in COMMANDS:
        taken = {}
        for name in jobs:
            taken[name] = min(_timed_anew(directory / name, command) for _ in range(PASSES))
            say(f"{' '.join(command)}, {name}: {taken[name][0]:.1f} s")
        (small, small_cpu), (large, large_cpu) = taken["small"], taken["large"]
        times.append(Timed(" ".join(command), small, large, small_cpu, large_cpu))
    return BookkeepingBenchmark(size, tuple(times))


# --- the jobs --------------------------------------------------------------------------------------------------------


def make_job(directory: Path, session: Session, size: Size) -> None:
    """A job whose last cycle has done its first run over all files, after as many cycles as are asked for."""
    directory.mkdir(parents=True)
    entries = {
        "name": "books",
        "query": QUERY,
        "schedule": ["12:00", "18:00", "24:00"],
        "deliver": "every",
        "refresh": "incremental",
        "replan": "never",  # whether planning again pays depends on how long it took
        "sources": {"sales": {"path": "data/sales"}},
        "output": {"path": "out/books"},
    }
    (directory / "slackwater.yml").write_text(yaml.safe_dump(entries, sort_keys=False), encoding="utf-8")
    bring(directory, "early", min(FEW_FILES, size.files))
    job = Job.open(directory, session, clock=None)
    job.run(all=True)
    write_history(job.store, size.cycles)
    bring(directory, "more", size.files - FEW_FILES)
    job.run(new_cycle=True)


def bring(directory: Path, name: str, count: int) -> None:
    """So many more files, all alike, of a hundred rows."""
    place = directory / "data" / "sales"
    place.mkdir(parents=True, exist_ok=True)
    first = place / f"{name}-{len(list(place.iterdir()))}-0.parquet"
    pq.write_table(pa.table({"cat": [f"c{n % 7}" for n in range(100)], "price": list(range(100))}), first)
    content = first.read_bytes()
    if count < 1:
        first.unlink()
    for number in range(1, count):
        first.with_name(f"{first.stem}-{number}.parquet").write_bytes(content)


def write_history(store: Store, cycles: int) -> None:
    """Complete cycles like the one that is there, until there are as many as are asked for."""
    first = store.cycle(1)
    with store.lock:
        for number in range(2, cycles + 1):
            _copy_cycle(first, store.cycle(number))


def _copy_cycle(first: Cycle, cycle: Cycle) -> None:
    cycle.write_plan(first.plan())
    for manifest in first.manifests():
        pins = first.pins(manifest.run)
        assert pins is not None
        write_record(cycle.pins_file(manifest.run), pins)
        write_record(cycle.manifest_file(manifest.run), manifest.model_copy(update={"cycle": cycle.number}))
    for path in first.directory.glob("account-*.json"):
        shutil.copyfile(path, cycle.directory / path.name)
    cycle.write_record(first.record().model_copy(update={"number": cycle.number}))


# --- the commands ----------------------------------------------------------------------------------------------------


def _timed_anew(directory: Path, command: Sequence[str]) -> tuple[float, float]:
    """After one more file has arrived."""
    bring(directory, "late", 1)
    return timed(directory, command)


def timed(directory: Path, command: Sequence[str]) -> tuple[float, float]:
    """What a command takes in a process of its own: seconds on the wall clock and of the processor."""
    before, start = getrusage(RUSAGE_CHILDREN), perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *command, "--json", "--job", str(directory)],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    taken, after = perf_counter() - start, getrusage(RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RunError(f"`slackwater {' '.join(command)}` has failed: {_first_line(done.stdout or done.stderr)}")
    return taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _first_line(text: str) -> str:
    try:
        return str(json.loads(text)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return text.strip().splitlines()[-1] if text.strip() else "it said nothing"
