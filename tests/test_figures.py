from __future__ import annotations

from slackwater.figures import aligned


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert aligned([("", "cost"), ("state", "1"), ("b", "")], right=(1,)) == ["       cost", "state     1", "b"]


def test_no_rows_are_no_lines() -> None:
    assert aligned([]) == []
