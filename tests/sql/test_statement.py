"""Where a statement ends, and what in it reaches beyond names."""

from __future__ import annotations

import pytest

from slackwater.errors import UnsupportedError
from slackwater.sql.statement import check_reach, without_end


@pytest.mark.parametrize(
    "text, bare",
    [
        ("SELECT 1", "SELECT 1"),
        ("\n\nSELECT 1;\n", "\n\nSELECT 1"),
        ("SELECT 1; -- done", "SELECT 1"),
        ("SELECT 1 ;; /* done */ ;\n", "SELECT 1"),
        ("SELECT ';' ; ", "SELECT ';'"),
        ("SELECT 1; SELECT 2;", "SELECT 1; SELECT 2"),
        ("SELECT 'open", "SELECT 'open"),
        ("", ""),
    ],
)
def test_the_end_of_a_statement(text: str, bare: str) -> None:
    assert without_end(text) == bare


@pytest.mark.parametrize(
    "text, what, place",
    [
        ("SELECT *\nFROM IDENTIFIER('sa' || 'les')", "IDENTIFIER(…)", "q.sql, line 2, column 6"),
        ("SELECT reflect('java.lang.System', 'exit', 1)", "`reflect`", "q.sql, line 1, column 8"),
        ("SELECT `Java_Method` ('a', 'b')", "`java_method`", "q.sql, line 1, column 8"),
        ("SELECT builtin.try_reflect('a', 'b')", "`try_reflect`", "q.sql, line 1, column 16"),
        ("SELECT TRANSFORM(a) USING 'rm x' AS (b) FROM sales", "a script", "q.sql, line 1, column 21"),
        ("MAP a USING 'rm x' FROM sales", "a script", "q.sql, line 1, column 7"),
    ],
)
def test_what_reaches_beyond_names(text: str, what: str, place: str) -> None:
    with pytest.raises(UnsupportedError) as refused:
        check_reach(text, "q.sql")
    assert refused.value.message.startswith(what)
    assert str(refused.value.place) == place


@pytest.mark.parametrize(
    "text",
    [
        "SELECT transform(array(1), x -> x + 1), 'reflect(1)' FROM sales JOIN returns USING (id)",
        "SELECT reflect, identifier FROM sales",
    ],
)
def test_what_only_looks_like_it(text: str) -> None:
    check_reach(text)
