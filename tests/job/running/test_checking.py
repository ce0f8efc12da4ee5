"""What sources promise is checked as rows arrive: a broken promise stops the run, by name, and nothing is committed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console
from tests.job.duck import Duck, without_spark
from tests.job.room import Heard, Room, Rows

from slackwater.cli.job_reports import StatusReport
from slackwater.cli.output import Report
from slackwater.cli.plan_commands import PlanReport
from slackwater.errors import PromiseError
from slackwater.job.cycle.surprise import surprising_states
from slackwater.job.inputs.promises import read_checked
from slackwater.job.learning.prices import observations
from slackwater.job.learning.row_history import history_of
from slackwater.job.store.manifest import CHECK, Manifest
from slackwater.spark.session import Session

BY_KEY = "SELECT k, sum(v) AS total FROM t GROUP BY k"
COUNTED = "SELECT count(k) AS n FROM t"


@pytest.fixture
def duck() -> Iterator[tuple[Duck, Session]]:
    with without_spark([("k", "bigint"), ("total", "bigint")]) as pair:
        yield pair


SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64())])


def numbers(*pairs: tuple[int | None, int], **more: str) -> Rows:
    return [{"k": k, "v": v, **more} for k, v in pairs]


def changes(*rows: tuple[str | None, int, int]) -> Rows:
    return [{"k": k, "v": v, "_change_type": kind} for kind, k, v in rows]


def room_of(directory: Path, query: str = BY_KEY, /, **source: object) -> Room:
    """One source `t` of rows (k, v); three runs."""
    return Room(directory / "room", query, arrivals=({"t": ()},), sources={"t": source})


def arrive(room: Room, session: Session, run: int, rows: Rows, progress: Heard | None = None) -> Manifest:
    schema = None if "_change_type" in rows[0] else SCHEMA
    room.bring("t", f"part-{run}.parquet", rows, schema)
    (manifest,) = room.job(session).run(progress=progress)
    return manifest


def checks(manifest: Manifest) -> list[str]:
    return [step.name for step in manifest.steps if step.purpose == CHECK]


def refused(room: Room, session: Session, run: int, rows: Rows) -> PromiseError:
    """The error of a run over such rows, of which nothing remains."""
    answer, before = room.answer(), len(room.job(session).history())
    with pytest.raises(PromiseError) as raised:
        arrive(room, session, run, rows)
    assert len(room.job(session).history()) == before
    assert room.answer() == answer
    assert not [path for path in room.state.glob("cycle-1/data/*") if path.name.startswith(f"{run}-")]
    return raised.value


def program(duck: Duck) -> str:
    return "\n".join(duck.statements)


# --- keys ------------------------------------------------------------------------------------------------------------


def test_a_key_that_is_none(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    """`GROUP BY k` of a key needs no groups, so two rows of one k would be two rows of the answer."""
    room = room_of(tmp_path, key="k")
    arrive(room, duck[1], 1, numbers((1, 10), (2, 20)))
    error = refused(room, duck[1], 2, numbers((2, 5), (3, 30)))
    assert "source `t` breaks what it promises: `key (k)`" in error.message
    assert "k=2 (2 rows)" in error.message
    assert "k=3" not in error.message
    assert str(error.place).endswith("data/t/part-2.parquet")
    assert "slackwater repin" in str(error.hint)


def test_two_rows_of_one_key_in_one_file(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    error = refused(room_of(tmp_path, key="k"), duck[1], 1, numbers((1, 10), (1, 10), (2, 20)))
    assert "k=1 (2 rows)" in error.message


def test_a_null_in_a_key(tmp_path: Path) -> None:
    """Plans count a key that is never null by counting rows."""
    with without_spark([("n", "bigint")]) as (_, session):
        error = refused(room_of(tmp_path, COUNTED, key="k"), session, 1, numbers((1, 10), (None, 20)))
    assert "`not null (k)`" in error.message
    assert "k=NULL, v=20" in error.message


def test_columns_that_are_not_to_be_null(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    error = refused(room_of(tmp_path, not_null=["k"]), duck[1], 1, numbers((1, 10), (None, 20), (None, 30)))
    assert "not null (k): k=NULL, v=20\n  not null (k): k=NULL, v=30" in error.message


def test_several_keys(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = room_of(tmp_path, keys=[["k"], ["v"]])
    arrive(room, duck[1], 1, numbers((1, 10), (2, 20)))
    error = refused(room, duck[1], 2, numbers((3, 20)))
    assert "`key (v)`" in error.message
    assert "v=20 (2 rows)" in error.message


def test_no_more_than_five_rows_are_shown(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    error = refused(room_of(tmp_path, key="k"), duck[1], 1, numbers(*[(n % 10, n) for n in range(20)]))
    assert error.message.count("(2 rows)") == 5
    assert "key (k): and more" in error.message


def test_the_files_are_named(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = room_of(tmp_path, key="k")
    room.bring("t", "a.parquet", numbers((1, 1)))
    room.bring("t", "b.parquet", numbers((2, 2)))
    error = refused(room, duck[1], 1, numbers((1, 3)))
    assert "(in a.parquet, part-1.parquet)" in error.message


def test_a_run_goes_on_once_the_file_is_mended(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = room_of(tmp_path, key="k")
    arrive(room, duck[1], 1, numbers((1, 10)))
    refused(room, duck[1], 2, numbers((1, 5)))
    (room.directory / "data/t/part-2.parquet").unlink()
    room.bring("t", "part-2.parquet", numbers((2, 5)), SCHEMA)
    room.job(duck[1]).repin()
    room.job(duck[1]).run()
    assert room.answer() == [(1, 10), (2, 5)]


def test_a_committed_file_that_is_mended_is_checked_again(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = room_of(tmp_path, key="k")
    arrive(room, duck[1], 1, numbers((1, 10)))
    arrive(room, duck[1], 2, numbers((2, 20)))
    (room.directory / "data/t/part-1.parquet").unlink()
    room.bring("t", "part-1.parquet", numbers((2, 10), (3, 30)), SCHEMA)
    room.job(duck[1]).repin()
    with pytest.raises(PromiseError, match=r"k=2 \(2 rows\)"):
        room.job(duck[1]).run(all=True)
    assert room.job(duck[1]).status().next is not None


# --- only what can be broken -----------------------------------------------------------------------------------------


def test_each_file_is_checked_once(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = room_of(tmp_path, key="k")
    assert checks(arrive(room, duck[1], 1, numbers((1, 10), (5, 50)))) == ["check_t_1"]
    assert checks(arrive(room, duck[1], 2, numbers((2, 20), (4, 40)))) == ["check_t_2"]
    assert checks(arrive(room, duck[1], 3, numbers((3, 30)))) == ["check_t_3"]
    (manifest,) = room.job(duck[1]).run(new_cycle=True)
    assert not checks(manifest)


def test_a_run_that_is_tried_again_checks_nothing_twice(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = room_of(tmp_path, key="k")
    arrive(room, duck[1], 1, numbers((1, 10)))
    (room.state / "cycle-1/run-1.json").unlink()
    (manifest,) = room.job(duck[1]).run()
    assert not checks(manifest)
    assert room.answer() == [(1, 10)]


def test_what_was_checked_may_be_lost(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = room_of(tmp_path, key="k")
    arrive(room, duck[1], 1, numbers((1, 10)))
    (room.state / "promises.json").write_text("{", encoding="utf-8")
    error = refused(room, duck[1], 2, numbers((1, 20)))
    assert "k=1 (2 rows)" in error.message


def test_a_static_source_is_checked_once_for_all_cycles(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = room_of(tmp_path, key="k", static=True)
    assert checks(arrive(room, duck[1], 1, numbers((1, 10)))) == ["check_t_1"]
    (manifest,) = room.job(duck[1]).run(new_cycle=True)
    assert not checks(manifest)
    room.bring("t", "part-2.parquet", numbers((1, 11)))
    with pytest.raises(PromiseError, match=r"k=1 \(2 rows\)"):
        room.job(duck[1]).run(new_cycle=True)


def test_files_that_cannot_have_the_same_key_are_not_read(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    """Their footers say between which values the key lies."""
    room = room_of(tmp_path, key="k")
    arrive(room, duck[1], 1, numbers((1, 10), (9, 90)))
    duck[0].statements.clear()
    arrive(room, duck[1], 2, numbers((10, 5), (20, 5)))
    assert "check_t_2__new" in program(duck[0])
    assert "check_t_2__earlier" not in program(duck[0])
    error = refused(room, duck[1], 3, numbers((9, 1), (9, 2)))
    assert "k=9 (3 rows)" in error.message
    (view,) = (text for text in duck[0].statements if "VIEW check_t_3__earlier" in text)
    assert "part-1.parquet" in view
    assert "part-2.parquet" not in view


def test_files_that_are_read_otherwise_are_checked_again(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = room_of(tmp_path, key="k")
    arrive(room, duck[1], 1, numbers((1, 10)))
    room.sources = {"t": {"key": "k", "options": {"mergeSchema": True}}}
    room.write()
    (manifest,) = room.job(duck[1]).run(new_cycle=True)
    assert checks(manifest) == ["check_t_1"]


def test_a_feed_remembers_a_batch_for_each_run(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    """And not one for each run of all cycles."""
    room = room_of(tmp_path, changes="feed")
    for run in (1, 2, 3):
        arrive(room, duck[1], run, changes(("insert", run, 10)))
    room.bring("t", "part-4.parquet", changes(("delete", 1, 10)))
    assert checks(room.job(duck[1]).run(new_cycle=True)[0]) == ["check_t_1"]
    batches = read_checked(room.job().store)["t"].batches
    assert [len(batch) for batch in batches] == [3, 1]


def test_footers_tell_nulls(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    """Where they say that there are none, nothing is read, and no Spark is started for it."""
    room = room_of(tmp_path, not_null="k", static=True)
    arrive(room, duck[1], 1, numbers((1, 10)))
    assert "check_t" not in program(duck[0])


# --- feeds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [{}, {"key": "k"}])
class TestFeeds:
    def feed(self, tmp_path: Path, key: Mapping[str, object]) -> Room:
        return room_of(tmp_path, BY_KEY, changes="feed", **key)

    def test_what_is_exact_passes(self, tmp_path: Path, duck: tuple[Duck, Session], key: Mapping[str, object]) -> None:
        room = self.feed(tmp_path, key)
        arrive(room, duck[1], 1, changes(("insert", 1, 10), ("insert", 2, 20)))
        arrive(room, duck[1], 2, changes(("update_preimage", 1, 10), ("update_postimage", 1, 11), ("delete", 2, 20)))
        arrive(room, duck[1], 3, changes(("insert", 2, 20), ("insert", 4, 4), ("delete", 4, 4)))
        assert room.answer() == [(1, 11), (2, 20)]

    def test_a_delete_of_what_was_never_there(
        self, tmp_path: Path, duck: tuple[Duck, Session], key: Mapping[str, object]
    ) -> None:
        room = self.feed(tmp_path, key)
        arrive(room, duck[1], 1, changes(("insert", 1, 10)))
        error = refused(room, duck[1], 2, changes(("delete", 1, 11), ("insert", 2, 20)))
        assert "exact changes: k=1, v=11 (taken away 1 time more than it was there)" in error.message

    def test_a_row_is_taken_away_once(
        self, tmp_path: Path, duck: tuple[Duck, Session], key: Mapping[str, object]
    ) -> None:
        room = self.feed(tmp_path, key)
        arrive(room, duck[1], 1, changes(("insert", 1, 10), ("insert", 2, 20)))
        arrive(room, duck[1], 2, changes(("delete", 1, 10)))
        error = refused(room, duck[1], 3, changes(("delete", 1, 10)))
        assert "k=1, v=10" in error.message

    def test_a_delete_a_run_before_its_insert(
        self, tmp_path: Path, duck: tuple[Duck, Session], key: Mapping[str, object]
    ) -> None:
        room = self.feed(tmp_path, key)
        error = refused(room, duck[1], 1, changes(("delete", 3, 30), ("insert", 1, 10)))
        assert "k=3, v=30" in error.message

    def test_a_postimage_without_a_preimage(
        self, tmp_path: Path, duck: tuple[Duck, Session], key: Mapping[str, object]
    ) -> None:
        room = self.feed(tmp_path, key)
        arrive(room, duck[1], 1, changes(("insert", 1, 10)))
        error = refused(room, duck[1], 2, changes(("update_postimage", 1, 11)))
        words = "k=1 (1 update_postimage without update_preimage)" if key else "1 update_postimage without"
        assert words in error.message
        assert ("`key (k)`" in error.message) == bool(key)

    @pytest.mark.parametrize("kind, told", [("upsert", "_change_type=upsert"), (None, "_change_type=NULL")])
    def test_a_change_of_no_known_kind(
        self, tmp_path: Path, duck: tuple[Duck, Session], key: Mapping[str, object], kind: str | None, told: str
    ) -> None:
        error = refused(self.feed(tmp_path, key), duck[1], 1, changes(("insert", 1, 10), (kind, 2, 20)))
        assert f"known _change_type: {told} (1 row)" in error.message
        assert str(error.place).endswith("part-1.parquet")


def test_updates_are_paired_by_key(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = room_of(tmp_path, changes="feed", key="k")
    arrive(room, duck[1], 1, changes(("insert", 1, 10), ("insert", 2, 20)))
    error = refused(room, duck[1], 2, changes(("update_preimage", 1, 10), ("update_postimage", 3, 10)))
    assert "k=1 (1 update_preimage without update_postimage)" in error.message
    assert "k=3 (1 update_postimage without update_preimage)" in error.message


def test_a_feed_of_inserts_needs_no_look_at_earlier_rows(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = room_of(tmp_path, changes="feed")
    arrive(room, duck[1], 1, changes(("insert", 1, 10)))
    manifest = arrive(room, duck[1], 2, changes(("insert", 1, 10)))
    assert "check_t" not in program(duck[0])
    assert checks(manifest) == ["check_t_2"]
    assert room.answer() == [(1, 20)]


def test_every_run_of_a_feed_is_checked_by_itself(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    """Also where what was checked is lost: the order of runs counts, as if they were checked one by one."""
    room = room_of(tmp_path, changes="feed", check="trust")
    arrive(room, duck[1], 1, changes(("delete", 3, 30), ("insert", 1, 10)))
    room.sources = {"t": {"changes": "feed"}}
    room.write()
    error = refused(room, duck[1], 2, changes(("insert", 3, 30)))
    assert "k=3, v=30" in error.message
    assert str(error.place).endswith("part-1.parquet")


# --- trust -----------------------------------------------------------------------------------------------------------


def test_a_source_that_is_trusted(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = room_of(tmp_path, key="k", check="trust")
    heard = Heard()
    manifest = arrive(room, duck[1], 1, numbers((1, 10), (1, 20)), heard)
    note = "source `t`: not null (k), key (k) trusted, not checked"
    assert heard.notes == [note]
    assert manifest.trusted == (note,)
    assert not checks(manifest)
    assert "check_t" not in program(duck[0])


def test_trust_may_change_within_a_cycle(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = room_of(tmp_path, key="k", check="trust")
    arrive(room, duck[1], 1, numbers((1, 10)))
    room.sources = {"t": {"key": "k"}}
    room.write()
    assert checks(arrive(room, duck[1], 2, numbers((2, 10)))) == ["check_t_2"]


# --- accounts --------------------------------------------------------------------------------------------------------


def test_a_check_is_a_line_among_the_steps(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = room_of(tmp_path, key="k")
    heard = Heard()
    manifest = arrive(room, duck[1], 1, numbers((1, 10), (2, 20)), heard)
    first, *_ = manifest.steps
    assert (first.name, first.purpose, first.rows) == ("check_t_1", "check", 2)
    assert first.meaning == "t: not null (k), key (k)"
    assert first.expected_cpu_s is not None
    assert first.expected_cpu_s > 0
    assert first.measured["wall_s"] is not None
    assert first.subject is None
    assert not first.bill
    assert heard.steps[0] == "check_t_1"


def test_the_program_of_a_run_has_its_checks(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = room_of(tmp_path, key="k")
    arrive(room, duck[1], 1, numbers((1, 10)))
    room.bring("t", "part-2.parquet", numbers((1, 10)))
    assert "-- check: t: not null (k), key (k); no row is to be returned" in room.job(duck[1]).work().program()


def test_a_run_with_nothing_else_to_do_checks_what_arrived(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = Room(
        tmp_path / "room",
        BY_KEY,
        arrivals=({"t": ()},),
        sources={"t": {"key": "k"}},
        settings={"deliver": "final", "refresh": "full"},
    )
    manifest = arrive(room, duck[1], 1, numbers((1, 10)))
    assert [step.name for step in manifest.steps] == ["check_t_1"]
    assert not list(room.state.glob("cycle-1/data/*"))
    refused(room, duck[1], 2, numbers((1, 10)))


def test_checks_are_no_steps_of_a_plan(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    """Neither what days have counted nor prices nor surprises nor regret take notice of them."""
    room = room_of(tmp_path, key="k")
    manifest = arrive(room, duck[1], 1, numbers((1, 10), (2, 20)))
    (check,) = (step for step in manifest.steps if step.purpose == CHECK)
    with_costs = [step.model_copy(update={"measured": {"cpu_s": 3.0}}) for step in manifest.steps]
    costly = manifest.model_copy(update={"steps": tuple(with_costs), "total": {"cpu_s": 3.0 * len(with_costs)}})
    assert costly.planned_cpu_s == 3.0 * (len(with_costs) - 1)
    assert not list(observations(manifest.model_copy(update={"steps": (check,)})))
    assert not list(surprising_states([check.model_copy(update={"expected_rows": 1e9})], 3.0))
    (day,) = history_of(room.job().store)
    assert len(day.counts) == len([step for step in manifest.steps if step.subject is not None])


def test_what_will_be_checked_and_for_how_much(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    arrives = {"10:00": 10_000_000, "14:00": 1_000_000, "24:00": 1_000_000}
    room = room_of(tmp_path, key="k", expect={"arrives": arrives})
    room.bring("t", "part-1.parquet", numbers((1, 10)))
    job = room.job(duck[1])
    promised = job.promised(job.planned())
    (check,) = promised.checks
    assert check.promises == ("not null (k)", "key (k)")
    first, second, third = check.cpu_s
    assert first > third > second > 0  # the last looks up among the most rows
    (line,) = promised.lines()
    assert line.startswith("source `t`: not null (k), key (k) checked at each run: up to ")
    assert "s CPU at 24:00" in line
    job.run()
    assert room.job(duck[1]).promised() == promised


def test_a_plan_says_what_is_trusted(tmp_path: Path, duck: tuple[Duck, Session]) -> None:
    room = room_of(tmp_path, key="k", check="trust")
    arrive(room, duck[1], 1, numbers((1, 10)))
    note = "source `t`: not null (k), key (k) trusted, not checked"
    job = room.job(duck[1])
    assert job.promised().lines() == [note]
    assert job.status().trusted == (note,)
    assert note in _text(StatusReport("t", job.status(), job.store.answer_directories))
    assert note in _text(PlanReport(job.plan(), promised=job.promised()))


def _text(report: Report) -> str:
    console = Console(width=200, record=True, file=StringIO())
    console.print(report.as_text())
    return console.export_text()
