from __future__ import annotations

import json
from pathlib import Path

import pytest

from slackwater.catalog.table import Catalog, table
from slackwater.cli.main import DONE, FAILED, main
from slackwater.job.file.config import load_job
from slackwater.plan.plan import ONLY
from slackwater.sql.bind import bind


def test_writes_a_job_that_is_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "jobs" / "revenue"
    assert main(["init", str(directory)]) == DONE
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.splitlines()[:4] == [
        f"wrote {directory}/slackwater.yml and {directory}/revenue.sql",
        "",
        "next",
        f"1. write your query into {directory}/revenue.sql",
    ]
    job = load_job(directory / "slackwater.yml")
    assert job.queries[ONLY].asked.file == directory / "revenue.sql"
    assert set(job.sources) == {"sales", "returns", "store"}
    tables = (
        table("sales", {"o_id": "int", "store_id": "int", "category": "string", "price": "double"}),
        table("returns", {"o_id": "int", "cost": "double"}),
        table("store", {"id": "int", "open": "boolean"}),
    )
    bind(job.queries[ONLY].text, Catalog.of(tables))


def test_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--json"]) == DONE
    assert json.loads(capsys.readouterr().out)["files"] == ["slackwater.yml", "revenue.sql"]
    assert (tmp_path / "slackwater.yml").is_file()


@pytest.mark.parametrize("name", ["slackwater.yml", "slackwater.yaml", "revenue.sql"])
def test_overwrites_nothing(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_text("mine", encoding="utf-8")
    assert main(["init", str(tmp_path)]) == FAILED
    assert f"{tmp_path / name} exists already" in capsys.readouterr().err
    assert [(file.name, file.read_text(encoding="utf-8")) for file in tmp_path.iterdir()] == [(name, "mine")]


def test_where_nothing_can_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["init", str(tmp_path / "file")]) == FAILED
    assert "cannot write" in capsys.readouterr().err
