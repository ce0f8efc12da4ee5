"""Objects of a job print as the commands do, in a few lines, and hostile names stay text in a notebook."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import Room

from slackwater.algebra.schema import Field
from slackwater.algebra.types import Type
from slackwater.cli.main import DONE, main
from slackwater.job.history import History
from slackwater.job.running.verify import Verdict
from slackwater.job.text_table import Table
from slackwater.spark.compare import Difference

HOSTILE = '<script>alert("x")</script>'


def test_words_stand_left_and_numbers_right() -> None:
    table = Table(("name", "rows"), (("a", "1"), ("longer", "1,000")), left=1)
    assert table.as_text() == "name      rows\na            1\nlonger   1,000"


def test_a_name_is_never_markup() -> None:
    html = Table((HOSTILE,), ((HOSTILE,),)).as_html()
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 2


def verdict(*missing: tuple[object, ...]) -> Verdict:
    fields = (Field(HOSTILE, Type.parse("string")),)
    return Verdict(3, "24:00", 7, fields, Difference(missing=missing, extra=(), close=0, cut=False), sample=0.01)


def test_a_verdict_says_what_came_of_it() -> None:
    assert repr(verdict()) == "run 3 (24:00), 7 rows, on a sample of 1 %: equal to the batch answer"
    differing = verdict((HOSTILE,))
    assert repr(differing).splitlines()[0].endswith("1 rows are missing, 0 too many")
    assert "<script" not in differing._repr_html_()
    assert HOSTILE in repr(differing)
    assert len(repr(verdict(*((n,) for n in range(1000)))).splitlines()) < 20


def test_a_job_prints_as_its_commands_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    room = Room(tmp_path / "room")
    room.arrive(1)
    with without_spark() as (_, session):
        job = room.job(session)
        assert repr(job.history()) == "no run is committed yet"
        job.run()
    assert repr(job) == f"Job room: 1 query, 3 runs, {room.file}"
    assert f'<td style="text-align: left">{room.directory / "data" / "sales"}</td>' in job._repr_html_()
    monkeypatch.chdir(room.directory)
    assert main(["history"]) == DONE
    history = job.history()
    assert isinstance(history, History)
    assert [line.split() for line in repr(history).splitlines()] == [
        line.split() for line in capsys.readouterr().out.splitlines()
    ]
    assert history[0].run == 1
    assert history[:1] == (history[0],)
    assert "<table>" in history._repr_html_()
    assert main(["status"]) == DONE
    printed = capsys.readouterr().out
    assert all(" ".join(line.split()) in " ".join(printed.split()) for line in repr(job.status()).splitlines())
    assert "committed, delivers" in job.status()._repr_html_()
