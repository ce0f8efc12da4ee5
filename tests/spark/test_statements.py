from __future__ import annotations

import os
import signal
from pathlib import Path
from threading import Event, Thread

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from slackwater.errors import BindError, InternalError, ParseError, RunError, UserError
from slackwater.spark.file_columns import columns_of_files
from slackwater.spark.metrics import Measured
from slackwater.spark.statements import Task, our_error, run_all, run_statement

# Does not end unless it is cancelled; one partition, so that it leaves room for a second task on two cores.
ENDLESS = "SELECT sum(id % 7) AS s FROM range(0, 1000000000000000, 1, 1)"


def write(target: Path, query: str) -> str:
    return f"INSERT OVERWRITE DIRECTORY '{target}' USING parquet {query}"


def test_text_that_spark_does_not_take(spark: SparkSession) -> None:
    with pytest.raises(ParseError, match=r"^\[PARSE_SYNTAX_ERROR\] Syntax error at or near 'SELEC'\.") as wrong:
        run_statement(spark, "SELEC")
    with pytest.raises(BindError, match=r"^\[UNRESOLVED_COLUMN.*`nothing`") as unknown:
        run_statement(spark, "SELECT nothing FROM range(1)")
    for raised in (wrong, unknown):
        assert "\n" not in str(raised.value)


def test_a_value_that_does_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"^\[CAST_INVALID_INPUT\] The value 'x'") as raised:
        run_statement(spark, write(tmp_path / "out", "SELECT CAST('x' AS INT) AS n FROM range(2)"))
    assert "SQLSTATE" not in str(raised.value)
    assert raised.value.hint is None


def test_a_damaged_file_is_named(spark: SparkSession, tmp_path: Path) -> None:
    (folder := tmp_path / "a b").mkdir()
    run_statement(spark, write(folder / "whole", "SELECT id FROM range(9)"))
    whole = next((folder / "whole").glob("*.parquet"))
    (torn := folder / "torn.parquet").write_bytes(whole.read_bytes()[:100])
    run_statement(spark, f"CREATE OR REPLACE TEMPORARY VIEW torn (id BIGINT) USING parquet OPTIONS (path '{torn}')")
    with pytest.raises(RunError) as raised:
        run_statement(spark, write(tmp_path / "out", "SELECT * FROM torn"))
    assert str(raised.value).startswith(f"{torn}: is not a Parquet file")


@pytest.mark.parametrize("format, stale", [("parquet", b"\0\0\0\0"), ("orc", b"\0\0\0\0"), ("json", b"")])
def test_checksums_of_an_older_version_are_named(
    spark: SparkSession, tmp_path: Path, format: str, stale: bytes
) -> None:
    directory = tmp_path / "a b"
    run_statement(spark, f"INSERT OVERWRITE DIRECTORY '{directory}' USING {format} SELECT id FROM range(9)")
    file = next(path for path in directory.iterdir() if path.name.startswith("part-"))
    crc = file.with_name(f".{file.name}.crc")
    crc.write_bytes(crc.read_bytes()[:-4] + stale)
    with pytest.raises(UserError) as inferred:
        columns_of_files(spark, format, str(directory), [file.name], {})
    run_statement(
        spark, f"CREATE OR REPLACE TEMPORARY VIEW stale (id BIGINT) USING {format} OPTIONS (path '{directory}')"
    )
    with pytest.raises(RunError) as read:
        run_statement(spark, write(tmp_path / "out", "SELECT * FROM stale"))
    for raised in (inferred, read):
        assert f"this file does not match the checksums in `{crc.name}` beside it" in raised.value.message
        assert str(raised.value.place) == str(file)
        assert f"remove `{crc.name}`" in str(raised.value.hint)


def test_a_header_that_has_drifted_is_told(spark: SparkSession, tmp_path: Path) -> None:
    (drifted := tmp_path / "drifted.csv").write_text("name,id\nx,1\n")
    run_statement(
        spark,
        "CREATE OR REPLACE TEMPORARY VIEW drifted (id INT, name STRING) USING csv"
        f" OPTIONS (path '{drifted}', header 'true', enforceSchema 'false')",
    )
    with pytest.raises(RunError, match=r"CSV header does not conform to the schema\. Header: name, id") as raised:
        run_statement(spark, write(tmp_path / "out", "SELECT * FROM drifted"))
    assert raised.value.place is not None
    assert raised.value.place.file == str(drifted)


def test_a_value_in_a_file_is_told_with_its_root_cause(spark: SparkSession, tmp_path: Path) -> None:
    (file := tmp_path / "words.csv").write_text("seven\n")
    run_statement(
        spark,
        f"CREATE OR REPLACE TEMPORARY VIEW words (n INT) USING csv OPTIONS (path '{file}', mode 'FAILFAST')",
    )
    with pytest.raises(RunError, match="MALFORMED_RECORD_IN_PARSING") as raised:
        run_statement(spark, write(tmp_path / "out", "SELECT * FROM words"))
    assert raised.value.hint == 'because: For input string: "seven"'


def test_an_error_without_causes_keeps_what_the_lost_task_said() -> None:
    message = (
        "Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure: Lost task 0.0 in"
        " stage 1.0 (TID 1) (host executor driver): java.io.IOException: No space left on device\n\tat java.io.X(Y)\n"
    )
    assert str(our_error(Py4JError(message))) == "java.io.IOException: No space left on device"


def test_a_failing_function_of_python_is_told_by_its_exception() -> None:
    message = (
        "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):\n"
        '  File "mine.py", line 40, in <lambda>\n    1 // 0\n    ~~^^~~\n'
        "ZeroDivisionError: integer division or modulo by zero\n  SQLSTATE: 38000"
    )
    assert str(our_error(Py4JError(message))) == "ZeroDivisionError: integer division or modulo by zero"


def test_tasks_run_after_those_they_need_and_each_is_measured(spark: SparkSession, tmp_path: Path) -> None:
    def view(name: str) -> str:
        return f"CREATE OR REPLACE TEMPORARY VIEW {name} (n BIGINT) USING parquet OPTIONS (path '{tmp_path / name}')"

    tasks = [
        Task("both", (write(tmp_path / "both", "SELECT * FROM p UNION ALL SELECT * FROM q"),), frozenset({"p", "q"})),
        Task("p", (write(tmp_path / "p", "SELECT id AS n FROM range(10)"), view("p"))),
        Task("q", (write(tmp_path / "q", "SELECT id AS n FROM range(200)"), view("q"))),
    ]
    events: list[str] = []
    costs: dict[str, Measured] = {}

    def done(task: Task, measured: Measured) -> None:
        events.append(f"{task.name} done")
        costs[task.name] = measured

    assert run_all(spark, tasks, on_start=lambda task: events.append(f"{task.name} starts"), on_done=done) == costs
    assert {name: cost.rows_out for name, cost in costs.items()} == {"p": 10, "q": 200, "both": 210}
    assert {name: cost.rows_in for name, cost in costs.items()} == {"p": 10, "q": 200, "both": 210}
    assert set(events[:2]) == {"p starts", "q starts"}
    assert events[-2:] == ["both starts", "both done"]


def test_after_a_failure_nothing_starts_and_what_runs_is_cancelled(spark: SparkSession, tmp_path: Path) -> None:
    started: list[str] = []
    tasks = [
        Task("long", (write(tmp_path / "long", ENDLESS), write(tmp_path / "second", "SELECT 1 AS n"))),
        Task("bad", (write(tmp_path / "bad", "SELECT 1 / id AS n FROM range(1)"),)),
        Task("later", (write(tmp_path / "later", "SELECT 1 AS n"),), frozenset({"bad"})),
    ]
    with pytest.raises(RunError, match=r"^step `bad`: \[DIVIDE_BY_ZERO\]"):
        run_all(spark, tasks, on_start=lambda task: started.append(task.name))
    assert sorted(started) == ["bad", "long"]
    assert list(spark.sparkContext.statusTracker().getActiveJobsIds()) == []
    assert not (tmp_path / "second").exists()


def test_an_interrupt_cancels_and_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    begun, over = Event(), Event()

    def interrupt_once_a_job_runs() -> None:
        begun.wait()
        tracker = spark.sparkContext.statusTracker()
        while not over.is_set() and not tracker.getActiveJobsIds():
            over.wait(0.05)
        if not over.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    watcher = Thread(target=interrupt_once_a_job_runs)
    watcher.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_all(spark, [Task("long", (write(tmp_path / "long", ENDLESS),))], on_start=lambda _: begun.set())
    finally:
        begun.set()
        over.set()
        watcher.join()
    assert list(spark.sparkContext.statusTracker().getActiveJobsIds()) == []


@pytest.mark.parametrize(
    "tasks, said",
    [
        ([Task("a", ()), Task("a", ())], "two tasks have one name"),
        ([Task("a", (), frozenset({"b"}))], r"tasks need \['b'\], which no task is called"),
        ([Task("a", (), frozenset({"b"})), Task("b", (), frozenset({"a"}))], "in a circle"),
    ],
)
def test_a_graph_that_cannot_run(spark: SparkSession, tasks: list[Task], said: str) -> None:
    with pytest.raises(InternalError, match=said):
        run_all(spark, tasks)
