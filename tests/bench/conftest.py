"""Small data for the workload tests: both TPC schemas at scale factor 0.01, and a toy schema of four tables."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slackwater.bench.workloads import Dataset, Role, Schema, tpcds, tpch
from slackwater.bench.workloads.workload_schema import table

SCALE = 0.01


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def tpch_data(cache: Path) -> Dataset:
    return tpch().generate(SCALE, cache)


@pytest.fixture(scope="session")
def tpcds_data(cache: Path) -> Dataset:
    return tpcds().generate(SCALE, cache)


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A chain of owners (sale, line, claim) beside a plain reference; some references are null, some lead nowhere."""
    schema = Schema(
        (
            table("shop", "shop_id int, size int", key="shop_id"),
            table("sale", "sale_id bigint, shop int, price decimal(5,2)", key="sale_id", references={"shop": "shop"},
                  role=Role.SALES, skew_by="shop"),
            table("line", "sale bigint, n int, shop int, amount decimal(7,2)", key="sale n", role=Role.SALES,
                  references={"sale": "sale", "shop": "shop"}, owner="sale"),
            table("claim", "claim_id bigint, sale bigint, n int, cost int", key="claim_id", role=Role.RETURNS,
                  references={"sale n": "line"}, owner="line", unit="sale"),
        )
    )  # fmt: skip
    rows: dict[str, list[dict[str, object]]] = {
        "shop": [{"shop_id": i, "size": None if i == 3 else 90 + 5 * i} for i in range(8)],
        "sale": [{"sale_id": i, "shop": None if i % 7 == 0 else i % 9, "price": 99 + i % 3} for i in range(60)],
        "line": [
            {"sale": i // 3, "n": i % 3, "shop": i % 8, "amount": None if i % 11 == 0 else i} for i in range(180)
        ],
        "claim": [
            {"claim_id": i, "sale": None if i % 5 == 0 else i % 60, "n": i % 4, "cost": i} for i in range(90)
        ],
    }  # fmt: skip
    directory = tmp_path_factory.mktemp("toy")
    for name, values in rows.items():
        (directory / name).mkdir()
        exact = [{k: str(v) if k in ("price", "amount") and v is not None else v for k, v in r.items()} for r in values]
        declared = schema[name].arrow_schema()
        loose = pa.schema([f.with_type(pa.string()) if pa.types.is_decimal(f.type) else f for f in declared])
        pq.write_table(pa.Table.from_pylist(exact, schema=loose).cast(declared), directory / name / "part-0.parquet")
    return Dataset("toy", schema, 1, directory)
