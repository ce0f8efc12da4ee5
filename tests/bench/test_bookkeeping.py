"""Books of many files and cycles: commands read what they need, and the benchmark makes real records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.job.duck import Duck, without_spark

from slackwater.bench.bookkeeping import BookkeepingBenchmark, Size, Timed, bring, make_job, timed
from slackwater.cli.main import DONE, FAILED, main
from slackwater.job.job import Job
from slackwater.job.store.manifest import read_record
from slackwater.spark.session import Session

CYCLES = 80


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("books") / "large"
    with without_spark() as (_, session):
        make_job(directory, session, Size(25, CYCLES))
    return directory


@pytest.fixture
def duck() -> Iterator[tuple[Duck, Session]]:
    with without_spark() as pair:
        yield pair


@pytest.fixture
def read() -> Iterator[set[str]]:
    """The cycles whose records were read, by the names of their directories."""
    names: set[str] = set()

    def noted(path: Path, kind: type) -> object:
        names.add(path.parent.name)
        return read_record(path, kind)

    with patch("slackwater.job.store.cycle_directory.read_record", noted):
        yield names


def test_the_history_is_like_one_that_was_run(books: Path) -> None:
    job = Job.open(books, clock=None)
    assert [cycle.number for cycle in job.store.cycles()] == list(range(1, CYCLES + 2))
    runs = job.history()
    assert len(runs) == 3 * CYCLES + 1
    assert {len(runs[0].pins["sales"]), len(runs[-1].pins["sales"])} == {10, 25}
    assert len(job.history(2)) == 4


def test_status_reads_the_last_cycle_only(books: Path, read: set[str]) -> None:
    status = Job.open(books).status()
    assert (status.cycle, status.next.run if status.next else None) == (CYCLES + 1, 2)
    assert read <= {f"cycle-{CYCLES + 1}"}


def test_a_run_reads_the_last_cycle_and_a_plan_the_last_ten_weeks(
    books: Path, duck: tuple[Duck, Session], read: set[str]
) -> None:
    bring(books, "late", 1)
    job = Job.open(books, duck[1], clock=None)
    (second,) = job.run()
    assert [pin.path.startswith("late") for pin in second.pins["sales"]] == [True]
    assert read <= {f"cycle-{CYCLES + 1}"}
    job.run(all=True)
    job.run(new_cycle=True)
    assert 2 < len(read) <= 72
    assert "cycle-2" not in read


def test_history_shows_the_last_cycles(books: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "--job", str(books), "--cycles", "2"]) == DONE
    assert "earlier cycles not shown; --all shows all" in capsys.readouterr().out
    assert main(["history", "--job", str(books), "--json"]) == DONE
    report = json.loads(capsys.readouterr().out)
    assert len({run["cycle"] for run in report["runs"]}) == 30
    assert report["earlier_cycles"] >= CYCLES + 1 - 30
    assert main(["history", "--job", str(books), "--all"]) == DONE
    assert "not shown" not in capsys.readouterr().out


def test_a_command_is_timed_in_a_process_of_its_own(books: Path) -> None:
    seconds, cpu = timed(books, ("status",))
    assert min(seconds, cpu) > 0.0


def test_the_report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    quick = BookkeepingBenchmark(Size(10_000, 1_000), (Timed("status", 1.0, 6.9, 1.0, 2.0),))
    slow = BookkeepingBenchmark(Size(10_000, 1_000), (Timed("status", 1.0, 7.1, 1.0, 2.0),))
    monkeypatch.setattr("slackwater.cli.bench_bookkeeping.open_session", lambda *_: None)
    for measured, code, verdict in ((quick, DONE, "every command is within"), (slow, FAILED, "NOT every command")):
        monkeypatch.setattr("slackwater.cli.bench_bookkeeping.measure_bookkeeping", lambda *_, value=measured: value)
        assert main(["bench", "bookkeeping"]) == code
        assert verdict in capsys.readouterr().out
