"""Streams of upserts, and what they come to by the definition, computed in Python."""

from __future__ import annotations

import random
from collections.abc import Sequence

import duckdb
import pyarrow as pa
import sqlglot
from tests.job.room import Arrival, Row, Rows

Record = dict[str, object]

ORDERS = pa.schema(
    [("id", pa.int64()), ("cust", pa.int64()), ("amount", pa.int64()), ("op", pa.string()), ("ts", pa.int64())]
)
CUSTOMERS = pa.schema([("cid", pa.int64()), ("region", pa.string())])

UPSERTS = {"changes": "upserts", "key": "id", "sequence": "ts", "deletes": "op = 'd'"}


def upsert(id: int, ts: int, cust: int = 1, amount: int = 1) -> Record:
    return {"id": id, "cust": cust, "amount": amount, "op": "u", "ts": ts}


def delete(id: int, ts: int) -> Record:
    return {"id": id, "cust": None, "amount": None, "op": "d", "ts": ts}


def history(dice: random.Random, keys: int = 12, changes: int = 4) -> list[Record]:
    """What happened to some keys, in order: inserts, updates, deletes, inserts again; a sequence tells the order."""
    records: list[Record] = []
    for key in range(1, keys + 1):
        for ts in range(1, dice.randint(1, changes) + 1):
            gone = dice.random() < 0.3
            records.append(delete(key, ts) if gone else upsert(key, ts, dice.randint(1, 4), dice.randint(1, 9)))
    return records


def delivered(dice: random.Random, records: Sequence[Record], runs: int = 3) -> list[list[Record]]:
    """The records over the runs, out of order, some of them several times."""
    by_run: list[list[Record]] = [[] for _ in range(runs)]
    for record in records:
        for _ in range(dice.choice((1, 1, 1, 2, 3))):
            by_run[dice.randrange(runs)].append(record)
    for rows in by_run:
        dice.shuffle(rows)
    return by_run


def one_a_run(dice: random.Random, keys: int = 12, runs: int = 3) -> list[list[Record]]:
    """Records without an order but that of the runs: of a key at most one a run, maybe twice; `ts` says nothing."""
    by_run: list[list[Record]] = []
    for _ in range(runs):
        rows: list[Record] = []
        for key in (key for key in range(1, keys + 1) if dice.random() < 0.6):
            record = delete(key, 0) if dice.random() < 0.3 else upsert(key, 0, dice.randint(1, 3), dice.randint(1, 3))
            rows += [record] * dice.choice((1, 1, 2))
        dice.shuffle(rows)
        by_run.append(rows)
    return by_run


def table(runs: Sequence[Rows], *, sequence: bool = True) -> list[Record]:
    """The table after the last of the runs: the latest record of every key, unless it says delete."""
    latest: dict[object, Record] = {}
    for rows in runs:
        for row in rows:
            before = latest.get(row["id"])
            if before is None or not sequence or int(str(row["ts"])) > int(str(before["ts"])):
                latest[row["id"]] = dict(row)
    return [row for row in latest.values() if row["op"] != "d"]


def batch(query: str, orders: Rows, customers: Rows) -> list[Row]:
    """What a query answers over tables."""
    connection = duckdb.connect(config={"threads": 1})
    connection.register("orders", pa.Table.from_pylist([dict(row) for row in orders], schema=ORDERS))
    connection.register("customers", pa.Table.from_pylist([dict(row) for row in customers], schema=CUSTOMERS))
    rows = connection.execute(sqlglot.transpile(query, read="spark", write="duckdb")[0]).fetchall()
    return sorted(rows, key=lambda row: tuple((cell is None, str(cell)) for cell in row))


def arrivals(orders: Sequence[Rows], customers: Sequence[Rows]) -> list[Arrival]:
    return [{"orders": o, "customers": c} for o, c in zip(orders, customers, strict=True)]
