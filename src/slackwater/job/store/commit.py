"""The commit of a run: its manifest is created, never replaced.

If two processes work on the same run, because one has lost the lock and does not know it yet, one commits it and the
other is refused. If a run is repeated, because its manifest is damaged or its answer is lost, the manifest that existed
when the work began is set aside first; any other manifest is left alone.
"""

from __future__ import annotations

from pathlib import Path

from slackwater.errors import Place, StateError
from slackwater.job.store.cycle_directory import ASIDE, Cycle
from slackwater.job.store.disk import create_text, draft_of
from slackwater.job.store.manifest import Manifest, record_text


def standing(cycle: Cycle, run: int) -> bytes | None:
    """What lies where the manifest of a run belongs: nothing, or what the run replaces when it is done again."""
    path = cycle.manifest_file(run)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"cannot be read: {error.strerror}", place=Place(str(path))) from None


def commit(cycle: Cycle, manifest: Manifest, before: bytes | None) -> Manifest:
    """Commits a run, if the lock is still ours and nobody has committed it since `before` lay there."""
    path = cycle.manifest_file(manifest.run)
    with cycle.changing():
        committed = manifest.model_copy(update={"fence": cycle.fence})
        if standing(cycle, manifest.run) != before:
            raise _taken(path, manifest)
        if before is not None:
            _set_aside(path)
        if not create_text(path, record_text(committed)):
            raise _taken(path, manifest)
    return committed


def _set_aside(path: Path) -> None:
    """A crash after this leaves a run that is not committed; it was to be done again anyway."""
    try:
        path.rename(draft_of(path, ASIDE.lstrip(".")))
    except OSError as error:
        raise StateError(f"cannot be set aside: {error.strerror}", place=Place(str(path))) from None


def _taken(path: Path, manifest: Manifest) -> StateError:
    return StateError(
        f"another process has committed run {manifest.run} of cycle {manifest.cycle} in the meantime",
        place=Place(str(path)),
        hint="this attempt was discarded; `slackwater status` shows the state of the job",
    )
