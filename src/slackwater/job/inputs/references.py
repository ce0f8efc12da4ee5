"""References between sources: which columns hold the keys of another source, as the job file promises it or a plan
assumes."""

from __future__ import annotations

from collections.abc import Mapping

from slackwater.algebra.schema import KeyReference
from slackwater.errors import SlackwaterError
from slackwater.job.file.sections import SourceConfig


def arriving_with(name: str, sources: Mapping[str, SourceConfig]) -> tuple[KeyReference, ...]:
    """What a source promises of rows that arrive in the same run."""
    return _references(sources[name].arrives_with, sources)


def arriving_after(name: str, sources: Mapping[str, SourceConfig]) -> tuple[KeyReference, ...]:
    """What a source promises of rows that arrive in the same run or before."""
    return _references(sources[name].arrives_after, sources)


def _references(
    columns_of: Mapping[str, tuple[str, ...]], sources: Mapping[str, SourceConfig]
) -> tuple[KeyReference, ...]:
    """By the first key of the other source that has as many columns; the file is checked to have one."""
    return tuple(
        KeyReference(columns, other, next(key for key in sources[other].unique if len(key) == len(columns)))
        for other, columns in columns_of.items()
    )


class BrokenAssumption(SlackwaterError):
    """Rows of a source do not arrive as a plan assumes, though nobody has promised it. The run goes on without it."""

    def __init__(self, source: str, reference: KeyReference, message: str) -> None:
        super().__init__(message)
        self.source, self.reference = source, reference
