"""Job files that are wrong: every mistake is named, where it stands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.job.config_texts import ONE, OTHER, parsed, queries, refused, small, source

from slackwater.errors import Place, UserError
from slackwater.job.file.config import (
    FileError,
    load_job,
    parse_job,
)
from slackwater.job.file.yaml_file import Location, Yaml, read_yaml

# -- what is wrong: one mistake each -----------------------------------------------------------------------------------

WRONG = [
    # the text as such
    ("", 1, 1, "this job file is empty", "name: revenue"),
    ("# nothing\n", 1, 1, "this job file is empty", None),
    ("hello", 1, 1, "a job file is made of `key: value` entries, not `hello`", None),
    ("- a\n- b\n", 1, 1, "a job file is made of `key: value` entries, not a list", None),
    ("name: a\nsources:\n\tsales: x\n", 3, 1, "there is a tab in the indentation", "spaces"),
    ("name: a\nschedule: [1\nquery: b\n", 3, 6, "this is not YAML", "brackets"),
    ("name: 'a\n", 2, 1, "this is not YAML", "quotes"),
    ("name: a: b\n", 1, 8, "this is not YAML: a `:` where none can be", "quote"),
    ("name: *a\n", 1, 7, "undefined alias", "quote"),
    ("name: !env A\n", 1, 7, "the tag `!env` is not supported", None),
    ("name: a\n---\nname: b\n", 2, 1, "a second document", None),
    ("name: \x00\n", 1, 7, "is not allowed in YAML", None),
    ("a: &a\n  b: *a\n", 1, 4, "contains it", None),
    ("? [a]\n: b\n", 1, 3, "a key must be a plain text", None),
    ("<<: 1\n", 1, 5, "`<<` takes the entries of a mapping", None),
    (small() + "name: again\n", 6, 1, "`name` stands here twice", "first on line 1"),
    # keys
    (small(shedule="[1]"), 6, 1, "unknown key `shedule`", "did you mean `schedule`?"),
    (small(costs="[1]"), 6, 1, "unknown key `costs`", "did you mean `weights`?"),
    (small(prices="proces"), 6, 9, "`prices` cannot be `proces`", "did you mean `process`?"),
    (small(master="x"), 6, 1, "unknown key `master`", "it belongs to `spark`"),
    (source("path: x, foramt: csv"), 4, 28, "unknown key `foramt` in `sources.sales`", "did you mean `format`?"),
    (source("path: x, rows: 3"), 4, 28, "unknown key `rows` in `sources.sales`", "it belongs to `sources.*.expect`"),
    (small(output="{format: csv}"), 5, 9, "`path` is missing in `output`", "path:"),
    (small().replace("name: revenue\n", ""), 1, 1, "`name` is missing", "e.g. `name: revenue`"),
    # name and query
    (small(name="a/b"), 1, 7, "`name` cannot be `a/b`", "used for files"),
    (small(name="[a]"), 1, 7, "`name` must be a text, not a list", None),
    (small(name=""), 1, 6, "`name` has no value", "e.g. `name: revenue`"),
    (small(query="missing.sql"), 2, 8, "there is no file /jobs/missing.sql", "relative to the job file"),
    (small(query="[a]"), 2, 8, "`query` must be a file or the text of a query, not a list", None),
    (small(query='"a\\nb"'), 2, 8, "is neither a file nor a query", "SELECT"),
    (small(query="s3://b/q.sql"), 2, 8, "only local or mounted paths", None),
    # the timeline
    (small(schedule="14:00"), 3, 11, "`schedule` must be a list, not `14:00`", "e.g. `schedule: [14:00, 24:00]`"),
    (small(schedule="[]"), 3, 11, "`schedule` is empty", None),
    (small(schedule="[24:00, 14:00]"), 3, 11, "the schedule is not in order", "early to late"),
    (small(schedule="[14:00, 14:00]"), 3, 11, "the schedule has 14:00 twice", None),
    (small(schedule="[7:00, 07:00]"), 3, 11, "the schedule has 07:00 twice", None),
    (small(schedule="[14:00, 25:00]"), 3, 19, "25:00 is not a clock time", "from 0:00 to 24:00"),
    (small(schedule="[14:00, 24:61]"), 3, 19, "24:61 is not a clock time", "hours and minutes"),
    (small(schedule="[14:00, 24:30]"), 3, 19, "24:30 is not a clock time", None),
    (small(schedule="[-1:00, 14:00]"), 3, 12, "-1:00 is not a clock time", None),
    (small(schedule="[7:5, 14:00]"), 3, 12, "7:5 is not a clock time", None),
    (small(schedule="[14:00:30]"), 3, 12, "14:00:30 is not a clock time", None),
    (small(schedule="[14:00, dusk]"), 3, 11, "mixes clock times, 14:00, with names, dusk", "or none"),
    (small(timezone="Europe/Berlinn"), 6, 11, "`timezone` is no time zone: Europe/Berlinn", "did you mean"),
    (small(timezone="../etc/passwd"), 6, 11, "is no time zone", None),
    (small(timezone="[a]"), 6, 11, "must be the name of a time zone, not a list", "Europe/Berlin"),
    (small(schedule="[14:00, [a]]"), 3, 19, "`schedule[2]` must be a text, not a list", None),
    (small(weights="[1]"), 6, 10, "1 weights for 2 runs", "one weight for each run"),
    (small(weights="[1, cheap]"), 6, 14, "`weights[2]` must be a number, not `cheap`", None),
    (small(weights="[1, true]"), 6, 14, "`weights[2]` must be a number, not true", None),
    (small(weights="[1, -1]"), 6, 14, "`weights[2]` must be at least 0, not `-1`", None),
    (small(weights="[1, 1e999]"), 6, 14, "`weights[2]` must be a finite number", None),
    (small(deliver="[13:00]"), 6, 11, "`deliver` names 13:00, which is not in the schedule", "did you mean `14:00`"),
    (small(deliver="[final]"), 6, 11, "`deliver` names final", "write `deliver: final`"),
    (small(deliver="always"), 6, 10, "`deliver` names always", "there is `14:00`, `24:00`"),
    (small(deliver="[]"), 6, 10, "`deliver` must be final, every or a list of times", None),
    (small(deliver="{a: 1}"), 6, 10, "`deliver` must be final, every or a list of times, not `key: value`", None),
    (small(refresh="increment"), 6, 10, "`refresh` cannot be `increment`", "did you mean `incremental`?"),
    (small(refresh="never"), 6, 10, "`refresh` cannot be `never`", "`incremental strict`"),
    # sources
    (small(sources="{}"), 4, 10, "`sources` is empty", None),
    (small(sources="[sales]"), 4, 10, "`sources` must be made of `key: value` entries, not a list", None),
    (small(sources="{sales: data}"), 4, 18, "`sources.sales` must be made of `key: value` entries, not `data`", None),
    (small(sources="{sales: }"), 4, 17, "`sources.sales` has no value", None),
    (small(sources="{my-sales: {path: x}}"), 4, 11, "`my-sales` is not a name of a table", None),
    (small(sources="{a: {path: x}, A: {path: y}}"), 4, 25, "`A` and `a` are the same table", None),
    (source("key: a"), 4, 18, "source `sales` has neither `path` nor `table`", "path: data/sales"),
    (source("path: x, table: a.b"), 4, 35, "source `sales` has both `path` and `table`", None),
    (source("table: a b"), 4, 26, "`a b` is not a name of a table", "db.sales"),
    (source("table: a, format: csv"), 4, 37, "source `sales` is a table, so `format` says nothing", None),
    (source("table: a, schema: 'a INT'"), 4, 37, "source `sales` is a table, so `schema` says nothing", None),
    (source("path: s3://b/x"), 4, 25, "`sources.sales.path` is on `s3`, but only local or mounted paths", "mount"),
    (source("path: dbfs:/x"), 4, 25, "only local or mounted paths", None),
    (source("path: 3"), 4, 25, "`sources.sales.path` must be a path, not `3`", None),
    (source("path: x, format: parket"), 4, 36, "`sources.sales.format` cannot be `parket`", "did you mean `parquet`?"),
    (source("path: x, format: delta"), 4, 36, "`sources.sales.format` cannot be `delta`", "there is `parquet`, `orc`"),
    (source("path: x, options: {a: [1]}"), 4, 41, "`sources.sales.options.a` must be a text, a number, true", None),
    (source("path: x, options: [a]"), 4, 37, "`sources.sales.options` must be made of", "options: {header: true}"),
    (source("path: x, schema: ''"), 4, 36, "source `sales` has an empty `schema`", None),
    (source("path: x, key: []"), 4, 33, "`sources.sales.key` names no column", None),
    (source("path: x, key: [a, A]"), 4, 33, "`sources.sales.key` has the column `A` twice", None),
    (source("path: x, key: {a: 1}"), 4, 33, "`sources.sales.key` must be a list of columns", None),
    (source("path: x, keys: [[a], []]"), 4, 40, "`sources.sales.keys[2]` names no column", None),
    (source("path: x, key: a, keys: [[a]]"), 4, 42, "source `sales` has both `key` and `keys`", None),
    (source("path: x, changes: fed"), 4, 37, "`sources.sales.changes` cannot be `fed`", "did you mean `feed`?"),
    (source("path: x, changes: upserts"), 4, 37, "source `sales` has upserts, but no `key`", "replaces"),
    (
        source("path: x, changes: upserts, keys: [[a], [b]]"),
        4,
        52,
        "brings upserts, which have one key",
        "`key: [o_id]`",
    ),
    (source("path: x, changes: upserts, key: a, not_null: b"), 4, 54, "brings upserts, of which `not_null` says", None),
    (source("path: x, sequence: ts"), 4, 28, "`sequence` is about upserts", "`changes: upserts`"),
    (source("path: x, changes: feed, deletes: a"), 4, 43, "`deletes` is about upserts, and source `sales` is", None),
    (source("path: x, changes: upserts, key: a, deletes: 3"), 4, 63, "must be an SQL expression, not `3`", "op = 'd'"),
    (
        source("path: x, changes: upserts, key: a, deletes: a ="),
        4,
        63,
        "`sources.sales.deletes` is not Spark SQL",
        None,
    ),
    (source("path: x, changes: upserts, key: a, deletes: max(b)"), 4, 63, "has a call of `max`", None),
    (
        source("path: x, changes: upserts, key: a, sequence: rand()"),
        4,
        64,
        "another value whenever it is computed",
        None,
    ),
    (source("path: x, changes: upserts, key: a, sequence: []"), 4, 64, "names no column", "sequence: updated_at"),
    (source("path: x, changes: upserts, key: a, sequence: '1) AS x, (2'"), 4, 64, "is not one expression", None),
    (source("path: x, changes: upserts, key: a, deletes: (select true)"), 4, 63, "has a sub-query", None),
    (source("path: x, static: perhaps"), 4, 36, "`sources.sales.static` must be true or false, not `perhaps`", None),
    (source("path: x, static: true, changes: append"), 4, 51, "source `sales` is static, so it has no `changes`", None),
    (
        source("path: x, static: true, expect: {arrives: {14:00: 1}}"),
        4,
        60,
        "source `sales` is static: nothing arrives",
        None,
    ),
    # expectations
    (source("path: x, expect: {rows: many}"), 4, 43, "`sources.sales.expect.rows` must be a whole number", "7000000"),
    (source("path: x, expect: {rows: 1.5}"), 4, 43, "`sources.sales.expect.rows` must be a whole number", None),
    (source("path: x, expect: {rows: -1}"), 4, 43, "`sources.sales.expect.rows` must be at least 0", None),
    (source("path: x, expect: {distinct: {a: x}}"), 4, 51, "`sources.sales.expect.distinct.a` must be a whole", None),
    (
        source("path: x, expect: {arrives: {14:00: 60%, 24:00: 30%}}"),
        4,
        46,
        "the percentages of `sales` add up to 90, not to 100",
        None,
    ),
    (
        source("path: x, expect: {arrives: {13:00: 100%}}"),
        4,
        54,
        "rows of `sales` arrive at 13:00, which is not in the schedule",
        "did you mean `14:00`",
    ),
    (source("path: x, expect: {arrives: {14:00: 0.6}}"), 4, 54, "cannot be 0.6 rows", "did you mean 60%?"),
    (source("path: x, expect: {arrives: {14:00: -6}}"), 4, 54, "cannot be -6 rows", None),
    (source("path: x, expect: {arrives: {14:00: most}}"), 4, 54, "must be a percentage or a number of rows", "60%"),
    (source("path: x, expect: {arrives: {14:00: {insert: 1}}}"), 4, 55, "unknown key `insert`", "`inserts`"),
    (source("path: x, expect: {arrives: {14:00: {inserts: a}}}"), 4, 64, "must be a percentage or a number", None),
    (
        source("path: x, expect: {rows: 5, arrives: {14:00: 4}}"),
        4,
        55,
        "`sales` has 5 rows, but its arrivals leave 4",
        None,
    ),
    (source("path: x, expect: {arrives: {14:00: 4, 24:00: 10%}}"), 4, 46, "percentages beside numbers", "`rows`"),
    (
        source("path: x, expect: {arrives: {14:00: 4, 24:00: {deletes: 1}}}"),
        4,
        64,
        "source `sales` only appends, but at 24:00 rows are updated or deleted",
        "changes: feed",
    ),
    # output, state, Spark
    (
        small(output="out"),
        5,
        9,
        "`output` must be made of `key: value` entries, not `out`",
        "output: {path: out/revenue}",
    ),
    (small(output="{path: hdfs://n/x}"), 5, 16, "`output.path` is on `hdfs`, but only local or mounted paths", None),
    (small(state="s3a://b/x"), 6, 8, "`state` is on `s3a`, but only local or mounted paths", None),
    (small(state="out"), 6, 8, "the state and the output are the same directory: /jobs/out", None),
    (small(state="out/state"), 6, 8, "the state lies within the output: /jobs/out/state", None),
    (small(state="data"), 6, 8, "source `sales` lies within the state: /jobs/data/sales", None),
    (small(spark="{master: x, connect: 'sc://h'}"), 6, 29, "`connect` and `master` exclude each other", None),
    (small(spark="{connect: host}"), 6, 18, "`host` is no address of Spark Connect", "sc://"),
    (small(spark="{conf: {spark.a: [1]}}"), 6, 25, "`spark.conf.spark.a` must be a text, a number", None),
    (small(spark="{conf: {spark.master: x}}"), 6, 30, "`spark.master` is not a setting here", "spark: {master"),
    (small(tolerance="x"), 6, 12, "`tolerance` must be a number, not `x`", None),
    (small(tolerance="1"), 6, 12, "`tolerance` must be less than 1, not `1`", None),
    (small(verify="{after: every run}"), 6, 17, "`verify.after` cannot be `every run`", "each run"),
    (small(verify="{sample: 0.01}"), 6, 18, "`verify.sample` must be a percentage, not `0.01`", "did you mean 1%?"),
    (small(verify="{sample: 0%}"), 6, 18, "`verify.sample` must be above 0 and at most 100 percent", "e.g. 1%"),
    (small(verify="{sampel: 1%}"), 6, 10, "`sampel`", "sample"),
    (small(verify="each run"), 6, 9, "`verify` must be made of `key: value` entries", "verify: {after: each run"),
    (small(state=".out"), 6, 8, "the state lies where the output keeps its answers: /jobs/.out", "each its own"),
    # one query or several
    (small().replace("query:", "#"), 1, 1, "`query` is missing", "e.g. `query: revenue.sql`"),
    (small().replace("output:", "#"), 1, 1, "`output` is missing", "e.g. `output: {path: out/revenue}`"),
    (small(query=""), 2, 7, "`query` must be a file or the text of a query, not empty", "revenue.sql"),
    (small(output=""), 5, 8, "`output` has no value", "e.g. `output: {path: out/revenue}`"),
    (queries(ONE) + "query: SELECT 1\n", 6, 1, "`query` stands beside `queries`", "has its own `query`"),
    (queries(ONE) + "output: {path: x}\n", 6, 1, "`output` stands beside `queries`", "has its own `output`"),
    (queries("[a, b]"), 5, 3, "`queries` must be made of `key: value` entries, not a list", "queries: {revenue:"),
    (queries(), 4, 9, "`queries` has no value", "queries: {revenue:"),
    (queries("{}"), 5, 3, "`queries` is empty", "queries: {revenue:"),
    (queries("a: revenue.sql"), 5, 6, "`queries.a` must be made of `key: value` entries", None),
    (queries("a:"), 5, 5, "`queries.a` has no value", None),
    (queries("a: {output: {path: x}}"), 5, 6, "`query` is missing in `queries.a`", "query: revenue.sql"),
    (queries("a: {query: SELECT 1}"), 5, 6, "`output` is missing in `queries.a`", "output: {path"),
    (queries(ONE, "b: {query: x.sql, output: {path: y}}"), 6, 14, "there is no file /jobs/x.sql", "relative"),
    (
        queries(ONE, "b: {query: SELECT 1, output: {format: csv}}"),
        6,
        32,
        "`path` is missing in `queries.b.output`",
        None,
    ),
    (
        queries(ONE, OTHER[:-1] + ", sources: {}}"),
        6,
        65,
        "unknown key `sources` in `queries.b`",
        "it belongs to the top",
    ),
    (queries(ONE, OTHER[:-1] + ", sql: x}"), 6, 65, "unknown key `sql` in `queries.b`", "did you mean `query`?"),
    (queries(ONE, OTHER[:-1] + ", deliver: [13:00]}"), 6, 75, "`deliver` names 13:00, which is not", "`14:00`"),
    (queries(ONE, OTHER[:-1] + ", deliver: []}"), 6, 74, "`queries.b.deliver` must be final, every or a list", None),
    (queries(ONE, ONE), 6, 3, "`a` stands here twice", "first on line 5"),
    (queries(ONE, OTHER.replace("b:", '"":', 1)), 6, 3, "`` is not a name of a query", "letters, digits and `_`"),
    (queries(ONE, OTHER.replace("b:", "my-b:", 1)), 6, 3, "`my-b` is not a name of a query", "used for steps"),
    (queries(ONE, OTHER.replace("b:", "A:", 1)), 6, 3, "`A` and `a` are the same query", None),
    (
        queries(ONE, OTHER.replace("out/b", "out/a")),
        6,
        57,
        "the output of `b` and the output of `a` are the same",
        None,
    ),
    (queries(ONE, OTHER.replace("out/b", "out/a/b")), 6, 57, "the output of `b` lies within the output of `a`", None),
    (queries(ONE, OTHER.replace("out/b", "out/.a")), 6, 57, "where the output of `a` keeps its answers", None),
    (
        queries(ONE, OTHER.replace("out/b", "data/sales")),
        6,
        57,
        "the output of `b` and source `sales` are the same",
        None,
    ),
    (
        queries(ONE, sources="{sales: {path: data/sales}, query_a: {path: x}}"),
        5,
        3,
        "the answer of `a` is called `query_a` in plans, and so is a source",
        "another name",
    ),
]


@pytest.mark.parametrize("text, line, column, message, hint", WRONG)
def test_mistakes(text: str, line: int, column: int, message: str, hint: str | None) -> None:
    error = refused(text)
    assert len(error.mistakes) == 1, str(error)
    assert message in error.message
    assert error.place == Place("/jobs/slackwater.yml", line, column)
    if hint is not None:
        assert hint in (error.hint or "")


def test_all_mistakes_are_shown_in_order() -> None:
    error = refused(small(name="a/b", weights="[1, cheap]", refresh="never"))
    assert str(error).splitlines() == [
        "/jobs/slackwater.yml, line 1, column 7: `name` cannot be `a/b` "
        "(use at most 100 letters, digits, `_`, `-` and `.`; the name is used for files)",
        "  line 6, column 14: `weights[2]` must be a number, not `cheap` (e.g. 0.25)",
        "  line 7, column 10: `refresh` cannot be `never` "
        "(there is `auto`, `incremental`, `incremental strict`, `full`)",
    ]
    assert error.place == Place("/jobs/slackwater.yml", 1, 7)


def test_mistakes_in_merged_entries_stand_where_they_are_written() -> None:
    error = refused(small(sources="\n  a: &a {path: x, format: parket}\n  b: {<<: *a, path: y}"))
    assert [(m.place.line, m.place.column) for m in error.mistakes] == [(5, 27)] * len(error.mistakes)


def test_a_query_file_that_is_nearly_there(tmp_path: Path) -> None:
    (tmp_path / "revenue.sql").write_text("SELECT 1", encoding="utf-8")
    with pytest.raises(FileError) as raised:
        parse_job(small(query="revenu.sql"), tmp_path / "slackwater.yml")
    assert raised.value.hint == "did you mean `revenue.sql`?"


@pytest.mark.parametrize("content, message", [(b"\xff\xfe", "not UTF-8"), (b" \n", "is empty")])
def test_query_files_that_are_none(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.sql").write_bytes(content)
    with pytest.raises(FileError, match=message):
        parse_job(small(query="a.sql"), tmp_path / "slackwater.yml")


def test_job_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no such job file\n.*slackwater init"):
        load_job(tmp_path / "slackwater.yml")
    with pytest.raises(UserError, match="cannot read the job file"):
        load_job(tmp_path)
    (tmp_path / "slackwater.yml").write_bytes(b"name: \xff")
    with pytest.raises(UserError, match="not UTF-8"):
        load_job(tmp_path / "slackwater.yml")


ODD: list[Yaml] = [None, True, -1, 1.5, 10**400, "", "a\0b", "~nobody-here/x", ".", [], [[]], {}, {"a": None}]


def entries(value: Yaml, location: Location = ()) -> Iterator[Location]:
    yield location
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in below:
        yield from entries(each, (*location, key))


def replaced(value: Yaml, location: Location, odd: Yaml) -> Yaml:
    if not location:
        return odd
    key, *rest = location
    if isinstance(value, dict):
        return {k: replaced(v, tuple(rest), odd) if k == key else v for k, v in value.items()}
    assert isinstance(value, list)
    return [replaced(v, tuple(rest), odd) if i == key else v for i, v in enumerate(value)]


def test_whatever_is_written_is_read_or_refused() -> None:
    expect = "{rows: 5, arrives: {14:00: 20%, 24:00: {inserts: 90%, deletes: 10%}}, distinct: {a: 1}}"
    sales = f"{{path: x, format: csv, options: {{a: 1}}, key: [a], changes: feed, expect: {expect}}}"
    text = small(sources=f"{{sales: {sales}}}", weights="[1, 2]", deliver="[24:00]", spark="{conf: {a: b}}")
    several = queries(ONE, OTHER[:-1] + ", deliver: [24:00]}")
    refusals = 0
    for written in (text, several):
        parsed(written)
        right = read_yaml(written, "x").value
        for location in entries(right):
            for odd in ODD:
                with suppress(FileError):
                    parsed(json.dumps(replaced(right, location, odd)))
                    continue
                refusals += 1
    assert refusals > 300


def test_what_is_nested_too_deeply_is_said_with_its_line() -> None:
    with pytest.raises(FileError, match="more than 50 nested lists and mappings") as raised:
        read_yaml("name: x\nsources: " + "[\n" * 100_000, "job.yml")
    assert raised.value.place == Place("job.yml", 51, 1)
    nested = "\n".join(f"{' ' * depth}a:" for depth in range(2000))
    with pytest.raises(FileError, match="nested lists"):
        read_yaml(nested, "job.yml")


def test_aliases_of_aliases_that_stand_for_very_many_entries() -> None:
    lines = ["a: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(FileError, match="more than 100000 entries"):
        read_yaml("\n".join(lines), "job.yml")
