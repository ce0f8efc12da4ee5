"""A text that is no query is refused, and nothing in it is executed; a query reads what is declared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.job.room import Room

from slackwater.errors import BindError, ParseError, UnsupportedError, UserError
from slackwater.spark.analyze import output_fields
from slackwater.spark.reach import fields_over

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTING = "spark.sql.legacy.castComplexTypesToString.enabled"
COMMANDS = [
    "INSERT OVERWRITE DIRECTORY '{kept}' USING parquet SELECT 1 AS x",
    "WITH one AS (SELECT 2 AS x) INSERT INTO shelf SELECT * FROM one",
    "WITH one AS (SELECT 2 AS x)\nFROM one INSERT INTO shelf SELECT *",
    "FROM shelf INSERT INTO shelf SELECT *",
    "FROM shelf INSERT INTO shelf SELECT * INSERT INTO shelf SELECT *",
    "BEGIN DROP TABLE shelf; END",
    "BEGIN SELECT 1; END",
    "CREATE TABLE more USING parquet AS SELECT 1 AS x",
    "CREATE TEMPORARY VIEW seen AS SELECT 1 AS x",
    f"SET {SETTING}=true",
    "RESET",
    "EXECUTE IMMEDIATE 'DROP TABLE shelf'",
    "DROP TABLE shelf",
    "TRUNCATE TABLE shelf",
    "CACHE TABLE shelf",
    "EXPLAIN SELECT 1",
    "DESCRIBE shelf",
    "SHOW TABLES",
    "DECLARE VARIABLE v INT DEFAULT 1",
    "SELECT 1; DROP TABLE shelf",
    "SELECT 1) UNION ALL (SELECT 2",
    "DROP TABLE shelf; SELECT 1;",
]


@pytest.fixture(scope="module")
def shelf(spark: SparkSession) -> Iterator[SparkSession]:
    """A session with a table of one row."""
    spark.sql("CREATE TABLE shelf USING parquet AS SELECT 1 AS x")
    yield spark
    spark.sql("DROP TABLE shelf")


def _seen(session: SparkSession, kept: Path) -> object:
    tables = sorted(str(row) for row in session.sql("SHOW TABLES").collect())
    rows = session.table("shelf").collect()
    is_cached = session.catalog.isCached("shelf")
    return tables, rows, is_cached, session.conf.get(SETTING), sorted(path.name for path in kept.iterdir())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_refused_and_not_executed(shelf: SparkSession, tmp_path: Path, command: str) -> None:
    (tmp_path / "precious.txt").write_text("kept")
    before = _seen(shelf, tmp_path)
    with pytest.raises(ParseError) as refused:
        output_fields(shelf, command.format(kept=tmp_path), "query.sql")
    assert _seen(shelf, tmp_path) == before
    assert refused.value.place is not None
    assert refused.value.place.file == "query.sql"
    assert refused.value.place.line is not None
    assert "one SELECT" in (refused.value.hint or "")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 AS x",
        "\n  (SELECT 1 AS x);\n-- the end\n",
        "VALUES (1) AS t(x)",
        "TABLE shelf;;",
        "FROM shelf SELECT *",
        "FROM shelf |> WHERE x > 0 |> SELECT x",
        "WITH a AS (SELECT x FROM shelf) SELECT x FROM a ORDER BY x LIMIT 1 -- so many",
    ],
)
def test_a_query_is_analyzed(shelf: SparkSession, query: str) -> None:
    (field,) = output_fields(shelf, query)
    assert (field.name, field.type.text) == ("x", "int")


def test_a_mistake_keeps_its_place(shelf: SparkSession) -> None:
    with pytest.raises(BindError) as refused:
        output_fields(shelf, "\nSELECT x,\n  nothing\nFROM shelf;", "query.sql")
    assert str(refused.value.place) == "query.sql, line 3, column 3"


MANY = ", ".join(f"a{n} AS (SELECT x FROM sales)" for n in range(40))


def test_what_spark_reads_must_be_declared(shelf: SparkSession, tmp_path: Path) -> None:
    shelf.sql("CREATE OR REPLACE TEMPORARY VIEW sales AS SELECT 1 AS x")
    shelf.sql("DECLARE OR REPLACE VARIABLE kept_back INT DEFAULT 1")
    shelf.range(1).write.parquet(str(tmp_path / "secret"))
    fields_over(shelf, f"WITH {MANY} SELECT a39.x FROM a39 JOIN Sales s", ["sales"])
    try:
        for text, name in (
            ("FROM shelf |> SELECT x", "shelf"),
            ("SELECT * FROM sales WHERE x IN (SELECT x FROM default.shelf)", "default.shelf"),
            (f"SELECT * FROM parquet.`{tmp_path}/secret`", f"parquet.{tmp_path}/secret"),
        ):
            with pytest.raises(BindError, match=f"`{name}` is not a source of this job"):
                fields_over(shelf, text, ["sales"])
        with pytest.raises(UnsupportedError, match=r"variable `system\.session\.kept_back`"):
            fields_over(shelf, "SELECT x + kept_back FROM sales", ["sales"])
    finally:
        shelf.sql("DROP TEMPORARY VARIABLE kept_back")
        shelf.sql("DROP VIEW sales")


def test_a_job_whose_query_is_a_command_destroys_nothing(spark: SparkSession, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "precious.txt").write_text("kept")
    room = Room(tmp_path / "job", "query.sql")
    command = f"-- what was sold\nINSERT OVERWRITE DIRECTORY '{kept}' USING csv SELECT * FROM sales;\n"
    (room.directory / "query.sql").write_text(command, encoding="utf-8")
    room.arrive(1)
    with pytest.raises(UserError, match="at or near 'INSERT'") as refused:
        room.job(spark).plan()
    assert str(refused.value.place).endswith("query.sql, line 2, column 1")
    assert (kept / "precious.txt").read_text() == "kept"
