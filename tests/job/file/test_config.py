from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import jsonschema
import pytest
from tests.job.config_texts import ONE, OTHER, parsed, queries, small, source

from slackwater.catalog.stated_sizes import StatedSizes
from slackwater.catalog.statistics import Arrival
from slackwater.errors import UserError
from slackwater.job.file.config import (
    Changes,
    FileError,
    Format,
    Refresh,
    find_job,
    job_schema,
    load_job,
    parse_job,
)
from slackwater.job.file.messages import SECTIONS, keys_of
from slackwater.job.file.sections import When
from slackwater.job.file.yaml_file import read_yaml
from slackwater.plan.plan import ONLY
from slackwater.time.timeline import Timeline

ROOT = Path(__file__).parents[3]
STARTER = ROOT / "src" / "slackwater" / "job" / "starter" / "slackwater.yml"
SCHEMA = ROOT / "docs" / "slackwater.schema.json"
PAGE = ROOT / "docs" / "job-file.md"

EXAMPLE = """\
name: revenue
query: revenue.sql
schedule: ["14:00", "19:00", "24:00"]
weights: [0.25, 0.3, 1.0]
deliver: final
refresh: auto
sources:
  sales:   {path: data/sales, format: parquet, key: [o_id], changes: append,
            expect: {rows: 7000000, arrives: {"14:00": 60%, "19:00": 20%, "24:00": 20%}}}
  returns: {path: data/returns, format: parquet, changes: feed}
  store:   {path: data/store, static: true}
output: {path: out/revenue, format: parquet}
state: state/
spark: {master: "local[*]"}
"""

# -- what is right -----------------------------------------------------------------------------------------------------


def test_the_example(tmp_path: Path) -> None:
    (tmp_path / "revenue.sql").write_text("SELECT 1 AS one FROM sales\n", encoding="utf-8")
    (tmp_path / "slackwater.yml").write_text(EXAMPLE, encoding="utf-8")
    job = load_job(tmp_path / "slackwater.yml")
    assert job.name == "revenue"
    assert job.queries[ONLY].text == "SELECT 1 AS one FROM sales\n"
    assert job.queries[ONLY].asked.file == tmp_path / "revenue.sql"
    assert job.timeline == Timeline.of(["14:00", "19:00", "24:00"], [0.25, 0.3, 1.0], "final")
    assert job.refresh is Refresh.AUTO
    assert list(job.sources) == ["sales", "returns", "store"]
    sales, returns, store = job.sources.values()
    assert sales.path == tmp_path / "data" / "sales"
    assert (sales.format, sales.unique, sales.changes, sales.static) == (
        Format.PARQUET,
        (("o_id",),),
        Changes.APPEND,
        False,
    )
    assert sales.append_only
    assert returns.changes is Changes.FEED
    assert not returns.append_only
    assert store.static
    output = job.queries[ONLY].output
    assert (output.path, output.format) == (tmp_path / "out" / "revenue", Format.PARQUET)
    assert job.state == tmp_path / "state"
    assert (job.spark.master, job.spark.connect, job.spark.conf) == ("local[*]", None, {})
    assert job.tolerance == 1e-9
    assert (job.file, job.directory) == (tmp_path / "slackwater.yml", tmp_path)


def test_defaults() -> None:
    job = parsed(small())
    assert job.timeline == Timeline.of(["14:00", "24:00"], [1.0, 1.0], "final")
    assert job.refresh is Refresh.AUTO
    assert job.state == Path("/jobs/state")
    assert job.queries[ONLY].file is None
    assert job.queries[ONLY].output.format is Format.PARQUET
    assert job.sources["sales"].expect.sizes() == StatedSizes()
    assert job.sources["sales"].unique == ()


@pytest.mark.parametrize(
    "told, after, sample",
    [
        ("{after: each run, sample: 1%}", When.EACH_RUN, 0.01),
        ("{}", When.EACH_RUN, None),
        ("{after: never}", When.NEVER, None),
    ],
)
def test_verify(told: str, after: When, sample: float | None) -> None:
    found = parsed(small(verify=told)).verify
    assert found is not None
    assert (found.after, found.sample) == (after, sample)
    assert parsed(small()).verify is None


def test_a_job_does_not_change() -> None:
    job = parsed(small())
    with pytest.raises(ValueError, match="frozen"):
        job.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "select\n  1",
        "WITH x AS (SELECT 1) SELECT * FROM x",
        "-- what is sold\nSELECT 1",
        "/* a */ (SELECT 1) UNION ALL (SELECT 2)",
    ],
)
def test_inline_queries(text: str) -> None:
    assert parsed(small(query=json.dumps(text))).queries[ONLY].text == text


def test_block_text_is_a_query() -> None:
    job = parsed(small(query="|\n  SELECT a\n  FROM sales"))
    assert job.queries[ONLY].text == "SELECT a\nFROM sales\n"


@pytest.mark.parametrize(
    "written, runs",
    [("final", {2}), ("every", {1, 2}), ("[14:00]", {1}), ("14:00", {1}), ('["14:00", "24:00"]', {1, 2})],
)
def test_deliver(written: str, runs: set[int]) -> None:
    assert parsed(small(deliver=written)).timeline.deliver == runs


@pytest.mark.parametrize("refresh", list(Refresh))
def test_refresh(refresh: Refresh) -> None:
    assert parsed(small(refresh=refresh.value)).refresh is refresh


def test_times_need_no_quotes() -> None:
    assert parsed(small(schedule="[2026-11-15, 2026-11-16]")).timeline.times == ("2026-11-15", "2026-11-16")
    assert parsed(small(schedule="[08:30, 24:00]")).timeline.times == ("08:30", "24:00")
    assert parsed(small(schedule="[1, 2]")).timeline.times == ("1", "2")


def test_sources_of_files() -> None:
    job = parsed(
        source("path: x.csv, format: csv, options: {header: true, delimiter: ;, n: 3}, schema: 'a INT, b STRING'")
    )
    sales = job.sources["sales"]
    assert sales.format is Format.CSV
    assert sales.options == {"header": True, "delimiter": ";", "n": 3}
    assert sales.schema_text == "a INT, b STRING"


def test_sources_of_the_catalog() -> None:
    sales = parsed(source("table: lake.db.sales")).sources["sales"]
    assert (sales.table, sales.path) == ("lake.db.sales", None)


@pytest.mark.parametrize(
    "written, keys",
    [
        ("key: a", (("a",),)),
        ("key: [a, b]", (("a", "b"),)),
        ("keys: [[a], [b, c]]", (("a",), ("b", "c"))),
        ("keys: [a, b]", (("a",), ("b",))),
        ("key: [no]", (("no",),)),
    ],
)
def test_keys(written: str, keys: tuple[tuple[str, ...], ...]) -> None:
    assert parsed(source(f"path: x, {written}")).sources["sales"].unique == keys


def test_paths_are_absolute_and_links_are_kept() -> None:
    job = parsed(small(output="{path: ../out}", state="/var/state", sources="{sales: {path: 'file:///data/s'}}"))
    assert (job.queries[ONLY].output.path, job.state, job.sources["sales"].path) == (
        Path("/out"),
        Path("/var/state"),
        Path("/data/s"),
    )


def test_home() -> None:
    assert parsed(small(state="~/state")).state == Path.home() / "state"


@pytest.mark.parametrize(
    "written, arrivals",
    [
        ("rows: 100, arrives: {14:00: 60%, 24:00: 40 %}", {"14:00": Arrival(60.0), "24:00": Arrival(40.0)}),
        ("rows: 1e2, arrives: {24:00: 100}", {"24:00": Arrival(100.0)}),
        ("arrives: {14:00: 1_000, 24:00: 5}", {"14:00": Arrival(1000.0), "24:00": Arrival(5.0)}),
        ("arrives: {14:00: 50%, 24:00: 50%}", {"14:00": Arrival(500.0), "24:00": Arrival(500.0)}),
        (
            "rows: 100, arrives: {14:00: 60%, 24:00: {inserts: 50%, updates: 5, deletes: 10}}",
            {"14:00": Arrival(60.0), "24:00": Arrival(50.0, 5.0, 10.0)},
        ),
        ("arrives: {14:00: {inserts: 7}, 24:00: {deletes: 2}}", {"14:00": Arrival(7.0), "24:00": Arrival(0, 0, 2.0)}),
    ],
)
def test_expected_arrivals(written: str, arrivals: Mapping[str, Arrival]) -> None:
    sales = parsed(source(f"path: x, changes: feed, expect: {{{written}}}")).sources["sales"]
    assert sales.expect.sizes().arrives == arrivals


def test_percentages_are_of_the_rows_known() -> None:
    expect = parsed(source("path: x, expect: {arrives: {14:00: 33.33%, 24:00: 66.66%}, distinct: {a: 3}}"))
    sizes = expect.sources["sales"].expect.sizes(rows=9999.0)
    assert sizes.rows is None
    assert sizes.arrives["14:00"].inserts == pytest.approx(3333.0)
    assert sum(a.inserts for a in sizes.arrives.values()) == pytest.approx(9999.0)
    assert sizes.distinct == {"a": 3.0}


def test_spark() -> None:
    spark = parsed(small(spark="{master: yarn, conf: {spark.a: 1, spark.b: true, spark.c: x, spark.d: 0.5}}")).spark
    assert spark.master == "yarn"
    assert spark.conf == {"spark.a": 1, "spark.b": True, "spark.c": "x", "spark.d": 0.5}
    assert parsed(small(spark="{connect: 'sc://host:15002'}")).spark.connect == "sc://host:15002"


def test_entries_of_another_mapping() -> None:
    text = small(
        sources="\n  sales: &files {path: x, format: csv, options: {header: true}}\n  b: {<<: *files, path: y}"
    )
    job = parsed(text)
    assert job.sources["b"].format is Format.CSV
    assert job.sources["b"].path == Path("/jobs/y")


# -- several queries ---------------------------------------------------------------------------------------------------


def test_several_queries(tmp_path: Path) -> None:
    (tmp_path / "revenue.sql").write_text("SELECT 1 AS one FROM sales;\n", encoding="utf-8")
    text = queries(
        "revenue: {query: revenue.sql, output: {path: out/revenue, format: csv}}",
        "refunds: {query: 'SELECT 2 AS two FROM sales', output: {path: out/refunds}, deliver: [14:00]}",
    )
    job = parse_job(text, tmp_path / "slackwater.yml")
    revenue, refunds = job.queries.values()
    assert (revenue.name, revenue.file, revenue.sql) == (
        "revenue",
        str(tmp_path / "revenue.sql"),
        "SELECT 1 AS one FROM sales",
    )
    assert (refunds.name, refunds.file, refunds.text) == ("refunds", "query refunds", "SELECT 2 AS two FROM sales")
    assert (revenue.output.format, refunds.output.format) == (Format.CSV, Format.PARQUET)
    assert refunds.output.path == tmp_path / "out" / "refunds"
    assert job.timeline.deliver == {1, 2}
    assert job.timeline.due("revenue") == {2}
    assert job.timeline.due("refunds") == {1}


@pytest.mark.parametrize("deliver, runs", [("final", {2}), ("every", {1, 2}), ("14:00", {1})])
def test_queries_are_delivered_as_the_job_says(deliver: str, runs: set[int]) -> None:
    timeline = parsed(queries(ONE, OTHER, deliver=deliver)).timeline
    assert timeline == Timeline.of(["14:00", "24:00"], deliver=deliver if deliver != "14:00" else [deliver])
    assert timeline.due("a") == runs
    assert timeline.due("b") == runs


# -- finding -----------------------------------------------------------------------------------------------------------


def test_finds_the_nearest_job_file(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "slackwater.yml").touch()
    assert find_job(below) == tmp_path / "slackwater.yml"
    (tmp_path / "a" / "slackwater.yaml").touch()
    assert find_job(below) == tmp_path / "a" / "slackwater.yaml"
    assert find_job(tmp_path / "slackwater.yml") == tmp_path / "slackwater.yml"


def test_says_how_to_begin(tmp_path: Path) -> None:
    for start, message in ((tmp_path, "there is no slackwater.yml in"), (tmp_path / "x", "no file or directory")):
        with pytest.raises(UserError, match=message) as raised:
            find_job(start)
        assert "slackwater init" in str(raised.value.hint)


# -- what is published -------------------------------------------------------------------------------------------------


def test_the_schema_is_up_to_date() -> None:
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == job_schema(), "run `make docs`"


@pytest.mark.parametrize("text", [EXAMPLE, STARTER.read_text(encoding="utf-8"), small(), queries(ONE, OTHER)])
def test_examples_fit_the_schema(text: str) -> None:
    jsonschema.Draft202012Validator.check_schema(job_schema())
    jsonschema.validate(read_yaml(text, "example").value, job_schema())


@pytest.mark.parametrize(
    "text",
    [
        *(small(shedule="[a]"), small(weights="[-1]"), small(refresh="never"), small(name="a/b")),
        *(small(queries="{}"), small().replace("query:", "#"), small().replace("output:", "#")),
        *(queries(ONE) + "query: a.sql\n", queries(ONE) + "output: {path: x}\n", queries(ONE.replace("a:", "a b:", 1))),
    ],
)
def test_the_schema_refuses(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(read_yaml(text, "example").value, job_schema())


def test_the_page_has_every_key_and_its_examples_are_right(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for _, section in SECTIONS:
        for key in keys_of(section):
            assert f"| `{key}` |" in page, key
    (tmp_path / "revenue.sql").write_text("SELECT 1", encoding="utf-8")
    examples = [block.partition("```")[0] for block in page.split("```yaml\n")[1:]]
    assert examples
    for example in examples:
        parse_job(example, tmp_path / "slackwater.yml")


def test_the_page_shows_mistakes_as_they_are_shown() -> None:
    page = PAGE.read_text(encoding="utf-8")
    text = page.split("```yaml\n")[1].partition("```")[0]
    for right, wrong in (("0.25", "cheap"), ("query: revenue.sql", "query: SELECT 1"), ("state:", "stat:")):
        text = text.replace(right, wrong)
    text = text.replace("format: parquet", "format: parket")
    with pytest.raises(FileError) as raised:
        parse_job(text, Path("slackwater.yml"))
    assert f"```\nerror: {raised.value}\n```\n" in page
