"""Jobs of several queries, on DuckDB: what they have in common is computed once, and a run commits all its answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.job.crashing import live
from tests.job.duck import without_spark
from tests.job.room import (
    BUSY,
    BY_TEXT,
    SALES_AND_RETURNS,
    THREE_ARRIVALS,
    Arrival,
    Heard,
    Room,
    Row,
    expected,
    several,
)
from tests.job.running.test_work import runs, state_files
from tests.job.test_crash import lived

from slackwater.errors import UserError
from slackwater.job.store.manifest import checksum_of
from slackwater.plan.plan import Purpose
from slackwater.spark.session import Session

TWO = several(gross=SALES_AND_RETURNS, busy=BUSY)
MIXED = several(gross={"query": SALES_AND_RETURNS, "deliver": "final"}, busy=BUSY)


@pytest.fixture
def session() -> Iterator[Session]:
    with without_spark() as (_, spark):
        yield spark


def busy(arrivals: Sequence[Arrival]) -> list[Row]:
    """The answer of `BUSY`."""
    return [row for row in expected(arrivals) if isinstance(row[2], int) and row[2] > 2]


def by_text(arrivals: Sequence[Arrival]) -> list[Row]:
    """The answer of `BY_TEXT`."""
    sums: dict[str, tuple[int, int]] = {}
    for row in (row for arrival in arrivals for row in arrival.get("sales", ())):
        gross, count = sums.get(str(row["cat"]), (0, 0))
        sums[str(row["cat"])] = gross + 3 * int(str(row["price"])), count + 2
    return sorted((cat, *numbers) for cat, numbers in sums.items())


def answers(room: Room) -> dict[str, list[Row] | None]:
    return {name: room.answer(name) for name in room.config().queries}


# --- a day -----------------------------------------------------------------------------------------------------------


def test_what_both_read_is_computed_once(tmp_path: Path, session: Session) -> None:
    room = Room(tmp_path / "room", settings=TWO)
    room.arrive(1)
    plan = room.job(session).plan()
    alone = Room(tmp_path / "alone")
    alone.arrive(1)
    assert [step.name for step in plan.states] == [step.name for step in alone.job(session).plan().states]
    assert {plan.serves(state) for state in plan.states} == {("gross", "busy")}
    for run in plan.runs:  # one step a run reads the sources; the answers read what it left
        steps = plan.run(run)
        sourced = [step.name for step in steps if any("__" in name for name in step.reads())]
        assert len(sourced) == 1, [(step.name, step.reads()) for step in steps]
        assert [step.answers for step in steps if step.purpose is Purpose.OUTPUT] == ["gross", "busy"]


def test_every_run_delivers_both(tmp_path: Path, session: Session) -> None:
    room = Room(tmp_path / "room", settings=TWO)
    for run in (1, 2, 3):
        (manifest,) = runs(room, session, run)
        assert answers(room) == {"gross": expected(THREE_ARRIVALS[:run]), "busy": busy(THREE_ARRIVALS[:run])}
        assert list(manifest.answers) == ["gross", "busy"]
        assert manifest.output is None
    assert room.job(session).run() == []
    room.job(session).clean()
    assert answers(room) == {"gross": expected(THREE_ARRIVALS), "busy": busy(THREE_ARRIVALS)}
    assert room.job(session).clean(dry_run=True).paths == ()
    assert len(room.job().history()) == 3


def test_each_is_delivered_when_it_is_due(tmp_path: Path, session: Session) -> None:
    room = Room(tmp_path / "room", settings=MIXED)
    due = [run.due for run in room.job(session).status().runs]
    assert due == [("busy",), ("busy",), ("gross", "busy")]
    for run in (1, 2):
        (manifest,) = runs(room, session, run)
        assert list(manifest.answers) == ["busy"]
        assert answers(room) == {"gross": None, "busy": busy(THREE_ARRIVALS[:run])}
    runs(room, session, 3)
    assert answers(room) == {"gross": expected(THREE_ARRIVALS), "busy": busy(THREE_ARRIVALS)}


def test_where_nothing_arrived_each_answer_stays_or_is_made_of_what_is_kept(tmp_path: Path, session: Session) -> None:
    room = Room(tmp_path / "room", settings=MIXED)
    runs(room, session, 1)
    shown = room.output_of("busy").readlink()
    (second,) = room.job(None).run()  # without a session: one would have to be started
    assert second.note == "nothing arrived, nothing to compute"
    (third,) = room.job(session).run()
    assert third.answers["busy"].made_at == 1
    assert third.answers["gross"].made_at == 3
    assert room.output_of("busy").readlink() == shown
    assert answers(room) == {"gross": expected(THREE_ARRIVALS[:1]), "busy": busy(THREE_ARRIVALS[:1])}


# --- queries by their text -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refresh", ["auto", "incremental", "full"])
def test_one_that_cannot_be_taken_apart_does_not_keep_others_from_being_planned(
    tmp_path: Path, session: Session, refresh: str
) -> None:
    settings = {**several(gross=SALES_AND_RETURNS, text=BY_TEXT, busy=BUSY), "refresh": refresh}
    room = Room(tmp_path / "room", settings=settings)
    heard = Heard()
    room.arrive(1)
    room.job(session).run(progress=heard)
    (note,) = heard.notes
    assert note.startswith("query text: computed from scratch at every delivery: query text, line 1")
    plan = room.job(session).plan()
    assert bool(plan.states) is (refresh != "full")
    assert {query for state in plan.states for query in plan.serves(state)} <= {"gross", "busy"}
    runs(room, session, 2, 3)
    assert answers(room) == {
        "gross": expected(THREE_ARRIVALS),
        "text": by_text(THREE_ARRIVALS),
        "busy": busy(THREE_ARRIVALS),
    }
    program = room.job(session).work(3).program()
    assert "VIEW query_text__v3 AS" in program
    assert ("VIEW query_gross__v3 AS" in program) is (refresh == "full")


def test_none_that_can_be_taken_apart(tmp_path: Path, session: Session) -> None:
    room = Room(tmp_path / "room", settings=several(one=BY_TEXT, other=BY_TEXT))
    assert runs(room, session, 1, 2)[1].answers.keys() == {"one", "other"}
    assert answers(room) == {"one": by_text(THREE_ARRIVALS[:2]), "other": by_text(THREE_ARRIVALS[:2])}


def test_where_nothing_early_pays_all_go_by_their_text(tmp_path: Path, session: Session) -> None:
    room = Room(tmp_path / "room", settings={**TWO, "refresh": "auto", "deliver": "final"}, sources={})
    heard = Heard()
    room.arrive(1)
    room.job(session).run(progress=heard)
    why = "computed from scratch at every delivery: nothing that an early run could do pays"
    assert heard.notes == [f"query gross: {why}", f"query busy: {why}"]
    runs(room, session, 2, 3)
    assert answers(room) == {"gross": expected(THREE_ARRIVALS), "busy": busy(THREE_ARRIVALS)}


WINDOW = "SELECT cat, price AS gross, row_number() OVER (ORDER BY price) AS n FROM sales"


@pytest.mark.parametrize(
    "query, message",
    [(BY_TEXT, "query wrong: not incremental: "), (WINDOW, "query wrong: not incremental: window over sales")],
)
def test_strict_names_the_query(tmp_path: Path, session: Session, query: str, message: str) -> None:
    settings = {**several(gross=SALES_AND_RETURNS, wrong=query), "refresh": "incremental strict"}
    room = Room(tmp_path / "room", settings=settings)
    room.arrive(1)
    with pytest.raises(UserError) as raised:
        room.job(session).run()
    assert raised.value.message.startswith(message)
    assert not list(room.state.glob("cycle-*"))


# --- what goes wrong -------------------------------------------------------------------------------------------------


def test_a_job_whose_queries_have_changed_is_refused_by_what_has(tmp_path: Path, session: Session) -> None:
    room = Room(tmp_path / "room", settings=TWO)
    runs(room, session, 1)
    for changed, words in (
        (several(gross=SALES_AND_RETURNS, busy=f"{BUSY} OR count(*) > 9"), "query busy"),
        (several(gross=SALES_AND_RETURNS), "query busy, deliver busy, output busy"),
        (several(gross={"query": SALES_AND_RETURNS, "output": {"path": "out/x"}}, busy=BUSY), "output gross"),
    ):
        room.write(**changed)
        with pytest.raises(UserError) as raised:
            room.job(session).run()
        assert raised.value.message == f"the job has changed since cycle 1 began: {words}"
    room.write(**several(gross=SALES_AND_RETURNS))
    room.job(session).run(new_cycle=True, all=True)
    room.job().clean()
    assert answers(room) == {"gross": expected(THREE_ARRIVALS[:1])}
    assert room.answer("busy") == busy(THREE_ARRIVALS[:1]), "what is no longer the job's is left alone"


@pytest.mark.parametrize("lost", ["gross", "busy"])
def test_an_answer_that_is_lost_is_computed_again(tmp_path: Path, session: Session, lost: str) -> None:
    room = Room(tmp_path / "room", settings=TWO)
    runs(room, session, 1, 2)
    (room.output_of(lost) / "part-00000.parquet").unlink()
    heard = Heard()
    done = room.job(session).run("14:00", progress=heard)
    assert [manifest.run for manifest in done] == [2]
    assert f"/.{lost}/1-2-" in heard.notes[0]
    assert answers(room) == {"gross": expected(THREE_ARRIVALS[:2]), "busy": busy(THREE_ARRIVALS[:2])}
    runs(room, session, 3)
    assert answers(room) == {"gross": expected(THREE_ARRIVALS), "busy": busy(THREE_ARRIVALS)}


def test_a_lost_state_is_computed_again_for_both(tmp_path: Path, session: Session) -> None:
    room = Room(tmp_path / "room", settings=TWO)
    runs(room, session, 1, 2)
    for path in state_files(room, "*"):
        path.unlink()
    (manifest,) = runs(room, session, 3)
    assert any(step.recomputed for step in manifest.steps)
    assert answers(room) == {"gross": expected(THREE_ARRIVALS), "busy": busy(THREE_ARRIVALS)}


def test_a_run_that_fails_leaves_no_answer_of_any_query(tmp_path: Path, session: Session) -> None:
    class Failing(Heard):
        def step_begins(self, name: str) -> None:
            if name == "output_busy_2":
                raise ZeroDivisionError

    room = Room(tmp_path / "room", settings=TWO)
    runs(room, session, 1)
    room.arrive(2)
    with pytest.raises(ZeroDivisionError):
        room.job(session).run(progress=Failing())
    for name in ("gross", "busy"):
        assert [path.name[:4] for path in (room.output_of(name).parent / f".{name}").iterdir()] == ["1-1-"]
    assert answers(room) == {"gross": expected(THREE_ARRIVALS[:1]), "busy": busy(THREE_ARRIVALS[:1])}
    runs(room, session, 2)
    assert answers(room) == {"gross": expected(THREE_ARRIVALS[:2]), "busy": busy(THREE_ARRIVALS[:2])}


def test_an_output_that_is_taken_is_refused_before_anything_is_done(tmp_path: Path, session: Session) -> None:
    room = Room(tmp_path / "room", settings=TWO)
    room.output_of("busy").mkdir(parents=True)
    room.arrive(1)
    with pytest.raises(UserError, match="Slackwater did not write") as raised:
        room.job(session).run()
    assert str(raised.value.place) == str(room.output_of("busy"))
    assert not list(room.state.glob("cycle-*"))


def test_which_query(tmp_path: Path) -> None:
    job = Room(tmp_path / "room", settings=TWO).job()
    with pytest.raises(UserError, match="this job has several queries") as raised:
        job.verify()
    assert raised.value.hint == "name one of gross, busy"
    with pytest.raises(UserError, match="no query bussy") as raised:
        job.verify(query="bussy")
    assert raised.value.hint == "did you mean `busy`?"
    with pytest.raises(UserError, match="nothing has been delivered yet"):
        job.verdicts()
    with pytest.raises(UserError, match="no query gross") as raised:
        Room(tmp_path / "one").job().verify(query="gross")
    assert raised.value.hint == "the job has one query, and that has no name"


# --- killed between two publications ---------------------------------------------------------------------------------


def test_killed_between_two_publications(tmp_path: Path) -> None:
    """Before a link is turned, and after: whoever reads sees a whole answer, and the next run goes on."""
    directory = tmp_path / "undisturbed"
    Room(directory, settings=TWO)
    seen = lived(directory, None)
    assert seen is not None
    links = ("os.symlink /out/", "os.rename /out/gross", "os.rename /out/busy")
    fatal = [n for n, moment in enumerate(seen) if moment.startswith(links)]
    turned = [seen[n].rpartition("/")[2] for n in fatal if seen[n].startswith("os.rename")]
    assert turned == ["gross", "busy"] * 3
    for moment in fatal:
        room = Room(tmp_path / str(moment), settings=TWO)
        assert lived(room.directory, moment) is None, "the process should have been killed"
        committed = len(room.job().history())
        for name, answer in (("gross", expected), ("busy", busy)):
            before = answer(THREE_ARRIVALS[: committed - 1]) if committed > 1 else None
            assert room.answer(name) in (answer(THREE_ARRIVALS[:committed]), before), seen[moment]
        with without_spark() as (_, session):
            live(room, session)
        assert answers(room) == {"gross": expected(THREE_ARRIVALS), "busy": busy(THREE_ARRIVALS)}
        assert room.job().clean(dry_run=True).paths == ()


# --- records ---------------------------------------------------------------------------------------------------------


def test_a_cycle_of_one_query_that_was_begun_before_there_could_be_several_goes_on(
    tmp_path: Path, session: Session
) -> None:
    room = Room(tmp_path / "room")
    runs(room, session, 1)
    cycle = room.state / "cycle-1"
    manifest = json.loads((cycle / "run-1.json").read_text(encoding="utf-8"))["record"]
    assert "outputs" not in manifest
    plan = json.loads((cycle / "plan.json").read_text(encoding="utf-8"))
    for step in plan["steps"]:
        assert "answers" not in step
        del step["by"]
    (cycle / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    file = json.loads((cycle / "cycle.json").read_text(encoding="utf-8"))
    del file["record"]["queries"]
    file["record"]["plan"] = checksum_of(json.dumps(plan))
    file["checksum"] = checksum_of(json.dumps(file["record"], sort_keys=True, ensure_ascii=False))
    (cycle / "cycle.json").write_text(json.dumps(file), encoding="utf-8")
    runs(room, session, 2, 3)
    assert room.answer() == expected(THREE_ARRIVALS)
