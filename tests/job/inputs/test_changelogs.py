"""Upserts on DuckDB: whatever order they come in and however often, every answer is that of the definition."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from signal import SIGKILL
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest
from tests.job.crashing import Moments, live
from tests.job.duck import Duck, without_spark
from tests.job.room import Heard, Room, Row, Rows
from tests.job.upserted import (
    CUSTOMERS,
    ORDERS,
    UPSERTS,
    Record,
    batch,
    delete,
    delivered,
    history,
    one_a_run,
    table,
    upsert,
)

from slackwater.errors import RunError, UserError
from slackwater.job.running.comparisons import Comparisons
from slackwater.job.store.manifest import Manifest
from slackwater.spark.session import Session

JOIN = "SELECT region, sum(amount) AS total, count(*) AS n FROM orders JOIN customers ON cust = cid GROUP BY region"
QUERIES: Mapping[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "rows": ("SELECT id, cust, amount FROM orders", (("id", "bigint"), ("cust", "bigint"), ("amount", "bigint"))),
    "groups": (
        "SELECT cust, sum(amount) AS total, count(*) AS n, max(amount) AS most FROM orders GROUP BY cust",
        (("cust", "bigint"), ("total", "bigint"), ("n", "bigint"), ("most", "bigint")),
    ),
    "distinct": ("SELECT DISTINCT cust FROM orders WHERE amount > 2", (("cust", "bigint"),)),
    "join": (JOIN, (("region", "string"), ("total", "bigint"), ("n", "bigint"))),
    "outer": (
        "SELECT cid, region, count(id) AS n FROM customers LEFT JOIN orders ON cust = cid GROUP BY cid, region",
        (("cid", "bigint"), ("region", "string"), ("n", "bigint")),
    ),
    "other": (
        "SELECT o.id, region FROM orders o LEFT JOIN customers ON cust = cid",
        (("id", "bigint"), ("region", "string")),
    ),
    "missing": (
        "SELECT cid FROM customers WHERE NOT EXISTS (SELECT 1 FROM orders WHERE cust = cid)",
        (("cid", "bigint"),),
    ),
}
PEOPLE = [[{"cid": n, "region": "ab"[n % 2]} for n in (run, run + 3)] for run in (1, 2, 3)]
DEATHS = 5
TIMES = ("10:00", "14:00", "24:00")
LARGE = {
    "orders": {"expect": {"rows": 7_000_000, "arrives": dict(zip(TIMES, ("60%", "20%", "20%"), strict=True))}},
    "customers": {"expect": {"rows": 70_000, "arrives": dict(zip(TIMES, ("60%", "20%", "20%"), strict=True))}},
}


@dataclass
class Upserting(Room):
    """A job over orders, which are upserts, and customers, which only arrive."""

    @classmethod
    def of(
        cls,
        directory: Path,
        query: str,
        orders: Sequence[Rows],
        said: Mapping[str, object] = UPSERTS,
        **settings: object,
    ) -> Upserting:
        arrivals = [{"orders": o, "customers": c} for o, c in zip(orders, PEOPLE, strict=False)]
        sources: Mapping[str, Mapping[str, object]] = {
            "orders": {**LARGE["orders"], **said},
            "customers": LARGE["customers"],
        }
        return cls(directory, QUERIES[query][0], arrivals, settings, sources)

    def arrive(self, run: int) -> None:
        for name, schema in (("orders", ORDERS), ("customers", CUSTOMERS)):
            if rows := self.arrivals[run - 1][name]:
                self.bring(name, f"part-{run}.parquet", rows, schema)

    def expected(self, run: int, *, sequence: bool = True) -> list[Row]:
        orders = table([arrival["orders"] for arrival in self.arrivals[:run]], sequence=sequence)
        return batch(self.query, orders, [row for arrival in self.arrivals[:run] for row in arrival["customers"]])

    def run(self, session: Session, *numbers: int) -> list[Manifest]:
        done: list[Manifest] = []
        for number in numbers:
            self.arrive(number)
            done += self.job(session).run()
        return done


def random_room(directory: Path, seed: int) -> Upserting:
    """A job over orders that come out of order."""
    dice = random.Random(seed)
    return Upserting.of(directory, "join", delivered(dice, history(dice)))


@pytest.fixture
def duck(request: pytest.FixtureRequest) -> Iterator[tuple[Duck, Session]]:
    with without_spark(QUERIES[getattr(request, "param", "join")][1]) as pair:
        yield pair


def outcome(verdict_of: Upserting, duck: Duck) -> list[Row]:
    """The batch answer by the views that `verify` compares with."""
    job = verdict_of.job()
    cycle = job.store.current()
    assert cycle is not None
    verification = Comparisons(job._cycles).verification(cycle, "", cycle.manifests()[-1])
    for view in verification.views():
        if not view.startswith("CREATE OR REPLACE TEMPORARY VIEW slackwater__delivered"):
            duck.execute(view)
    rows = duck.connection.execute("SELECT * FROM slackwater__batch").fetchall()
    return sorted(rows, key=lambda row: tuple((cell is None, str(cell)) for cell in row))


@pytest.mark.parametrize("check", ["exact", "trust"])
@pytest.mark.parametrize("refresh", ["incremental", "auto", "full"])
@pytest.mark.parametrize("query", QUERIES)
def test_late_and_repeated_records_change_nothing(tmp_path: Path, query: str, refresh: str, check: str) -> None:
    for seed in range(2 if refresh == "incremental" else 1):
        dice = random.Random(f"{query} {seed}")
        said = {**UPSERTS, "check": check}
        room = Upserting.of(tmp_path / str(seed), query, delivered(dice, history(dice)), said, refresh=refresh)
        with without_spark(QUERIES[query][1]) as (duck, session):
            for run in (1, 2, 3):
                room.run(session, run)
                assert room.answer() == room.expected(run)
                assert outcome(room, duck) == room.expected(run)


@pytest.mark.parametrize("query", ["rows", "join", "missing"])
def test_without_a_sequence_the_later_run_wins(tmp_path: Path, query: str) -> None:
    said = {key: value for key, value in UPSERTS.items() if key != "sequence"}
    for seed in range(3):
        room = Upserting.of(tmp_path / str(seed), query, one_a_run(random.Random(seed)), said)
        with without_spark(QUERIES[query][1]) as (duck, session):
            for run in (1, 2, 3):
                room.run(session, run)
                assert room.answer() == room.expected(run, sequence=False)
                assert outcome(room, duck) == room.expected(run, sequence=False)


@pytest.mark.parametrize("duck", ["rows"], indirect=True)
def test_the_end_does_not_depend_on_which_run_brought_a_record(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    records = history(random.Random(7))
    ends: list[list[Row] | None] = []
    for seed in range(4):
        room = Upserting.of(tmp_path / str(seed), "rows", delivered(random.Random(seed), records), deliver="final")
        room.run(duck[1], 1, 2, 3)
        ends.append(room.answer())
    assert ends[0]
    assert all(end == ends[0] for end in ends)


def test_several_columns_and_expressions_tell_the_order(tmp_path: Path) -> None:
    """The first that differs decides; a key may have several columns too."""
    said = {**UPSERTS, "key": ["id", "cust"], "sequence": ["ts div 10", "-amount"]}
    orders: list[list[Record]] = [
        [upsert(1, 10, amount=5), upsert(1, 19, amount=3), upsert(1, 11, cust=2)],
        [upsert(1, 12, amount=4), upsert(2, 20)],
        [upsert(1, 15, amount=2), upsert(2, 9)],
    ]
    room = Upserting.of(tmp_path, "rows", orders, said)
    with without_spark(QUERIES["rows"][1]) as (_, session):
        ends = [[(1, 1, 3), (1, 2, 1)], [(1, 1, 3), (1, 2, 1), (2, 1, 1)], [(1, 1, 2), (1, 2, 1), (2, 1, 1)]]
        for run, end in enumerate(ends, start=1):
            room.run(session, run)
            assert room.answer() == end


# --- what runs record ------------------------------------------------------------------------------------------------


def test_what_changed_is_counted_and_listed_as_a_step(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    orders: list[list[Record]] = [
        [upsert(1, 1), upsert(2, 1), upsert(2, 1), upsert(2, 0), delete(3, 5)],
        [upsert(1, 2), delete(2, 2), upsert(4, 1), upsert(3, 4)],
        [upsert(1, 1), upsert(2, 1), delete(2, 2)],
    ]
    done = Upserting.of(tmp_path, "join", orders).run(duck[1], 1, 2, 3)
    assert [manifest.arrived["orders"] for manifest in done] == [5, 4, 3]
    assert [manifest.changed["orders"] for manifest in done] == [(2, 0, 0), (1, 1, 1), (0, 0, 0)]
    steps = [{step.name: step for step in manifest.steps} for manifest in done]
    assert [s[f"orders__changelog_{n}"].rows for n, s in enumerate(steps, start=1)] == [3, 5, 0]
    assert {s[f"orders__changelog_{n}"].purpose for n, s in enumerate(steps, start=1)} == {"state"}


def test_trusted_records_are_put_in_order_only_where_a_step_reads_changes(
    tmp_path: Path, duck: tuple[Duck, Session]
) -> None:
    kept: dict[str, int] = {}
    for refresh in ("incremental", "full"):
        dice = random.Random(3)
        said = {**UPSERTS, "check": "trust"}
        room = Upserting.of(tmp_path / refresh, "join", delivered(dice, history(dice)), said, refresh=refresh)
        manifests = room.run(duck[1], 1, 2, 3)
        kept[refresh] = sum(len([name for name in m.states if "__changelog_" in name]) for m in manifests)
        assert room.answer() == room.expected(3)
        assert any("trusted, not checked" in line for line in manifests[0].trusted)
        assert all(sum(m.changed["orders"]) > 0 for m in manifests if m.arrived["orders"])
    assert kept["incremental"] >= 2
    assert kept["full"] == 0


def test_a_run_without_new_records_keeps_no_changelog(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Upserting.of(tmp_path, "join", [[upsert(1, 1)], [], [upsert(1, 2, amount=3)]])
    done = room.run(duck[1], 1, 2, 3)
    assert "orders__changelog_2" not in done[1].states
    assert list(done[1].changed["orders"]) == [0, 0, 0]
    assert room.answer() == room.expected(3)


def test_what_later_runs_need_is_not_cleaned(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = random_room(tmp_path, 3)
    room.run(duck[1], 1, 2)
    room.job().clean()
    assert len(changelog_files(room)) == 2
    room.run(duck[1], 3)
    assert room.answer() == room.expected(3)
    room.job().clean()
    assert not changelog_files(room)
    assert outcome(room, duck[0]) == room.expected(3)


def test_what_a_changelog_costs_is_expected_and_teaches_nobody(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    """Its price is a guess over the records; prices are learned from steps of the plan."""
    for manifest in random_room(tmp_path, 2).run(duck[1], 1, 2, 3):
        (step,) = (step for step in manifest.steps if step.name.startswith("orders__changelog"))
        assert step.expected_rows == manifest.arrived["orders"]
        assert step.expected_cpu_s
        assert manifest.expected_cpu_s
        assert not step.bill


def test_plans_tell_of_changelogs_and_their_price(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = random_room(tmp_path, 5)
    room.arrive(1)
    job = room.job(duck[1])
    promised = job.promised(job.planned())
    (changelog,) = promised.changelogs
    assert changelog.source == "orders"
    assert all(cpu > 0 for cpu in changelog.cpu_s)
    assert promised.lines()[0].startswith(
        f"source `{changelog.source}`: upserts become exact changes, kept at each run"
    )


def test_a_new_cycle_expects_rows_and_not_records(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    """Of all records that are there when it begins, as many count as at the last time."""
    room = Upserting.of(tmp_path, "join", [[upsert(n % 10, n) for n in range(40)], [upsert(1, 90)], []])
    room.sources = {"orders": UPSERTS}
    room.write()
    room.run(duck[1], 1, 2, 3)
    statistics = room.job(duck[1]).planned().statistics
    assert [round(arrival.inserts) for arrival in statistics["orders"].arrivals] == [10, 0, 0]


def test_the_rest_is_planned_by_what_records_came_to(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    """Ten thousand records of ten keys are ten rows; a run that brings many repeats is no surprise."""
    orders = [[upsert(n % 10, n) for n in range(10_000)], [upsert(n % 10, 20_000 + n) for n in range(10)], []]
    room = Upserting.of(tmp_path, "join", orders, replan=3)
    room.sources = {"orders": {**UPSERTS, "expect": {"arrives": {"10:00": 10_000, "14:00": 10, "24:00": 0}}}}
    room.write()
    heard = Heard()
    for run in (1, 2, 3):
        room.arrive(run)
        room.job(duck[1]).run(progress=heard)
        assert room.answer() == room.expected(run)
    assert not [note for note in heard.notes if "changelog" in note]


def test_another_query_goes_on_with_the_changelogs(tmp_path: Path) -> None:
    room = random_room(tmp_path, 14)
    with without_spark(QUERIES["join"][1]) as (_, session):
        room.run(session, 1)
    room.query, outputs = QUERIES["outer"]
    room.write(query=room.query)
    with without_spark(outputs) as (duck, session):
        for run in (2, 3):
            room.arrive(run)
            room.job(session).run(carry_over=True)
            assert room.answer() == room.expected(run) == outcome(room, duck)


def test_runs_that_were_missed(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = random_room(tmp_path, 4)
    room.run(duck[1], 1)
    room.arrive(2)
    room.arrive(3)
    room.job(duck[1]).run("24:00", skip_missed=True)
    assert room.answer() == room.expected(3)


# --- what goes wrong -------------------------------------------------------------------------------------------------


def changelog_files(room: Room, run: int | str = "*") -> list[Path]:
    return sorted(room.state.glob(f"cycle-*/data/*/orders__changelog_{run}/*.parquet"))


@pytest.mark.parametrize("harmed", [(1,), (2,), (1, 2)])
def test_changelogs_that_are_lost_are_computed_again(
    tmp_path: Path, duck: tuple[Duck, Session], harmed: Sequence[int]
) -> None:
    room = random_room(tmp_path, 5)
    room.run(duck[1], 1, 2)
    contents = {run: pq.read_table(changelog_files(room, run)[0]).to_pylist() for run in harmed}
    for run in harmed:
        changelog_files(room, run)[0].unlink()
    room.arrive(3)
    heard = Heard()
    room.job(duck[1]).run(progress=heard)
    assert len(heard.notes) == len(harmed)
    assert all("missing or damaged" in note for note in heard.notes)
    assert room.answer() == room.expected(3)
    for run in harmed:
        again = pq.read_table(changelog_files(room, run)[0]).to_pylist()
        assert sorted(again, key=str) == sorted(contents[run], key=str)


def test_a_changelog_that_turns_out_to_be_damaged(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = random_room(tmp_path, 6)
    room.run(duck[1], 1, 2)
    (path,) = changelog_files(room, 1)
    path.write_bytes(b"PAR1" + b"\0" * (path.stat().st_size - 4))
    room.arrive(3)
    heard = Heard()
    room.job(duck[1]).run(progress=heard)
    assert str(path) in heard.notes[0]
    assert room.answer() == room.expected(3)


def test_a_file_that_is_replaced(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    """Its run and those after it are done again, changelogs included."""
    room = random_room(tmp_path, 15)
    room.run(duck[1], 1, 2)
    mended = [upsert(1, 50, amount=9), delete(2, 50), upsert(3, 0)]
    room.arrivals = [{**room.arrivals[0], "orders": mended}, *room.arrivals[1:]]
    (room.directory / "data" / "orders" / "part-1.parquet").unlink()
    room.arrive(1)
    room.job().repin()
    room.arrive(3)
    room.job(duck[1]).run(all=True)
    assert room.answer() == room.expected(3) == outcome(room, duck[0])


def test_a_manifest_that_is_lost(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = random_room(tmp_path, 8)
    room.run(duck[1], 1, 2)
    cycle = room.job().store.current()
    assert cycle is not None
    cycle.manifest_file(1).unlink()
    room.job(duck[1]).run(1)
    room.run(duck[1], 3)
    assert room.answer() == room.expected(3)


def test_a_run_that_is_interrupted_leaves_nothing(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = random_room(tmp_path, 9)
    room.run(duck[1], 1)
    room.arrive(2)
    with (
        patch("slackwater.job.running.runner._manifest", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        room.job(duck[1]).run()
    assert not changelog_files(room, 2)
    assert room.answer() == room.expected(1)
    room.run(duck[1], 2, 3)
    assert room.answer() == room.expected(3)


def one_life(directory: Path, fatal: int | None, report: Path) -> None:
    """All runs and `clean`, up to a moment; how many moments there were is reported."""
    room = random_room(directory, 10)
    moments = Moments(room, fatal)
    with without_spark(QUERIES["join"][1]) as (_, session):
        moments.watch()
        live(room, session)
    report.write_text(str(len(moments.seen)), encoding="utf-8")


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """The next process goes on, and each answer on the way is one that was right."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.job.crashing", "pandas"])

    def killed(directory: Path, fatal: int | None) -> bool:
        process = context.Process(target=one_life, args=(directory, fatal, tmp_path / "report"))
        process.start()
        process.join(120)
        assert process.exitcode in (0, -SIGKILL)
        return process.exitcode == -SIGKILL

    assert not killed(tmp_path / "undisturbed", None)
    total = int((tmp_path / "report").read_text(encoding="utf-8"))
    for seed in range(DEATHS):
        room = random_room(tmp_path / str(seed), 10)
        assert killed(
            room.directory, random.Random(seed).randrange(total * seed // DEATHS, total * (seed + 1) // DEATHS)
        )
        assert room.answer() in (None, room.expected(1), room.expected(2), room.expected(3))
        with without_spark(QUERIES["join"][1]) as (duck, session):
            live(room, session)
            assert room.answer() == room.expected(3) == outcome(room, duck)
        assert not changelog_files(room)


# --- what is refused -------------------------------------------------------------------------------------------------

NO_SEQUENCE = {key: value for key, value in UPSERTS.items() if key != "sequence"}
REFUSED = [
    (
        UPSERTS,
        [[upsert(1, 1), upsert(1, 1, amount=2)]],
        "two different records of one key have the same sequence.*amount.*1.* and .*amount.*2",
    ),
    (
        UPSERTS,
        [[upsert(1, 1)], [upsert(1, 1, amount=2)]],
        "two different records of one key have the same sequence.*amount.*1.* and .*amount.*2",
    ),
    (UPSERTS, [[upsert(1, 1)], [delete(1, 1)]], "two different records of one key have the same sequence"),
    (NO_SEQUENCE, [[upsert(1, 0), upsert(1, 0, amount=2)]], "two different records of one key: set `sequence`"),
    (NO_SEQUENCE, [[upsert(1, 0)], [upsert(1, 0), delete(1, 0)]], "two different records of one key"),
    (UPSERTS, [[{**upsert(1, 1), "id": None}]], r"a record has NULL in its key \(id\)"),
    (UPSERTS, [[{**upsert(1, 1), "ts": None}]], "a record has no sequence, `ts` is NULL"),
]


@pytest.mark.parametrize("said, orders, message", REFUSED)
def test_what_nobody_can_decide_stops_the_run(
    tmp_path: Path, duck: tuple[Duck, Session], said: Mapping[str, object], orders: Sequence[Rows], message: str
) -> None:
    """By name, with the records, whatever the plan is; nothing is committed."""
    for refresh in ("incremental", "full"):
        room = Upserting.of(tmp_path / refresh, "join", orders, said, refresh=refresh, deliver="final")
        room.run(duck[1], *range(1, len(orders)))
        room.arrive(len(orders))
        with pytest.raises(RunError, match=message) as raised:
            room.job(duck[1]).run()
        assert "source `orders`" in raised.value.message
        assert len(room.job().history()) == len(orders) - 1


def test_older_records_that_tie_decide_nothing(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    orders: list[list[Record]] = [[upsert(1, 5)], [upsert(1, 3), upsert(1, 3, amount=2)], [upsert(1, 5)]]
    room = Upserting.of(tmp_path, "join", orders)
    room.run(duck[1], 1, 2, 3)
    assert room.answer() == room.expected(3) == outcome(room, duck[0])


@pytest.mark.parametrize(
    "said, message",
    [
        ({"deletes": "kind = 'd'"}, "kind"),
        ({"deletes": "amount + 1"}, "`deletes` is bigint, not true or false"),
        ({"sequence": ["ts", "lsn"]}, "lsn"),
    ],
)
def test_expressions_are_held_against_the_records(
    tmp_path: Path, duck: tuple[Duck, Session], said: Mapping[str, object], message: str
) -> None:
    room = Upserting.of(tmp_path, "join", [[upsert(1, 1)]], {**UPSERTS, **said})
    room.arrive(1)
    with pytest.raises(UserError, match=message) as raised:
        room.job(duck[1]).run()
    place = raised.value.place
    assert place is not None
    assert place.file == str(room.file)
    (key,) = said
    lines = room.file.read_text(encoding="utf-8").splitlines()
    assert place.line in [n for n, line in enumerate(lines, start=1) if key in line or "lsn" in line]
    assert room.job().store.current() is None
