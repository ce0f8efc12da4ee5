"""What runs compute, on DuckDB: nothing where nothing arrived, lost states again, and each only once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.job.duck import Duck, without_spark
from tests.job.room import THREE_ARRIVALS, Heard, Room, expected

from slackwater.errors import UserError
from slackwater.job.running.work import RunWork
from slackwater.job.store.manifest import Manifest
from slackwater.spark.session import Session


@pytest.fixture
def duck() -> Iterator[tuple[Duck, Session]]:
    with without_spark() as pair:
        yield pair


def runs(room: Room, session: Session, *numbers: int) -> list[Manifest]:
    done: list[Manifest] = []
    for run in numbers:
        room.arrive(run)
        done += room.job(session).run()
    return done


def state_files(room: Room, name: str) -> list[Path]:
    return sorted(room.state.glob(f"cycle-*/data/*/{name}/*.parquet"))


def test_three_runs(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    for run in (1, 2, 3):
        (manifest,) = runs(room, duck[1], run)
        assert (manifest.run, manifest.note) == (run, "")
        assert room.answer() == expected(THREE_ARRIVALS[:run])
        assert manifest.arrived == {name: len(rows) for name, rows in THREE_ARRIVALS[run - 1].items()}
    assert [manifest.run for manifest in room.job().history()] == [1, 2, 3]
    assert room.job().status().next is None


ABOVE_AVERAGE = """\
WITH found AS (SELECT cat, sum(price) AS gross, count(*) AS n FROM sales GROUP BY cat, o_id % 1000000)
SELECT cat, gross, n FROM found WHERE gross > (SELECT avg(gross) FROM found)
"""
"""Reads its sums twice."""


def test_scratch_is_gone(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room", ABOVE_AVERAGE)
    (manifest,) = runs(room, duck[1], 1)
    assert [(step.name, step.purpose) for step in manifest.steps] == [("sales_v1", "scratch"), ("output_1", "output")]
    assert not manifest.states
    assert not state_files(room, "sales_v1")


def test_states_are_listed(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    (manifest,) = runs(room, duck[1], 1)
    assert [(step.name, step.purpose) for step in manifest.steps] == [
        ("sales_returns_partial_v1", "state"),
        ("output_1", "output"),
    ]
    assert list(manifest.states) == ["sales_returns_partial_v1"]
    assert state_files(room, "sales_returns_partial_v1")


def test_a_committed_run_does_nothing(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1)
    before = len(duck[0].statements)
    assert room.job(duck[1]).run("10:00") == []
    assert room.job(duck[1]).run(1) == []
    assert len(duck[0].statements) == before


def test_missed_runs_are_made_up_for(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    room.arrive(1)
    done = room.job(duck[1]).run("14:00")
    assert [manifest.run for manifest in done] == [1, 2]
    assert done[1].note == "nothing arrived, nothing to compute"
    with pytest.raises(UserError, match="no run at 15:00"):
        room.job(duck[1]).run("15:00")
    with pytest.raises(UserError, match="no run at 4"):
        room.job(duck[1]).run(4)


def test_where_nothing_arrived_the_answer_stays_and_no_engine_is_asked(
    tmp_path: Path, duck: tuple[Duck, Session]
) -> None:
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1)
    shown = room.output.readlink()
    (manifest,) = room.job(None).run()  # without a session: one would have to be started
    assert manifest.note == "nothing arrived, nothing to compute"
    assert manifest.output is not None
    assert manifest.output.made_at == 1
    assert room.output.readlink() == shown
    # The state of the first run serves the second as well.
    assert manifest.states["sales_returns_partial_v2"].files
    runs(room, duck[1], 3)
    assert room.answer() == expected([THREE_ARRIVALS[0], THREE_ARRIVALS[2]])


def test_an_answer_that_is_gone_is_not_reused(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1)
    (room.output / "part-00000.parquet").unlink()
    heard = Heard()
    done = room.job(duck[1]).run("14:00", progress=heard)
    assert [manifest.run for manifest in done] == [1, 2]
    assert "the last answer is missing or damaged" in heard.notes[0]
    assert room.answer() == expected(THREE_ARRIVALS[:1])


def test_a_source_that_brings_nothing(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    """Changes that did not arrive are left out of the statements, for one source as for all."""
    arrivals = [THREE_ARRIVALS[0], {"sales": THREE_ARRIVALS[1]["sales"]}, THREE_ARRIVALS[2]]
    room = Room(tmp_path / "room", arrivals=arrivals)
    runs(room, duck[1], 1)
    room.arrive(2)
    text = room.job(duck[1]).work().program()
    assert "returns__d2" not in text
    runs(room, duck[1], 2, 3)
    assert room.answer() == expected(arrivals)


def test_late_files_are_the_next_arrival(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1)
    late = [{"o_id": 50, "cat": "z", "price": 1}]
    room.bring("sales", "part-0-late.parquet", late)
    assert room.job().status().waiting == {"sales": 1, "returns": 0}
    runs(room, duck[1], 2)
    assert room.job().status().waiting == {"sales": 0, "returns": 0}
    assert room.answer() == expected([*THREE_ARRIVALS[:2], {"sales": late}])


def test_pins_hold_when_a_run_fails_and_more_files_come(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1)
    room.arrive(2)
    with pytest.raises(ZeroDivisionError):
        room.job(duck[1]).run(progress=Failing())
    assert not list(room.state.glob("cycle-1/data/2-*"))
    assert room.answer() == expected(THREE_ARRIVALS[:1])
    room.arrive(3)
    runs(room, duck[1], 2)
    assert room.answer() == expected(THREE_ARRIVALS[:2])


class Failing(Heard):
    """Breaks when the second step is done."""

    def step_begins(self, name: str) -> None:
        super().step_begins(name)
        if len(self.steps) == 2:
            raise ZeroDivisionError


def test_the_interrupt_right_after_the_manifest_does_not_undo_it(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    class Interrupted(Heard):
        def run_ends(self, manifest: Manifest) -> None:
            raise KeyboardInterrupt

    room = Room(tmp_path / "room")
    room.arrive(1)
    with pytest.raises(KeyboardInterrupt):
        room.job(duck[1]).run(progress=Interrupted())
    assert room.job().status().next is not None
    assert [m.run for m in room.job().history()] == [1]
    runs(room, duck[1], 2)
    assert room.answer() == expected(THREE_ARRIVALS[:2])


# --- sources that are not what they were ------------------------------------------------------------------------------


def test_a_pinned_file_that_has_vanished_or_changed_is_named(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1)
    pinned = room.directory / "data" / "sales" / "part-1.parquet"
    away = pinned.rename(tmp_path / "away")
    room.arrive(2)
    with pytest.raises(UserError, match="source `sales`: this file has vanished") as raised:
        room.job(duck[1]).run()
    assert str(raised.value.place) == str(pinned)
    room.bring("sales", "part-1.parquet", THREE_ARRIVALS[2]["sales"])
    with pytest.raises(UserError, match="this file has changed"):
        room.job(duck[1]).run()
    assert room.answer() == expected(THREE_ARRIVALS[:1])
    away.replace(pinned)
    runs(room, duck[1], 2)
    assert room.answer() == expected(THREE_ARRIVALS[:2])


def test_columns_that_changed_are_named(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1)
    for rows, words in (
        ([{"o_id": 90, "cat": "a"}], "it has no column `price`"),
        ([{"o_id": 90, "cat": "a", "price": "much"}], "`price` is string, and was bigint"),
        ([{"o_id": 90, "cat": 3, "price": 3}], "`cat` is bigint, and was string"),
    ):
        path = room.bring("sales", "part-2.parquet", rows)
        with pytest.raises(UserError, match=f"source `sales` has other columns: {words}") as raised:
            room.job(duck[1]).run()
        assert str(raised.value.place) == str(path)
        path.unlink()


def test_columns_that_are_new_are_said_and_not_read(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1)
    for name in ("part-2.parquet", "part-3.parquet"):
        room.bring("sales", name, [{"more": 1, "price": 3, "o_id": 90, "cat": "z"}])
    room.arrive(2)
    heard = Heard()
    room.job(duck[1]).run(progress=heard)
    note = "source `sales`: file part-2.parquet and 1 more file have a new column `more`; it is not read in this cycle"
    assert heard.notes == [note]
    assert ("z", 6, 2) in (room.answer() or [])


def test_of_a_schema_that_is_stated_nothing_is_new(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    stated = {"schema": "o_id BIGINT, cat STRING, price BIGINT"}
    room = Room(tmp_path / "room", sources={"sales": stated})
    room.bring("sales", "part-1.parquet", [{"more": 1, "price": 3, "o_id": 90, "cat": "z"}])
    room.bring("returns", "part-1.parquet", THREE_ARRIVALS[0]["returns"])
    heard = Heard()
    room.job(duck[1]).run(progress=heard)
    assert not [note for note in heard.notes if "new column" in note]


PRICES = pa.schema({"o_id": pa.int64(), "cat": pa.string(), "price": pa.int32()})


def test_a_narrower_type_is_read_and_a_wider_one_refused(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1)
    room.bring("sales", "part-2.parquet", THREE_ARRIVALS[1]["sales"], PRICES)
    runs(room, duck[1], 2)
    assert room.answer() == expected(THREE_ARRIVALS[:2])
    wide = PRICES.set(2, pa.field("price", pa.float64()))
    room.bring("sales", "part-3.parquet", [{"o_id": 91, "cat": "z", "price": 1.5}], wide)
    with pytest.raises(UserError, match="has other columns: `price` is double, and was bigint"):
        room.job(duck[1]).run()


def test_a_cycle_takes_the_widest_type_of_the_files_that_are_there(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    """A producer that went over to a wider type is followed by the next cycle."""
    room = Room(tmp_path / "room")
    room.bring("sales", "part-1.parquet", THREE_ARRIVALS[0]["sales"], PRICES)
    runs(room, duck[1], 1)
    room.bring("sales", "part-2.parquet", THREE_ARRIVALS[1]["sales"])
    with pytest.raises(UserError, match="`price` is bigint, and was int"):
        room.job(duck[1]).run()
    room.bring("returns", "part-2.parquet", THREE_ARRIVALS[1]["returns"])
    room.job(duck[1]).run(new_cycle=True)
    assert room.answer() == expected(THREE_ARRIVALS[:2])
    cycle = room.job().store.current()
    assert cycle is not None
    assert dict(cycle.record().sources["sales"].columns)["price"] == "bigint"


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1)
    path = room.directory / "data" / "sales" / "part-2.parquet"
    path.write_text("PAR1, and no more of parquet", encoding="utf-8")
    with pytest.raises(UserError, match="source `sales`: this file cannot be read") as raised:
        room.job(duck[1]).run()
    assert str(raised.value.place) == str(path)
    assert not list(room.state.glob("cycle-1/pins-2.json"))


@pytest.mark.parametrize(
    "column, message",
    [
        ("multiplicity", "is a feed with a column `multiplicity`"),
        ("other", "is a feed without a column `_change_type`"),
    ],
)
def test_a_feed_that_is_none(tmp_path: Path, duck: tuple[Duck, Session], column: str, message: str) -> None:
    room = Room(tmp_path / "room", sources={"returns": {"changes": "feed"}})
    kind = {"_change_type": "insert"} if column == "multiplicity" else {}
    room.bring("returns", "part-1.parquet", [{"r_id": 1, "cost": 2, column: 3, **kind}])
    room.bring("sales", "part-1.parquet", THREE_ARRIVALS[0]["sales"])
    with pytest.raises(UserError, match=message):
        room.job(duck[1]).run()


def test_a_static_source_stays_as_it_is(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room", sources={"returns": {"static": True}})
    runs(room, duck[1], 1)
    room.bring("sales", "part-2.parquet", THREE_ARRIVALS[1]["sales"])
    late = room.bring("returns", "part-2.parquet", THREE_ARRIVALS[1]["returns"])
    with pytest.raises(UserError, match="source `returns` is static, but this file appeared") as raised:
        room.job(duck[1]).run()
    assert str(raised.value.place) == str(late)
    late.unlink()
    room.job(duck[1]).run()
    assert room.answer() == expected([THREE_ARRIVALS[0], {"sales": THREE_ARRIVALS[1]["sales"]}])


# --- lost states -----------------------------------------------------------------------------------------------------


def last_work(room: Room, session: Session) -> RunWork:
    return room.job(session).work()


def test_a_lost_state_is_computed_again(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1, 2)
    (lost,) = state_files(room, "sales_returns_partial_v2")
    lost.unlink()
    room.arrive(3)
    work = last_work(room, duck[1])
    assert work.lost() == ["sales_returns_partial_v2"]
    assert list(work.targets) == ["sales_returns_partial_v2", "output_3"]
    heard = Heard()
    (manifest,) = room.job(duck[1]).run(progress=heard)
    assert heard.notes == [
        f"{lost}: state sales_returns_partial_v2 is missing or damaged; computing it again from its inputs"
    ]
    assert room.answer() == expected(THREE_ARRIVALS)
    assert [(step.name, step.recomputed) for step in manifest.steps] == [
        ("sales_returns_partial_v2", True),
        ("output_3", False),
    ]


def test_what_a_lost_state_was_made_of_may_be_lost_too(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    """Down to the sources."""
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1, 2)
    for name in ("sales_returns_partial_v1", "sales_returns_partial_v2"):
        (lost,) = state_files(room, name)
        lost.write_bytes(lost.read_bytes()[:-1])
    room.arrive(3)
    work = last_work(room, duck[1])
    assert work.lost() == ["sales_returns_partial_v1", "sales_returns_partial_v2"]
    assert list(work.targets) == [
        "sales_returns_partial_v1",
        "sales_returns_partial_v2",
        "output_3",
    ]
    runs(room, duck[1], 3)
    assert room.answer() == expected(THREE_ARRIVALS)


def test_a_lost_state_that_nobody_reads_stays_lost(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1, 2)
    (lost,) = state_files(room, "sales_returns_partial_v1")
    lost.unlink()
    room.arrive(3)
    assert last_work(room, duck[1]).lost() == []


def test_scratch_from_nothing_is_nothing(tmp_path: Path) -> None:
    """The first run brings nothing to compute from; what it would have kept is not there when it is asked for again."""
    arrivals = [{"returns": THREE_ARRIVALS[0]["returns"], "sales": []}, THREE_ARRIVALS[1], THREE_ARRIVALS[2]]
    room = Room(tmp_path / "room", arrivals=arrivals)
    columns = {"sales": {"schema": "o_id BIGINT, cat STRING, price BIGINT"}}
    room.sources = {name: {**room.sources[name], **columns.get(name, {})} for name in room.sources}
    room.write()
    with without_spark() as (_, session):
        runs(room, session, 1, 2)
        for path in state_files(room, "*"):
            path.unlink()
        runs(room, session, 3)
    assert room.answer() == expected(arrivals)


# --- cycles ----------------------------------------------------------------------------------------------------------


def test_a_job_that_has_changed_is_refused_by_what_has(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1)
    room.write(weights=[1, 2, 3], query=room.query.replace("count(*)", "count(1)"))
    for refused in (lambda: room.job(duck[1]).run(), lambda: room.job().status(), lambda: room.job().work()):
        with pytest.raises(UserError, match="has changed since cycle 1 began: query, weights") as raised:
            refused()
        assert "--new-cycle" in str(raised.value.hint)
    room.arrive(2)
    (manifest,) = room.job(duck[1]).run(new_cycle=True)
    assert (manifest.cycle, manifest.run) == (2, 1)
    assert room.answer() == expected(THREE_ARRIVALS[:2])


def test_a_new_cycle_reads_all_and_keeps_the_answer_until_it_has_one(
    tmp_path: Path, duck: tuple[Duck, Session]
) -> None:
    room = Room(tmp_path / "room", settings={"deliver": "final"})
    runs(room, duck[1], 1, 2, 3)
    assert room.job(duck[1]).run() == []
    room.job(duck[1]).run(new_cycle=True)
    assert room.answer() == expected(THREE_ARRIVALS)
    room.bring("sales", "part-4.parquet", [{"o_id": 90, "cat": "q", "price": 3}])
    room.job(duck[1]).run(all=True)
    assert room.answer() == expected([*THREE_ARRIVALS, {"sales": [{"o_id": 90, "cat": "q", "price": 3}]}])
    assert len(room.job().history()) == 6
    assert room.job().clean().paths
    assert room.job().clean().paths == ()
    assert room.answer() is not None


def test_everything_cleaned_and_run_anew(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    """The numbers of cycles begin again; the answer that is shown has the number of one of them."""
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1, 2, 3)
    room.job().clean(everything=True)
    assert room.job().clean().paths == ()
    for run in (1, 2, 3):
        assert room.answer() == expected(THREE_ARRIVALS)
        runs(room, duck[1], run)
    assert room.answer() == expected(THREE_ARRIVALS)


def test_everything_goes_also_what_was_left_over(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1)
    for path in (room.state / "cycle-1" / "data" / "2-x" / "sums", room.output.parent / ".answer" / "1-2-x"):
        path.mkdir(parents=True)
        (path / "part.parquet").write_text("rows", encoding="utf-8")
    would = room.job().clean(everything=True, dry_run=True)
    assert room.job().clean(everything=True) == would
    assert {path.name.partition("-")[0] for path in room.state.iterdir()} == {".lock.guard", ".lock.fence"}
    assert room.answer() == expected(THREE_ARRIVALS[:1])


def test_cleaning_needs_no_output(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1, 2)
    room.output.unlink()
    room.output.mkdir()
    assert [path.name[:4] for path in room.job().clean().paths] == ["sale", "1-1-"]


def test_cleaning_says_what_would_go(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    runs(room, duck[1], 1, 2)
    would = room.job().clean(dry_run=True)
    assert [path.name.partition("-")[0] for path in would.paths] == ["sales_returns_partial_v1", "1"]
    assert all(path.exists() for path in would.paths)
    assert room.job().clean() == would
    assert not any(path.exists() for path in would.paths)
    runs(room, duck[1], 3)
    assert room.answer() == expected(THREE_ARRIVALS)


def test_an_output_that_is_taken_is_refused_before_anything_is_done(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(tmp_path / "room")
    room.output.mkdir(parents=True)
    room.arrive(1)
    with pytest.raises(UserError, match="Slackwater did not write"):
        room.job(duck[1]).run()
    assert not list(room.state.glob("cycle-*"))
