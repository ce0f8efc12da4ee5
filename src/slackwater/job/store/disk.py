"""Atomic writes: a file appears complete or not at all, and replaces another only where that is intended."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

from slackwater.errors import Place, StateError

_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
"""What file systems say that have no links."""


def draft_of(path: Path, suffix: str) -> Path:
    """A hidden name beside a path, which no other process and no other machine uses."""
    return path.with_name(f".{path.name}.{os.getpid()}-{uuid4().hex[:8]}.{suffix}")


def write_text(path: Path, text: str) -> None:
    """Writes a file by one rename: after a crash it is there in full or not at all; after an error it is not there."""
    with _draft(path, text) as draft:
        draft.replace(path)
    sync_directory(path.parent)


def create_text(path: Path, text: str) -> bool:
    """Writes a file that must not be there yet; False where it is. Of several processes that try, one succeeds.

    Where the file system has no links, a crash may leave half a file.
    """
    with _draft(path, text) as draft:
        try:
            _link(draft, path, text)
        except FileExistsError:
            return False
    sync_directory(path.parent)
    return True


def _link(draft: Path, path: Path, text: str) -> None:
    try:
        os.link(draft, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _create_in_place(path, text)


def _create_in_place(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8") as file:
        try:
            _write(file.fileno(), text)
        except OSError:
            path.unlink()
            raise


@contextmanager
def _draft(path: Path, text: str) -> Iterator[Path]:
    """A file beside another, synced; it goes at the end, unless it was renamed."""
    draft = draft_of(path, "draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("xb") as file:
            _write(file.fileno(), text)
        yield draft
    except OSError as error:
        raise StateError(f"cannot be written: {error.strerror}", place=Place(str(path))) from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _write(descriptor: int, text: str) -> None:
    left = memoryview(text.encode())
    while left:
        left = left[os.write(descriptor, left) :]
    os.fsync(descriptor)


def sync_file(path: Path) -> None:
    """Asks that a file outlive a power cut; a file system that cannot promise it is let be."""
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise StateError(f"cannot be written: {error.strerror}", place=Place(str(path))) from None


def sync_directory(directory: Path) -> None:
    """Asks that a rename outlive a power cut; what was renamed is there already, so a refusal changes nothing."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
