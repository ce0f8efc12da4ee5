"""Spark's types: how they are spelt, what arithmetic makes of them, and what several of them have in common."""

from __future__ import annotations

import pytest

from slackwater.algebra import types as t
from slackwater.algebra.types import Type
from slackwater.errors import UserError


@pytest.mark.parametrize(
    "written,spelt",
    [
        ("INT", "int"),
        (" Integer ", "int"),
        ("long", "bigint"),
        ("short", "smallint"),
        ("byte", "tinyint"),
        ("real", "float"),
        ("bool", "boolean"),
        ("text", "string"),
        ("varchar(10)", "varchar(10)"),
        ("decimal", "decimal(10,0)"),
        ("numeric( 12 , 3 )", "decimal(12,3)"),
        ("dec(5)", "decimal(5,0)"),
        ("array< int >", "array<int>"),
        ("STRUCT<A : INT, b: Array<string>>", "struct<a:int,b:array<string>>"),
    ],
)
def test_parse(written: str, spelt: str) -> None:
    assert Type.parse(written).text == spelt


@pytest.mark.parametrize("written", ["decimal(x,2)", "decimal(1.5,3)", "decimal(3,1,1)", "decimal()"])
def test_a_decimal_of_no_digits_is_refused(written: str) -> None:
    with pytest.raises(UserError, match="no type"):
        Type.parse(written)


def test_parts_of_nested_types() -> None:
    struct = Type.parse("struct<name:string,spot:struct<x:int,y:map<string,decimal(5,2)>>>")
    assert list(struct.fields) == ["name", "spot"]
    assert struct.fields["spot"].fields["y"].element == Type("decimal(5,2)")
    assert Type("array<array<int>>").element == Type("array<int>")
    assert Type("map<struct<a:int,b:int>,date>").element == t.DATE
    assert t.INT.element == t.UNKNOWN
    assert t.INT.fields == {}
    assert [kind.has_fields for kind in (struct, t.UNKNOWN, Type("map<string,int>"), t.INT)] == [
        True,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    "left,operator,right,result",
    [
        # Spark 4.3: SELECT typeof(a + b), one row an example of its documentation's formulas.
        ("decimal(8,2)", "+", "decimal(8,2)", "decimal(9,2)"),
        ("decimal(8,2)", "-", "decimal(6,4)", "decimal(11,4)"),
        ("decimal(8,2)", "*", "decimal(6,4)", "decimal(15,6)"),
        ("decimal(8,2)", "/", "decimal(6,4)", "decimal(19,9)"),
        ("decimal(8,2)", "%", "decimal(6,4)", "decimal(6,4)"),
        ("decimal(38,10)", "+", "decimal(38,10)", "decimal(38,9)"),
        ("decimal(38,10)", "*", "decimal(38,10)", "decimal(38,6)"),
        ("decimal(38,2)", "*", "decimal(38,2)", "decimal(38,4)"),
        ("decimal(15,2)", "*", "decimal(16,2)", "decimal(32,4)"),
        ("decimal(20,0)", "/", "decimal(20,0)", "decimal(38,18)"),
        ("decimal(8,2)", "+", "int", "decimal(13,2)"),
        ("bigint", "*", "decimal(8,2)", "decimal(29,2)"),
        ("int", "+", "bigint", "bigint"),
        ("tinyint", "*", "smallint", "smallint"),
        ("int", "/", "int", "double"),
        ("int", "%", "int", "int"),
        ("float", "+", "float", "float"),
        ("float", "/", "float", "double"),
        ("float", "+", "int", "double"),
        ("decimal(8,2)", "+", "double", "double"),
        ("string", "+", "int", "unknown"),
        ("unknown", "+", "int", "unknown"),
    ],
)
def test_arithmetic(left: str, operator: str, right: str, result: str) -> None:
    assert t.arithmetic(operator, Type(left), Type(right)) == Type(result)


@pytest.mark.parametrize(
    "kinds,common",
    [
        (["int", "int"], "int"),
        (["int", "bigint", "tinyint"], "bigint"),
        (["int", "void"], "int"),
        (["void", "void"], "void"),
        (["void", "date"], "date"),
        (["int", "double"], "double"),
        (["decimal(8,2)", "decimal(6,4)"], "decimal(10,4)"),
        (["decimal(8,2)", "int"], "decimal(12,2)"),
        (["decimal(8,2)", "double"], "double"),
        (["date", "timestamp"], "timestamp"),
        (["varchar(5)", "string"], "string"),
        (["int", "date"], "unknown"),
        (["unknown", "int"], "unknown"),
        ([], "unknown"),
    ],
)
def test_common_type(kinds: list[str], common: str) -> None:
    assert t.common_type([Type(kind) for kind in kinds]) == Type(common)


@pytest.mark.parametrize(
    "kind,sum_,average",
    [
        ("int", "bigint", "double"),
        ("bigint", "bigint", "double"),
        ("float", "double", "double"),
        ("decimal(8,2)", "decimal(18,2)", "decimal(12,6)"),
        ("decimal(35,2)", "decimal(38,2)", "decimal(38,6)"),
        ("decimal(38,10)", "decimal(38,10)", "decimal(38,14)"),
        ("unknown", "unknown", "unknown"),
    ],
)
def test_sum_and_average(kind: str, sum_: str, average: str) -> None:
    assert (t.sum_type(Type(kind)), t.average_type(Type(kind))) == (Type(sum_), Type(average))
