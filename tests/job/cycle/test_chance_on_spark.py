"""What `verify` says on Spark of answers that are up to chance."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.job.room import Room

from slackwater.cli.main import DONE, main


@pytest.mark.parametrize(
    "query,compared",
    [
        ("SELECT cat, rand() AS r, count(*) AS n FROM sales GROUP BY cat", ["cat", "n"]),
        ("SELECT count(*) AS n, sum(price) AS s FROM sales WHERE rand() < 0.5 HAVING uuid() > ''", []),
    ],
)
@pytest.mark.rotating(2)
def test_verify_says_that_a_random_answer_cannot_be_compared(
    tmp_path: Path, spark: SparkSession, query: str, compared: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    room = Room(tmp_path / "room", query)
    for run in (1, 2):
        room.arrive(run)
        room.job(spark).run()
    verdict = room.job(spark).verify()
    assert verdict.equal or "rand()" in verdict.undetermined
    if not verdict.equal:
        assert (verdict.differs, [field.name for field in verdict.fields]) == (False, compared)
    assert main(["verify", "--job", str(room.file)]) == DONE
    capsys.readouterr()
