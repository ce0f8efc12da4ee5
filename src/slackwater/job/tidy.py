"""What a job can do without: leftovers of interrupted runs, spent states, answers that were replaced."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slackwater.job.store import Store


@dataclass(frozen=True)
class Cleaned:
    """What `clean` has removed, or would."""

    paths: tuple[Path, ...]
    bytes: int


def all_of(store: Store) -> list[Path]:
    kept = [cycle.directory for cycle in store.cycles()]
    return [*kept, *store.leftovers(), *_replaced(store), store.statistics_file]


def spent(store: Store) -> list[Path]:
    """States that no later run of their cycle reads, and answers that are no longer shown."""
    found: list[Path] = []
    current = store.current()
    for cycle in store.cycles():
        manifests = cycle.manifests()
        done = max((m.run for m in manifests), default=0)
        plan = cycle.plan()
        over = current is None or cycle.number != current.number or done == len(plan.times)
        read = set() if over else {name for step in plan.steps if step.run > done for name in step.reads()}
        states = {name: state for m in manifests for name, state in m.states.items()}
        needed = {part for name, state in states.items() if name in read for part in state.parts}
        parts = {part for m in manifests for state in m.states.values() for part in state.parts}
        found += [store.state / part for part in sorted(parts - needed)]
    return [*found, *_replaced(store)]


def _replaced(store: Store) -> list[Path]:
    shown = store.output.resolve() if store.output.is_symlink() else None
    if not store.answers.is_dir():
        return []
    return [path for path in sorted(store.answers.iterdir()) if path.resolve() != shown]


def size_of(path: Path) -> int:
    """The bytes of a file or of all files of a directory."""
    return sum(f.lstat().st_size for f in path.rglob("*") if f.is_file()) if path.is_dir() else path.lstat().st_size
