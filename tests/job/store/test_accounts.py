"""The account of a run: every phase is charged once, phases add up to the whole, and losing one loses nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.job.duck import without_spark
from tests.job.room import Heard, Room

from slackwater.cli.main import DONE, main
from slackwater.errors import RunError
from slackwater.job.file.sections import SparkConfig
from slackwater.job.job import Job
from slackwater.job.store.accounts import (
    Account,
    Meter,
    Phase,
    Spent,
    account_name,
    account_of,
    metered_command,
    process_of_a_command,
    record_attempt,
)
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.manifest import Manifest, read_record
from slackwater.spark.process_tree import Reading
from slackwater.spark.session import Session


def readings() -> Iterator[Reading]:
    """A second of the clock, half of one in Python and two in the JVM between any two."""
    for n in range(1_000_000):
        yield Reading(float(n), n / 2, 2.0 * n)


def ticking(phase: Phase) -> Meter:
    every = readings()
    return Meter(phase, read=lambda: next(every))


@pytest.fixture
def room(tmp_path: Path) -> Iterator[tuple[Room, Session]]:
    with without_spark() as (_, session):
        job_room = Room(tmp_path / "room")
        job_room.arrive(1)
        yield job_room, session


def cycle_of(job: Job) -> Cycle:
    cycle = job.store.current()
    assert cycle is not None
    return cycle


def account(job: Job, manifest: Manifest) -> Account:
    result = account_of(cycle_of(job), manifest)
    assert result is not None
    return result


def test_an_inner_phase_is_charged_alone() -> None:
    meter = ticking(Phase.INPUTS)
    with meter.charging(Phase.PLANNING):
        with meter.charging(Phase.INPUTS):
            pass
        with pytest.raises(ValueError), meter.charging(Phase.STEPS):  # noqa: PT011
            raise ValueError
    taken = meter.taken()
    second = Spent(wall_s=1.0, python_cpu_s=0.5, jvm_cpu_s=2.0)
    assert taken == {
        Phase.INPUTS: second + second + second,
        Phase.PLANNING: second + second + second,
        Phase.STEPS: second,
    }
    assert list(taken) == [Phase.INPUTS, Phase.PLANNING, Phase.STEPS]
    assert meter.taken() == {Phase.INPUTS: second}


def test_cpu_that_seems_to_run_backwards_is_nothing() -> None:
    assert Spent.between(Reading(1.0, 2.0, 3.0), Reading(2.0, 2.0, 1.0)) == Spent(wall_s=1.0)


def test_every_run_has_an_account_that_adds_up(room: tuple[Room, Session]) -> None:
    job = room[0].job(room[1])
    (first,) = job.run()
    room[0].arrive(2)
    (second,) = job.run()
    for manifest in (first, second):
        result = account(job, manifest)
        assert {Phase.INPUTS, Phase.PLANNING, Phase.STEPS, Phase.COMMIT} <= result.phases.keys()
        assert all(spent.wall_s > 0 for spent in result.phases.values())
        assert result.cpu_s == pytest.approx(sum(spent.cpu_s for spent in result.phases.values()))
        assert result.wall_s >= sum(step.measured.get("wall_s") or 0.0 for step in manifest.steps)
    assert [each[:2] for each in job.history().entries] == [(m, account(job, m)) for m in (first, second)]


def test_runs_of_a_command_share_one_meter(room: tuple[Room, Session]) -> None:
    job = room[0].job(room[1])
    with process_of_a_command(), metered_command(), patch("slackwater.spark.session.shut_down") as shut_down:
        done = job.run(all=True)
        job.end_command(done)
    shut_down.assert_called_once_with()
    phases = [account(job, manifest).phases.keys() for manifest in done]
    assert [Phase.START in each for each in phases] == [True, False, False]
    assert [Phase.END in each for each in phases] == [False, False, True]


def test_what_a_command_does_between_runs_of_jobs_is_nobodys(room: tuple[Room, Session]) -> None:
    job = room[0].job(room[1])
    with process_of_a_command(), metered_command():
        pass
    with process_of_a_command():  # as a benchmark does, which runs jobs beside other work
        done = [manifest for _ in range(2) for manifest in job.run()]
        job.end_command(done)
    for manifest in done:
        assert Phase.END not in account(job, manifest).phases


def test_a_program_of_ones_own_is_charged_from_the_call_on(room: tuple[Room, Session]) -> None:
    job = room[0].job(room[1])
    done = job.run()
    before = account(job, done[0])
    job.end_command(done)
    assert account(job, done[0]) == before
    assert Phase.END not in before.phases


class Failing(Heard):
    """Somebody who cannot bear a step."""

    def step_begins(self, name: str) -> None:
        raise RunError("no")


def test_a_run_is_charged_with_attempts_that_failed(room: tuple[Room, Session]) -> None:
    job = room[0].job(room[1])
    with pytest.raises(RunError):
        job.run(progress=Failing())
    failed = read_record(cycle_of(job).directory / account_name(1), Account)
    assert failed is not None
    (manifest,) = job.run()
    result = account(job, manifest)
    assert result.phases[Phase.EARLIER] == failed.total
    assert result.cpu_s > failed.cpu_s


def test_an_account_that_is_lost_or_damaged_or_of_another_attempt_is_none(room: tuple[Room, Session]) -> None:
    job = room[0].job(room[1])
    (manifest,) = job.run()
    file = cycle_of(job).directory / account_name(1)
    assert account_of(cycle_of(job), manifest.model_copy(update={"attempt": "another"})) is None
    file.write_text("{", encoding="utf-8")
    assert account_of(cycle_of(job), manifest) is None
    file.unlink()
    assert job.history().accounts == (None,)
    assert job.run() != []


def test_an_account_that_cannot_be_written_costs_nothing_but_itself(room: tuple[Room, Session]) -> None:
    job = room[0].job(room[1])
    with patch("slackwater.job.store.accounts.write_record", side_effect=_full):
        (manifest,) = job.run()
    assert job.history().accounts == (None,)
    assert cycle_of(job).manifest(1) == manifest


def _full(*_: object) -> None:
    from slackwater.errors import StateError

    raise StateError("cannot be written: no space left on device")


@pytest.mark.parametrize(
    "spark, cpu, uncounted",
    [
        (SparkConfig(), 0.0, ()),
        (SparkConfig(master="spark://host:7077"), 7.0, ("executors beside their tasks",)),
        (SparkConfig(connect="sc://host:15002"), 7.0, ("the Spark Connect server",)),
    ],
)
def test_what_runs_on_other_machines_is_added_or_named(
    tmp_path: Path, spark: SparkConfig, cpu: float, uncounted: tuple[str, ...]
) -> None:
    cycle = Cycle(1, tmp_path)
    record_attempt(cycle, 1, "a", spark, 7.0)
    result = read_record(tmp_path / account_name(1), Account)
    assert result is not None
    assert result.cpu_s == cpu
    assert result.uncounted[-1:] == uncounted


def test_commands_show_everything_beside_executor_cpu(
    room: tuple[Room, Session], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("slackwater.spark.session.open_session", lambda *_: room[1])
    monkeypatch.chdir(room[0].directory)
    assert main(["run", "--early"]) == DONE
    printed = capsys.readouterr().out
    assert " total CPU" in printed.splitlines()[0]
    assert "\n  CPU of start " in printed
    assert main(["history"]) == DONE
    assert capsys.readouterr().out.splitlines()[0].split()[-5:] == ["executor", "CPU", "(expected)", "total", "CPU"]
