"""The types of expressions, as Spark 4.3 gives them; what we cannot tell is unknown, never a guess."""

from __future__ import annotations

import pytest

from slackwater.catalog.table import Catalog, table
from slackwater.sql.bind import bind

CATALOG = Catalog.of(
    [
        table(
            "t",
            {
                "i": "int",
                "l": "bigint",
                "s": "smallint",
                "f": "float",
                "d": "double",
                "m": "decimal(8,2)",
                "w": "decimal(38,6)",
                "c": "string",
                "b": "boolean",
                "day": "date",
                "at": "timestamp",
                "a": "array<int>",
                "p": "map<string,double>",
                "r": "struct<x:int,y:struct<z:date>>",
            },
        )
    ]
)

EXPRESSIONS = [
    ("1", "int"),
    ("2147483648", "bigint"),
    ("9223372036854775808", "decimal(19,0)"),
    ("1.50", "decimal(3,2)"),
    (".5", "decimal(1,1)"),
    ("1e3", "double"),
    ("'x'", "string"),
    ("NULL", "void"),
    ("true", "boolean"),
    ("-m", "decimal(8,2)"),
    ("i + l", "bigint"),
    ("i + s", "int"),
    ("i / 2", "double"),
    ("i div 2", "bigint"),
    ("i % s", "int"),
    ("m + 1", "decimal(9,2)"),
    ("m + i", "decimal(13,2)"),
    ("m * 1.1", "decimal(11,3)"),
    ("m / 3", "decimal(12,6)"),
    ("w * w", "decimal(38,6)"),
    ("m + d", "double"),
    ("f + f", "float"),
    ("i & s", "int"),
    ("~l", "bigint"),
    ("i = 1 OR b", "boolean"),
    ("c LIKE 'a'", "boolean"),
    ("c LIKE 'a!' ESCAPE '!'", "boolean"),
    ("c RLIKE 'a'", "boolean"),
    ("i IN (1, 2)", "boolean"),
    ("i BETWEEN 1 AND 2", "boolean"),
    ("i IS NULL", "boolean"),
    ("i <=> NULL", "boolean"),
    ("c || 'x'", "string"),
    ("cast(i AS decimal(5, 1))", "decimal(5,1)"),
    ("try_cast(c AS int)", "int"),
    ("CASE WHEN b THEN i ELSE m END", "decimal(12,2)"),
    ("CASE WHEN b THEN NULL ELSE l END", "bigint"),
    ("CASE WHEN b THEN 1 END", "int"),
    ("if(b, 1, 2.5)", "decimal(11,1)"),
    ("coalesce(s, l)", "bigint"),
    ("coalesce(NULL, day)", "date"),
    ("nullif(m, 0)", "decimal(8,2)"),
    ("greatest(i, d)", "double"),
    ("abs(m)", "decimal(8,2)"),
    ("round(m, 1)", "decimal(8,1)"),
    ("round(d, 1)", "double"),
    ("round(m)", "decimal(7,0)"),
    ("ceil(m)", "decimal(7,0)"),
    ("floor(d)", "bigint"),
    ("sqrt(i)", "double"),
    ("upper(c)", "string"),
    ("substring(c, 1, 2)", "string"),
    ("length(c)", "int"),
    ("year(day)", "int"),
    ("extract(SECOND FROM at)", "decimal(8,6)"),
    ("datediff(day, day)", "int"),
    ("day + 1", "date"),
    ("day + INTERVAL 1 MONTH", "date"),
    ("day + INTERVAL 1 HOUR", "timestamp"),
    ("at + INTERVAL 1 DAY", "timestamp"),
    ("date_add(day, 3)", "date"),
    ("date_trunc('month', day)", "timestamp"),
    ("current_date()", "date"),
    ("a[0]", "int"),
    ("p['k']", "double"),
    ("r.x", "int"),
    ("r.y.z", "date"),
    ("array(i, l)", "array<bigint>"),
    ("named_struct('q', i, 'u', c)", "struct<q:int,u:string>"),
    ("size(a)", "int"),
    ("array_contains(a, 1)", "boolean"),
    ("count(*)", "bigint"),
    ("count(DISTINCT i)", "bigint"),
    ("sum(i)", "bigint"),
    ("sum(m)", "decimal(18,2)"),
    ("sum(w)", "decimal(38,6)"),
    ("sum(DISTINCT f)", "double"),
    ("sum(i) FILTER (WHERE b)", "bigint"),
    ("avg(i)", "double"),
    ("avg(m)", "decimal(12,6)"),
    ("min(day)", "date"),
    ("max_by(c, i)", "string"),
    ("stddev(i)", "double"),
    ("collect_list(m)", "array<decimal(8,2)>"),
    ("bool_or(b)", "boolean"),
    ("first(l) IGNORE NULLS", "bigint"),
    ("percentile(i, 0.5)", "double"),
    ("percentile(i, array(0.5))", "array<double>"),
    ("row_number() OVER (ORDER BY i)", "int"),
    ("lag(m) OVER (ORDER BY i)", "decimal(8,2)"),
    ("sum(m) OVER (PARTITION BY i)", "decimal(18,2)"),
    ("percent_rank() OVER (ORDER BY i)", "double"),
]


@pytest.mark.parametrize("expression,kind", EXPRESSIONS, ids=[e for e, _ in EXPRESSIONS])
def test_type(expression: str, kind: str) -> None:
    assert bind(f"SELECT {expression} AS x FROM t", CATALOG).outputs[0].type.text == kind


@pytest.mark.parametrize(
    "expression", ["parse_json(c)", "i + parse_json(c)", "c + 1", "transform(a, x -> x + 1)", "r.y + 1"]
)
def test_unknown_is_unknown(expression: str) -> None:
    assert not bind(f"SELECT {expression} AS x FROM t", CATALOG).outputs[0].type.is_known


def test_a_set_operation_gives_its_columns_the_common_type() -> None:
    query = bind("SELECT i, m, c FROM t UNION ALL SELECT l, i, NULL FROM t", CATALOG)
    assert [o.type.text for o in query.outputs] == ["bigint", "decimal(12,2)", "string"]
    assert [c.type.text for branch in query.relation.inputs for c in branch.columns] == [
        "bigint",
        "decimal(12,2)",
        "string",
    ] * 2
