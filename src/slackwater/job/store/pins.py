"""The pinned input files of a run: recorded before it starts, and the same however often it is repeated.

Files that appear below a source's directory are its arrival; the files of earlier runs are not looked at again. A
pinned file that has vanished or changed since is named, because nothing computed from it could be checked any more.
Hidden files (a leading dot or underscore) belong to whoever writes the data.

A file is unchanged if the file system says so: the same size, inode, and times of its last write and last change. If
not, its checksum decides, so a file that was restored from a backup, or whose mode was changed, still is what it was.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from slackwater.errors import Place, UserError, counted
from slackwater.job.store.checksums import checksum_of_file


class FilePin(BaseModel):
    """A file as it was when it was pinned; the path is relative to its source's directory."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    size: int
    modified: int
    inode: int | None = None
    changed: int | None = None
    """When its content, name or mode was changed last; like `modified` in nanoseconds."""
    checksum: str | None = None
    """None in a list of files, which are not opened; pins of older versions have neither this nor the two above."""
    in_full: bool = False
    """Whether the checksum is that of every byte."""

    @staticmethod
    def of(path: str, status: os.stat_result) -> FilePin:
        """A file by what the file system says of it."""
        size, modified = status.st_size, status.st_mtime_ns
        return FilePin(path=path, size=size, modified=modified, inode=status.st_ino, changed=status.st_ctime_ns)

    def is_same(self, other: FilePin) -> bool:
        """Whether both are one file with one content, as far as that can be said without reading it."""
        if (self.path, self.size) != (other.path, other.size):
            return False
        if self.checksum is not None and other.checksum is not None and self.in_full == other.in_full:
            return self.checksum == other.checksum
        mine, theirs = (self.inode, self.changed), (other.inode, other.changed)
        return self.modified == other.modified and (None in (*mine, *theirs) or mine == theirs)


Pins = Mapping[str, tuple[FilePin, ...]]
"""The files of each source that a run brings."""


def listed(directory: Path) -> tuple[FilePin, ...]:
    """The data files below a directory, in order of their names."""
    if not directory.is_dir():
        raise UserError(
            "no such directory", place=Place(str(directory)), hint="a source's `path` must exist, even if it is empty"
        )
    pins = tuple(sorted(_files(str(directory)), key=lambda pin: pin.path))
    _check_names(directory, pins)
    return pins


def _check_names(directory: Path, pins: tuple[FilePin, ...]) -> None:
    """Refuses what Spark would pass over in silence."""
    for pin in pins:
        if pin.size == 0:
            hint = "it is still being written, or damaged: complete or remove it"
            raise UserError("this file is empty", place=Place(str(directory / pin.path)), hint=hint)
        if any("\ud800" <= letter <= "\udfff" for letter in pin.path):
            raise UserError("the name of this file is not UTF-8", place=Place(f"{directory}/{pin.path!a}"))
        if ":" in pin.path:
            raise UserError("Spark cannot read files with `:` in the name", place=Place(str(directory / pin.path)))
    shapes = {_partition_keys(pin.path): pin for pin in reversed(pins)}
    if len(shapes) > 1:
        one, other, *_ = (pin.path for pin in shapes.values())
        raise UserError(
            f"`{one}` and `{other}` are partitioned differently",
            place=Place(str(directory)),
            hint="put all files of a source at the same depth of key=value directories",
        )


def _partition_keys(path: str) -> tuple[str, ...]:
    return tuple(part.partition("=")[0] for part in path.split("/")[:-1] if "=" in part)


def _files(directory: str, within: str = "") -> Iterator[FilePin]:
    try:
        entries = list(os.scandir(directory))
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", place=Place(directory)) from None
    for entry in entries:
        if _is_hidden(entry.name):
            continue
        try:
            status = entry.stat()
        except FileNotFoundError:
            if entry.is_symlink():
                raise UserError("this link is broken", place=Place(entry.path)) from None
            continue  # it was there a moment ago, and belonged to whoever writes the data
        except OSError as error:
            raise UserError(f"cannot be read: {error.strerror}", place=Place(entry.path)) from None
        if stat.S_ISDIR(status.st_mode):
            yield from _files(entry.path, f"{within}{entry.name}/")
        else:
            yield FilePin.of(f"{within}{entry.name}", status)


def _is_hidden(name: str) -> bool:
    """What Spark passes over; a partition may begin with an underscore."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def arrived(now: Iterable[FilePin], earlier: Iterable[FilePin]) -> tuple[FilePin, ...]:
    """The files that no earlier run has pinned."""
    earlier_paths = {pin.path for pin in earlier}
    return tuple(pin for pin in now if pin.path not in earlier_paths)


def identified(directory: Path, pin: FilePin, *, in_full: bool) -> FilePin:
    """A file that was listed, with the checksum of what it holds."""
    path = directory / pin.path
    try:
        with path.open("rb") as file:
            before = FilePin.of(pin.path, os.fstat(file.fileno()))
            checksum = checksum_of_file(file, in_full=in_full)
            pin_now = FilePin.of(pin.path, os.fstat(file.fileno()))
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", place=Place(str(path))) from None
    if pin_now != before:
        hint = "write it under another name, rename it when it is complete, and run again"
        raise UserError("this file is still being written", place=Place(str(path)), hint=hint)
    return pin_now.model_copy(update={"checksum": checksum, "in_full": in_full})


def check_unchanged(source: str, directory: Path, pins: Iterable[FilePin]) -> None:
    """Refuses to go on where a pinned file is no longer what it was."""
    lost = [(pin, problem) for pin in pins if (problem := change_since(directory, pin))]
    if lost:
        pin, problem = lost[0]
        more = f" (and {counted(len(lost) - 1, 'more file')})" if len(lost) > 1 else ""
        raise UserError(
            f"source `{source}`: this file {problem} since a run was pinned to it{more}",
            place=Place(str(directory / pin.path)),
            hint="restore it, accept it as it is now with `slackwater repin`,"
            " or begin again with `slackwater run --new-cycle`",
        )


def change_since(directory: Path, pin: FilePin) -> str | None:
    """What has become of a pinned file, in words; None where it is what it was."""
    path = directory / pin.path
    try:
        status = path.stat()
        if status.st_size != pin.size:
            return f"has changed (from {pin.size} to {status.st_size} bytes)"
        if FilePin.of(pin.path, status).is_same(pin):
            return None
        if pin.checksum is None:
            return "has been written again"
        with path.open("rb") as file:
            same = checksum_of_file(file, in_full=pin.in_full) == pin.checksum
    except FileNotFoundError:
        return "has vanished"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None if same else "has been replaced by another of the same size"
