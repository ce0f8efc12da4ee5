"""The side of a join that is small for sure is sent to every worker, and no other."""

from __future__ import annotations

import duckdb
import pytest

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Query
from slackwater.catalog.table import Catalog, table
from slackwater.compile.hints import Hinted, hinted
from slackwater.physical.model import EngineCost
from slackwater.rows.recorded import counted_rows
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit

CATALOG = Catalog.of(
    (
        table("old", {"k": "int", "v": "int"}, keys=[["k"]]),
        table("new", {"k": "int", "w": "int"}),
        table("few", {"k": "int", "u": "int"}, keys=[["k"]]),
    )
)
JOINED = "SELECT v, w FROM old JOIN new ON old.k = new.k"


def hints(query: Query, rows: dict[str, float], shares: dict[str, float] | None = None) -> Hinted:
    return hinted(query.relation, counted_rows(rows, shares or {}), EngineCost(), {})


def emitted(query: Query, rows: dict[str, float], shares: dict[str, float] | None = None) -> str:
    result = hints(query, rows, shares)
    return emit(query.with_relation(result.relation), sends=result.sent)


def text(sql: str, **rows: float) -> str:
    return emitted(canonical(normalize(bind(sql, CATALOG))), rows)


@pytest.mark.parametrize(
    "sql,rows,sent",
    [
        (JOINED, {"old": 6e6, "new": 1e5}, "new"),
        (JOINED, {"old": 1e5, "new": 6e6}, "old"),
        (JOINED, {"old": 6e6, "new": 5e6}, None),
        (JOINED, {"old": 9e7, "new": 9e6}, None),
        (JOINED, {}, None),
        ("SELECT v, w FROM old LEFT JOIN new ON old.k = new.k", {"old": 6e6, "new": 1e3}, "new"),
        ("SELECT v, w FROM old JOIN new ON old.k < new.k", {"old": 6e6, "new": 1e3}, None),
        ("SELECT v FROM old LEFT SEMI JOIN new ON old.k = new.k", {"old": 6e6, "new": 1e3}, "new"),
    ],
)
def test_the_smaller_side_is_sent(sql: str, rows: dict[str, float], sent: str | None) -> None:
    sql_text = text(sql, **rows)
    assert ("broadcast" in sql_text) is (sent is not None)
    if sent is not None:
        assert f"broadcast({sent})" in sql_text


NEW_ONES = "SELECT v, w FROM old JOIN new ON old.k = new.k WHERE w = 7"


def with_filter(share: float | None, **rows: float) -> str:
    shares = {"w = 7": 1.0 if share is None else share}
    return emitted(canonical(normalize(bind(NEW_ONES, CATALOG))), rows, shares)


def test_a_side_is_sent_if_its_filter_is_likely_to_leave_little() -> None:
    assert "broadcast(new)" in with_filter(0.01, old=2e6, new=2e6)
    assert "broadcast" not in with_filter(None, old=2e6, new=2e6)
    assert "broadcast" not in with_filter(0.8, old=2e6, new=2e6)


def test_what_a_worker_may_not_hold_is_not_sent_whatever_is_expected() -> None:
    assert "broadcast" not in with_filter(0.0001, old=9e7, new=9e7)


def test_a_join_by_key_is_as_small_as_its_other_side() -> None:
    """Each of the few rows meets at most one of the many, so both together are few and may be sent on."""
    sql = "SELECT w FROM new JOIN (SELECT o.k FROM few f JOIN old o ON f.k = o.k) x ON new.k = x.k"
    sql_text = text(sql, old=6e6, new=6e6, few=10.0)
    assert sql_text.count("broadcast(") >= 1


def test_a_join_that_is_likely_to_leave_little_is_sent_under_a_name_of_its_own() -> None:
    sql = "SELECT u, w, v FROM (SELECT new.k, w, u FROM few JOIN new ON few.k = new.k) x JOIN old ON old.k = x.k"
    query = canonical(normalize(bind(sql, CATALOG)))
    rows = {"few": 4e5, "new": 2e6, "old": 1.5e6}
    assert "broadcast(few_new_rows)" in emitted(query, rows, {"k = k": 0.01})
    assert "few_new_rows" not in emitted(query, rows, {"k = k": 1.0})


def test_a_side_is_not_sent_to_meet_even_fewer_rows() -> None:
    sql = "SELECT v, w FROM old JOIN new ON old.k = new.k WHERE w = 7"
    query = canonical(normalize(bind(sql, CATALOG)))
    rows = {"old": 3e5, "new": 1e6}
    assert "broadcast(old)" in emitted(query, rows, {"w = 7": 1.0})
    assert "broadcast(new)" in emitted(query, rows, {"w = 7": 0.05})  # 50,000 to meet 300,000


def test_rows_that_may_multiply_are_not_counted_on() -> None:
    sql = "SELECT v FROM old JOIN (SELECT a.k FROM new a JOIN new b ON a.w = b.w) x ON old.k = x.k"
    assert "broadcast" not in text(sql, old=6e6, new=1.5e6)


NEVER_SEEN = "SELECT v, w FROM old LEFT JOIN new ON old.k = new.k"


def reduced(sql: str, **rows: float) -> str:
    return emitted(canonical(normalize(bind(sql, CATALOG))), rows)


@pytest.mark.parametrize(
    "sql,rows,is_reduced",
    [
        (NEVER_SEEN, {"old": 1e3, "new": 6e6}, True),
        ("SELECT v FROM old LEFT SEMI JOIN new ON old.k = new.k", {"old": 1e3, "new": 6e6}, True),
        ("SELECT v FROM old LEFT ANTI JOIN new ON old.k = new.k AND v < w", {"old": 1e3, "new": 6e6}, True),
        (NEVER_SEEN, {"old": 2e6, "new": 6e6}, False),
        (NEVER_SEEN, {"old": 9e6, "new": 9e8}, False),
        (NEVER_SEEN, {"old": 1e3, "new": 1e3}, False),
        (NEVER_SEEN, {"old": 1e3}, True),
        (NEVER_SEEN, {"old": 2e5}, False),
        ("SELECT v, w FROM old LEFT JOIN new ON old.k < new.k", {"old": 1e3, "new": 6e6}, False),
        ("SELECT v, w FROM old FULL JOIN new ON old.k = new.k", {"old": 1e3, "new": 6e6}, False),
        (JOINED, {"old": 1e3, "new": 6e6}, False),
        (
            "SELECT v, w FROM (SELECT * FROM old LIMIT 5) o LEFT JOIN new ON o.k = new.k",
            {"old": 1e3, "new": 6e6},
            False,
        ),
    ],
)
def test_a_small_left_side_is_sent_to_reduce_the_right_one(sql: str, rows: dict[str, float], is_reduced: bool) -> None:
    sql_text = reduced(sql, **rows)
    assert (sql_text.count(" JOIN ") == 2) is is_reduced
    assert ("LEFT SEMI JOIN old" in sql_text and "broadcast(old" in sql_text) is is_reduced


def rows_of(text: str) -> list[tuple[object, ...]]:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE old AS SELECT nullif(i % 7, 3) k, i v FROM range(30) t(i)")
    connection.execute("CREATE TABLE new AS SELECT nullif(i % 11, 4) k, i * 3 w FROM range(200) t(i) WHERE i % 11 <> 5")
    return sorted(connection.execute(text).fetchall(), key=str)


@pytest.mark.parametrize("kind", ["LEFT", "LEFT SEMI", "LEFT ANTI"])
@pytest.mark.parametrize("condition", ["o.k = n.k", "o.k <=> n.k", "o.k = n.k AND v < w", "o.k = n.k AND w IS NULL"])
def test_reducing_changes_nothing_but_work(kind: str, condition: str) -> None:
    columns = "v, w" if kind == "LEFT" else "v"
    sql = f"SELECT {columns} FROM old o {kind} JOIN new n ON {condition}"
    query = canonical(normalize(bind(sql, CATALOG)))
    other = query.with_relation(hints(query, {"old": 1e3, "new": 6e6}).relation)
    assert other.relation != query.relation
    assert rows_of(emit(other, "duckdb")) == rows_of(emit(query, "duckdb"))
