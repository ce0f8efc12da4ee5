"""One query that fails on Spark, from the command line: what others deliver, what is said, what is tried again."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import slackwater
from slackwater.cli.main import DONE, FAILED, main

JOB = """
name: two
queries:
  sold: {query: "SELECT region, sum(price) AS sold FROM sales GROUP BY region", output: {path: out/sold}}
  shares: {query: "SELECT region, max(price / amount) AS most FROM sales GROUP BY region", output: {path: out/shares}}
schedule: ["14:00", "24:00"]
deliver: every
sources:
  sales: {path: data/sales, key: id}
output: null
"""


def arrive(directory: Path, run: int, *amounts: int) -> None:
    ids = [10 * run + n for n, _ in enumerate(amounts)]
    columns = {"id": ids, "region": ["n"] * len(ids), "price": [10] * len(ids), "amount": list(amounts)}
    (directory / "data" / "sales").mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), directory / "data" / "sales" / f"{run}.parquet")


def rows(directory: Path, name: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in pq.read_table(directory / "out" / name).to_pylist()]


def test_a_division_by_zero_holds_up_one_query(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("slackwater.spark.session.open_session", lambda *_: spark)
    (tmp_path / "slackwater.yml").write_text(JOB.replace("output: null\n", ""), encoding="utf-8")
    arrive(tmp_path, 1, 2, 5)
    job = ["--job", str(tmp_path)]
    assert main(["run", "--next", *job]) == DONE
    assert rows(tmp_path, "shares") == [("n", 5.0)]
    arrive(tmp_path, 2, 4, 0)
    assert main(["run", "--next", *job]) == FAILED
    err = capsys.readouterr().err
    assert "the answer of shares failed at 24:00: step `output_shares_2`" in err
    assert "DIVIDE_BY_ZERO" in err
    assert "the other queries go on without it" in err
    assert rows(tmp_path, "sold") == [("n", 40)]
    assert rows(tmp_path, "shares") == [("n", 5.0)]
    assert main(["status", *job]) == DONE
    assert "failed: shares" in capsys.readouterr().out
    assert main(["status", "--json", *job]) == DONE
    assert list(json.loads(capsys.readouterr().out)["runs"][1]["failed"]) == ["shares"]
    with pytest.raises(slackwater.errors.UserError, match="DIVIDE_BY_ZERO"):
        slackwater.Job.open(tmp_path).run()
    assert slackwater.Job.open(tmp_path).verify(query="sold").sound
    assert main(["history", *job]) == DONE
