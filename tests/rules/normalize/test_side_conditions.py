"""The small predicates that rules rest on, each alone."""

from __future__ import annotations

import pytest

from slackwater.algebra.fold import fold, is_never_true, rejects_padding
from slackwater.algebra.relation import Aggregate, Filter, Project, Relation
from slackwater.algebra.scalar import Scalar, conjunction, conjuncts
from slackwater.algebra.types import Type, keeps_apart
from slackwater.catalog.table import Catalog, table
from slackwater.rules.normalize.inference import holds
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind

CATALOG = Catalog.of([table("t", {"k": "int", "a": "int", "b": "string", "d": "double"}, keys=[["k"]])])


def predicate(text: str) -> Scalar:
    """A condition over t, as bound."""
    for node in bind(f"SELECT k FROM t WHERE {text}", CATALOG).relation.walk():
        if isinstance(node, Filter):
            return node.predicate
    raise AssertionError(text)


@pytest.mark.parametrize(
    "kind, other, wanted",
    [
        ("int", "int", True),
        ("int", "bigint", True),
        ("bigint", "int", True),
        ("int", "decimal(5,2)", True),
        ("bigint", "double", False),
        ("int", "string", True),
        ("string", "int", False),
        ("string", "string", True),
        ("varchar(3)", "string", True),
        ("string", "date", False),
        ("date", "string", True),
        ("date", "timestamp", True),
        ("timestamp", "date", True),
        ("double", "int", True),
        ("decimal(10,2)", "decimal(12,4)", True),
        ("decimal(38,10)", "decimal(38,0)", False),
        ("decimal(10,2)", "double", False),
        ("decimal(10,2)", "string", False),
        ("boolean", "boolean", True),
        ("boolean", "string", False),
        ("unknown", "unknown", False),
        ("int", "unknown", False),
    ],
)
def test_keeps_apart(kind: str, other: str, wanted: bool) -> None:
    assert keeps_apart(Type.parse(kind), Type.parse(other)) is wanted


@pytest.mark.parametrize(
    "text, wanted",
    [("a > 2", True), ("rand() < 0.5", False), ("IF(a = 1, raise_error('no'), true)", False), ("b LIKE 'x%'", True)],
)
def test_may_move(text: str, wanted: bool) -> None:
    assert predicate(text).may_move is wanted


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("a > NULL", True),
        ("a > CAST(NULL AS INT)", True),
        ("CAST(NULL AS INT) IS NOT NULL", True),
        ("coalesce(CAST(NULL AS INT), 1) = 2", True),
        ("coalesce(CAST(NULL AS INT), a) = 2", False),
        ("1 = 2", True),
        ("a > 1 AND 1 = 2", True),
        ("CASE WHEN false THEN true END", True),
        ("a > 1 OR 1 = 2", False),
        ("a > 1", False),
        ("NULL IS NULL AND a = 1", False),
    ],
)
def test_is_never_true(text: str, wanted: bool) -> None:
    assert is_never_true(fold(predicate(text))) is wanted


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("a > 2", True),
        ("NOT a > 2", True),
        ("a IS NULL", False),
        ("NOT a IS NULL", True),
        ("coalesce(a, 0) = 0", False),
        ("coalesce(a, 0) = 1", True),
        ("a > 2 OR b = 'x'", True),
        ("a > 2 OR b IS NULL", False),
        ("a <=> 2", False),
        ("a IN (1, 2)", True),
        ("a NOT IN (1, 2)", True),
        ("CASE WHEN a IS NULL THEN false ELSE true END", True),
        ("CASE WHEN a IS NULL THEN true ELSE false END", False),
        ("IF(a > 1, b, 'none') = 'x'", True),
        ("a BETWEEN 1 AND 2", True),
        ("2 BETWEEN a AND 3", False),
        ("concat_ws('-', b) = ''", False),
        ("IF(a > 1, raise_error('no'), false)", False),
    ],
)
def test_rejects_padding(text: str, wanted: bool) -> None:
    condition = predicate(text)
    assert rejects_padding(condition, condition.columns) is wanted


def normal(text: str) -> Relation:
    return normalize(bind(text, CATALOG)).relation


@pytest.mark.parametrize(
    "source",
    [
        "t WHERE a > 2",
        "(SELECT a + 0 AS a FROM t WHERE a + 0 > 2) q",
        "(SELECT a FROM t WHERE a > 2 UNION ALL SELECT k FROM t WHERE k > 2) q",
        "(SELECT a, count(*) AS n FROM t WHERE a > 2 GROUP BY a) q",
        "(SELECT x.a FROM t x JOIN t y ON x.k = y.k WHERE x.a > 2) q",
        "(SELECT x.a FROM t x LEFT JOIN t y ON x.k = y.k WHERE x.a > 2) q",
        "(SELECT a, rank() OVER (PARTITION BY a ORDER BY k) AS r FROM t) q WHERE a > 2",
        "(SELECT 3 AS a FROM t) q",
    ],
)
def test_a_filter_that_moved_down_still_holds(source: str) -> None:
    relation = normal(f"SELECT a FROM {source}")
    (column,) = relation.columns
    (asked,) = predicate("a > 2").columns
    assert holds(predicate("a > 2").rename({asked: column}), relation)
    assert not holds(predicate("a > 3").rename({asked: column}), relation) or "3 AS a" in source


def test_what_an_outer_join_pads_does_not_hold() -> None:
    relation = normal("SELECT y.a FROM t x LEFT JOIN (SELECT k, a FROM t WHERE a > 2) y ON x.a = y.k")
    assert isinstance(relation, Project)
    (column,) = relation.columns
    (asked,) = predicate("a > 2").columns
    assert not holds(predicate("a > 2").rename({asked: column}), relation)


def test_a_random_condition_counts_as_often_as_it_is_asked() -> None:
    random, steady = predicate("rand() < 0.5"), predicate("a > 2")
    assert len(conjuncts(conjunction([random, steady, random, steady]))) == 3


def test_what_is_kept_of_a_scalar_is_not_another_querys() -> None:
    """Two queries number their columns alike; the types may differ."""
    text = "SELECT DISTINCT t.k FROM t JOIN s ON t.a = s.k"
    exact = Catalog.of([table("t", {"k": "int", "a": "int"}, keys=[["k"]]), table("s", {"k": "int"}, keys=[["k"]])])
    blurred = Catalog.of(
        [table("t", {"k": "int", "a": "int"}, keys=[["k"]]), table("s", {"k": "string"}, keys=[["k"]])]
    )
    kinds = [type(normalize(bind(text, catalog)).relation) for catalog in (exact, blurred, exact)]
    assert kinds == [Project, Aggregate, Project]
