"""A job that is killed at any moment goes on as if nothing had happened.

Forty deaths, ten a day, happen to a job whose statements DuckDB executes, which takes no time to start, and three to
a job on Spark; with `SLACKWATER_EVERY_SETTING=1` nearly all moments are tried on the one, and forty on the other.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from signal import SIGKILL

import pytest
from tests.job.crashing import clean_everything, live, mortal
from tests.job.duck import without_spark
from tests.job.room import THREE_ARRIVALS, Room, expected

from slackwater.job.store.data_files import all_whole
from slackwater.spark.session import Session

DEATHS, DEATHS_ON_SPARK = (160, 40) if os.environ.get("SLACKWATER_EVERY_SETTING") else (40, 3)

ANSWERS = [None, *(expected(THREE_ARRIVALS[:run]) for run in (1, 2, 3))]

context = get_context("forkserver")
context.set_forkserver_preload(["tests.job.crashing", "pandas"])


def lived(
    directory: Path,
    fatal: int | None,
    life: Callable[[Room, Session], None] = live,
) -> list[str] | None:
    """What a life went through, or None if it was killed."""
    report = directory.with_suffix(".json")
    process = context.Process(target=mortal, args=(directory, fatal, report, life))
    process.start()
    process.join(120)
    if process.exitcode == -SIGKILL:
        return None
    assert process.exitcode == 0
    seen: list[str] = json.loads(report.read_text(encoding="utf-8"))
    return seen


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], set[str]]:
    """The moments of a life that nothing disturbs, and the files it leaves."""
    directory = tmp_path_factory.mktemp("undisturbed") / "room"
    seen = lived(directory, None)
    assert seen is not None
    assert Room(directory).answer() == ANSWERS[3]
    return seen, files(directory)


def files(directory: Path) -> set[str]:
    """All files and directories, without the names of attempts; an account a crash may lose, and nothing else."""
    attempts = {path.name for path in (directory / "out" / ".answer").iterdir()}
    # How often a job was locked depends on how often it was interrupted.
    kept = (path for path in directory.rglob("*") if not path.name.startswith(("account-", ".lock.fence-")))
    names = (path.relative_to(directory).as_posix() for path in kept)
    return {"/".join("attempt" if part in attempts else part for part in name.split("/")) for name in names}


def check_what_is_visible(directory: Path) -> None:
    """Whatever moment it is: manifests are whole, and so are the last states and the answer."""
    room = Room(directory)
    store = room.job().store
    cycle = store.current()
    manifests = cycle.manifests() if cycle is not None else []
    assert [manifest.run for manifest in manifests] == list(range(1, len(manifests) + 1))
    assert room.answer() in (ANSWERS[len(manifests)], ANSWERS[max(0, len(manifests) - 1)])
    if manifests and len(manifests) < 3:
        assert all(all_whole(store.state, state.files) for state in manifests[-1].states.values())
    for name, answer in manifests[-1].answers.items() if manifests else ():
        assert store.answer_directories[name].holds(answer)
    for answers in store.answer_directories.values():
        assert not answers.output.exists() or (answers.output / "_SUCCESS").exists()


def deaths(total: int, seed: int, count: int) -> list[int]:
    """Moments to die at: as many from every part of a life, chosen at random within it."""
    chance = random.Random(seed)
    return [chance.randrange(total * n // count, total * (n + 1) // count) for n in range(count)]


def test_a_life_has_all_kinds_of_moments(undisturbed: tuple[list[str], set[str]]) -> None:
    seen, left = undisturbed
    for kind in (
        "open /state/.lock.",
        "open /state/cycle-1/.plan.json.",
        "os.rename /state/cycle-1/cycle.json",
        "open /state/cycle-1/.pins-2.json.",
        "os.rename /state/cycle-1/pins-2.json",
        "slackwater.checkpoint /state/cycle-1/data/1-",
        "slackwater.checkpoint /out/.answer/1-1-",
        "open /state/cycle-1/.run-2.json.",
        "os.link /state/cycle-1/run-2.json",
        "os.symlink /out/.answer.",
        "os.rename /out/answer",
        "shutil.rmtree /state/cycle-1/data/",
        "shutil.rmtree /out/.answer/",
        "os.remove part-00000.parquet",
    ):
        assert any(moment.startswith(kind) for moment in seen), f"{kind} not among\n" + "\n".join(seen)
    assert not any("draft" in name or "gone" in name or name.endswith(("link", "state/lock")) for name in left)
    assert [name for name in left if name.startswith("state/cycle-1/data/")] == []


@pytest.mark.rotating(4)
@pytest.mark.parametrize("seed", range(DEATHS))
def test_killed(tmp_path: Path, undisturbed: tuple[list[str], set[str]], seed: int) -> None:
    seen, left = undisturbed
    directory = tmp_path / "room"
    fatal = deaths(len(seen), 7, DEATHS)[seed]
    assert lived(directory, fatal) is None, "the process should have been killed"
    check_what_is_visible(directory)
    if seed % 4 == 0:  # and once more, while it recovers
        lived(directory, random.Random(seed).randrange(60))
        check_what_is_visible(directory)
    assert lived(directory, None) is not None
    assert Room(directory).answer() == ANSWERS[3]
    assert files(directory) == left, f"killed before {seen[fatal]}"


def test_killed_while_everything_is_cleaned(tmp_path: Path) -> None:
    fatal = 0
    while True:
        directory = tmp_path / str(fatal)
        with without_spark() as (_, session):
            live(Room(directory), session)
        survived = lived(directory, fatal, clean_everything)
        room = Room(directory)
        assert room.answer() == ANSWERS[3]
        if fatal % 2:  # a job goes on with its history or without, never with half of it
            with without_spark() as (_, session):
                live(room, session)
            assert room.answer() == ANSWERS[3]
        room.job().clean(everything=True)
        assert {path.name.partition("-")[0] for path in room.state.iterdir()} == {".lock.guard", ".lock.fence"}
        assert room.answer() == ANSWERS[3]
        if survived is not None:
            break
        fatal += 3
    with without_spark() as (_, session):
        live(room, session)
        room.job().clean()
    assert room.answer() == ANSWERS[3]


@pytest.mark.rotating(3)
@pytest.mark.spark
@pytest.mark.parametrize("seed", range(DEATHS_ON_SPARK))
def test_killed_on_spark(tmp_path: Path, spark: Session, undisturbed: tuple[list[str], set[str]], seed: int) -> None:
    """The process that dies has a Spark of its own; the one that goes on is ours."""
    directory = tmp_path / "room"
    # Spark writes its files unseen, so its life has fewer moments.
    fatal = deaths(len(undisturbed[0]) // 2, 11, DEATHS_ON_SPARK)[seed]
    command = [sys.executable, "-m", "tests.job.crashing", str(directory), str(fatal), str(seed)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode in (-SIGKILL, 0), done.stderr
    check_what_is_visible(directory)
    room = Room(directory)
    live(room, spark)
    room.job(spark).clean()
    assert room.answer() == ANSWERS[3]
    assert room.job(spark).verify().equal
    assert not room.job(spark).clean(dry_run=True).paths
