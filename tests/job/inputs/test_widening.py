from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from slackwater.algebra.schema import Field
from slackwater.algebra.types import Type
from slackwater.compile.views import Files, view_of_files
from slackwater.job.inputs.widening import is_read_as, wider
from slackwater.spark.session import Session

NARROWER = [
    ("tinyint", "smallint"),
    ("tinyint", "bigint"),
    ("smallint", "int"),
    ("int", "bigint"),
    ("float", "double"),
    ("decimal(5,2)", "decimal(12,4)"),
    ("decimal(9,2)", "decimal(20,4)"),
]
ARROW: dict[str, pa.Array] = {
    "tinyint": pa.array([1, -128, 127, None], pa.int8()),
    "smallint": pa.array([1, -(2**15), 2**15 - 1, None], pa.int16()),
    "int": pa.array([1, -(2**31), 2**31 - 1, None], pa.int32()),
    "float": pa.array([1.1, -3e38, 3e38, None], pa.float32()),
    "decimal(5,2)": pa.array([Decimal("1.10"), Decimal("-999.99"), Decimal("999.99"), None], pa.decimal128(5, 2)),
    "decimal(9,2)": pa.array([Decimal("1.10"), Decimal("-9999999.99"), None], pa.decimal128(9, 2)),
}
REFUSED = [
    ("decimal(9,2)", "decimal(12,2)"),
    ("bigint", "int"),
    ("bigint", "double"),
    ("double", "float"),
    ("int", "float"),
    ("int", "decimal(10,0)"),
    ("decimal(12,2)", "decimal(10,2)"),
    ("decimal(10,2)", "decimal(12,5)"),
    ("decimal(10,2)", "double"),
    ("date", "timestamp"),
    ("int", "string"),
    ("string", "binary"),
]


def of(text: str) -> Type:
    return Type.parse(text)


@pytest.mark.parametrize("narrow, wide", NARROWER)
def test_what_loses_nothing(narrow: str, wide: str) -> None:
    assert is_read_as(of(narrow), of(wide))
    assert not is_read_as(of(wide), of(narrow))
    assert wider(of(narrow), of(wide)) == wider(of(wide), of(narrow)) == of(wide)


@pytest.mark.parametrize("kind, wanted", REFUSED)
def test_what_loses_something_or_is_misread(kind: str, wanted: str) -> None:
    assert not is_read_as(of(kind), of(wanted))


def test_what_is_equal_or_not_told_apart() -> None:
    for kind, wanted in (("int", "int"), ("timestamp", "timestamp_ntz"), ("unknown", "int"), ("int", "unknown")):
        assert is_read_as(of(kind), of(wanted))
    assert wider(of("string"), of("int")) == of("string")


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_spark_reads_what_is_narrower(tmp_path: Path, spark: Session, format: str) -> None:
    """Every value, and the rows that a filter chooses, which Spark hands to the reader of the file."""
    for narrow, wide in NARROWER:
        values = ARROW[narrow]
        table = pa.table({"a": values})
        file = tmp_path / f"{narrow}-{wide}"
        if format == "parquet":
            pq.write_table(table, file, store_decimal_as_integer=True)
        else:
            orc.write_table(table, file)
        files = Files(format, str(tmp_path), (file.name,))
        spark.sql(view_of_files("narrower", files, [Field("a", of(wide))]))
        assert [row[0] for row in spark.sql("SELECT a FROM narrower").collect()] == values.to_pylist(), (narrow, wide)
        chosen = spark.sql("SELECT count(*) FROM narrower WHERE a < 3000000000 AND a > -3000000000").collect()
        within = [value for value in values.to_pylist() if value is not None and abs(value) < 3_000_000_000]
        assert chosen[0][0] == len(within), (narrow, wide)
