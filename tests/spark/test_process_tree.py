"""What this process and those it starts take is read while they run and after they have ended."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from slackwater.spark.process_tree import HAS_PROCESSES, Reading

BUSY = "import time\nwhile time.process_time() < 0.3: pass\n"
GRANDCHILD = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BUSY!r}], check=True)\n"
THEN_WAIT = "print('done', flush=True)\ninput()\n"


@pytest.mark.parametrize("program", [BUSY, GRANDCHILD], ids=["a process", "a process of a process"])
def test_a_process_counts_while_it_runs_and_once_it_has_ended(program: str) -> None:
    if not HAS_PROCESSES:
        pytest.skip("this system does not tell of processes that run")
    before = Reading.now()
    with subprocess.Popen(
        [sys.executable, "-c", program + THEN_WAIT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
        running = Reading.now()
        process.communicate("\n")
    ended = Reading.now()
    assert running.started_cpu_s - before.started_cpu_s > 0.2
    assert ended.started_cpu_s - before.started_cpu_s > 0.2


def test_this_process_counts_from_its_very_start() -> None:
    program = (
        "import time\n"
        "while time.process_time() < 0.2: pass\n"
        "from slackwater.spark.process_tree import Reading\n"
        "start, now = Reading.when_process_started(), Reading.now()\n"
        "print(now.own_cpu_s - start.own_cpu_s, now.wall_s - start.wall_s, now.started_cpu_s - start.started_cpu_s)"
    )
    began = time.perf_counter()
    printed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    own, wall, started = map(float, printed.split())
    assert own > 0.2
    assert wall <= time.perf_counter() - began + 0.1
    assert wall > 0.2 or not HAS_PROCESSES
    assert started == 0.0
