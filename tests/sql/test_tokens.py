"""Two texts that differ in comments and white space only are one query."""

from __future__ import annotations

import pytest

from slackwater.sql.tokens import without_comments

QUERY = "SELECT /*+ BROADCAST(t) */ a, 'x  -- y' FROM t WHERE a <= 1 GROUP BY a"


@pytest.mark.parametrize(
    "other",
    [
        "SELECT /*+ BROADCAST(t) */ a , 'x  -- y'\nFROM t -- a remark\nWHERE a<=1 GROUP   BY a;\n",
        "/* what it is for */ SELECT /*+ BROADCAST(t) */ a, 'x  -- y' FROM t WHERE a <= 1 GROUP /* by */ BY a",
        "SELECT /*+ BROADCAST(t) */ a, /* /* nested */ */ 'x  -- y' FROM t WHERE a <= 1\r\n\tGROUP BY a",
    ],
)
def test_the_same_query(other: str) -> None:
    assert without_comments(other) == without_comments(QUERY)


@pytest.mark.parametrize(
    "other",
    [
        "SELECT /*+ MERGE(t) */ a, 'x  -- y' FROM t WHERE a <= 1 GROUP BY a",
        "SELECT a, 'x  -- y' FROM t WHERE a <= 1 GROUP BY a",
        "SELECT /*+ BROADCAST(t) */ a, 'x -- y' FROM t WHERE a <= 1 GROUP BY a",
        "SELECT /*+ BROADCAST(t) */ `a`, 'x  -- y' FROM t WHERE a <= 1 GROUP BY a",
        "SELECT /*+ BROADCAST(t) */ a, 'x  -- y' FROM t WHERE a < 1 GROUP BY a",
        "SELECT /*+ BROADCAST(t) */ a, r'x  -- y' FROM t WHERE a <= 1 GROUP BY a",
    ],
)
def test_another_query(other: str) -> None:
    assert without_comments(other) != without_comments(QUERY)


def test_white_space_in_strings_counts() -> None:
    for quoted in ("'a  b'", "r'a  b'", '"a  b"', "'it''s  a'", r"'it\'s  a'", "`a  b`", "x'61  62'"):
        assert without_comments(f"SELECT {quoted}") == f"SELECT {quoted}"
        assert without_comments(f"SELECT {quoted}") != without_comments(f"SELECT {quoted.replace('  ', ' ')}")


def test_a_text_that_is_no_sql_stays() -> None:
    assert without_comments("SELECT 'a") == "SELECT 'a"
