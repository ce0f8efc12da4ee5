"""Where the answers of a query lie, and how the latest of them appears.

Answers lie in a hidden directory beside the output's path, one directory each; the path itself is a link to the latest.
Whoever reads it sees one answer or the next, never half of one.
"""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass
from pathlib import Path

from slackwater.errors import Place, StateError, UserError
from slackwater.job.file.places import answers_beside
from slackwater.job.store.data_files import all_whole
from slackwater.job.store.disk import draft_of, sync_directory
from slackwater.job.store.manifest import OutputRecord

_ANSWER = re.compile(r"(\d+)-(\d+)-")


@dataclass(frozen=True)
class AnswerDirectory:
    """Where the answers of one query lie."""

    output: Path

    @property
    def path(self) -> Path:
        """The hidden directory of all answers that are kept."""
        return answers_beside(self.output)

    def check(self) -> None:
        """Refuses a path that is taken by something which is not ours."""
        taken = self.output.exists() or self.output.is_symlink()
        if taken and not (self.output.is_symlink() and self._is_ours(self.output.readlink())):
            raise UserError(
                "this path is used by something that Slackwater did not write",
                place=Place(str(self.output)),
                hint="move it away, or choose another `output: {path: …}`",
            )

    def _is_ours(self, target: Path) -> bool:
        return target.parent.name == self.path.name

    @property
    def shown(self) -> Path | None:
        """The answer that the output's path shows, there or not."""
        if not self.output.is_symlink() or not self._is_ours(self.output.readlink()):
            return None
        return self.path / self.output.readlink().name

    def link_problem(self, directory: str) -> str:
        """Why the output's path does not show an answer, in words; nothing where it does."""
        if not self.output.is_symlink():
            gone = "the link to the last answer is gone"
            return "this path is used by something that Slackwater did not write" if self.output.exists() else gone
        if self.shown != self.path / directory:
            return f"the link shows {self.output.readlink()}, and should show {self.path.name}/{directory}"
        return "" if self.output.is_dir() else f"the link shows {self.output.readlink()}, and that is gone"

    def publish(self, directory: str) -> None:
        """Makes an answer the one that the output's path shows, by one rename."""
        self.check()
        if self.shown == self.path / directory:
            return
        draft = draft_of(self.output, "link")
        try:
            draft.symlink_to(f"{self.path.name}/{directory}")
            draft.replace(self.output)
        except OSError as error:
            raise StateError(f"cannot be written: {error.strerror}", place=Place(str(self.output))) from None
        sync_directory(self.output.parent)

    def holds(self, answer: OutputRecord) -> bool:
        """Whether an answer has all its files, each as it was written."""
        return all_whole(self.path, answer.files)

    def listed(self, prefix: str = "") -> list[Path]:
        """The answers whose names begin so."""
        if not self.path.is_dir():
            return []
        return [path for path in sorted(self.path.iterdir()) if path.name.startswith(prefix)]

    def drafts(self) -> list[Path]:
        """Links that were about to be shown when a process died."""
        links = f".{glob.escape(self.output.name)}.*.link"
        return list(self.output.parent.glob(links)) if self.output.parent.is_dir() else []


def order_of(answer: str) -> tuple[int, int] | None:
    """Of which cycle and run an answer is, by the name of its directory."""
    match = _ANSWER.match(answer)
    return (int(match[1]), int(match[2])) if match else None
