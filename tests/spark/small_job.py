"""A job of three runs on tiny files, for tests of where Spark runs; also a script that does it in its own process.

    python -m tests.spark.small_job DIRECTORY [WORKER]

With the process group of a worker, that worker is killed while the second run has tasks under way.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tests.spark.servers import kill

import slackwater
from slackwater.job.running.runner import Silent
from slackwater.job.running.work import RunWork
from slackwater.job.store.manifest import Manifest

TIMES = ("14:00", "19:00", "24:00")
FILES, ROWS = 6, 40
MOST_SECONDS = 100.0
JOB = """
name: small
query: |
  SELECT c.region, sum(s.price) AS sold, max(crc32(repeat(s.note, {work}))) AS heavy, count(*) AS lines
  FROM sales s JOIN customers c ON c.c_id = s.c_id GROUP BY c.region
schedule: ["14:00", "19:00", "24:00"]
weights: [0.1, 0.1, 1.0]
refresh: incremental
sources:
  sales: {{path: data/sales, key: s_id}}
  customers: {{path: data/customers, key: c_id, static: true}}
output: {{path: out/small}}
spark: {spark}
"""


def write_job(directory: Path, spark: dict[str, object], work: int = 1) -> Path:
    """The job file; nothing has arrived yet."""
    directory.mkdir(parents=True)
    file = directory / "slackwater.yml"
    file.write_text(JOB.format(spark=json.dumps(spark), work=work), encoding="utf-8")
    (directory / "data" / "sales").mkdir(parents=True)
    customers = directory / "data" / "customers"
    customers.mkdir()
    keys = list(range(10))
    table = pa.table({"c_id": pa.array(keys, pa.int32()), "region": [f"region {k % 3}" for k in keys]})
    pq.write_table(table, customers / "all.parquet")
    return file


def arrive(directory: Path, run: int) -> None:
    for part in range(FILES):
        keys = [1000 * run + ROWS * part + n for n in range(ROWS)]
        table = pa.table(
            {
                "s_id": pa.array(keys, pa.int64()),
                "c_id": pa.array([k % 10 for k in keys], pa.int32()),
                "price": pa.array([k / 4 for k in keys], pa.float64()),
                "note": [f"note {k}" for k in keys],
            }
        )
        pq.write_table(table, directory / "data" / "sales" / f"{run}-{part}.parquet")


class Killing(Silent):
    """Kills a worker as soon as executors are at work on a run."""

    def __init__(self, job: slackwater.Job, group: int) -> None:
        self._job, self._group = job, group
        self.killed = ""
        self._thread: threading.Thread | None = None

    def run_begins(self, work: RunWork) -> None:
        if work.run == 2:
            self._thread = threading.Thread(target=self._kill)
            self._thread.start()

    def _kill(self) -> None:
        tracker = self._job.session().sparkContext.statusTracker()
        until = time.monotonic() + MOST_SECONDS
        while not self.killed and time.monotonic() < until:
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None and info.numCompletedTasks > 0 and info.numActiveTasks > 0:
                    self.killed = f"{info.numCompletedTasks} of {info.numTasks} tasks done"
                    kill(self._group)
                    break
            time.sleep(0.01)

    def run_ends(self, manifest: Manifest) -> None:
        if self._thread is not None:
            self._thread.join()


def live(directory: Path, group: int | None = None) -> dict[str, object]:
    """Three runs and a comparison."""
    job = slackwater.Job.open(directory, clock=None)
    killing = Killing(job, group) if group is not None else None
    done: list[Manifest] = []
    for run, at in enumerate(TIMES, start=1):
        arrive(directory, run)
        done += job.run(at, progress=killing)
    verdict = job.verify()
    return {
        "equal": verdict.equal,
        "rows": verdict.rows,
        "total": [manifest.total for manifest in done],
        "states": sum(len(manifest.states) for manifest in done),
        "killed": killing.killed if killing is not None else "",
    }


if __name__ == "__main__":
    print(json.dumps(live(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)))
