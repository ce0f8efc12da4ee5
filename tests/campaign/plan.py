"""Which cases a campaign tries: a few jobs, every kind of fault, and calls from all over each job's life."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, cycle, islice
from pathlib import Path

from tests.campaign.cases import FAULTS, QUIET, Case, check_ended, check_over
from tests.campaign.faults import Kind
from tests.campaign.lives import Life, Report, live
from tests.campaign.scenarios import SHAPES

CASES_A_JOB = 40
KINDS: Sequence[str] = (*FAULTS, *QUIET)
SHAPES_OF: Mapping[str, Sequence[str]] = {
    "an input is replaced": ("plain",),
    "a promise is broken": ("plain", "feed"),
}
"""Where not every shape will do: another file of changes contradicts the others, and upserts promise nothing."""


@dataclass(frozen=True)
class Undisturbed:
    """A job that was lived through without a fault, and how many calls that took."""

    shape: str
    seed: int
    report: Report

    def calls(self, kind: str) -> int:
        """How many calls there are at which a fault can happen."""
        match FAULTS[kind][0] if kind in FAULTS else Kind.NONE:
            case Kind.NONE:
                return 1
            case Kind.READ_ERROR:
                return self.report.reads
            case Kind.POWER:
                return self.report.syncs
            case _:
                return len(self.report.calls)


def undisturbed(job: tuple[str, int], place: Path) -> Undisturbed:
    """Lives a job through, and checks its answer."""
    shape, seed = job
    life = Life(str(place / f"undisturbed-{shape}-{seed}"), shape, seed)
    report = live(life)
    check_ended(report, "done")
    check_over(life)
    return Undisturbed(shape, seed, report)


def jobs(cases: int, seed: int) -> list[tuple[str, int]]:
    """The jobs of a campaign: of every shape as many."""
    each = max(1, round(cases / CASES_A_JOB / len(SHAPES)))
    return [(shape, 1000 * seed + number) for number in range(each) for shape in SHAPES]


def cases_of(jobs: Sequence[Undisturbed], cases: int, seed: int) -> Iterator[Case]:
    """The cases, every kind in turn; the calls of each kind are spread over the whole life of each job."""
    chance = random.Random(f"campaign {seed}")
    kinds = cycle(KINDS)
    tried: Mapping[tuple[int, str], Iterator[float]] = {
        (id(job), kind): _spread(chance.random()) for job in jobs for kind in KINDS
    }
    for number, kind in islice(zip(count(1), kinds, strict=False), cases):
        fitting = [job for job in jobs if job.shape in SHAPES_OF.get(kind, SHAPES)]
        job = fitting[(number - 1) // len(KINDS) % len(fitting)]
        if kind in QUIET:
            yield Case(number, kind, job.shape, 7_000_000 + 1000 * seed + number)
            continue
        place = next(tried[id(job), kind])
        yield Case(number, kind, job.shape, job.seed, int(place * job.calls(kind)))


def _spread(start: float) -> Iterator[float]:
    """Places between 0 and 1 that lie evenly however many are taken."""
    golden = 0.618_033_988_749_895
    place = start
    while True:
        yield place
        place = (place + golden) % 1.0
