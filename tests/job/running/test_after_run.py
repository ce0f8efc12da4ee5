"""Runs that verify what they have delivered: what is compared, what is kept, and that a difference cannot be missed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.job.duck import without_spark
from tests.job.room import THREE_ARRIVALS, Room, expected
from tests.spark.small_job import arrive, write_job

import slackwater
from slackwater.cli.main import DONE, FAILED, main
from slackwater.errors import RunError, UserError
from slackwater.job.running.after_run import AnswerDiffers
from slackwater.job.running.verify import Verdict, Verification
from slackwater.job.store.accounts import Phase
from slackwater.spark.compare import Difference, Row
from slackwater.spark.session import Session

EACH: dict[str, object] = {"verify": {"after": "each run", "sample": "1%"}}


@dataclass
class Compared:
    """Takes the place of Spark's comparison, and notes what was compared."""

    missing: tuple[Row, ...] = ()
    error: UserError | None = None
    seen: list[tuple[int, float | None]] = field(default_factory=list)

    def __call__(self, verification: Verification, _: Session, sample: float | None = None) -> Verdict:
        manifest = verification.manifest
        self.seen.append((manifest.run, sample))
        if self.error is not None:
            raise self.error
        return Verdict(manifest.run, manifest.time, 3, verification.fields, Difference(self.missing, ()), sample)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Compared:
    calls = Compared()
    monkeypatch.setattr(Verification, "run", lambda *arguments: calls(*arguments))
    return calls


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    with without_spark() as (_, session):
        monkeypatch.setattr("slackwater.spark.session.open_session", lambda *_: session)
        yield session


Said = Callable[..., str]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    def run(*arguments: str, code: int = DONE) -> str:
        assert main(list(arguments)) == code
        printed = capsys.readouterr()
        return printed.out + printed.err

    return run


def test_each_run_that_delivers_is_verified_and_says_so(
    tmp_path: Path, compared: Compared, session: Session, monkeypatch: pytest.MonkeyPatch, said: Said
) -> None:
    room = Room(tmp_path / "room", settings=EACH)
    room.arrive(1)
    monkeypatch.chdir(room.directory)
    assert "\nverified: equal to the batch answer (sample of 1 %)\n" in said("run", "--early")
    assert compared.seen == [(1, 0.01)]
    (account,) = room.job(session).history().accounts
    assert account is not None
    assert Phase.VERIFY in account.phases
    assert "verified: equal to the batch answer" in said("status").splitlines()[2]
    assert said("history").splitlines()[0].endswith("verified")
    assert json.loads(said("status", "--json"))["runs"][0]["verified"]["sound"] is True
    (run,) = json.loads(said("history", "--json"))["runs"]
    assert run["verified"] == {
        "sound": True,
        "equal": True,
        "sample": 0.01,
        "outcome": "equal to the batch answer",
        "link": "",
        "missing": 0,
        "extra": 0,
    }


def test_what_differs_stays_delivered_and_fails_the_command_with_its_rows(
    tmp_path: Path, compared: Compared, session: Session, monkeypatch: pytest.MonkeyPatch, said: Said
) -> None:
    room = Room(tmp_path / "room", settings=EACH)
    for number in (1, 2, 3):
        room.arrive(number)
    compared.missing = (("lost", 7, 1),)
    monkeypatch.chdir(room.directory)
    text = said("run", "--all", code=FAILED)
    assert "the answer is delivered, but is not what the batch query returns" in text
    assert "1 rows are missing, 0 too many" in text
    assert "lost" in text
    assert compared.seen == [(1, 0.01)], "no run after one that differs"
    assert room.answer() == expected(THREE_ARRIVALS[:3])
    (manifest,) = room.job(session).history()
    assert manifest.run == 1
    assert "verified: DIFFERS" in said("status").splitlines()[2]
    assert "DIFFERS" in said("history")
    with pytest.raises(AnswerDiffers):
        room.job(session).run(new_cycle=True)


@pytest.mark.parametrize(
    "settings, verified",
    [
        ({}, []),
        ({"verify": {"after": "never"}}, []),
        ({"verify": {"after": "last run"}}, [3]),
        ({"verify": {}}, [1, 2, 3]),
        ({"verify": {}, "deliver": "final"}, [3]),
    ],
)
def test_which_runs(
    tmp_path: Path, compared: Compared, session: Session, settings: dict[str, object], verified: list[int]
) -> None:
    room = Room(tmp_path / "room", settings=settings)
    for number in (1, 2, 3):
        room.arrive(number)
        room.job(session).run()
    assert compared.seen == [(run, None) for run in verified]


def test_an_answer_that_stands_is_not_verified_again(tmp_path: Path, compared: Compared, session: Session) -> None:
    room = Room(tmp_path / "room", settings=EACH)
    room.arrive(1)
    room.job(session).run(all=True)
    assert compared.seen == [(1, 0.01)]


def test_a_verification_that_fails_says_that_the_run_is_committed(
    tmp_path: Path, compared: Compared, session: Session
) -> None:
    room = Room(tmp_path / "room", settings=EACH)
    room.arrive(1)
    compared.error = RunError("no memory")
    with pytest.raises(UserError, match="run 1 is committed and delivered, but was not verified: no memory"):
        room.job(session).run()
    assert len(room.job(session).history()) == 1
    compared.error = None
    room.arrive(2)
    (manifest,) = room.job(session).run()
    assert manifest.run == 2


def test_a_link_that_is_wrong_is_called_that(tmp_path: Path, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong_link(verification: Verification, _: Session, sample: float | None = None) -> Verdict:
        return Verdict(
            1, "10:00", 3, verification.fields, Difference((), ()), sample, link="out/answer: is a directory"
        )

    monkeypatch.setattr(Verification, "run", wrong_link)
    room = Room(tmp_path / "room", settings=EACH)
    room.arrive(1)
    with pytest.raises(AnswerDiffers, match="its link does not show it"):
        room.job(session).run()
    (verified,) = room.job(session).history().verified
    assert str(verified) == "the link is wrong (sample of 1 %)"


def test_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    directory = tmp_path / "job"
    file = write_job(directory, {})
    asked = "deliver: every\nverify: {after: each run, sample: 50%}\n"
    file.write_text(file.read_text(encoding="utf-8") + asked, encoding="utf-8")
    arrive(directory, 1)
    job = slackwater.Job.open(directory, session=spark)
    job.run(1)
    (verified,) = job.history().verified
    assert verified is not None
    assert str(verified) == "equal to the batch answer (sample of 50 %)"
