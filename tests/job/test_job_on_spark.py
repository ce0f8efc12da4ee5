"""Jobs on Spark: small data, every kind of source, what is delivered beside the batch answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from tests.job.room import (
    BUSY,
    BY_TEXT,
    SALES_AND_RETURNS,
    THREE_ARRIVALS,
    Heard,
    Room,
    Row,
    Rows,
    expected,
    rows_of,
    several,
)
from tests.job.running.test_work import state_files

from slackwater.cli.main import DONE, FAILED, main
from slackwater.errors import PromiseError, UserError
from slackwater.job.running.verify import Verdict
from slackwater.spark.session import Session


def jobs_so_far(spark: Session) -> int:
    return int(spark.sparkContext._jsc.sc().statusStore().jobsList(None).size())


def verified(room: Room, spark: Session) -> Verdict:
    verdict = room.job(spark).verify()
    assert verdict.equal, verdict.difference
    return verdict


def executed(text: str, spark: Session) -> dict[str, list[Row]]:
    """What the statements of a program write, each executed by hand in a new session."""
    session = spark.newSession()
    by_name: dict[str, list[Row]] = {}
    for statement in text.split(";\n"):
        lines = [line for line in statement.splitlines() if not line.startswith("--")]
        sql = "\n".join(lines).strip()
        if sql:
            session.sql(sql)
        if sql.startswith("INSERT OVERWRITE DIRECTORY"):
            path = Path(sql.split("'")[1])
            by_name[path.name if path.parent.name != ".answer" else "answer"] = rows_of(path)
    return by_name


def test_every_run_delivers_and_its_program_can_be_run_by_hand(tmp_path: Path, spark: Session) -> None:
    room = Room(tmp_path / "room")
    with pytest.raises(UserError, match="has no file yet"):
        room.job(spark).run()
    for run in (1, 2, 3):
        room.arrive(run)
        (manifest,) = room.job(spark).run()
        assert room.answer() == expected(THREE_ARRIVALS[:run])
        assert manifest.output is not None
        assert manifest.output.rows == len(expected(THREE_ARRIVALS[:run]))
        assert all(step.measured["jobs"] for step in manifest.steps)
        if run == 2:  # reads a state and writes one
            by_hand = executed(room.job(spark).work(run).program(), spark)
            assert by_hand["answer"] == room.answer()
            assert set(by_hand) == {"answer", "sales_returns_partial_v2"}
    verified(room, spark)
    # What was written by hand is nobody's.
    gone = [path.name[:4] for path in room.job().clean().paths if path.parent.name == ".answer"]
    assert sorted(gone) == ["1-1-", "1-2-", "1-2-"]
    assert room.answer() == expected(THREE_ARRIVALS)

    before = jobs_so_far(spark)
    assert room.job(spark).run() == []
    assert room.job(spark).run("14:00") == []
    assert jobs_so_far(spark) == before


def test_only_the_last_run_delivers(tmp_path: Path, spark: Session) -> None:
    room = Room(tmp_path / "room", settings={"deliver": "final"})
    room.arrive(1)
    room.job(spark).run()
    assert room.answer() is None
    with pytest.raises(UserError, match="nothing has been delivered yet"):
        room.job(spark).verify()
    room.arrive(3)
    before = jobs_so_far(spark)
    assert room.job(spark).work(2).targets
    assert jobs_so_far(spark) == before
    done = room.job(spark).run("24:00")
    assert [manifest.run for manifest in done] == [2, 3]
    assert done[1].note == ""
    assert room.answer() == expected([THREE_ARRIVALS[0], THREE_ARRIVALS[2]])
    verified(room, spark)


def test_a_feed_inserts_deletes_and_updates(tmp_path: Path, spark: Session) -> None:
    """Rows without a key, so two may be equal: a delete takes one of them."""

    def change(kind: str, r_id: int, cost: int) -> dict[str, object]:
        return {"r_id": r_id, "cost": cost, "_change_type": kind}

    feed = [
        [change("insert", 1, 4), change("insert", 1, 4), change("insert", 2, 9), change("insert", 3, 1)],
        [change("delete", 1, 4), change("update_preimage", 2, 9), change("update_postimage", 2, 7)],
        [change("delete", 3, 1), change("insert", 3, 2), change("insert", 3, 2), change("delete", 1, 4)],
    ]
    left = [[(1, 4), (1, 4), (2, 9), (3, 1)], [(1, 4), (2, 7), (3, 1)], [(2, 7), (3, 2), (3, 2)]]
    sales = [[{"o_id": n, "cat": "abc"[n % 3], "price": n} for n in (run, run + 3)] for run in (1, 2, 3)]
    arrivals = [{"sales": sales[run], "returns": feed[run]} for run in range(3)]
    query = """
        SELECT cat, sum(cost) AS cost, count(*) AS n
        FROM sales JOIN returns ON sales.o_id = returns.r_id GROUP BY cat
    """
    room = Room(tmp_path / "room", query=query, arrivals=arrivals)
    room.sources = {**room.sources, "returns": {"changes": "feed"}}
    room.write()
    for run in (1, 2, 3):
        room.arrive(run)
        room.job(spark).run()
        cats = {str(row["o_id"]): str(row["cat"]) for rows in sales[:run] for row in rows}
        costs: dict[str, list[int]] = {}
        for r_id, cost in left[run - 1]:
            if str(r_id) in cats:
                costs.setdefault(cats[str(r_id)], []).append(cost)
        assert room.answer() == sorted((cat, sum(each), len(each)) for cat, each in costs.items())
    verified(room, spark)

    room.bring("returns", "part-9.parquet", [change("upsert", 1, 1)])
    with pytest.raises(PromiseError, match="known _change_type: _change_type=upsert"):
        room.job(spark).run(new_cycle=True)
    assert room.answer() is not None


FORMATS = """
    SELECT c.k, c.name, j.size, o.weight, p.day, p.v, s.label
    FROM c JOIN j ON c.k = j.k JOIN o ON c.k = o.k JOIN p ON c.k = p.k JOIN s ON p.day = s.day
"""


def bring_all_formats(room: Room, run: int) -> None:
    data = room.directory / "data"
    ks = [2 * run, 2 * run + 1]
    (data / "c" / f"{run}, {{x}}.csv").write_text("k,name\n" + "".join(f'{k},"n, {k}"\n' for k in ks), encoding="utf-8")
    (data / "j" / f"{run}.json").write_text("".join(json.dumps({"k": k, "size": k / 2}) + "\n" for k in ks))
    orc.write_table(pa.table({"k": ks, "weight": [10 * k for k in ks]}), data / "o" / f"{run}.orc")
    for day, k in zip(("007", "x y"), ks, strict=True):
        path = data / "p" / f"day={day}" / f"{run}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"k": [k], "v": [k * k]}), path)


def test_formats_partitions_and_a_static_source(tmp_path: Path, spark: Session) -> None:
    text = {"header": True}
    sources: dict[str, dict[str, object]] = {
        "c": {"format": "csv", "options": text, "schema": "k BIGINT, name STRING"},
        "j": {"format": "json"},
        "o": {"format": "orc"},
        "p": {"schema": "k BIGINT, v BIGINT, day STRING"},
        "s": {"static": True},
    }
    room = Room(tmp_path / "room", query=FORMATS, arrivals=(), sources=sources)
    room.write(schedule=["10:00", "24:00"], weights=[1, 1])
    room.bring("s", "days.parquet", [{"day": "007", "label": "seven"}, {"day": "x y", "label": "space"}])
    for run in (1, 2):
        bring_all_formats(room, run)
        room.job(spark).run()
        ks = range(2, 2 * run + 2)
        days = ("007", "seven"), ("x y", "space")
        rows = [(k, f"n, {k}", k / 2, 10 * k, days[k % 2][0], k * k, days[k % 2][1]) for k in ks]
        assert room.answer() == rows
    verified(room, spark)
    for statistics in room.job(spark).statistics():
        assert statistics.whole is not None
        assert statistics.whole.rows == (2 if statistics.source == "s" else 4)
        runs = [arrived.times for arrived in statistics.arrivals]
        assert runs == ([("10:00",)] if statistics.source == "s" else [("10:00",), ("24:00",)])
        columns = statistics.whole.columns
        if statistics.source != "s":
            assert (columns["k"].distinct, columns["k"].range) == (4, (2.0, 5.0))
        if statistics.source == "p":
            assert dict(columns["day"].frequent) == {"007": 2.0, "x y": 2.0}

    def refused(message: str) -> None:
        with pytest.raises(UserError, match=message):
            room.job(spark).run(new_cycle=True, all=True)

    (room.directory / "data" / "c" / "9.csv").write_text("k,title\n9,nine\n", encoding="utf-8")
    refused("(?s)CSV header does not conform|9.csv")
    (room.directory / "data" / "c" / "9.csv").write_text("k,name\nnine,nine\n", encoding="utf-8")
    refused("nine|MALFORMED|malformed|FAILFAST")
    assert room.answer() == rows


@pytest.mark.parametrize("format", ["csv", "json"])
def test_answers_as_text_lose_nothing(tmp_path: Path, spark: Session, format: str) -> None:
    texts = ("", None, 'a,"b"\nc', "NULL", " pad ", "back\\")
    floats = (1.5, float("nan"), float("inf"), None, 1e300, -0.0)
    at = datetime(2024, 1, 1, 2, 3, 4, 123456)
    rows = [
        {"k": n, "s": s, "f": f, "t": at, "z": at.replace(tzinfo=UTC), "d": at.date(), "b": n % 2 == 0}
        for n, (s, f) in enumerate(zip(texts, floats, strict=True))
    ]
    room = Room(tmp_path / "it's {odd}, [x]*", query="SELECT * FROM t", arrivals=[{"t": rows}], sources={})
    room.write(schedule=["24:00"], weights=[1], output={"path": "out/answer", "format": format})
    room.arrive(1)
    room.job(spark).run()
    assert verified(room, spark).difference.close == 0
    (path,) = (path for path in room.output.iterdir() if path.suffix == f".{format}")
    text = path.read_text(encoding="utf-8")
    assert "2024-01-01T02:03:04.123456" in text
    path.write_text(text.replace("pad", "path"), encoding="utf-8")
    path.with_name(f".{path.name}.crc").unlink()
    assert [row[1] for row in room.job(spark).verify().difference.extra] == [" path "]


def test_a_table_of_the_catalog(tmp_path: Path, spark: Session) -> None:
    spark.sql("CREATE DATABASE IF NOT EXISTS shop")
    spark.sql(f"CREATE TABLE shop.items (k BIGINT, v STRING) USING parquet LOCATION '{tmp_path / 'items'}'")
    try:
        spark.sql("INSERT INTO shop.items VALUES (1, 'a'), (2, 'b')")
        room = Room(tmp_path / "room", query="SELECT v, count(*) AS n FROM items GROUP BY v", arrivals=(), sources={})
        room.write(sources={"items": {"table": "shop.items"}}, schedule=["10:00", "24:00"], weights=[1, 1])
        room.job(spark).run()
        assert room.answer() == [("a", 1), ("b", 1)]
        spark.sql("INSERT INTO shop.items VALUES (3, 'b')")
        room.job(spark).run()
        assert room.answer() == [("a", 1), ("b", 2)]
        verified(room, spark)
    finally:
        spark.sql("DROP DATABASE shop CASCADE")


def test_two_queries_share_a_state(
    tmp_path: Path, spark: Session, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A third goes by its text; `verify` looks at all of them, or at one."""
    queries = several(gross={"query": SALES_AND_RETURNS, "deliver": "final"}, busy=BUSY, text=BY_TEXT)
    room = Room(tmp_path / "room", settings=queries)
    for run in (1, 2, 3):
        room.arrive(run)
        room.job(spark).run()
        assert room.answer("busy") == [row for row in expected(THREE_ARRIVALS[:run]) if int(str(row[2])) > 2]
        assert (room.answer("gross") is None) is (run < 3)
    assert room.answer("gross") == expected(THREE_ARRIVALS)
    plan = room.job(spark).plan()
    assert {plan.serves(state) for state in plan.states} == {("busy", "gross")}
    assert {"sales_returns_partial_v1", "sales_returns_partial_v2"} <= {state.name for state in plan.states}
    computed = [step for step in plan.steps if any("sales__" in name for name in step.reads())]
    assert [step.run for step in computed] == [1, 2, 3], "what both are made of is computed once a run"
    by_hand = executed(room.job(spark).work(2).program(), spark)
    assert set(by_hand) >= {"sales_returns_partial_v2"}

    verdicts = room.job(spark).verdicts()
    assert list(verdicts) == ["gross", "busy", "text"]
    assert all(verdict.equal and verdict.run == 3 for verdict in verdicts.values())
    monkeypatch.setattr("slackwater.spark.session.open_session", lambda *_: spark)
    monkeypatch.chdir(room.directory)
    assert main(["verify", "--run", "14:00"]) == DONE
    assert capsys.readouterr().out.splitlines() == [
        "busy, run 2 (14:00), 2 rows: equal to the batch answer",
        "  the output shows the answer of run 3",
        "text, run 2 (14:00), 4 rows: equal to the batch answer",
        "  the output shows the answer of run 3",
    ]
    tampered(room, lambda table: table.slice(1), "busy")
    assert main(["verify", "--query", "gross"]) == DONE
    assert main(["verify", "--json"]) == FAILED
    report = json.loads(capsys.readouterr().out.partition("\n")[2])
    assert not report["equal"]
    assert [name for name, each in report["queries"].items() if not each["equal"]] == ["busy"]


# --- verify ----------------------------------------------------------------------------------------------------------


def tampered(room: Room, change: Callable[[pa.Table], pa.Table], query: str = "answer") -> None:
    """Changes what was delivered, and takes Hadoop's checksums away."""
    (path,) = room.output_of(query).glob("*.parquet")
    table = change(pq.ParquetFile(path).read())
    pq.write_table(table, path)
    path.with_name(f".{path.name}.crc").unlink()


def one_run(directory: Path, spark: Session, query: str, rows: Rows) -> Room:
    room = Room(directory, query=query, arrivals=[{"t": rows}], sources={}, settings={"refresh": "full"})
    room.write(schedule=["24:00"], weights=[1])
    room.arrive(1)
    room.job(spark).run()
    return room


def test_a_tampered_answer_is_found_out(tmp_path: Path, spark: Session) -> None:
    rows = [{"k": k, "v": k / 3} for k in (1, 2, 2, 3)]
    room = one_run(tmp_path / "room", spark, "SELECT k, sum(v) AS v FROM t GROUP BY k", rows)
    verified(room, spark)

    def times(factor: float) -> Callable[[pa.Table], pa.Table]:
        return lambda table: pa.Table.from_pylist(
            [{**row, "v": row["v"] * (factor if row["k"] == 2 else 1)} for row in table.to_pylist()], table.schema
        )

    (path,) = room.output.glob("*.parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError):
        room.job(spark).verify()
    path.write_bytes(whole)

    tampered(room, times(1 + 1e-12))
    assert verified(room, spark).difference.close == 1
    pq.write_table(times(1.001)(pq.ParquetFile(path).read()), path)
    verdict = room.job(spark).verify()
    assert not verdict.equal
    assert [row[0] for row in verdict.difference.missing] == [2]
    assert [row[0] for row in verdict.difference.extra] == [2]
    path.unlink()
    with pytest.raises(UserError, match="the answer of run 1 is gone"):
        room.job(spark).verify()
    # A run notices too, and computes it again.
    heard = Heard()
    room.job(spark).run(progress=heard)
    assert "the last answer is missing or damaged" in heard.notes[0]
    verified(room, spark)


def test_any_of_the_last_tie_is_right(tmp_path: Path, spark: Session) -> None:
    rows = [{"k": k, "v": v} for k, v in ((1, 9), (2, 5), (3, 5), (4, 1))]
    room = one_run(tmp_path / "room", spark, "SELECT k, v FROM t ORDER BY v DESC LIMIT 2", rows)
    verified(room, spark)
    other = next(k for k in (2, 3) if (k, 5) not in (room.answer() or []))
    tampered(room, lambda table: pa.table({"k": [1, other], "v": [9, 5]}, schema=table.schema))
    assert verified(room, spark).ties == 1
    (path,) = room.output.glob("*.parquet")
    pq.write_table(pa.table({"k": [1, 7], "v": [9, 5]}), path)
    assert not room.job(spark).verify().equal


# --- what is refused, and what falls back ----------------------------------------------------------------------------

RECURSIVE = """
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2)
    SELECT cat, i, count(*) AS c FROM sales CROSS JOIN n GROUP BY cat, i
"""


def test_refresh_policies(tmp_path: Path, spark: Session) -> None:
    room = Room(tmp_path / "room")
    room.arrive(1)

    def saves() -> int:
        return len(room.job(spark).planned().plan.states)

    room.write(refresh="full")
    assert saves() == 0
    for refresh in ("auto", "incremental strict"):
        room.write(refresh=refresh)
        assert saves() >= 2
    window = "SELECT cat, row_number() OVER (ORDER BY price) AS r FROM sales"
    room.write(refresh="incremental strict", query=window)
    with pytest.raises(UserError, match="not incremental: window over sales") as raised:
        room.job(spark).run()
    assert "`refresh: auto`" in str(raised.value.hint)
    room.write(refresh="incremental strict", query=RECURSIVE)
    with pytest.raises(UserError, match="not incremental: "):
        room.job(spark).run()
    room.write(query="SELECT cat, price AS Cat FROM sales")
    with pytest.raises(UserError, match="two columns named `Cat`"):
        room.job(spark).run()
    assert not list(room.state.glob("cycle-*"))


def test_a_query_that_cannot_be_taken_apart_is_still_delivered(tmp_path: Path, spark: Session) -> None:
    room = Room(tmp_path / "room", query=RECURSIVE, settings={"refresh": "auto"})
    room.arrive(1)
    heard = Heard()
    room.job(spark).run(progress=heard)
    assert "computed from scratch at every delivery" in heard.notes[0]
    room.arrive(2)
    room.job(spark).run()
    counts = {row[0]: row[2] for row in expected(THREE_ARRIVALS[:2])}
    assert room.answer() == sorted((cat, i, n) for cat, n in counts.items() for i in (1, 2))
    verified(room, spark)
    by_hand = executed(room.job(spark).work(2).program(), spark)
    assert by_hand["answer"] == room.answer()


# --- damage that only Spark can notice -------------------------------------------------------------------------------


def test_a_flipped_bit_in_a_state_is_noticed_and_mended(tmp_path: Path, spark: Session) -> None:
    room = Room(tmp_path / "room")
    for run in (1, 2):
        room.arrive(run)
        room.job(spark).run()
    room.arrive(3)
    (path,) = state_files(room, "sales_returns_partial_v2")
    whole = path.read_bytes()
    position = whole.index(b"PAR1") + 40
    path.write_bytes(bytes((*whole[:position], whole[position] ^ 4, *whole[position + 1 :])))
    heard = Heard()
    (manifest,) = room.job(spark).run(progress=heard)
    assert [str(path) in note for note in heard.notes] == [True]
    assert room.answer() == expected(THREE_ARRIVALS)
    assert "sales_returns_partial_v2" in manifest.states
