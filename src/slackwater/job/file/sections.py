"""The sections of a job file: what keys there are, their types and their defaults.

They are defined only here; `docs/job-file.md` describes them, and `docs/slackwater.schema.json` is generated from them.
How single values are read: `values.py`. What must hold between keys: `checks.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationInfo, model_validator

from slackwater.catalog.stated_sizes import ROWS_UNKNOWN, StatedSizes
from slackwater.catalog.statistics import Arrival
from slackwater.job.file.assume import Assume
from slackwater.job.file.durations import Duration
from slackwater.job.file.file_format import Format
from slackwater.job.file.price_basis import Basis
from slackwater.job.file.section import Section
from slackwater.job.file.values import (
    AMOUNTS_SCHEMA,
    FILE_NAME,
    TABLE_NAME,
    Amount,
    AmountField,
    Around,
    Columns,
    Count,
    Deliver,
    Expression,
    Expressions,
    LocalPath,
    Price,
    QueryField,
    QueryFieldIfAny,
    QueryText,
    Refused,
    Replan,
    Replanning,
    Setting,
    Share,
    TimeZone,
    Tolerance,
    zone_named,
)
from slackwater.job.file.window import ANY_TIME, PaceConfig, Window, scheduled, steady_rates
from slackwater.plan.plan import ONLY
from slackwater.sql.statement import without_end
from slackwater.sql.tokens import Replaced, text_with_replaced
from slackwater.time.timeline import Timeline


class Refresh(StrEnum):
    """How an answer is brought up to date; the names are those of Databricks."""

    AUTO = "auto"
    INCREMENTAL = "incremental"
    INCREMENTAL_STRICT = "incremental strict"
    FULL = "full"


class Changes(StrEnum):
    """Whether rows of a source only arrive, or may also be updated and deleted, and how that is told."""

    APPEND = "append"
    FEED = "feed"
    UPSERTS = "upserts"


class Check(StrEnum):
    """Whether what a source promises is checked as its rows arrive."""

    EXACT = "exact"
    TRUST = "trust"


class Arriving(Section):
    """What a run brings to a source; a bare percentage or number is of inserts."""

    inserts: AmountField = Amount(0.0)
    updates: AmountField = Amount(0.0)
    deletes: AmountField = Amount(0.0)

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: object) -> object:
        return value if isinstance(value, dict) else {"inserts": value}

    @property
    def amounts(self) -> tuple[Amount, Amount, Amount]:
        return self.inserts, self.updates, self.deletes

    @property
    def in_percent(self) -> bool:
        return all(amount.percent or not amount.number for amount in self.amounts)

    def arrival(self, total: float) -> Arrival:
        return Arrival(*(amount.rows(total) for amount in self.amounts))


class ExpectConfig(Section):
    """What is expected of a source before anything has arrived."""

    rows: Annotated[Count | None, Field(description="Rows in the end.")] = None
    arrives: Annotated[
        Mapping[str, Annotated[Arriving, AMOUNTS_SCHEMA]],
        Field(
            description="What each run brings: a percentage of `rows`, a number of rows, or inserts, updates, deletes."
        ),
    ] = {}
    distinct: Annotated[
        Mapping[str, Count], Field(description="How many different values a column has in the end.")
    ] = {}

    @property
    def says_sizes(self) -> bool:
        """Whether it says how many rows come, in all or at each run."""
        return self.rows is not None or bool(self.arrives)

    def sizes(self, rows: float | None = None) -> StatedSizes:
        """The expectation in rows. `rows` is what percentages are of where the file does not say."""
        stated = None if self.rows is None else float(self.rows)
        total = stated if stated is not None else rows if rows is not None else ROWS_UNKNOWN
        arrivals = {time: arriving.arrival(total) for time, arriving in self.arrives.items()}
        # Percentages that add up to 99.99 are meant as 100.
        grown = sum(arrival.growth for arrival in arrivals.values())
        if grown > 0 and all(arriving.in_percent for arriving in self.arrives.values()):
            arrivals = {time: _scaled(arrival, total / grown) for time, arrival in arrivals.items()}
        return StatedSizes(stated, arrivals, {column: float(values) for column, values in self.distinct.items()})


def _scaled(arrival: Arrival, factor: float) -> Arrival:
    return Arrival(arrival.inserts * factor, arrival.updates * factor, arrival.deletes * factor)


class SourceConfig(Section):
    """A table of the query: files, or a table of the Spark catalog."""

    path: Annotated[LocalPath | None, Field(description="Files or a directory, relative to the job file.")] = None
    table: Annotated[str | None, Field(description="A table of the Spark catalog, instead of `path`.")] = None
    format: Annotated[Format, Field(description="Format of the files.")] = Format.PARQUET
    options: Annotated[Mapping[str, Setting], Field(description="Options of Spark's reader, e.g. header.")] = {}
    schema_text: Annotated[
        str | None, Field(alias="schema", description="Columns as DDL text, e.g. `o_id INT, price DOUBLE`.")
    ] = None
    key: Annotated[Columns | None, Field(description="Columns on which no two rows agree.")] = None
    keys: Annotated[tuple[Columns, ...], Field(description="Several keys, instead of `key`.")] = ()
    not_null: Annotated[Columns | None, Field(description="Columns that are never null, beside those of keys.")] = None
    check: Annotated[
        Check, Field(description="exact: what the source promises is checked as rows arrive; trust: it is not.")
    ] = Check.EXACT
    changes: Annotated[
        Changes,
        Field(
            description="append: rows only arrive; feed: rows carry `_change_type`; upserts: the last of a key counts."
        ),
    ] = Changes.APPEND
    sequence: Annotated[
        Expressions, Field(description="Of upserts, what grows with every change of a key: columns or expressions.")
    ] = ()
    deletes: Annotated[
        Expression | None, Field(description="Of upserts, which records delete their key, e.g. `op = 'd'`.")
    ] = None
    arrives_with: Annotated[
        Mapping[str, Columns],
        Field(
            alias="with",
            description="Sources whose rows arrive in the same run as the rows here that refer to them, each with the "
            "columns here that have their key.",
        ),
    ] = {}
    arrives_after: Annotated[
        Mapping[str, Columns],
        Field(
            alias="after",
            description="Sources whose rows never arrive after the rows here that refer to them, each with the columns "
            "here that have their key.",
        ),
    ] = {}
    static: Annotated[bool, Field(description="Never changes during the schedule.")] = False
    expect: Annotated[ExpectConfig, Field(description="What is known before anything has arrived.")] = ExpectConfig()

    @property
    def unique(self) -> tuple[tuple[str, ...], ...]:
        """All keys, from `key` or `keys`."""
        return (self.key,) if self.key is not None else self.keys

    @property
    def never_null(self) -> tuple[str, ...]:
        """Columns that are promised never to be null: those of keys, and those that are said to be."""
        in_keys = (column for key in self.unique for column in key)
        references = (column for columns in self.arrives_with.values() for column in columns)
        return tuple(dict.fromkeys((*in_keys, *(self.not_null or ()), *references)))

    @property
    def append_only(self) -> bool:
        return self.changes is Changes.APPEND


class OutputConfig(Section):
    """Where answers go."""

    path: Annotated[LocalPath, Field(description="A directory, relative to the job file.")]
    format: Annotated[Format, Field(description="Format of the files.")] = Format.PARQUET


class QueryConfig(Section):
    """One of several queries."""

    query: Annotated[QueryField, Field(description="A file with the query, or its text (SELECT or WITH).")]
    output: Annotated[OutputConfig, Field(description="Where its answers go.")]
    deliver: Annotated[
        Deliver | None, Field(description="Which runs deliver its answer; by default as for the job.")
    ] = None


@dataclass(frozen=True)
class JobQuery:
    """A query of a job, whichever way the file states it; the only one has no name."""

    name: str
    asked: QueryText
    output: OutputConfig
    deliver: str | tuple[str, ...]
    replaced: tuple[Replaced, ...] = ()
    """Parts of the text that stand for a value of the cycle's moment: see `moment.py`."""

    @property
    def text(self) -> str:
        """As it is written."""
        return self.asked.text

    @property
    def sql(self) -> str:
        """As a part of other statements."""
        return without_end(text_with_replaced(self.text, self.replaced))

    @property
    def file(self) -> str | None:
        """What errors call it: its file or, if it stands among others in the job file, its name."""
        if self.asked.file is not None:
            return str(self.asked.file)
        return f"query {self.name}" if self.name else None


def _has_value(value: object) -> object:
    if value is None:
        raise Refused("has no value", "e.g. `output: {path: out/revenue}`")
    return value


class SparkConfig(Section):
    """The Spark that runs the job."""

    master: Annotated[str, Field(description="Spark's master, e.g. local[*] or yarn.", min_length=1)] = "local[*]"
    connect: Annotated[
        str | None, Field(description="A Spark Connect server instead of a master, e.g. sc://host:15002.")
    ] = None
    conf: Annotated[Mapping[str, Setting], Field(description="Settings of the session.", repr=False)] = {}


class When(StrEnum):
    """After which runs answers are verified."""

    EACH_RUN = "each run"
    LAST_RUN = "last run"
    NEVER = "never"


class VerifyConfig(Section):
    """Whether runs compare what they have delivered with the batch answer."""

    after: Annotated[When, Field(description="each run that delivers, the last run of the schedule, or never.")] = (
        When.EACH_RUN
    )
    sample: Annotated[Share, Field(description="Compare only this share of the rows, e.g. 1%; by default all.")] = None


class JobConfig(Section):
    """A job file; only `load_job` and `parse_job` in `config.py` make one that is checked as a whole.

    It has one query, as `query` and `output`, or `several`; `queries` has them all, whichever way they are stated.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["query", "output"], "properties": {"queries": False}},
                {"required": ["queries"], "properties": {"query": False, "output": False}},
            ],
            "anyOf": [{"required": ["schedule"]}, {"required": ["window"]}],
        }
    )

    name: Annotated[str, Field(description="The job's name, usable as a file name.", pattern=FILE_NAME)]
    query: Annotated[QueryFieldIfAny, Field(description="A file with the query, or its text (SELECT or WITH).")] = None
    several: Annotated[
        Mapping[str, QueryConfig],
        Field(
            alias="queries",
            description="Several queries by name, instead of `query` and `output`.",
            min_length=1,
            json_schema_extra={"propertyNames": {"pattern": TABLE_NAME}},
        ),
    ] = {}
    schedule: Annotated[tuple[str, ...], Field(description="The runs, from early to late.", min_length=1)] = ANY_TIME
    window: Annotated[Window | None, Field(description="Instead: when rows arrive, and when the answer is due.")] = None
    pace: Annotated[PaceConfig, Field(description="How often parts of a query may run.")] = PaceConfig()
    timezone: Annotated[TimeZone, Field(description="The time zone of the schedule's times, e.g. Europe/Berlin.")] = (
        "UTC"
    )
    weights: Annotated[tuple[Price, ...] | None, Field(description="The price of work at each run; by default 1.")] = (
        None
    )
    final_work: Annotated[
        Share, Field(description="At most this part of a full recompute is left for the last run, e.g. 30%.")
    ] = None
    latency: Annotated[Duration, Field(description="At most so long from the last run's time to its answer.")] = None
    prices: Annotated[
        Basis, Field(description="What costs are counted of: process, all CPU time, or executors, that of tasks.")
    ] = Basis.PROCESS
    deliver: Annotated[Deliver, Field(description="final, every, or a list of times of the schedule.")] = "final"
    refresh: Annotated[Refresh, Field(description="How the answer is brought up to date.")] = Refresh.AUTO
    replan: Annotated[
        Replan,
        Field(
            description="When the rest of a day is planned again: auto (rows are off by more than 3 times and a new "
            "plan can save more than planning costs), a factor (whenever rows are off by more), or never."
        ),
    ] = Replanning.AUTO
    assume: Annotated[
        Assume,
        Field(
            description="learned: plans rely on it that rows which have always arrived together do so again, and every "
            "run checks it; nothing: they do not."
        ),
    ] = Assume.LEARNED
    sources: Annotated[
        Mapping[str, SourceConfig], Field(description="The tables that the query reads, by name.", min_length=1)
    ]
    output: Annotated[OutputConfig | None, BeforeValidator(_has_value), Field(description="Where answers go.")] = None
    state: Annotated[
        LocalPath,
        Field(description="The directory of what runs keep, relative to the job file.", validate_default=True),
    ] = Path("state")
    spark: Annotated[SparkConfig, Field(description="The Spark that runs the job.")] = SparkConfig()
    tolerance: Annotated[
        Tolerance, Field(description="By how much verified floating-point results may differ, relatively.")
    ] = 1e-9
    verify: Annotated[
        VerifyConfig | None,
        Field(description="Compare answers with the batch answer after runs; by default never."),
    ] = None

    _file: Path = PrivateAttr()

    _scheduled = model_validator(mode="before")(staticmethod(scheduled))

    @model_validator(mode="after")
    def _placed(self, info: ValidationInfo[Around]) -> JobConfig:
        self._file = Around.of(info).file
        return self

    @property
    def file(self) -> Path:
        return self._file

    @property
    def directory(self) -> Path:
        return self._file.parent

    @cached_property
    def queries(self) -> dict[str, JobQuery]:
        """The queries by name, in the order of the file."""
        queries = {
            name: JobQuery(name, each.query, each.output, self.deliver if each.deliver is None else each.deliver)
            for name, each in self.several.items()
        }
        if self.query is not None and self.output is not None:
            queries[ONLY] = JobQuery(ONLY, self.query, self.output, self.deliver)
        return queries

    @property
    def zone(self) -> tzinfo:
        """The time zone in which runs are due."""
        return zone_named(self.timezone)

    @property
    def rates(self) -> tuple[float, ...]:
        return steady_rates(self.window, self.schedule)

    @cached_property
    def timeline(self) -> Timeline:
        return Timeline.of(self.schedule, self.weights, {q.name: q.deliver for q in self.queries.values()})
