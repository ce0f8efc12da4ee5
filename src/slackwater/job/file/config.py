"""The job file: a query or several, when they run, what they read and where their answers go.

`load_job` returns a `JobConfig` in which everything is checked that can be checked without Spark and without data:
paths are absolute and local, the query's text is read, the schedule is a `Timeline`. Otherwise it raises one
`FileError` that lists every mistake with its line and column. Keys and defaults: `sections.py`; what must hold between
keys: `checks.py`; the words of errors: `messages.py`; for people: `docs/job-file.md`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from slackwater.errors import Place, UserError
from slackwater.job.file.checks import Wrong, wrong_between_keys, wrong_form
from slackwater.job.file.file_format import Format
from slackwater.job.file.messages import EXAMPLE, described, mistakes_of
from slackwater.job.file.sections import (
    Arriving,
    Changes,
    ExpectConfig,
    JobConfig,
    JobQuery,
    OutputConfig,
    QueryConfig,
    Refresh,
    SourceConfig,
    SparkConfig,
)
from slackwater.job.file.values import Around, shown
from slackwater.job.file.yaml_file import FileError, Mistake, YamlFile, read_yaml

__all__ = [
    "JOB_FILES",
    "Arriving",
    "Changes",
    "ExpectConfig",
    "FileError",
    "Format",
    "JobConfig",
    "JobQuery",
    "OutputConfig",
    "QueryConfig",
    "Refresh",
    "SourceConfig",
    "SparkConfig",
    "find_job",
    "job_schema",
    "load_job",
    "parse_job",
]

JOB_FILES: Final = ("slackwater.yml", "slackwater.yaml")
_START: Final = "`slackwater init` writes a job file to start from"


def find_job(start: Path) -> Path:
    """The job file of a directory or of the nearest one above it; a file is its own answer."""
    if start.is_file():
        return start
    if not start.is_dir():
        raise UserError(f"there is no file or directory {start}", hint=_START)
    top = start.absolute()
    for directory in (top, *top.parents):
        for name in JOB_FILES:
            if (directory / name).is_file():
                return directory / name
    raise UserError(f"there is no {JOB_FILES[0]} in {top} or above it", hint=_START)


def load_job(path: Path) -> JobConfig:
    """Reads and checks a job file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UserError("there is no such job file", place=Place(str(path)), hint=_START) from None
    except UnicodeDecodeError:
        raise UserError("this file is not UTF-8 text", place=Place(str(path))) from None
    except OSError as error:
        raise UserError(f"cannot read the job file: {error.strerror}", place=Place(str(path))) from error
    return parse_job(text, path)


def parse_job(text: str, path: Path) -> JobConfig:
    """Checks the text of a job file; `path` is where it stands, and what its relative paths are relative to."""
    yaml = read_yaml(text, str(path))
    if not isinstance(yaml.value, dict):
        message = (
            "this job file is empty"
            if yaml.value is None
            else f"a job file is {described('model')}, not {shown(yaml.value)}"
        )
        raise FileError([Mistake(yaml.place(()), message, f"e.g. {EXAMPLE}")])
    wrong = [_mistake(each, yaml) for each in wrong_form(yaml.value)]
    try:
        job = JobConfig.model_validate(yaml.value, context=Around(path.absolute()))
    except ValidationError as error:
        raise FileError([*wrong, *mistakes_of(error, yaml)]) from None
    wrong = wrong or [_mistake(each, yaml) for each in wrong_between_keys(job)]
    if wrong:
        raise FileError(wrong)
    return job


def _mistake(wrong: Wrong, yaml: YamlFile) -> Mistake:
    place = yaml.place_of_key if wrong.of_key else yaml.place
    return Mistake(place(wrong.location), wrong.message, wrong.hint)


def job_schema() -> dict[str, object]:
    """The JSON schema of job files, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **JobConfig.model_json_schema(),
        "title": "Slackwater job file",
        "description": "A query or several, when they run, what they read and where their answers go.",
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(job_schema(), indent=2) + "\n", encoding="utf-8")
