"""Random small jobs of a few shapes, and what batch answers after each of their runs.

The truth is computed here from the rows themselves, by DuckDB over whole tables: nothing of Slackwater is asked.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa
import sqlglot
from tests.job.room import Arrival, Room, Row, Rows

RUNS = ("10:00", "14:00", "24:00")
CATEGORIES = "abcd"

SALES = pa.schema([("o_id", pa.int64()), ("cat", pa.string()), ("price", pa.int64())])
RETURNS = pa.schema([("r_id", pa.int64()), ("cost", pa.int64())])
KIND = pa.field("_change_type", pa.string())
SCHEMAS = {"sales": SALES, "returns": RETURNS}

OUTER_JOIN = """\
SELECT cat, sum(CASE WHEN cost IS NULL THEN price ELSE -cost END) AS gross, count(*) AS n
FROM sales LEFT JOIN returns ON sales.o_id = returns.r_id
GROUP BY cat
"""
NOT_RETURNED = """\
SELECT cat, sum(price) AS gross, count(*) AS n
FROM sales WHERE NOT EXISTS (SELECT 1 FROM returns WHERE r_id = o_id)
GROUP BY cat
"""
ABOVE_AVERAGE = """\
SELECT s.cat, sum(s.price) AS gross, count(*) AS n
FROM sales s JOIN (SELECT cat, max(price) AS most FROM sales GROUP BY cat) m ON s.cat = m.cat
WHERE 2 * s.price > m.most
GROUP BY s.cat
"""
BY_TEXT = """\
WITH RECURSIVE twice(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM twice WHERE i < 2)
SELECT cat, sum(price * i) AS gross, count(*) AS n FROM sales CROSS JOIN twice GROUP BY cat
"""
DISTINCT = """\
SELECT cat, sum(price) AS gross, count(DISTINCT o_id % 3) AS n FROM sales GROUP BY cat
"""
QUERIES = (OUTER_JOIN, NOT_RETURNED, ABOVE_AVERAGE, BY_TEXT, DISTINCT)


@dataclass(frozen=True)
class Scenario:
    """A job and the rows that arrive at each of its runs."""

    query: str
    arrivals: Sequence[Arrival]
    sources: Mapping[str, Mapping[str, object]]
    settings: Mapping[str, object] = field(default_factory=dict)
    tables: Callable[[Sequence[Arrival]], Mapping[str, Rows]] = lambda arrivals: appended(arrivals)
    """What the tables hold once some arrivals have come."""

    def room(self, directory: Path) -> Room:
        """The job in a directory, with the sources as they are declared."""
        settings = {"schedule": list(RUNS), "weights": [0.2, 0.2, 1], **self.settings}
        return Room(directory, self.query, self.arrivals, settings, self.sources)

    def arrive(self, room: Room, run: int) -> None:
        """Brings the files of a run; what is there already stays."""
        for name, rows in self.arrivals[run - 1].items():
            if rows:
                room.bring(name, f"part-{run}.parquet", rows, schema_of(name, rows))

    def truth(self, run: int) -> list[Row]:
        """The batch answer over everything that has arrived up to a run."""
        return self.truth_over(range(1, run + 1))

    def truth_over(self, runs: Collection[int]) -> list[Row]:
        """The batch answer over the files of some runs."""
        return batch(self.query, self.tables([self.arrivals[run - 1] for run in sorted(runs)]))


def schema_of(source: str, rows: Rows) -> pa.Schema:
    """The columns of a file: the table's, and whatever else its rows carry."""
    schema = SCHEMAS[source]
    extra = [pa.field(name, pa.string() if isinstance(value, str) else pa.int64()) for name, value in rows[0].items()]
    return pa.schema([*schema, *(each for each in extra if each.name not in schema.names)])


def batch(query: str, tables: Mapping[str, Rows]) -> list[Row]:
    """What a query answers over whole tables, by DuckDB."""
    with duckdb.connect(config={"threads": 1}) as connection:
        for name, rows in tables.items():
            schema = SCHEMAS[name]
            only = [{column: row[column] for column in schema.names} for row in rows]
            connection.register(f"{name}_rows", pa.Table.from_pylist(only, schema=schema))
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_rows")
        (sql,) = sqlglot.transpile(query, read="spark", write="duckdb")
        rows = connection.execute(sql).to_arrow_table().to_pylist()
    return ordered(tuple(row.values()) for row in rows)


def ordered(rows: object) -> list[Row]:
    """Rows in an order of their own; sums are whole numbers whatever type they come in."""
    assert not isinstance(rows, str)
    whole = [tuple(cell if isinstance(cell, str | None) else int(str(cell)) for cell in row) for row in rows]  # type: ignore[attr-defined]
    return sorted(whole, key=lambda row: tuple((cell is None, str(cell)) for cell in row))


# --- rows ------------------------------------------------------------------------------------------------------------


def sold(chance: random.Random, o_id: int) -> dict[str, object]:
    return {"o_id": o_id, "cat": chance.choice(CATEGORIES), "price": chance.randrange(1, 100)}


def appended(arrivals: Sequence[Arrival]) -> dict[str, Rows]:
    """Tables that only grow."""
    return {name: [row for arrival in arrivals for row in arrival.get(name, ())] for name in SCHEMAS}


def fed(arrivals: Sequence[Arrival]) -> dict[str, Rows]:
    """Tables of change feeds: rows come and go, equal rows as often as they came more than they went."""
    tables: dict[str, list[dict[str, object]]] = {name: [] for name in SCHEMAS}
    for arrival in arrivals:
        for name, rows in arrival.items():
            plain = [({k: v for k, v in row.items() if k != KIND.name}, row.get(KIND.name)) for row in rows]
            tables[name] += [row for row, kind in plain if kind in (None, "insert", "update_postimage")]
            for row, kind in plain:
                if kind in ("delete", "update_preimage"):
                    tables[name].remove(row)
    return dict(tables)


def upserted(arrivals: Sequence[Arrival]) -> dict[str, Rows]:
    """Tables of upserts: by key the record with the greatest sequence, unless it deletes."""
    tables: dict[str, Rows] = {name: [] for name in SCHEMAS}
    for name in SCHEMAS:
        records = [row for arrival in arrivals for row in arrival.get(name, ())]
        if name != "sales":
            tables[name] = records
            continue
        latest: dict[object, Mapping[str, object]] = {}
        for record in records:
            before = latest.get(record["o_id"])
            if before is None or int(str(record["seq"])) > int(str(before["seq"])):
                latest[record["o_id"]] = record
        tables[name] = [record for record in latest.values() if record["op"] != "d"]
    return tables


# --- shapes ----------------------------------------------------------------------------------------------------------


def plain(chance: random.Random) -> Scenario:
    """Rows that only arrive; at times a run brings nothing."""
    ids = iter(range(1, 1000))
    arrivals: list[Arrival] = []
    for run in range(len(RUNS)):
        sales = [
            sold(chance, next(ids)) for _ in range(0 if run and chance.random() < 0.15 else chance.randrange(3, 20))
        ]
        orders = {int(str(row["o_id"])) for arrival in arrivals for row in arrival["sales"]} | {
            int(str(row["o_id"])) for row in sales
        }
        earlier = {int(str(row["r_id"])) for arrival in arrivals for row in arrival["returns"]}
        back = [o_id for o_id in sorted(orders - earlier) if chance.random() < 0.2]
        arrivals.append({"sales": sales, "returns": [{"r_id": o_id, "cost": chance.randrange(9)} for o_id in back]})
    if not arrivals[0]["returns"]:
        arrivals[0] = {**arrivals[0], "returns": [{"r_id": 500, "cost": 1}]}
    return Scenario(
        chance.choice(QUERIES), arrivals, _expected({"sales": {"key": "o_id"}, "returns": {}}), _policy(chance)
    )


def feed(chance: random.Random) -> Scenario:
    """Sales are a change feed: inserts, deletes, and updates as pairs of images."""
    ids = iter(range(1, 1000))
    there: list[dict[str, object]] = []
    arrivals: list[Arrival] = []
    for _ in RUNS:
        changes: list[dict[str, object]] = []
        for row in [row for row in there if chance.random() < 0.3]:
            there.remove(row)
            if chance.random() < 0.5:
                changes.append({**row, KIND.name: "delete"})
                continue
            new = {**row, "price": chance.randrange(1, 100)}
            changes += [{**row, KIND.name: "update_preimage"}, {**new, KIND.name: "update_postimage"}]
            there.append(new)
        new_rows = [sold(chance, next(ids)) for _ in range(chance.randrange(3, 15))]
        there += new_rows
        changes += [{**row, KIND.name: "insert"} for row in new_rows]
        chance.shuffle(changes)
        arrivals.append({"sales": changes, "returns": [{"r_id": chance.randrange(600, 700), "cost": 1}]})
    sources = _expected({"sales": {"changes": "feed", "key": "o_id"}, "returns": {}})
    return Scenario(chance.choice(QUERIES), arrivals, sources, _policy(chance), fed)


def upserts(chance: random.Random) -> Scenario:
    """Sales are records of a capture tool: at least once, out of order, without images of before."""
    records: list[dict[str, object]] = []
    for seq in range(1, chance.randrange(20, 60)):
        o_id = chance.randrange(1, 12)
        op = "d" if chance.random() < 0.2 else "u"
        records.append({**sold(chance, o_id), "op": op, "seq": seq})
    delivered = [*records, *(chance.choice(records) for _ in range(chance.randrange(10)))]
    runs: list[list[dict[str, object]]] = [[], [], []]
    for place, record in enumerate(delivered):
        usual = min(2, 3 * place // len(delivered))
        runs[usual if chance.random() < 0.7 else chance.randrange(3)].append(record)
    runs[0] = runs[0] or [delivered[0]]
    arrivals: list[Arrival] = [
        {"sales": sales, "returns": [{"r_id": chance.randrange(1, 12), "cost": run}]} for run, sales in enumerate(runs)
    ]
    kind = {"changes": "upserts", "key": "o_id", "sequence": "seq", "deletes": "op = 'd'"}
    return Scenario(
        chance.choice(QUERIES), arrivals, _expected({"sales": kind, "returns": {}}), _policy(chance), upserted
    )


def _policy(chance: random.Random) -> dict[str, object]:
    return {
        "refresh": chance.choice(["incremental", "incremental", "auto"]),
        "deliver": chance.choice(["every", "every", "final"]),
        "replan": chance.choice(["never", 3]),
    }


def _expected(sources: Mapping[str, Mapping[str, object]]) -> dict[str, dict[str, object]]:
    """Sources that are thought to be large, so that states are worth keeping."""
    rows = {"sales": 70_000_000, "returns": 7_000_000}
    arrives = dict(zip(RUNS, ("60%", "20%", "20%"), strict=True))
    return {name: {**entry, "expect": {"rows": rows[name], "arrives": arrives}} for name, entry in sources.items()}


SHAPES: Mapping[str, Callable[[random.Random], Scenario]] = {"plain": plain, "feed": feed, "upserts": upserts}


def scenario_of(shape: str, seed: int) -> Scenario:
    """The job of a shape and a seed, the same in every process."""
    return SHAPES[shape](random.Random(f"{shape} {seed}"))
