"""The gallery: its queries bind, its data is what the job files say, and its jobs answer as batch does."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from slackwater.algebra.schema import Field, TableSchema
from slackwater.bench.cost_ratios import CostKind, QueryResult
from slackwater.bench.gallery.gallery_result import GalleryBenchmark
from slackwater.bench.gallery.gallery_trial import GallerySetting, GalleryTrial, measure_gallery_job
from slackwater.bench.gallery.jobs import GalleryJob, gallery_job, gallery_jobs
from slackwater.bench.gallery.landing import LandedData, linked, write_rows
from slackwater.bench.gallery.sampling import NEVER, feed, later, parted, random_of, zipf
from slackwater.bench.measure import Failed, Measurements
from slackwater.bench.trial import TrialCost
from slackwater.catalog.table import Catalog
from slackwater.cli.bench_gallery import GalleryReport
from slackwater.cli.main import DONE, FAILED, main
from slackwater.compile.views import ADDING, CHANGE_TYPE
from slackwater.errors import UserError
from slackwater.job.file.file_format import Format
from slackwater.job.file.sections import Changes, Check, Refresh
from slackwater.simulation.tables import spark_type
from slackwater.spark.session import Session
from slackwater.sql.bind import bind

SCALE = 0.005
JOBS = gallery_jobs()
each_job = pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)


def rows_of(job: GalleryJob, day: int = 1, scale: float = SCALE) -> dict[str, pa.Table]:
    """All rows of each table, as its files have them."""
    runs = job.generator.arrivals(scale, day)
    arriving = {name: pa.concat_tables([run[name] for run in runs]) for name in runs[0]}
    return {**job.generator.standing(scale), **arriving}


def net(job: GalleryJob, name: str, rows: pa.Table) -> list[tuple[object, ...]]:
    """The rows of a table in the end, feeds and upserts added up."""
    source = job.config.sources[name]
    if source.changes is Changes.FEED:
        kinds = rows[CHANGE_TYPE].to_pylist()
        counts: Counter[tuple[object, ...]] = Counter()
        for row, kind in zip(tuples(rows.drop_columns([CHANGE_TYPE])), kinds, strict=True):
            counts[row] += 1 if kind in ADDING else -1
        assert set(counts.values()) <= {0, 1}, "every removed row was there"
        return [row for row, count in counts.items() if count]
    if source.changes is Changes.UPSERTS:
        assert source.key is not None
        latest: dict[object, tuple[object, ...]] = {}
        order = [rows.schema.names.index(column) for column in (*source.key, *source.sequence)]
        for row in sorted(set(tuples(rows)), key=lambda row: repr([row[n] for n in order])):
            latest[row[order[0]]] = row
        return list(latest.values())
    return tuples(rows)


def tuples(rows: pa.Table) -> list[tuple[object, ...]]:
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


# --- jobs ------------------------------------------------------------------------------------------------------------


def test_there_are_jobs_of_several_trades() -> None:
    assert {"retail", "sessions", "attribution", "subscriptions", "ledger"} < {job.name for job in JOBS}
    assert len(JOBS) >= 9
    kinds = {(source.changes, source.format) for job in JOBS for source in job.config.sources.values()}
    assert {changes for changes, _ in kinds} == set(Changes)
    assert {format for _, format in kinds} >= {Format.PARQUET, Format.CSV, Format.JSON}


@each_job
def test_a_job_is_of_the_size_that_teams_write(job: GalleryJob) -> None:
    assert 40 <= len(job.text.splitlines()) <= 125
    assert job.text.upper().count("JOIN") >= 4
    timeline = job.config.timeline
    assert timeline.last in (3, 4)
    assert list(timeline.weights) == sorted(timeline.weights)
    assert all(source.unique for source in job.config.sources.values()), "keys are declared"


@each_job
def test_its_query_binds(job: GalleryJob) -> None:
    rows = rows_of(job)
    assert set(rows) == set(job.config.sources)
    schemas = []
    for name, source in job.config.sources.items():
        columns = [each for each in rows[name].schema if each.name != CHANGE_TYPE]
        fields = tuple(Field(c.name, spark_type(c.type), c.name not in source.never_null) for c in columns)
        keys = tuple(frozenset(key) for key in source.unique)
        schemas.append(TableSchema(name, fields, keys, not source.static, source.append_only))
    assert len(bind(job.text, Catalog.of(schemas)).outputs) > 10


@each_job
def test_text_files_have_the_columns_that_the_job_file_states(job: GalleryJob) -> None:
    for name, rows in rows_of(job).items():
        source = job.config.sources[name]
        assert (source.schema_text is not None) == (source.format is not Format.PARQUET)
        if source.schema_text is not None:
            assert [part.split()[0] for part in source.schema_text.replace(",2", "").replace(",6", "").split(",")] == [
                column for column in rows.schema.names if column != CHANGE_TYPE
            ]


def test_a_job_that_is_not_there() -> None:
    with pytest.raises(UserError, match="the gallery has no job retial") as raised:
        gallery_job("retial")
    assert "retail" in str(raised.value.hint)


# --- data ------------------------------------------------------------------------------------------------------------


@each_job
def test_a_day_is_the_same_whenever_it_is_made(job: GalleryJob) -> None:
    first, again, other = rows_of(job), rows_of(job), rows_of(job, day=2)
    assert all(first[name].equals(again[name]) for name in first)
    changing = [name for name, source in job.config.sources.items() if not source.static]
    assert not any(first[name].equals(other[name]) for name in changing)


@each_job
def test_every_run_brings_rows(job: GalleryJob) -> None:
    runs = job.generator.arrivals(SCALE, 1)
    assert len(runs) == job.config.timeline.last
    counts = {name: [run[name].num_rows for run in runs] for name in runs[0]}
    assert all(any(numbers[1:]) for numbers in counts.values())
    largest = max(counts.values(), key=sum)
    assert all(largest)
    assert 2_000 <= sum(largest) <= 15_000, "0.4 to 3 million at scale 1"


@each_job
def test_keys_hold(job: GalleryJob) -> None:
    for name, rows in rows_of(job).items():
        source = job.config.sources[name]
        names = rows.schema.names
        for column in source.never_null:
            assert rows[column].null_count == 0
        for key in source.unique:
            positions = [names.index(column) for column in key]
            values = Counter(tuple(row[n] for n in positions) for row in net(job, name, rows))
            assert max(values.values()) == 1, f"{name}: {values.most_common(2)}"


@each_job
def test_the_sequence_of_upserts_tells_records_apart(job: GalleryJob) -> None:
    for name, rows in rows_of(job).items():
        source = job.config.sources[name]
        if source.changes is Changes.UPSERTS:
            assert source.key is not None
            schema_names = set(rows.schema.names)
            columns = [*source.key, *source.sequence]
            assert set(columns) <= schema_names
            different = set(tuples(rows))
            names = rows.schema.names
            assert len({tuple(row[names.index(column)] for column in columns) for row in different}) == len(different)


@each_job
def test_feeds_change_rows_that_are_there(job: GalleryJob) -> None:
    """Run by run: no row is removed before it was added, and updates come in pairs by key."""
    for name, source in job.config.sources.items():
        if source.changes is not Changes.FEED:
            continue
        there: Counter[tuple[object, ...]] = Counter()
        kinds: Counter[str] = Counter()
        for run in job.generator.arrivals(SCALE, 1):
            rows = run[name]
            kind = rows[CHANGE_TYPE].to_pylist()
            kinds.update(kind)
            for row, change in zip(tuples(rows.drop_columns([CHANGE_TYPE])), kind, strict=True):
                there[row] += 1 if change in ADDING else -1
            assert min(there.values()) >= 0
            assert source.key is not None
            keys = {
                image: sorted(rows.filter(pc.equal(rows[CHANGE_TYPE], image))[source.key[0]].to_pylist())
                for image in ("update_preimage", "update_postimage")
            }
            assert keys["update_preimage"] == keys["update_postimage"]
        assert all(kinds[kind] for kind in ("insert", "delete", "update_preimage", "update_postimage"))


REFERENCES = (
    # Of the rows of a table, which share has a partner in another one: at least so many, and not more.
    ("retail", "order_lines", "order_id", "orders", 1.0, 1.0),
    ("retail", "order_lines", "product_id", "products", 1.0, 1.0),
    ("retail", "orders", "store_id", "stores", 0.9, 0.999),
    ("retail", "payments", "order_id", "orders", 1.0, 1.0),
    ("retail", "returns", "order_id", "orders", 1.0, 1.0),
    ("sessions", "events", "visitor_id", "visitors", 0.8, 0.99),
    ("sessions", "events", "page", "pages", 0.9, 0.999),
    ("attribution", "clicks", "impression_id", "impressions", 1.0, 1.0),
    ("attribution", "invalid_clicks", "click_id", "clicks", 1.0, 1.0),
    ("attribution", "ads", "campaign_id", "campaigns", 0.9, 0.999),
    ("subscriptions", "invoice_lines", "subscription_id", "subscriptions", 1.0, 1.0),
    ("subscriptions", "credit_notes", "line_id", "invoice_lines", 1.0, 1.0),
    ("ledger", "postings", "journal_id", "journals", 1.0, 1.0),
    ("ledger", "statement_lines", "journal_id", "journals", 0.98, 0.9999),
    ("telemetry", "readings", "device_id", "devices", 1.0, 1.0),
    ("telemetry", "devices", "site_id", "sites", 1.0, 1.0),
    ("logistics", "scans", "shipment_id", "shipments", 1.0, 1.0),
    ("logistics", "shipments", "carrier_id", "carriers", 1.0, 1.0),
    ("features", "purchases", "customer_id", "customers", 1.0, 1.0),
    ("features", "visits", "customer_id", "customers", 0.9, 0.999),
    ("cohorts", "orders", "customer_id", "customers", 1.0, 1.0),
    ("cohorts", "refunds", "order_id", "orders", 1.0, 1.0),
)


@pytest.mark.parametrize("name,child,column,parent,least,most", REFERENCES)
def test_rows_refer_to_one_another(name: str, child: str, column: str, parent: str, least: float, most: float) -> None:
    rows = rows_of(gallery_job(name))
    matches = pc.is_in(rows[child][column], value_set=pc.unique(rows[parent][column]))
    assert least <= pc.mean(matches).as_py() <= most


@pytest.mark.parametrize(
    "name,table,column",
    [
        ("retail", "order_lines", "product_id"),
        ("attribution", "impressions", "ad_id"),
        ("ledger", "postings", "account_id"),
        ("features", "visits", "customer_id"),
        ("logistics", "shipments", "customer_id"),
    ],
)
def test_keys_are_skewed(name: str, table: str, column: str) -> None:
    counts = sorted(Counter(rows_of(gallery_job(name))[table][column].to_pylist()).values(), reverse=True)
    tenth = max(1, len(counts) // 10)
    assert sum(counts[:tenth]) > 0.2 * sum(counts)
    assert counts[0] > 5 * np.mean(counts)


@pytest.mark.parametrize(
    "name,table,happened", [("telemetry", "readings", "measured_at"), ("sessions", "events", "occurred_at")]
)
def test_some_rows_are_late(name: str, table: str, happened: str) -> None:
    """They come with a run after the one that found rows of the same time."""
    job = gallery_job(name)
    latest = [pc.max(run[table][happened]) for run in job.generator.arrivals(SCALE, 1)]
    second = job.generator.arrivals(SCALE, 1)[1][table][happened]
    assert 0.005 < pc.mean(pc.less(second, latest[0])).as_py() < 0.3


def test_a_feed_from_rows_before_and_after() -> None:
    before = pa.table({"k": [1, 2, 3, 4], "v": ["a", "b", "c", "d"]})
    after = before.set_column(1, "v", pa.array(["A", "B", "C", "D"]))
    changes = {"updated": np.array([1, NEVER, 1, NEVER]), "deleted": np.array([NEVER, 1, 2, NEVER])}
    runs = feed(before, after, arrives=np.array([0, 0, 1, 2]), runs=3, **changes)
    assert [sorted(tuples(run)) for run in runs] == [
        [(1, "a", "insert"), (2, "b", "insert")],
        [
            (1, "A", "update_postimage"),
            (1, "a", "update_preimage"),
            (2, "b", "delete"),
            (3, "C", "update_postimage"),
            (3, "c", "insert"),
            (3, "c", "update_preimage"),
        ],
        [(3, "C", "delete"), (4, "d", "insert")],
    ]


def test_random_columns() -> None:
    random = random_of("retail", 1)
    drawn = zipf(random, 10_000, 50, 1.0)
    assert (drawn.min() >= 0, drawn.max() < 50) == (True, True)
    arrives = np.array([0, 1, 2] * 100)
    after = later(random, arrives, 0.5, 3)
    assert np.all((after == NEVER) | (after > arrives))
    assert np.all(after[arrives == 2] == NEVER)
    assert [run["n"].to_pylist() for run in parted(pa.table({"n": [5, 6, 7]}), np.array([1, 0, 1]), 2)] == [[6], [5, 7]]


# --- files -----------------------------------------------------------------------------------------------------------


def test_days_land_once_in_the_formats_of_the_job_file(tmp_path: Path) -> None:
    landed = LandedData.below(tmp_path, gallery_job("telemetry"), 0.001)
    with patch.object(GalleryJob, "generator", gallery_job("telemetry").generator):
        standing, day = landed.standing(), landed.day(1)
    with patch.object(GalleryJob, "generator", None):
        assert (landed.standing(), landed.day(1)) == (standing, day), "what is there is used again"
    assert sorted(file.name for file in standing.glob("*/*")) == ["all.csv", "all.csv", "all.json"]
    assert [file.name for file in day.glob("run-2/readings/*")] == ["day-1-run-2.parquet"]
    assert not list(landed.directory.glob(".*"))
    linked(day / "run-2", tmp_path / "sources")
    linked(day / "run-2", tmp_path / "sources")
    there = tmp_path / "sources/readings/day-1-run-2.parquet"
    assert there.samefile(day / "run-2/readings/day-1-run-2.parquet")


@each_job
def test_a_job_is_written_with_what_the_measurement_says(job: GalleryJob, tmp_path: Path) -> None:
    setting = GallerySetting(tmp_path, 0.001, check=Check.TRUST, refresh=Refresh.INCREMENTAL)
    config = GalleryTrial(cast(Session, None), setting, job, tmp_path / "job").config
    assert config.refresh is Refresh.INCREMENTAL
    assert (tmp_path / "job/query.sql").read_text(encoding="utf-8") == job.text
    for name, source in config.sources.items():
        assert source.check is Check.TRUST, name
        files = list((tmp_path / "job/data" / name).iterdir())
        assert bool(files) == source.static
        original = job.config.sources[name]
        assert (source.unique, source.sequence, source.expect) == (original.unique, original.sequence, original.expect)
    assert config.timeline == job.config.timeline


def test_rows_as_json(tmp_path: Path) -> None:
    at = pa.array([datetime(2026, 11, 2, 7, 14, 37, 250_000, UTC), None], pa.timestamp("us", tz="UTC"))
    rows = pa.table({"n": [1, None], "s": ['a "b" \\', "c"], "b": [True, False], "at": at})
    write_rows(rows, tmp_path / "rows.json", Format.JSON)
    assert [json.loads(line) for line in (tmp_path / "rows.json").read_text().splitlines()] == [
        {"n": 1, "s": 'a "b" \\', "b": True, "at": "2026-11-02T07:14:37.250000Z"},
        {"n": None, "s": "c", "b": False, "at": None},
    ]


# --- results ---------------------------------------------------------------------------------------------------------


def result(name: str, batch: float, *runs: float, equal: bool = True) -> QueryResult:
    weights = (0.2, 0.5, 1.0)[-len(runs) :]
    costs = tuple(TrialCost(cpu, 3 * cpu, 4 * cpu, 2 * cpu) for cpu in runs)
    of_batch = TrialCost(batch, 6 * batch, 4 * batch, 2 * batch)
    return QueryResult(Measurements(name, costs, {len(runs): of_batch}, equal, 0.5, (), True, 2048), weights)


BENCH = GalleryBenchmark(0.5, 0, "trust", (result("a", 10, 4, 2, 1), result("b", 30, 6, 9), Failed("c", "refused")))


def test_jobs_are_added_up_at_their_own_prices() -> None:
    together = BENCH.together.ratios(CostKind.EXECUTORS)
    assert [together.deadline, together.weighted, together.total] == pytest.approx([10 / 40, 14.8 / 40, 22 / 40])
    assert BENCH.together.ratios(CostKind.EVERYTHING).deadline == pytest.approx(30 / 240)
    assert BENCH.together.ratios(CostKind.WALL).deadline == pytest.approx(BENCH.together.ratios(CostKind.JVM).deadline)
    assert (BENCH.equal, BENCH.sound) == (2, False)
    assert not replace(BENCH, results=(result("a", 1, 1, equal=False),)).sound
    assert replace(BENCH, results=BENCH.jobs).sound


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    from slackwater.cli.output import CommandOutput

    CommandOutput().report(GalleryReport(BENCH))
    shown = capsys.readouterr().out
    lines = [line.split() for line in shown.splitlines()]
    assert "a executors 10.00 4.00 2.00 1.00 0.10 0.28 0.70 0.5 2.0 KiB yes".split() in lines
    assert "everything 180.00 18.00 27.00 0.15 0.20 0.25".split() in lines
    assert "c failed: refused" in shown
    assert "2 jobs at scale 0.5: at the deadline 0.25 of batch's executor CPU" in shown
    report = json.loads(json.dumps(GalleryReport(BENCH).as_json()))
    assert [job["job"] for job in report["jobs"]] == ["a", "b", "c"]
    assert report["jobs"][0]["costs"]["JVM"]["runs_s"] == [8, 4, 2]
    assert report["totals"]["executors"]["batch_s"] == 40


def test_the_command_measures_what_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Spark is left out."""
    asked: list[tuple[str, bool]] = []

    def measured(_: object, __: object, job: GalleryJob, ___: Path, *, batch_first: bool) -> QueryResult:
        asked.append((job.name, batch_first))
        return result(job.name, 10, 1, 1)

    file = tmp_path / "numbers.json"
    with (
        patch("slackwater.cli.bench_gallery.measure_gallery_job", measured),
        patch("slackwater.cli.bench_gallery.open_session"),
    ):
        options = ["--warm-up", "0", "--data", str(tmp_path / "new"), "--json", str(file)]
        assert main(["bench", "gallery", "--jobs", "ledger, retail", *options]) == DONE
    assert asked == [("ledger", True), ("retail", False)]
    assert json.loads(file.read_text(encoding="utf-8"))["totals"]["equal"] == 2
    assert "2 of 2 equal to batch" in capsys.readouterr().out
    assert not list((tmp_path / "new").glob("jobs-*"))
    assert main(["bench", "gallery", "--jobs", "bakery"]) == FAILED
    assert "the gallery has no job bakery" in capsys.readouterr().err


# --- on Spark --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.rotating(9)
@each_job
def test_a_job_answers_as_batch_does(job: GalleryJob, spark: Session, tmp_path: Path) -> None:
    """With states wherever that is possible, and with everything checked that sources promise."""
    setting = GallerySetting(tmp_path, 0.002, 0, 1, check=Check.EXACT, refresh=Refresh.INCREMENTAL)
    outcome = measure_gallery_job(spark, setting, job, tmp_path / "job", batch_first=False)
    assert outcome.measured.equal
    assert len(outcome.measured.runs) == job.config.timeline.last
    seconds = [outcome.batch(cost) for cost in (CostKind.EXECUTORS, CostKind.JVM, CostKind.EVERYTHING)]
    assert 0 < seconds[0] < seconds[1] < seconds[2]


@pytest.mark.slow
@pytest.mark.rotating(5)
def test_days_before_leave_what_they_have_learned(spark: Session, tmp_path: Path) -> None:
    setting = GallerySetting(tmp_path, 0.002, days=1)
    trial = GalleryTrial(spark, setting, gallery_job("cohorts"), tmp_path / "job")
    for _ in range(2):
        trial.rewind()
        for run in trial.timeline.runs:
            assert trial.run(run).total_cpu_s > 0
        assert trial.planning_s > 0
        assert sorted(path.name for path in (tmp_path / "job/state").glob("cycle-*")) == ["cycle-1", "cycle-2"]
        files = [file.name for file in (tmp_path / "job/data/orders").iterdir()]
        assert sorted(files) == [f"day-2-run-{run}.parquet" for run in trial.timeline.runs]
    trial.batch(3)
    assert trial.is_equal(3)
