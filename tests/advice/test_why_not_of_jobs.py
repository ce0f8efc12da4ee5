"""`slackwater explain` of a job: why it is computed from scratch, and what to write into its file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import Room

from slackwater.advice.file_text import FileKind, entry, flow
from slackwater.cli.main import DONE, main

DEAR = {"refresh": "auto", "deliver": "final", "weights": [0.8, 0.8, 1]}


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with without_spark() as (_, session):
        monkeypatch.setattr("slackwater.spark.session.open_session", lambda *_: session)
        yield


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == DONE
    return capsys.readouterr().out


def test_weights_at_which_early_work_pays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Room(tmp_path / "room", settings=DEAR)
    room.arrive(1)
    monkeypatch.chdir(room.directory)
    text = printed(capsys, "explain")
    assert "computed from scratch: nothing that an early run could do pays" in text
    assert "why full recompute\n" in text
    reason = json.loads(printed(capsys, "explain", "--why-not", "--json"))["why_not"]
    remedies = [each["write"] for each in reason["what_would_change_it"] if "weights" in each["write"]]
    assert len(remedies) == 1
    assert flow(remedies[0]["weights"]) in text
    room.write(**remedies[0])
    assert json.loads(printed(capsys, "plan", "--json"))["rank"] < reason["taken_below"]
    assert "computed from scratch" not in printed(capsys, "plan")


def test_a_job_that_refreshes_in_full_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Room(tmp_path / "room", settings={**DEAR, "refresh": "full", "weights": [0.1, 0.1, 1]})
    room.arrive(1)
    monkeypatch.chdir(room.directory)
    text = printed(capsys, "explain", "--why-not")
    assert "no method that keeps anything is allowed" in text
    assert "    if all methods and rules were allowed:\n      refresh: auto\n" in text


def test_why_not_is_answered_in_a_cycle_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Room(tmp_path / "room", settings=DEAR)
    room.arrive(1)
    monkeypatch.chdir(room.directory)
    printed(capsys, "run", "--early")
    assert "computed from scratch: nothing that an early run could do pays" in printed(capsys, "explain")
    assert "why full recompute\n" in printed(capsys, "explain", "--why-not")


def test_values_as_they_are_written() -> None:
    assert (
        flow({"a b": [1, 0.25, True, None, "x", "no", "10:00"]}) == '{"a b": [1, 0.25, true, null, x, "no", "10:00"]}'
    )
    assert entry("items", {"with": {"orders": ["id"]}}, FileKind.JOB) == "items: {with: {orders: [id]}}"
    assert entry("items", {"keys": [["id"]]}, FileKind.CATALOG) == '"items": {"keys": [["id"]]}'
