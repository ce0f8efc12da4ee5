"""The commands of a job with several queries, on DuckDB; `verify`, which compares on Spark, is in tests/job."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import BUSY, BY_TEXT, SALES_AND_RETURNS, Room, several

from slackwater.cli.main import DONE, FAILED, main

Said = Callable[..., str]

QUERIES = several(gross={"query": SALES_AND_RETURNS, "deliver": "final"}, busy=BUSY, text=BY_TEXT)


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with without_spark() as (_, session):
        monkeypatch.setattr("slackwater.spark.session.open_session", lambda *_: session)
        yield


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Room:
    """A job whose first files are there; we stand in its directory."""
    job_room = Room(tmp_path / "room", settings=QUERIES)
    job_room.arrive(1)
    monkeypatch.chdir(job_room.directory)
    return job_room


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    def printed(*arguments: str, code: int = DONE) -> str:
        assert main(arguments) == code
        streams = capsys.readouterr()
        return streams.out if code == DONE else streams.err

    return printed


@pytest.mark.usefixtures("room")
def test_plan_and_explain_tell_which_step_serves_which_query(said: Said) -> None:
    plan = said("plan")
    assert plan.count("deliver the answer of busy") == 3
    assert plan.count("deliver the answer of gross") == 1
    assert "\n    serves busy, gross\n" in plan
    assert "\nanswer of gross                             deliver\n" in plan
    explained = said("explain")
    assert "bytes  serves       read by" in explained
    assert "432  busy, gross  output_gross_3 (24:00), output_busy_3 (24:00)" in explained
    because = "query text, line 1, column 16: WITH RECURSIVE is not supported"
    assert f"query text: computed from scratch: {because}" in explained
    report = json.loads(said("explain", "--json", "--alternatives"))
    assert report["from_scratch_because"] == {"text": because}
    assert {step.get("answers") for step in report["plan"]["steps"]} == {None, "gross", "busy", "text"}
    assert [each["delivers"] for each in report["alternatives"]] == [
        ["10:00", "14:00", "24:00"],
        *(["10:00"], ["14:00"], ["24:00"]),
    ]


@pytest.mark.usefixtures("room")
def test_why_a_query_is_computed_by_its_text_is_said_before_and_in_a_cycle(said: Said) -> None:
    because = "query text, line 1, column 16: WITH RECURSIVE is not supported"
    line = f"query text: computed from scratch: {because}\n"
    assert line in said("plan")
    said("run", "--early")
    assert line in said("plan")
    assert line in said("explain")
    for command in ("plan", "explain"):
        assert json.loads(said(command, "--json"))["from_scratch_because"] == {"text": because}


def test_a_line_for_every_answer(room: Room, said: Said) -> None:
    out = room.directory / "out"
    status = said("status").splitlines()
    assert status[1].split() == ["run", "time", "finished", "total", "CPU", "gross", "busy", "text"]
    assert "to do, delivers busy, text" in status[2]
    *_, first, second, following = said("run", "--early").splitlines()
    assert [first, second] == [
        f"the answer of busy: 1 rows in {out / 'busy'}",
        f"the answer of text: 3 rows in {out / 'text'}",
    ]
    assert following.startswith("next: 14:00, due ")
    for run in (2, 3):
        room.arrive(run)
    done = said("run", "--all").splitlines()
    assert [line for line in done if line.startswith("the answer")] == [
        f"the answer of gross: 4 rows in {out / 'gross'}",
        f"the answer of busy: 3 rows in {out / 'busy'}",
        f"the answer of text: 4 rows in {out / 'text'}",
    ]
    status = said("status").splitlines()
    assert status[4].split()[-3:] == ["4", "3", "4"]
    assert status[-3:] == [f"the answer of {name}: {out / name}" for name in ("gross", "busy", "text")]
    history = said("history").splitlines()
    assert history[0].split()[5:8] == ["gross", "busy", "text"]
    assert history[1].split()[-7:-5] == ["1", "3"]
    reports = json.loads(said("history", "--json"))["runs"]
    assert [list(run["outputs"]) for run in reports] == [["busy", "text"], ["busy", "text"], ["gross", "busy", "text"]]
    status_told = json.loads(said("status", "--json"))
    assert [run["queries"] for run in status_told["runs"]] == [["busy", "text"]] * 2 + [["gross", "busy", "text"]]
    assert status_told["outputs"] == {name: str(out / name) for name in ("gross", "busy", "text")}
    assert json.loads(said("run", "--json"))["outputs"] == status_told["outputs"]


@pytest.mark.usefixtures("room")
def test_verify_names_the_queries_there_are(said: Said) -> None:
    assert said("verify", code=FAILED).startswith("error: nothing has been delivered yet")
    assert said("verify", "--query", "text", code=FAILED).startswith("error: nothing has been delivered yet")
    assert said("verify", "--query", "texts", code=FAILED) == "error: no query texts\n  did you mean `text`?\n"


def test_one_query_has_no_name_in_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Said) -> None:
    room = Room(tmp_path / "room")
    room.arrive(1)
    monkeypatch.chdir(room.directory)
    plan = said("plan")
    assert "serves" not in plan
    assert "\nanswer                    deliver  deliver  deliver\n" in plan
    assert "bytes  read by" in said("explain")
    assert said("run", "--early").splitlines()[-2] == f"the answer: 3 rows in {room.output}"
    status = said("status").splitlines()
    assert status[1].split() == ["run", "time", "finished", "total", "CPU", "rows"]
    assert "committed, delivers  " in status[2]
    assert status[-1] == f"the answer: {room.output}"
    assert "delivered" in said("history").splitlines()[0]
    report = json.loads(said("status", "--json"))
    assert report["output"] == str(room.output)
    assert "outputs" not in report
    assert "queries" not in report["runs"][0]
    (run,) = json.loads(said("history", "--json"))["runs"]
    assert run["output"]["rows"] == 3
    assert "outputs" not in run
