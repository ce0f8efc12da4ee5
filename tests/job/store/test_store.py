from __future__ import annotations

from pathlib import Path

import pytest
from tests.job.store.test_manifest import a_manifest

from slackwater.errors import StateError
from slackwater.job.cycle.tidy import size_of, spent
from slackwater.job.store.answer_directory import AnswerDirectory
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.cycle_record import CycleRecord, PinsRecord
from slackwater.job.store.manifest import DataFile, OutputRecord, StateRecord, write_record
from slackwater.job.store.removal import remove
from slackwater.job.store.store import Store
from slackwater.plan.plan import ONLY, Plan


@pytest.fixture
def store(tmp_path: Path) -> Store:
    (tmp_path / "out").mkdir()
    return Store(tmp_path / "state", {ONLY: AnswerDirectory(tmp_path / "out" / "[answer]")})


def begun(store: Store, number: int = 1) -> Cycle:
    cycle = store.cycle(number)
    record = CycleRecord(job="room", number=number, started="", fingerprint={}, sources={}, outputs=(), plan="")
    with store.lock:
        cycle.write_record(record)
    return cycle


def data(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "part.parquet").write_text("rows", encoding="utf-8")
    return path


def committed(store: Store, cycle: Cycle, run: int, attempt: str) -> None:
    """A run that has left a state and an answer."""
    part = data(cycle.data / f"{run}-{attempt}" / "sums")
    answer = data(store.answer_directories[ONLY].path / f"{cycle.number}-{run}-{attempt}")
    state = DataFile(path=f"{part.relative_to(store.state)}/part.parquet", size=4, rows=1)
    file = DataFile(path=f"{answer.name}/part.parquet", size=4, rows=1)
    manifest = a_manifest().model_copy(
        update={
            "cycle": cycle.number,
            "run": run,
            "attempt": attempt,
            "states": {f"sums_{run}": StateRecord(files=(state,), made_at=run)},
            "output": OutputRecord(directory=answer.name, files=(file,), made_at=run, rows=1),
        }
    )
    write_record(cycle.manifest_file(run), manifest)


def names(store: Store, paths: list[Path]) -> set[str]:
    return {path.relative_to(store.state.parent).as_posix() for path in paths}


# --- cycles ----------------------------------------------------------------------------------------------------------


def test_a_cycle_begins_with_its_record(store: Store) -> None:
    assert store.cycles() == []
    half = store.cycle(1)
    half.directory.mkdir(parents=True)
    (half.directory / "plan.json").write_text("{", encoding="utf-8")
    assert store.current() is None
    assert store.leftovers() == [half.directory]
    begun(store)
    assert store.current() == half
    begun(store, 10)
    begun(store, 9)
    assert [cycle.number for cycle in store.cycles()] == [1, 9, 10]


def test_a_cycle_that_lost_its_record_is_not_taken_for_none(store: Store) -> None:
    cycle = begun(store)
    write_record(cycle.pins_file(1), PinsRecord(run=1, pinned="", sources={}))
    (cycle.directory / "cycle.json").unlink()
    assert store.current() == cycle
    assert store.leftovers() == []
    with pytest.raises(StateError, match="this file is missing") as raised:
        cycle.record()
    assert str(raised.value.place).endswith("cycle-1/cycle.json")
    assert "--new-cycle" in str(raised.value.hint)


def test_a_plan_is_known_by_its_checksum(store: Store) -> None:
    cycle = begun(store)
    with pytest.raises(StateError, match="cannot be read"):
        cycle.plan()
    for content in (b"{}", b"", b"\xff\xfe"):
        cycle.plan_file.write_bytes(content)
        with pytest.raises(StateError, match="this file is damaged") as raised:
            cycle.plan()
        assert str(raised.value.place) == str(cycle.plan_file)


# --- leftovers -------------------------------------------------------------------------------------------------------


def test_leftovers_are_what_no_manifest_names(store: Store) -> None:
    cycle = begun(store)
    committed(store, cycle, 1, "a")
    assert store.leftovers() == []
    data(cycle.data / "1-a" / "scratch")
    data(cycle.data / "2-b" / "sums")
    data(store.answer_directories[ONLY].path / "1-2-b")
    (cycle.directory / ".run-2.json.77.draft").touch()
    (store.state / ".statistics.json.77.draft").touch()
    (store.state / ".lock.abc.new").touch()
    data(store.state / ".cycle-0.gone")
    (store.answer_directories[ONLY].output.parent / ".[answer].77.link").symlink_to(".[answer]/1-2-b")
    leftovers = store.leftovers()
    assert names(store, leftovers) == {
        "state/cycle-1/data/1-a/scratch",
        "state/cycle-1/data/2-b",
        "out/.[answer]/1-2-b",
        "state/cycle-1/.run-2.json.77.draft",
        "state/.statistics.json.77.draft",
        "state/.lock.abc.new",
        "state/.cycle-0.gone",
        "out/.[answer].77.link",
    }
    assert sum(map(size_of, leftovers)) > 0
    for path in leftovers:
        remove(path)
    assert store.leftovers() == []


def test_the_answer_that_is_shown_is_never_left_over(store: Store) -> None:
    """After `clean --all` no manifest names it."""
    data(store.answer_directories[ONLY].path / "1-3-a")
    data(store.answer_directories[ONLY].path / "1-2-b")
    store.answer_directories[ONLY].publish("1-3-a")
    cycle = begun(store)
    assert store.leftovers() == [store.answer_directories[ONLY].path / "1-2-b"]
    assert store.attempts(cycle, 3) == []


def test_what_a_damaged_manifest_may_name_stays(store: Store) -> None:
    cycle = begun(store)
    committed(store, cycle, 1, "a")
    committed(store, cycle, 2, "b")
    cycle.manifest_file(2).write_text("{", encoding="utf-8")
    assert cycle.damaged() == [2]
    assert [manifest.run for manifest in cycle.readable()] == [1]
    assert store.leftovers() == []
    # In a cycle that is over nobody will ask for it.
    begun(store, 2)
    assert names(store, store.leftovers()) == {"state/cycle-1/data/2-b", "out/.[answer]/1-2-b"}


def test_attempts_at_a_run_that_others_build_on_stay(store: Store) -> None:
    cycle = begun(store)
    committed(store, cycle, 1, "a")
    data(cycle.data / "1-x" / "sums")
    data(cycle.data / "11-x" / "sums")
    data(store.answer_directories[ONLY].path / "1-1-x")
    assert names(store, store.attempts(cycle, 1)) == {"state/cycle-1/data/1-x", "out/.[answer]/1-1-x"}


def test_states_and_answers_of_earlier_cycles_are_spent(store: Store) -> None:
    """Their plans are not asked for."""
    committed(store, begun(store, 1), 1, "a")
    committed(store, begun(store, 2), 1, "b")
    store.answer_directories[ONLY].publish("2-1-b")
    begun(store, 3)
    with pytest.raises(StateError, match="cannot be read"):
        spent(store)
    plan = Plan(("1", "2"), (), (0.0, 0.0), (0.0, 0.0), "", 0.0, 0.0, ())
    cycle = store.cycle(4)
    with store.lock:
        record = store.cycle(3).record().model_copy(update={"plan": cycle.write_plan(plan)})
        cycle.write_record(record)
    paths = names(store, spent(store))
    assert paths == {"state/cycle-1/data/1-a/sums", "state/cycle-2/data/1-b/sums", "out/.[answer]/1-1-a"}


def test_the_answer_of_an_interrupted_run_is_kept(store: Store) -> None:
    cycle = begun(store)
    committed(store, cycle, 1, "a")
    store.answer_directories[ONLY].publish("1-1-a")
    committed(store, cycle, 2, "b")
    last = store.last_delivered(ONLY)
    assert last is not None
    assert last.directory == "1-2-b"
    assert store.answer_directories[ONLY].holds(last)
    (store.answer_directories[ONLY].path / "1-2-b" / "part.parquet").write_text("row", encoding="utf-8")
    assert not store.answer_directories[ONLY].holds(last)
