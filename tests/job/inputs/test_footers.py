"""Bounds and nulls that footers of parquet files say, as checks of promises ask for them."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tests.job.config_texts import parsed, source

from slackwater.compile.promise_checks import ColumnFacts
from slackwater.job.inputs.footers import facts_together, file_facts
from slackwater.job.inputs.sources import Source


def sales(directory: Path) -> Source:
    return Source("sales", parsed(source(f"path: {directory}")).sources["sales"], "parquet", directory, ())


def test_bounds_of_whole_numbers_dates_and_texts(tmp_path: Path) -> None:
    columns = {
        "k": [3, None, 7],
        "s": ["b", "a", "c"],
        "d": [date(2026, 1, 2), None, date(2026, 1, 1)],
        "t": [datetime(2026, 1, 1)] * 3,
        "x": [1.0, float("nan"), 2.0],
        "none": pa.array([None] * 3, pa.int64()),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=2)
    table = sales(tmp_path)
    (pin,) = table.listed()
    facts = file_facts(table, pin, [*columns, "missing"])
    assert facts["k"] == ColumnFacts(1, (3, 7))
    assert facts["s"] == ColumnFacts(0, ("a", "c"))
    assert facts["d"] == ColumnFacts(1, (date(2026, 1, 1).toordinal(), date(2026, 1, 2).toordinal()))
    assert facts["t"] == ColumnFacts(0, None)
    assert facts["x"].range is None
    assert facts["none"] == ColumnFacts(3, None)
    assert "missing" not in facts


def test_a_column_that_a_directory_names(tmp_path: Path) -> None:
    """Spark takes the word of the directory, whatever the file has."""
    (tmp_path / "k=5").mkdir()
    pq.write_table(pa.table({"k": [1], "v": [2]}), tmp_path / "k=5/a.parquet")
    table = sales(tmp_path)
    (pin,) = table.listed()
    assert set(file_facts(table, pin, ["k", "v"])) == {"v"}


def test_files_together() -> None:
    one, other = {"k": ColumnFacts(1, (3, 7)), "v": ColumnFacts(0)}, {"k": ColumnFacts(2, (1, 4))}
    assert facts_together([one, other]) == {"k": ColumnFacts(3, (1, 7))}
    assert facts_together([one, {"k": ColumnFacts(0, None), "v": ColumnFacts(0)}])["k"] == ColumnFacts(1, None)
    assert facts_together([]) == {}
