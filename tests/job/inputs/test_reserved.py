"""Columns that have names of ours are refused when a cycle begins."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import Room

from slackwater.errors import UserError
from slackwater.job.file.sections import Changes
from slackwater.job.inputs.reserved import check_column_names


@pytest.mark.parametrize("column", ["slackwater__times", "slackwater__copy", "Slackwater__x", "slackwater__"])
@pytest.mark.parametrize("changes", list(Changes))
def test_a_name_that_begins_as_ours_do(column: str, changes: Changes) -> None:
    with pytest.raises(UserError, match=f"source `t` has a column `{column}`"):
        check_column_names("t", ["k", column], changes)


def test_how_often_a_row_counts() -> None:
    check_column_names("t", ["k", "multiplicity", "slackwater", "my_slackwater__x"], Changes.APPEND)
    with pytest.raises(UserError, match="source `t` is a feed with a column `Multiplicity`"):
        check_column_names("t", ["k", "Multiplicity"], Changes.FEED)
    with pytest.raises(UserError, match="source `t` brings upserts with a column `multiplicity`"):
        check_column_names("t", ["k", "multiplicity"], Changes.UPSERTS)


@pytest.mark.parametrize("source", [{}, {"changes": "feed"}, {"static": True}])
def test_a_cycle_does_not_begin(tmp_path: Path, source: dict[str, object]) -> None:
    room = Room(tmp_path / "room", "SELECT sum(v) AS v FROM t", arrivals=({"t": ()},), sources={"t": source})
    room.bring("t", "part-1.parquet", [{"v": 1, "slackwater__times": 2, "_change_type": "insert"}])
    refused = pytest.raises(UserError, match="source `t` has a column `slackwater__times`")
    with without_spark([("v", "bigint")]) as (_, session), refused as raised:
        room.job(session).run()
    assert "rename the column" in str(raised.value.hint)
    assert not list(room.state.glob("cycle-*"))
