"""States by key on Spark: written and read as bucketed tables, appended to, damaged, and never in anybody's way."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.job.room import Arrival, Heard, Room, Row

from slackwater.compile.by_key import buckets_of
from slackwater.spark.session import Session

QUERY = """\
SELECT s.o_id, s.total, r.cost
FROM (SELECT o_id, sum(price) AS total FROM sales GROUP BY o_id) s
LEFT JOIN (SELECT r_id, max(cost) AS cost FROM returns GROUP BY r_id) r ON s.o_id = r.r_id
"""
ARRIVING = {"10:00": "60%", "14:00": "20%", "24:00": "20%"}
ARRIVALS: list[Arrival] = [
    {
        "sales": [{"o_id": n % 7, "cat": "a", "price": n} for n in range(run, 30, 2)],
        "returns": [{"r_id": n % 5, "cost": n} for n in range(3 * run, 3 * run + 4)],
    }
    for run in (1, 2, 3)
]


SOURCES: dict[str, dict[str, object]] = {
    "sales": {"expect": {"rows": 70_000_000, "arrives": ARRIVING, "distinct": {"o_id": 3_000_000}}},
    "returns": {"expect": {"rows": 7_000_000, "arrives": ARRIVING, "distinct": {"r_id": 1_000_000}}},
}
"""Told to expect this much, the planner keeps sums of many orders, and merging them is dear."""


def answer(arrivals: list[Arrival]) -> list[Row]:
    total: dict[object, int] = {}
    cost: dict[object, int] = {}
    for arrival in arrivals:
        for row in arrival["sales"]:
            total[row["o_id"]] = total.get(row["o_id"], 0) + int(str(row["price"]))
        for row in arrival["returns"]:
            cost[row["r_id"]] = max(cost.get(row["r_id"], 0), int(str(row["cost"])))
    return sorted((key, value, cost.get(key)) for key, value in total.items())


def tables(spark: Session) -> list[str]:
    return [row.tableName for row in spark.sql("SHOW TABLES").collect() if not row.isTemporary]


@pytest.mark.parametrize("deliver", ["final", "every"])
def test_what_lies_by_key_is_not_moved_again(tmp_path: Path, spark: Session, deliver: str) -> None:
    room = Room(tmp_path / "room", query=QUERY, arrivals=ARRIVALS, sources=SOURCES, settings={"deliver": deliver})
    for run in (1, 2, 3):
        room.arrive(run)
        room.job(spark).run()
        if deliver == "every" or run == 3:
            assert room.answer() == answer(ARRIVALS[:run])
    work = room.job(spark).work(3)
    by_key = [step.name for step in work.plan.states if step.by]
    assert by_key
    assert {buckets_of(work.parts[name]) for name in by_key} == {8}
    assert re.search(r"CLUSTERED BY \((o_id|r_id)\) INTO 8 BUCKETS", work.program())
    assert tables(spark) == []
    assert room.job(spark).verify().equal


def test_a_lost_state_is_made_again_and_parts_that_disagree_are_plain_files(tmp_path: Path, spark: Session) -> None:
    room = Room(tmp_path / "room", query=QUERY, arrivals=ARRIVALS, sources=SOURCES, settings={"deliver": "final"})
    for run in (1, 2):
        room.arrive(run)
        room.job(spark).run()
    work = room.job(spark).work(3)
    lost = [step.name for step in work.plan.states if step.by and step.run == 2]
    assert lost
    for part in {part for name in lost for part in work.parts[name]}:
        shutil.rmtree(room.state / part)
    room.write(spark={"conf": {"spark.sql.shuffle.partitions": 3}})
    room.arrive(3)
    room.job(spark).run()
    assert {buckets_of(room.job(spark).work(3).parts[name]) for name in lost} == {3}
    assert room.answer() == answer(ARRIVALS)
    assert buckets_of(["a.in8", "b.in8"]) == 8
    assert buckets_of(["a.in8", "b.in3"]) is None
    assert buckets_of(["a.in8", "b"]) is None


def test_a_file_beside_those_of_a_state_is_not_read(tmp_path: Path, spark: Session) -> None:
    """A table by key would read whatever lies in its directory, so the state is read file by file."""
    room = Room(tmp_path / "room", query=QUERY, arrivals=ARRIVALS, sources=SOURCES, settings={"deliver": "final"})
    for run in (1, 2):
        room.arrive(run)
        room.job(spark).run()
    room.arrive(3)
    work = room.job(spark).work(3)
    name = next(name for name in sorted(work.reads & work.states.keys()) if ".in8" in work.paths[name][0])
    own = room.state / work.paths[name][0]
    other = own.with_name(own.name.replace("part-", "part-9"))
    shutil.copy(own, other)
    heard = Heard()
    room.job(spark).run(progress=heard)
    assert heard.notes == [f"{other}: this file does not belong to state {name} and is not read; remove it"]
    assert room.answer() == answer(ARRIVALS)
