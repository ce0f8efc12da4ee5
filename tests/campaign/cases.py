"""The kinds of case: each lives a job through a fault and holds what is there against batch.

A case returns what it found wrong, in words; nothing where all is as promised: equal to batch, or a clear error with
nothing lost, after which the job goes on and is equal to batch.
"""

from __future__ import annotations

import os
import pickle
import random
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tests.campaign.faults import Kind
from tests.campaign.lives import Life, Report, begin, end, live, replaced_files, shown
from tests.campaign.scenarios import schema_of
from tests.job.power import restored
from tests.job.room import Room, Rows

LOCK_SECONDS = 1.0
"""For how long the lock of a process that is going to be stopped holds."""


@dataclass
class Finding(Exception):
    """What is not as promised."""

    words: str


def check(holds: bool, words: str) -> None:
    if not holds:
        raise Finding(words)


# --- what must hold --------------------------------------------------------------------------------------------------


def check_ended(report: Report, *ways: str) -> None:
    """A life ended as it may; a refusal has words."""
    check(report.ended in ways, f"the process {report.ended}: {report.words}")
    check(report.ended != "refused" or bool(report.words.strip()), "refused without a word")


def check_visible(life: Life) -> None:
    """Whatever moment it is: the answer shown is batch's after the last run that delivered, or the one before it."""
    room, scenario = life.room, life.scenario
    cycle = room.job().store.current()
    manifests = cycle.readable() if cycle is not None else []
    delivered = [None, *(scenario.truth(manifest.run) for manifest in manifests if manifest.answers)]
    answer = shown(room)
    check(answer in delivered[-2:], f"shown is {answer}, batch has {delivered[-1]} after runs {_runs(manifests)}")


def _runs(manifests: list[object]) -> list[int]:
    return [manifest.run for manifest in manifests]  # type: ignore[attr-defined]


def check_over(life: Life) -> None:
    """The rest of the job is lived without a fault; then the answer is batch's, and nothing is left over."""
    quiet = replace(life, fault=Kind.NONE, at=-1, lock_seconds=None)
    check_ended(live(quiet), "done")
    room = quiet.room
    truth, answer = quiet.scenario.truth(3), shown(room)
    check(answer == truth, f"in the end the answer is {answer}, batch has {truth}")
    left = room.job().clean(dry_run=True).paths
    check(not left, f"left over: {', '.join(map(str, left))}")


# --- faults at a call ------------------------------------------------------------------------------------------------


def fault_at_a_call(life: Life) -> None:
    """Killed, an error, a full disk, torn files, a power cut."""
    report = live(life)
    check_ended(report, "done", "refused", "killed")
    if life.fault is Kind.FULL and report.ended == "refused":
        check("No space left on device" in report.words, f"a full disk is called: {report.words}")
    if life.fault is Kind.POWER:
        _cut_the_power(life)
    check_visible(life)
    if life.seed % 3 == 0:  # and once more, while it recovers
        again = replace(life, fault=Kind.KILL, at=random.Random(life.at).randrange(60))
        check_ended(live(again), "done", "killed")
        check_visible(life)
    check_over(life)


def _cut_the_power(life: Life) -> None:
    for image in Path(life.directory).parent.glob(f"{Path(life.directory).name}.*.image"):
        restored(life.room, pickle.loads(image.read_bytes()))
        image.unlink()


# --- a process that sleeps through the end of its lock ---------------------------------------------------------------


def stopped_and_resumed(life: Life) -> None:
    """A process is stopped, another takes its job over and finishes it, the first goes on: nothing changes any more."""
    process = begin(life)
    assert process.pid is not None
    if not _is_stopped(process.pid):
        check_ended(end(life, process), "done", "refused")
        check_over(life)
        return
    try:
        time.sleep(1.5 * LOCK_SECONDS)
        check_over(life)
        before = committed(life.room)
    finally:
        os.kill(process.pid, signal.SIGCONT)
        report = end(life, process)
    check_ended(report, "done", "refused")
    check(
        committed(life.room) == before, f"a process that had lost its lock changed what was committed: {report.words}"
    )
    answer = shown(life.room)
    check(answer == life.scenario.truth(3), f"a process that had lost its lock shows {answer}")
    check_over(life)


def _is_stopped(pid: int) -> bool:
    """Whether a process comes to a stop, or else ends."""
    while True:
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return False
        if state in "TZ":
            return state == "T"
        time.sleep(0.02)


def committed(room: Room) -> dict[str, bytes]:
    """Every manifest, as it lies there."""
    return {path.name: path.read_bytes() for path in sorted(room.state.glob("cycle-*/run-*.json"))}


# --- inputs that are replaced ----------------------------------------------------------------------------------------


def replaced_input(life: Life) -> None:
    """A file is replaced by another of the same time, at any moment: one file or the other is read, never both."""
    room, scenario = life.room, life.scenario
    rows = scenario.arrivals[life.replaced_run - 1]["sales"]
    if not rows:
        return
    path, other = replaced_files(room, life.replaced_run)
    changed: Rows = [{**row, "price": 100 - int(str(row["price"]))} for row in rows]
    pq.write_table(pa.Table.from_pylist([dict(row) for row in changed], schema=schema_of("sales", rows)), other)
    arrivals = [dict(arrival) for arrival in scenario.arrivals]
    arrivals[life.replaced_run - 1]["sales"] = changed
    truths = [scenario.truth(3), replace(scenario, arrivals=arrivals).truth(3)]
    report = live(life)
    check_ended(report, "done", "refused")
    if report.ended == "refused":
        check(path.name in report.words, f"the file is not named: {report.words}")
        original = room.directory / "original.parquet"
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], schema=schema_of("sales", rows)), original)
        for content in (original, other):
            path.write_bytes(content.read_bytes())
            report = live(replace(life, fault=Kind.NONE))
            if report.ended == "done":
                break
    check_ended(report, "done")
    answer = shown(room)
    check(
        answer in truths, f"the answer is {answer}: batch has {truths[0]} over one file and {truths[1]} over the other"
    )


# --- arrivals as they are --------------------------------------------------------------------------------------------


def run_by_run(life: Life) -> None:
    """No fault: after each run that delivers, the answer is batch's. Feeds repeat themselves and come out of order."""
    for run in (1, 2, 3):
        check_ended(live(replace(life, until=run)), "done")
        check_visible(life)
    check_over(life)


# --- all kinds -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A case of the campaign, by what makes it: the same numbers give the same case."""

    number: int
    kind: str
    shape: str
    seed: int
    at: int = -1

    def __str__(self) -> str:
        return f"case {self.number}: {self.kind}, shape {self.shape}, seed {self.seed}, call {self.at}"


Checked = Callable[[Life], None]
FAULTS: Mapping[str, tuple[Kind, Checked]] = {
    "killed": (Kind.KILL, fault_at_a_call),
    "an error": (Kind.ERROR, fault_at_a_call),
    "an error while reading": (Kind.READ_ERROR, fault_at_a_call),
    "the disk is full": (Kind.FULL, fault_at_a_call),
    "torn writes": (Kind.TORN, fault_at_a_call),
    "a power cut": (Kind.POWER, fault_at_a_call),
    "stopped and resumed": (Kind.STOP, stopped_and_resumed),
    "an input is replaced": (Kind.REPLACE, replaced_input),
}


def tried(case: Case, place: Path) -> str | None:
    """Lives a case through; what was found wrong, or nothing."""
    life = Life(str(place / f"case-{case.number}"), case.shape, case.seed, at=case.at)
    try:
        if case.kind in FAULTS:
            fault, checked = FAULTS[case.kind]
            seconds = LOCK_SECONDS if fault is Kind.STOP else None
            checked(replace(life, fault=fault, lock_seconds=seconds, replaced_run=1 + case.number % 3))
        else:
            run_by_run(life)
    except Finding as finding:
        return finding.words
    return None
