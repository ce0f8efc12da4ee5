"""Jobs without Spark: their statements executed by DuckDB, their files written as Spark writes them.

Only what a job says to Spark is replaced, all that it does with files is the real thing. Good for parquet sources and
for queries that read the same in both dialects.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast
from unittest.mock import patch

import duckdb
import pyarrow.parquet as pq
import sqlglot

from slackwater.algebra.schema import Field
from slackwater.algebra.types import Type
from slackwater.errors import BindError, RunError
from slackwater.physical.memory import Memory
from slackwater.simulation.tables import spark_type
from slackwater.spark.column_counting import Counted
from slackwater.spark.metrics import Measured
from slackwater.spark.session import Session
from slackwater.spark.statements import Task
from slackwater.sql.moments import literals_at

VIEW_OF_FILES = re.compile(
    r"CREATE OR REPLACE TEMPORARY VIEW (\w+)(?: \([^\n]*\))?\nUSING parquet OPTIONS \((.*)\)", re.DOTALL
)
VIEW = re.compile(r"CREATE OR REPLACE TEMPORARY VIEW (\w+)( \([^\n]*\))? AS\n(.*)", re.DOTALL)
INSERT = re.compile(r"INSERT OVERWRITE DIRECTORY '([^']*)' USING parquet\n(.*)", re.DOTALL)
CHECKPOINT = "slackwater.checkpoint"
"""Raised as an audit event wherever a file is half written, or a step half done."""

OUTPUTS = (("cat", "string"), ("gross", "bigint"), ("n", "bigint"))


class Duck:
    """Executes statements of a job."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        self.statements: list[str] = []
        self.clock = datetime(2026, 3, 1, 10, tzinfo=UTC)
        self.settings = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"}
        self.files: dict[str, list[str]] = {}

    def execute(self, statement: str) -> None:
        self.statements.append(statement)
        if parts := VIEW_OF_FILES.fullmatch(statement):
            self._view_of_files(parts[1], parts[2])
        elif parts := VIEW.fullmatch(statement):
            columns = (parts[2] or "").replace("`", '"')
            self.connection.execute(f"CREATE OR REPLACE TEMP VIEW {parts[1]}{columns} AS {_translated(parts[3])}")
        elif parts := INSERT.fullmatch(statement):
            self._insert(Path(parts[1]), self._with_file_names(_translated(parts[2])))
        else:
            raise AssertionError(f"not a statement of a job: {statement}")

    def columns_of(self, query: str) -> list[tuple[str, str]]:
        """The columns of a query over the views there are; sums of whole numbers are those of Spark."""
        schema = self.connection.execute(f"SELECT * FROM ({_translated(query)}) LIMIT 0").to_arrow_table().schema
        kinds = ((field.name, spark_type(field.type).text) for field in schema)
        return [(name, "bigint" if kind == "decimal(38,0)" else kind) for name, kind in kinds]

    def _view_of_files(self, name: str, options: str) -> None:
        (path,) = re.findall(r"\bpath '([^']*)'", options)
        files = [str(file) for place in _braces(path) for file in _data_files(Path(place))]
        self.files[name] = files
        try:
            self.connection.execute(
                f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM read_parquet({files}, union_by_name=true)"
            )
        except duckdb.Error as error:
            raise RunError(str(error)) from None

    def _with_file_names(self, select: str) -> str:
        """DuckDB says the file of a row only where files are read by name."""
        if "INPUT_FILE_NAME()" not in select:
            return select
        text = select.replace("INPUT_FILE_NAME()", "filename")
        return re.sub(r"FROM (\w+__new)", lambda view: f"FROM read_parquet({self.files[view[1]]}, filename=true)", text)

    def _insert(self, directory: Path, select: str) -> None:
        """As Spark does: a file below `_temporary`, then moved to where it belongs, then `_SUCCESS`."""
        try:
            rows = self.connection.execute(select).to_arrow_table()
        except duckdb.Error as error:
            raise RunError(str(error)) from None
        temporary = directory / "_temporary"
        temporary.mkdir(parents=True)
        draft = temporary / "part-00000.parquet"
        pq.write_table(rows, draft)
        whole = draft.read_bytes()
        draft.write_bytes(whole[: len(whole) // 2])
        sys.audit(CHECKPOINT, str(draft))
        draft.write_bytes(whole)
        draft.rename(directory / draft.name)
        temporary.rmdir()
        sys.audit(CHECKPOINT, str(directory))
        (directory / "_SUCCESS").touch()


def _braces(path: str) -> list[str]:
    before, brace, rest = path.partition("{")
    return [before + name for name in rest.rstrip("}").split(",")] if brace else [path]


def _data_files(path: Path) -> list[Path]:
    return sorted(p for p in path.iterdir() if p.suffix == ".parquet") if path.is_dir() else [path]


def _translated(sql: str) -> str:
    (translated,) = sqlglot.transpile(sql, read="spark", write="duckdb")
    bigint = re.sub(r"(GENERATE_SERIES\(TRY_CAST\(1 AS BIGINT\), )(\w+)\)", r"\1CAST(\2 AS BIGINT))", translated)
    return bigint.replace("RAISE_ERROR(", "ERROR(").replace("XXHASH64(", "HASH(")


# --- in place of slackwater.spark ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StandIn:
    """What a job asks Spark, answered by DuckDB; `outputs` are the columns of every query, if they are given."""

    duck: Duck
    outputs: Sequence[tuple[str, str]] | None

    def columns_of_files(
        self, _: Session, __: str, directory: str, paths: Sequence[str], ___: object, schema_text: str | None = None
    ) -> tuple[Field, ...]:
        if schema_text is not None:
            columns = [column.split() for column in schema_text.split(",")]
            return tuple(Field(name, Type.parse(kind.lower())) for name, kind in columns)
        schema = pq.read_schema(Path(directory) / paths[0])
        return tuple(Field(field.name, spark_type(field.type)) for field in schema)

    def run_all(
        self,
        _: Session,
        tasks: Iterable[Task],
        *,
        on_start: Callable[[Task], None],
        on_done: Callable[[Task, Measured], None],
        on_failure: Callable[[Task], None] = lambda _: None,
    ) -> Mapping[str, Measured]:
        costs: dict[str, Measured] = {}
        for task in tasks:
            assert task.needs <= costs.keys()
            on_start(task)
            try:
                for statement in task.statements:
                    self.duck.execute(statement)
            except OSError as error:
                on_failure(task)
                raise RunError(f"step `{task.name}` cannot be written: {error.strerror}") from None
            except RunError as error:
                on_failure(task)
                raise RunError(f"step `{task.name}`: {error.message}") from None
            costs[task.name] = Measured(0.0)
            on_done(task, costs[task.name])
        return costs

    def type_of_expression(self, _: Session, query: str) -> tuple[Field, ...]:
        try:
            ((name, kind, *__),) = self.duck.connection.execute(f"DESCRIBE {_translated(query)}").fetchall()
        except duckdb.Error as error:
            raise BindError(str(error)) from None
        return (Field(name, Type.parse(kind.lower())),)

    def output_fields(self, _: Session, text: str, *__: object) -> tuple[Field, ...]:
        columns = self.outputs if self.outputs is not None else self.duck.columns_of(text)
        return tuple(Field(name, Type.parse(kind)) for name, kind in columns)

    def count_columns(self, *_: object, **__: object) -> Counted:
        return Counted(0.0, 0.0, 0.0, None, {})

    def united(self, _: Session, sketches: Mapping[str, object]) -> dict[str, tuple[bytes, float]]:
        return dict.fromkeys(sketches, (b"", 0.0))

    def settings(self, _: Session) -> dict[str, str]:
        return dict(self.duck.settings)

    def setting(self, _: Session, key: str) -> str:
        return self.duck.settings.get(key, "<undefined>")

    def execute(self, _: Session, statement: str) -> None:
        self.duck.execute(statement)


@contextmanager
def without_spark(outputs: Sequence[tuple[str, str]] | None = OUTPUTS) -> Iterator[tuple[Duck, Session]]:
    """A session of DuckDB, and in the block everything that would ask Spark asks it.

    `outputs` are the columns of every query; without them DuckDB is asked.
    """
    duck = Duck()
    spark = StandIn(duck, outputs)
    job = "slackwater.job"
    with (
        patch.multiple(
            f"{job}.cycle.query_analysis",
            fields_over=spark.output_fields,
            output_fields=spark.output_fields,
            user_aggregates=lambda _: frozenset(),
            has_catalog_of_its_own=lambda _: False,
            memory_of=lambda _: Memory(),
            values_now=lambda _: literals_at(duck.clock),
            check_no_text_is_a_moment=lambda *_: None,
            run_statement=spark.execute,
        ),
        patch.multiple(
            f"{job}.inputs.job_sources", columns_of_files=spark.columns_of_files, settings_of_results=spark.settings
        ),
        patch.multiple(f"{job}.cycle.conditions", settings_of_results=spark.settings, setting=spark.setting),
        patch.multiple(
            f"{job}.inputs.record_expressions", output_fields=spark.type_of_expression, run_statement=spark.execute
        ),
        patch.multiple(
            f"{job}.inputs.counting",
            count_columns=spark.count_columns,
            united=spark.united,
            run_statement=spark.execute,
        ),
        patch.multiple(f"{job}.running.checking", run_all=spark.run_all),
        patch.multiple(
            f"{job}.running.runner", run_all=spark.run_all, jvm_cpu_seconds=lambda _: None, run_statement=spark.execute
        ),
    ):
        yield duck, cast(Session, duck)
