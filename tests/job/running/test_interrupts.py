"""Ctrl-C and SIGTERM at any moment of a run: one line that says what is committed, and the next run goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import THREE_ARRIVALS, Room, expected
from tests.job.test_stopped import context, run_with_signal

NOTHING = "error: interrupted; nothing of run 1 was committed"
COMMITTED = "error: interrupted; run 1 is committed"
BEFORE = "error: interrupted; what was committed before stays, and nothing else"


@pytest.mark.parametrize(
    "kind, number, told",
    [
        ("open /state/.statistics.json", signal.SIGINT, BEFORE),  # while it plans
        ("slackwater.checkpoint /state/cycle-1/data/1-", signal.SIGINT, NOTHING),
        ("slackwater.checkpoint /out/.answer/1-1-", signal.SIGTERM, NOTHING),
        ("open /state/cycle-1/.run-1.json", signal.SIGINT, NOTHING),
        ("os.symlink /out/.answer", signal.SIGTERM, COMMITTED),
    ],
)
def test_an_interrupted_run_says_what_is_committed(
    tmp_path: Path, kind: str, number: signal.Signals, told: str
) -> None:
    room = Room(tmp_path / "room")
    room.arrive(1)
    process = context.Process(target=run_with_signal, args=(room.directory, kind, number))
    process.start()
    process.join(60)
    messages = (room.directory / "messages").read_text(encoding="utf-8")
    assert messages.strip() == told
    assert process.exitcode == 128 + number
    assert not (room.state / "lock").exists()
    assert len(room.job().history().runs) == (told == COMMITTED)
    with without_spark() as (_, session):
        room.job(session).run(1)
    assert room.answer() == expected(THREE_ARRIVALS[:1])


# A session of one process: interrupted in a step, then killed in a step, then asked again.
ON_SPARK = """
import os, signal, sys
from pathlib import Path
from pyspark import SparkContext
from tests.job.room import Heard, Room
from slackwater.errors import MachineError
from slackwater.spark.session import shut_down

class Disturbed(Heard):
    def __init__(self, disturb):
        super().__init__()
        self.disturb = disturb
    def step_begins(self, name):
        disturb, self.disturb = self.disturb, lambda: None
        disturb()

room = Room(Path(sys.argv[1]))
room.arrive(1)
job = room.job()
try:
    job.run(1, progress=Disturbed(lambda: os.kill(os.getpid(), signal.SIGINT)))
except KeyboardInterrupt as interrupt:
    print(interrupt)
first = SparkContext._gateway.proc.pid
try:
    job.run(1, progress=Disturbed(lambda: os.kill(first, signal.SIGKILL)))
except MachineError as error:
    print(error.message.replace(str(first), "N"))
print(len(job.history().runs), (room.state / "lock").exists())
job.run(1)
print(SparkContext._gateway.proc.pid != first, room.answer())
shut_down()
"""


@pytest.mark.rotating(3)
@pytest.mark.spark
def test_an_interrupt_and_a_jvm_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ON_SPARK, str(tmp_path / "room")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    died = "has died: it was killed, by somebody or because the machine had no memory left"
    assert done.stdout.splitlines() == [
        "interrupted; nothing of run 1 was committed",
        f"Spark's JVM (process N) {died}",
        "0 False",
        f"True {expected(THREE_ARRIVALS[:1])}",
    ]
    assert done.stderr == ""
