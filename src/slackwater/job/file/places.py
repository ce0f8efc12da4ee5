"""Sources, states and outputs must be separate directories: old states are removed, and files in a source are read.

Directories are compared with links resolved, except for the last part of an output's path: that is our own link to the
latest answer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from slackwater.errors import Place, UserError
from slackwater.job.file.sections import JobConfig, JobQuery
from slackwater.job.file.yaml_file import Location

APART = "give each its own"


@dataclass(frozen=True, slots=True)
class Occupied:
    """A directory of a job: where the job file says it, whose it is, as it is written and as it really is."""

    location: Location
    label: str
    path: Path
    real: Path


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two that do not lie apart, in words; shown at the second."""

    location: Location
    path: Path
    message: str


def answers_beside(output: Path) -> Path:
    """The hidden directory beside an output's path, where all answers that are kept lie."""
    return output.parent / f".{output.name}"


def overlaps(job: JobConfig) -> Iterator[Overlap]:
    """All directories of a job that are the same, or lie within one another."""
    sources = [
        _whole(("sources", name, "path"), f"source `{name}`", source.path)
        for name, source in job.sources.items()
        if source.path is not None
    ]
    yield from _overlaps(job, sources)


def check_apart(job: JobConfig) -> None:
    """Refuses a job whose directories do not lie apart now, be it by a link within a source."""
    sources = [
        _whole(("sources", name, "path"), f"source `{name}`", place)
        for name, source in job.sources.items()
        if source.path is not None
        for place in (source.path, *_links_within(source.path))
    ]
    for overlap in _overlaps(job, sources):
        raise UserError(overlap.message, place=Place(str(overlap.path)), hint=APART)


def _overlaps(job: JobConfig, sources: list[Occupied]) -> Iterator[Overlap]:
    outputs = [_output(query) for query in job.queries.values()]
    ours = [*outputs, _whole(("state",), "the state", job.state)]
    for one, other in [*((a, b) for a in sources for b in ours), *combinations(ours, 2)]:
        if one.real == other.real:
            message = f"{other.label} and {one.label} are the same directory: {_shown(one)}"
            yield Overlap(other.location, other.path, message)
        elif one.real in other.real.parents or other.real in one.real.parents:
            inner, outer = (other, one) if one.real in other.real.parents else (one, other)
            message = f"{inner.label} lies within {outer.label}: {_shown(inner)}"
            yield Overlap(other.location, other.path, message)
    for output in outputs:
        yield from _within_answers(output, [*sources, *ours])


def _within_answers(output: Occupied, others: list[Occupied]) -> Iterator[Overlap]:
    written = answers_beside(output.path)
    kept = _real(written)
    for other in others:
        if other.real == kept or kept in other.real.parents or (written.is_symlink() and other.real in kept.parents):
            message = f"{other.label} lies where {output.label} keeps its answers: {written}"
            yield Overlap(other.location, other.path, message)


def _output(query: JobQuery) -> Occupied:
    path = query.output.path
    real = _real(path.parent) / path.name
    if not query.name:
        return Occupied(("output", "path"), "the output", path, real)
    return Occupied(("queries", query.name, "output", "path"), f"the output of `{query.name}`", path, real)


def _whole(location: Location, label: str, path: Path) -> Occupied:
    return Occupied(location, label, path, _real(path))


def _real(path: Path) -> Path:
    """Where a path leads, as far as it exists; one that leads in a circle is left as it is."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path


def _links_within(directory: Path) -> Iterator[Path]:
    """The directories that are read because a link below this one leads to them."""
    for place, names, _ in os.walk(directory):
        yield from (Path(place, name) for name in names if Path(place, name).is_symlink())


def _shown(place: Occupied) -> str:
    return str(place.path) if place.path == place.real else f"{place.path}, which is {place.real}"
