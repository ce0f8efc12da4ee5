"""An interrupted run (Ctrl-C, SIGTERM) reports whether it is committed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from slackwater.errors import StateError
from slackwater.job.store.cycle_directory import Cycle


class Interrupted(KeyboardInterrupt):
    """An interrupt, with what it leaves."""


@contextmanager
def interrupts_say(what: str) -> Iterator[None]:
    """An interrupt in the block says this, unless it says something already."""
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt as interrupt:
        raise Interrupted(f"interrupted; {what}") from interrupt


@contextmanager
def interrupts_say_if_committed(cycle: Cycle, run: int) -> Iterator[None]:
    """An interrupt in the block says whether a run is committed."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        what = f"run {run} is committed" if _is_ours(cycle, run) else f"nothing of run {run} was committed"
        raise Interrupted(f"interrupted; {what}") from interrupt


def _is_ours(cycle: Cycle, run: int) -> bool:
    with suppress(StateError):
        manifest = cycle.manifest(run)
        return manifest is not None and manifest.fence == cycle.fence
    return False
