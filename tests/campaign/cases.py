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
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tests.campaign.faults import Kind
from tests.campaign.lives import Life, Report, begin, committed, end, live, replaced_files, shown
from tests.campaign.scenarios import KIND, Scenario, schema_of
from tests.job.power import restored
from tests.job.room import Row, Rows

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
    """Whatever moment it is: the answer shown is batch's after the last run that delivered, or the one before it.

    What a run has read, its pins say: after an error a process may call a run early, before its rows have arrived.
    """
    room, scenario = life.room, life.scenario
    cycle = room.job().store.current()
    manifests = cycle.readable() if cycle is not None else []
    delivered: list[list[Row] | None] = [None]
    read = set[int]()
    for manifest in manifests:
        read |= {_number(pin.path) for pins in manifest.pins.values() for pin in pins}
        delivered += [scenario.truth_over(read)] if manifest.answers else []
    answer, runs = shown(room), [manifest.run for manifest in manifests]
    check(answer in delivered[-2:], f"shown is {answer}, batch has {delivered[-1]} after runs {runs}")


def _number(file: str) -> int:
    """The run that a file was made for, by its name."""
    return int(Path(file).stem.removeprefix("part-"))


def check_over(life: Life) -> None:
    """The rest of the job is lived without a fault; then the answer is batch's, and nothing is left over."""
    quiet = _without_fault(life)
    check_ended(live(quiet), "done")
    room = quiet.room
    truth, answer = quiet.scenario.truth(3), shown(room)
    check(answer == truth, f"in the end the answer is {answer}, batch has {truth}")
    left = room.job().clean(dry_run=True).paths
    check(not left, f"left over: {', '.join(map(str, left))}")


def _without_fault(life: Life) -> Life:
    return replace(life, fault=Kind.NONE, at=-1, lock_seconds=None)


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
        overtaken = _overtakes(life, process.pid)
        before = committed(life.room)
    finally:
        os.kill(process.pid, signal.SIGCONT)
        report = end(life, process)
    check_ended(report, "done", "refused")
    if overtaken:
        check(committed(life.room) == before, f"without its lock a process changed what was committed: {report.words}")
        answer = shown(life.room)
        check(answer == life.scenario.truth(3), f"without its lock a process shows {answer}")
    check_over(life)


def _overtakes(life: Life, stopped: int) -> bool:
    """Whether another process finishes the job.

    Where the one that is stopped was just changing files, the other waits for a while and says whom to let go on.
    """
    report = live(_without_fault(life))
    check_ended(report, "done", "refused")
    if report.ended == "refused":
        check(f"kill -CONT {stopped}" in report.words, f"it is not said what to do: {report.words}")
        return False
    check_over(life)
    return True


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


# --- clocks that jump -----------------------------------------------------------------------------------------------


def jumping_clock(life: Life) -> None:
    """The clock of the machine is set forward and back: what is due is done once, and every answer is batch's."""
    chance = random.Random(f"clock {life.seed}")
    noon = datetime(2026, 3, 28, 12, tzinfo=UTC)
    hours = [chance.uniform(-40, 40) for _ in range(7)]
    moments = [noon + timedelta(hours=each) for each in hours]
    late = (max(moments) + timedelta(days=2)).replace(hour=12, minute=0)
    moments += [late, late + timedelta(hours=12)]  # then a day has begun, and is over
    texts = tuple(moment.isoformat() for moment in moments)
    check_ended(live(replace(life, moments=texts)), "done")
    answer, truth = shown(life.room), life.scenario.truth(3)
    check(answer == truth, f"in the end the answer is {answer}, batch has {truth}")


# --- promises that are broken ----------------------------------------------------------------------------------------


def broken_promise(life: Life) -> None:
    """A file breaks what its source promises: the run stops by name. A good file in its place mends it."""
    chance, scenario, room = random.Random(f"broken {life.seed}"), life.scenario, life.room
    run = chance.choice((2, 3))
    check_ended(live(replace(life, until=run - 1)), "done")
    before = committed(room)
    rows, what = broken(chance, scenario, run)
    path = room.bring("sales", f"part-{run}.parquet", rows, schema_of("sales", rows))
    report = live(replace(life, until=run))
    check(report.ended == "refused", f"{what} was taken: the process {report.ended} {report.words}")
    check("sales" in report.words, f"{what}: the source is not named in: {report.words}")
    check(committed(room) == before, f"{what} was committed")
    check_visible(life)
    path.unlink()
    scenario.arrive(room, run)
    room.job().repin(forget=() if path.exists() else (path,))
    check_over(life)


def broken(chance: random.Random, scenario: Scenario, run: int) -> tuple[Rows, str]:
    """The sales of a run with something wrong in them, and what it is."""
    rows = [dict(row) for row in scenario.arrivals[run - 1]["sales"]]
    earlier = dict(chance.choice(scenario.arrivals[0]["sales"]))
    is_feed = KIND.name in earlier
    if is_feed:
        earlier[KIND.name] = "insert"
    stranger = {**earlier, "o_id": 999}
    ways: list[tuple[dict[str, object], str]] = [({**earlier, "o_id": None}, "a key without a value")]
    if is_feed:
        ways += [
            ({**stranger, KIND.name: "delete"}, "a delete of a row that was never there"),
            ({**stranger, KIND.name: "update_postimage"}, "an image of after without one of before"),
            ({**stranger, KIND.name: "upsert"}, "an unknown kind of change"),
        ]
    else:
        ways += [({**earlier, "price": 77}, "a key that an earlier run has"), (stranger, "a key twice in one run")]
        rows += [dict(stranger)]
    row, what = chance.choice(ways)
    return [*rows, row], what


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


QUIET: Mapping[str, Checked] = {
    "the clock jumps": jumping_clock,
    "a promise is broken": broken_promise,
    "no fault": run_by_run,
}
"""Where the fault, if any, is in what the job is given, and not at a call."""


def tried(case: Case, place: Path) -> str | None:
    """Lives a case through; what was found wrong, or nothing."""
    life = Life(str(place / f"case-{case.number}"), case.shape, case.seed, at=case.at)
    try:
        if case.kind in FAULTS:
            fault, checked = FAULTS[case.kind]
            seconds = LOCK_SECONDS if fault is Kind.STOP else None
            checked(replace(life, fault=fault, lock_seconds=seconds, replaced_run=1 + case.number % 3))
        else:
            QUIET[case.kind](life)
    except Finding as finding:
        return finding.words
    except Exception as error:
        return f"the case could not be judged: {error!r}"
    return None
