"""What a job can do without: leftovers of interrupted runs, spent states, answers that were replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slackwater.job.inputs.changelogs import is_changelog
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.manifest import Manifest
from slackwater.job.store.store import Store


@dataclass(frozen=True)
class Cleaned:
    """What `clean` has removed, or would."""

    paths: tuple[Path, ...]
    bytes: int


def all_of(store: Store) -> list[Path]:
    """States, plans and history, and whatever else is not the last answer of a query."""
    cycles = [cycle.directory for cycle in store.cycles()]
    others = [path for path in store.leftovers() if not any(path.is_relative_to(cycle) for cycle in cycles)]
    kept = (store.statistics_file, store.rows_file, store.promises_file, store.prices_file)
    return [*cycles, *others, *_replaced(store), *kept]


def spent(store: Store) -> list[Path]:
    """States that no later run of their cycle reads, and answers that are no longer shown."""
    paths: list[Path] = []
    current = store.current()
    for cycle in store.cycles():
        manifests = cycle.readable()
        read = _still_read(cycle, manifests) if cycle == current else set()
        states = {name: state for m in manifests for name, state in m.states.items()}
        needed = {part for name, state in states.items() if name in read for part in state.parts}
        parts = {part for m in manifests for state in m.states.values() for part in state.parts}
        paths += [store.state / part for part in sorted(parts - needed)]
    return [*paths, *_replaced(store)]


def _still_read(cycle: Cycle, manifests: Sequence[Manifest]) -> set[str]:
    """What the runs read that are still to be done, or to be done again because their manifest is damaged."""
    plan = cycle.plan()
    left = set(plan.runs) - {manifest.run for manifest in manifests}
    read = {name for step in plan.steps if step.run in left for name in step.reads()}
    logs = {name for manifest in manifests for name in manifest.states if is_changelog(name)}
    return read | logs if left else read


def _replaced(store: Store) -> list[Path]:
    """Answers that are not shown, nor about to be: that of the last run, should it have been interrupted."""
    paths: list[Path] = []
    for query, directory in store.answer_directories.items():
        last = store.last_delivered(query)
        kept = {directory.shown, directory.path / last.directory if last is not None else None}
        paths += [path for path in directory.listed() if path not in kept]
    return paths


def emptied(store: Store) -> list[Path]:
    """Directories of runs in which nothing is left."""
    attempts = [path for cycle in store.cycles() for path in cycle.attempts()]
    return [path for path in attempts if path.is_dir() and not any(path.iterdir())]


def size_of(path: Path) -> int:
    """The bytes of a file or of all files of a directory."""
    if path.is_symlink() or not path.is_dir():
        return path.lstat().st_size
    return sum(f.lstat().st_size for f in path.rglob("*") if f.is_file())
