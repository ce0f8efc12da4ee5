"""Removal of a job's files: a directory is renamed first, so that nobody sees it with only some of its files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from slackwater.errors import Place, StateError

GONE = ".gone"
"""How the name ends of a directory that is being removed."""


def remove(path: Path, changing: Callable[[], AbstractContextManager[None]] = nullcontext) -> int:
    """Removes a file or directory; how many bytes that frees. A directory disappears whole, by one rename.

    It disappears in a block of `changing`, which may refuse it.
    """
    try:
        if not path.is_dir() or path.is_symlink():
            freed = path.lstat().st_size
            with changing():
                path.unlink()
            return freed
        going = path if path.name.endswith(GONE) else path.with_name(f".{path.name}{GONE}")
        if going != path:
            if going.exists():
                shutil.rmtree(going)
            with changing():
                path.rename(going)
        freed = sum(file.lstat().st_size for file in going.rglob("*") if file.is_file())
        shutil.rmtree(going)
    except OSError as error:
        raise StateError(f"cannot be removed: {error.strerror}", place=Place(str(path))) from None
    return freed
