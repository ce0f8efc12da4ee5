"""What of a directory outlives a power cut, worked out from the calls of fsync.

A file is as it was when it was last synced; a name is there if its directory was synced while it had it.
"""

from __future__ import annotations

import os
import pickle
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tests.job.room import Room

Image = dict[Path, bytes | str | None]
"""Every file with its content, every link with where it leads, every directory; each after the one that holds it."""


@dataclass
class Disk:
    """What of a directory would be there after a power cut."""

    top: Path
    names: dict[Path, dict[str, int | str | None]] = field(default_factory=dict)
    """What was in a directory: a file by its inode, a link by where it leads, another directory."""
    contents: dict[int, bytes] = field(default_factory=dict)
    synced: list[Path] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    """Synced files stay open, or another file could get the number of one that is gone."""

    def sync(self, descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.is_relative_to(self.top):
            self.synced.append(path)
            if path.is_dir():
                self.names[path] = {p.name: _entry(p) for p in path.iterdir()}
            else:
                self.contents[path.stat().st_ino] = path.read_bytes()
                self.held.append(os.dup(descriptor))

    def close(self) -> None:
        for descriptor in self.held:
            os.close(descriptor)

    def image(self) -> Image:
        files: Image = {}

        def visit(directory: Path) -> None:
            for name, entry in self.names.get(directory, {}).items():
                files[directory / name] = self.contents.get(entry, b"") if isinstance(entry, int) else entry
                visit(directory / name)

        visit(self.top)
        return files

    def image_to(self, file: Path) -> None:
        """Keeps the image in a file, for another process."""
        file.write_bytes(pickle.dumps(self.image()))


def _entry(path: Path) -> int | str | None:
    if path.is_symlink():
        return str(path.readlink())
    return None if path.is_dir() else path.stat().st_ino


def restored(room: Room, image: Image) -> None:
    """Puts a job's directories into the condition of an image; its sources stay as they are."""
    for place in (room.state, room.output.parent):
        shutil.rmtree(place, ignore_errors=True)
    for path, content in image.items():
        if not path.is_relative_to(room.state) and not path.is_relative_to(room.output.parent):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.mkdir(exist_ok=True)
        elif isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content)
            os.utime(path, (0, 0))  # starting again takes a while
