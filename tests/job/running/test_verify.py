"""What `verify` checks beside the rows: that the output's path shows the last answer."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.job.duck import without_spark
from tests.job.inputs.test_run_inputs import swapped
from tests.job.room import Room
from tests.job.running.test_work import runs

from slackwater.errors import UserError
from slackwater.job.job import Job
from slackwater.spark.compare import Difference
from slackwater.spark.session import Session

SAME = Difference((), ())


@pytest.fixture
def session() -> Iterator[Session]:
    """Rows are not compared here."""
    with (
        without_spark() as (_, spark),
        patch("slackwater.job.running.verify.run_statement"),
        patch("slackwater.job.running.verify.difference", return_value=SAME),
    ):
        yield spark


@pytest.fixture
def room(tmp_path: Path, session: Session) -> Room:
    job_room = Room(tmp_path / "room")
    runs(job_room, session, 1, 2)
    return job_room


def directory_of(job: Job, run: int) -> str:
    return next(m.answers[""].directory for m in job.history() if m.run == run)


def relinked(path: Path, target: str) -> None:
    path.unlink()
    path.symlink_to(target)


def test_the_link_shows_the_last_answer(room: Room, session: Session) -> None:
    verdict = room.job(session).verify()
    assert verdict.sound
    assert (verdict.link, verdict.shown) == ("", None)


def test_of_an_earlier_run_it_says_which_answer_is_shown(room: Room, session: Session) -> None:
    verdict = room.job(session).verify(1)
    assert verdict.sound
    assert (verdict.link, verdict.shown) == ("", 2)


def test_a_link_turned_back(room: Room, session: Session) -> None:
    job = room.job(session)
    relinked(room.output, f".answer/{directory_of(job, 1)}")
    for run in (None, 1, 2):
        verdict = job.verify(run)
        assert verdict.equal
        assert not verdict.sound
        words = f"the link shows .answer/{directory_of(job, 1)}, and should show .answer/{directory_of(job, 2)}"
        assert verdict.link == f"{room.output}: {words}"


@pytest.mark.parametrize(
    "harm, words",
    [
        (Path.unlink, "the link to the last answer is gone"),
        (lambda path: relinked(path, "elsewhere"), "the link shows elsewhere, and should show .answer/1-2-"),
        (lambda path: (path.unlink(), path.mkdir()), "this path is used by something that Slackwater did not write"),
    ],
)
def test_a_link_that_is_none_or_leads_elsewhere(
    room: Room, session: Session, harm: Callable[[Path], object], words: str
) -> None:
    harm(room.output)
    verdict = room.job(session).verify()
    assert not verdict.sound
    assert verdict.link.startswith(f"{room.output}: {words}")


def test_a_link_to_an_answer_that_is_gone(room: Room) -> None:
    job = room.job()
    (answer_directory,) = job.store.answer_directories.values()
    last = directory_of(job, 2)
    shutil.rmtree(answer_directory.path / last)
    assert answer_directory.link_problem(last) == f"the link shows .answer/{last}, and that is gone"


def test_an_input_replaced_while_it_is_compared(room: Room, session: Session) -> None:
    def meddled(*_: object, **__: object) -> Difference:
        swapped(room.directory / "data/sales/part-1.parquet")
        return SAME

    with (
        patch("slackwater.job.running.verify.difference", meddled),
        pytest.raises(UserError, match="has been replaced"),
    ):
        room.job(session).verify()
