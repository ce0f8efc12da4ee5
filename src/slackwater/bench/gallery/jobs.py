"""The jobs of the gallery, found by their directories: `query.sql`, `slackwater.yml` and the generator of their data.

The generator of the job `retail` is `retail/retail_day.py`. It has two functions: `standing` makes the tables that do
not change, `arrivals` what each run of a day finds. Both depend on nothing but their arguments.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from slackwater.bench.gallery.sampling import Tables
from slackwater.errors import UserError, did_you_mean
from slackwater.job.file.config import load_job
from slackwater.job.file.sections import JobConfig

QUERY, JOB_FILE = "query.sql", "slackwater.yml"
_HOME = Path(__file__).parent


class DayGenerator(Protocol):
    """The module that makes the data of a job."""

    @staticmethod
    def standing(scale: float, /) -> Tables:
        """The tables that do not change."""
        ...

    @staticmethod
    def arrivals(scale: float, day: int, /) -> list[Tables]:
        """What each run of a day, counted from 1, finds of the tables that change."""
        ...


@dataclass(frozen=True)
class GalleryJob:
    """A job, as a directory of this package holds it."""

    name: str

    @property
    def directory(self) -> Path:
        return _HOME / self.name

    @property
    def text(self) -> str:
        """The query."""
        return (self.directory / QUERY).read_text(encoding="utf-8")

    @cached_property
    def config(self) -> JobConfig:
        """The job file; its paths are of no use here, where no data lies."""
        return load_job(self.directory / JOB_FILE)

    @property
    def generator(self) -> DayGenerator:
        return cast(DayGenerator, import_module(f"{__package__}.{self.name}.{self.name}_day"))

    @property
    def digest(self) -> str:
        """Changes with everything that its data depends on, so that old data is not taken for new."""
        files = (_HOME / "sampling.py", self.directory / f"{self.name}_day.py", self.directory / JOB_FILE)
        return hashlib.blake2s(b"".join(file.read_bytes() for file in files), digest_size=5).hexdigest()


def gallery_jobs() -> list[GalleryJob]:
    """All of them, by name."""
    return [GalleryJob(file.parent.name) for file in sorted(_HOME.glob(f"*/{JOB_FILE}"))]


def gallery_job(name: str) -> GalleryJob:
    names = [job.name for job in gallery_jobs()]
    if name not in names:
        raise UserError(f"the gallery has no job {name}", hint=did_you_mean(name, names))
    return GalleryJob(name)
