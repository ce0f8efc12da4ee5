"""Files of a job that are missing, cut off or changed, and a disk that is full: named, and mended where they can be."""

from __future__ import annotations

import errno
import os
import resource
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest
from tests.job.duck import without_spark
from tests.job.room import THREE_ARRIVALS, Heard, Room, expected
from tests.job.running.test_work import runs, state_files

from slackwater.errors import StateError, UserError
from slackwater.job.running.damage import is_sound
from slackwater.job.store.commit import commit
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.manifest import Manifest, write_record
from slackwater.spark.session import Session


@pytest.fixture
def session() -> Iterator[Session]:
    with without_spark() as (_, spark):
        yield spark


@pytest.fixture
def room(tmp_path: Path, session: Session) -> Room:
    """A job after two runs, its third arrival there."""
    job_room = Room(tmp_path / "room")
    runs(job_room, session, 1, 2)
    job_room.arrive(3)
    return job_room


def cycle_of(room: Room) -> Cycle:
    cycle = room.job().store.current()
    assert cycle is not None
    return cycle


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path, position: int | None = None) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if position is None else position] ^= 64
    path.write_bytes(bytes(content))


DAMAGES: list[Callable[[Path], object]] = [Path.unlink, cut, flip, lambda path: path.write_bytes(b"")]


@pytest.mark.parametrize("harm", DAMAGES)
def test_a_manifest(room: Room, session: Session, harm: Callable[[Path], object]) -> None:
    """The run is done again from its pins, whichever it was; what later runs say stands."""
    for run in (1, 2):
        path = cycle_of(room).manifest_file(run)
        harm(path)
        if path.exists():
            status = room.job().status().runs[run - 1]
            assert str(path) in status.damaged
            with pytest.raises(StateError, match="this file is damaged"):
                room.job().work()
        heard = Heard()
        done = room.job(session).run(run, progress=heard)
        assert [manifest.run for manifest in done] == [run]
        assert bool(heard.notes) == (harm is not Path.unlink)
        assert room.answer() == expected(THREE_ARRIVALS[:2])
    runs(room, session, 3)
    assert room.answer() == expected(THREE_ARRIVALS)
    room.job().clean()
    assert room.answer() == expected(THREE_ARRIVALS)


@pytest.mark.parametrize("harm", DAMAGES)
def test_pins_of_a_committed_run_are_in_its_manifest_too(
    room: Room, session: Session, harm: Callable[[Path], object]
) -> None:
    harm(cycle_of(room).pins_file(1))
    following = room.job().status().next
    assert following is not None
    assert following.run == 3
    assert room.job().status().waiting == {"sales": 1, "returns": 1}
    runs(room, session, 3)
    assert room.answer() == expected(THREE_ARRIVALS)


@pytest.mark.parametrize("harm", DAMAGES)
def test_pins_and_manifest(room: Room, session: Session, harm: Callable[[Path], object]) -> None:
    cycle = cycle_of(room)
    harm(cycle.pins_file(1))
    flip(cycle.manifest_file(1))
    with pytest.raises(StateError, match="this file is") as raised:
        room.job(session).run()
    assert str(raised.value.place) == str(cycle.pins_file(1))
    assert "the inputs of that run are not known" in str(raised.value.hint)
    room.job(session).run(new_cycle=True, all=True)
    assert room.answer() == expected(THREE_ARRIVALS)


@pytest.mark.parametrize("harm", DAMAGES)
def test_pins_of_a_run_that_is_not_committed(room: Room, session: Session, harm: Callable[[Path], object]) -> None:
    with (
        patch("slackwater.job.running.execution.execute", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        room.job(session).run()
    path = cycle_of(room).pins_file(3)
    harm(path)
    heard = Heard()
    room.job(session).run(progress=heard)
    assert [str(path) in note for note in heard.notes] == ([] if harm is Path.unlink else [True])
    assert room.answer() == expected(THREE_ARRIVALS)


@pytest.mark.parametrize("name", ["plan.json", "cycle.json"])
@pytest.mark.parametrize("harm", DAMAGES)
def test_the_plan_and_the_record_of_a_cycle(
    room: Room, session: Session, harm: Callable[[Path], object], name: str
) -> None:
    path = cycle_of(room).directory / name
    harm(path)
    with pytest.raises(StateError) as raised:
        room.job(session).run()
    assert str(raised.value.place) == str(path)
    assert "--new-cycle" in str(raised.value.hint)
    assert room.answer() == expected(THREE_ARRIVALS[:2])
    room.job(session).run(new_cycle=True, all=True)
    assert room.answer() == expected(THREE_ARRIVALS)
    room.job().clean()
    room.job().history()
    assert room.answer() == expected(THREE_ARRIVALS)


@pytest.mark.parametrize("harm", DAMAGES)
def test_counted_columns_are_counted_again(room: Room, session: Session, harm: Callable[[Path], object]) -> None:
    harm(room.state / "statistics.json")
    room.job(session).run(new_cycle=True, all=True)
    assert room.answer() == expected(THREE_ARRIVALS)


@pytest.mark.parametrize("harm", DAMAGES)
def test_a_state(room: Room, session: Session, harm: Callable[[Path], object]) -> None:
    (path,) = state_files(room, "sales_returns_partial_v2")
    harm(path)
    heard = Heard()
    room.job(session).run(progress=heard)
    assert room.answer() == expected(THREE_ARRIVALS)
    assert [str(path) in note for note in heard.notes] == [True]


def test_a_state_replaced_by_another_of_the_same_length(room: Room, session: Session) -> None:
    """Whole as a parquet file, and not what the run wrote."""
    (path,) = state_files(room, "sales_returns_partial_v2")
    table = pq.ParquetFile(path).read()
    length = path.stat().st_size
    pq.write_table(table.take(list(range(table.num_rows))[::-1]), path)
    assert path.stat().st_size == length
    heard = Heard()
    room.job(session).run(progress=heard)
    assert [str(path) in note for note in heard.notes] == [True]
    assert room.answer() == expected(THREE_ARRIVALS)


def test_files_beside_those_of_a_state_are_not_read(room: Room, session: Session) -> None:
    (path,) = state_files(room, "sales_returns_partial_v2")
    other = path.with_name("part-00001.parquet")
    other.write_bytes(path.read_bytes())
    heard = Heard()
    room.job(session).run(progress=heard)
    note = f"{other}: this file does not belong to state sales_returns_partial_v2 and is not read; remove it"
    assert heard.notes == [note]
    assert room.answer() == expected(THREE_ARRIVALS)


def without_checksums(room: Room) -> None:
    """Rewrites the manifests as older versions wrote them."""
    for run in (1, 2):
        path = cycle_of(room).manifest_file(run)
        manifest = cycle_of(room).manifest(run)
        assert manifest is not None
        states = {
            name: state.model_copy(
                update={"files": tuple(f.model_copy(update={"checksum": None}) for f in state.files)}
            )
            for name, state in manifest.states.items()
        }
        path.unlink()
        write_record(path, manifest.model_copy(update={"states": states}))


def test_manifests_of_older_versions_have_no_checksums(room: Room, session: Session) -> None:
    without_checksums(room)
    heard = Heard()
    room.job(session).run(progress=heard)
    assert heard.notes == []
    assert room.answer() == expected(THREE_ARRIVALS)


def test_states_that_turn_out_to_be_damaged_one_after_the_other(room: Room, session: Session) -> None:
    """They look whole, and the second is only read because the first must be computed again."""
    without_checksums(room)
    paths = [state_files(room, f"sales_returns_partial_v{run}")[0] for run in (2, 1)]
    for path in paths:
        path.write_bytes(b"PAR1" + b"\0" * (path.stat().st_size - 4))
    heard = Heard()
    room.job(session).run(progress=heard)
    assert room.answer() == expected(THREE_ARRIVALS)
    assert str(paths[0]) in heard.notes[0]
    assert str(paths[1]) in heard.notes[1]
    assert not [p for p in room.job().clean(dry_run=True).paths if p.name.startswith("3-")]


def test_an_error_that_no_state_is_to_blame_for_stands(room: Room, session: Session) -> None:
    with (
        patch("slackwater.job.running.execution.execute", side_effect=UserError("no")),
        pytest.raises(UserError, match="no"),
    ):
        room.job(session).run()


def test_soundness_is_told_by_pages_and_by_hadoops_checksums(room: Room) -> None:
    (path,) = state_files(room, "sales_returns_partial_v2")
    assert is_sound(path)
    checksums = path.with_name(f".{path.name}.crc")
    content = path.read_bytes()
    chunks = [zlib.crc32(content[at : at + 512]) for at in range(0, len(content), 512)]
    checksums.write_bytes(b"crc\0" + struct.pack(f">I{len(chunks)}I", 512, *chunks))
    assert is_sound(path)
    for position in range(0, len(content), 97):
        flip(path, position)
        assert not is_sound(path)
        path.write_bytes(content)
    checksums.write_bytes(b"crc")
    assert not is_sound(path)


# --- a full disk -----------------------------------------------------------------------------------------------------


def test_every_write_may_find_the_disk_full(tmp_path: Path) -> None:
    """Each draft in turn cannot be written: a clear error, the answer as it was, and the next run goes on."""
    sync = os.fsync
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    for fatal in range(1, 20):
        room = Room(tmp_path / str(fatal))
        left = fatal

        def limited(descriptor: int) -> None:
            nonlocal left
            left -= not os.path.isdir(f"/proc/self/fd/{descriptor}")  # noqa: PTH112
            if left == 0:
                raise full
            sync(descriptor)

        with without_spark() as (_, session):
            room.arrive(1)
            error: StateError | None = None
            with patch("os.fsync", limited):
                try:
                    room.job(session).run()
                except StateError as raised:
                    error = raised
            if error is None:
                assert fatal > 4
                return
            assert error.message.endswith(": No space left on device")
            assert str(error.place).startswith((str(room.state), str(room.output.parent)))
            assert room.answer() is None
            assert not list(room.output.parent.glob(".answer/*"))
            assert not list(room.state.rglob("*.draft"))
            assert not list(room.state.glob("cycle-1/data/*"))
            runs(room, session, 1)
            assert room.answer() == expected(THREE_ARRIVALS[:1])
    raise AssertionError("there should have been an end to it")


def test_files_may_not_grow(room: Room, session: Session) -> None:
    """The system itself refuses: a limit on the size of files, lower than that of a manifest."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    manifest = cycle_of(room).manifest_file(3)

    def write_little(cycle: Cycle, manifest: Manifest, before: bytes | None) -> Manifest:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, hard))
        return commit(cycle, manifest, before)

    try:
        with patch("slackwater.job.running.runner.commit", write_little), pytest.raises(StateError) as raised:
            room.job(session).run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert raised.value.message == "cannot be written: File too large"
    assert str(raised.value.place) == str(manifest)
    assert not manifest.exists()
    assert room.answer() == expected(THREE_ARRIVALS[:2])
    runs(room, session, 3)
    assert room.answer() == expected(THREE_ARRIVALS)
