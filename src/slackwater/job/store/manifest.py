"""What a committed run is: one file that says which inputs it read, which states it left and what it delivered.

A run and all its answers exist from the moment its manifest does, and the manifest is created atomically (see
`commit.py`). It contains a checksum of itself, so a truncated manifest is recognized.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from slackwater.errors import Place, StateError
from slackwater.job.store.disk import write_text
from slackwater.job.store.pins import FilePin
from slackwater.plan.plan import ONLY
from slackwater.rows.feedback import Subject

FORMAT = 1
CHECK = "check"
"""The purpose of a step that checks what a source promises; it is no step of a plan."""

Model = TypeVar("Model", bound=BaseModel)
Value = TypeVar("Value")


class Record(BaseModel):
    """What all records share."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DataFile(Record):
    """A file that a run wrote, with the size it must have."""

    path: str
    size: int
    rows: int | None
    """None where the format does not say."""
    checksum: str | None = None
    """Of its footer and of a sample of the rest; manifests of older versions have none."""


class StateRecord(Record):
    """A state: its files, in parts that were appended one after the other."""

    files: tuple[DataFile, ...]
    made_at: int

    @property
    def rows(self) -> int:
        return sum(file.rows or 0 for file in self.files)

    @property
    def parts(self) -> tuple[str, ...]:
        """The directories of its files."""
        return tuple(dict.fromkeys(file.path.rpartition("/")[0] for file in self.files))

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)


class OutputRecord(Record):
    """An answer: the directory that holds it, and the run that computed it."""

    directory: str
    files: tuple[DataFile, ...]
    made_at: int
    rows: int | None


class StepRecord(Record):
    """A step as it went: what was expected of it and what was measured."""

    name: str
    purpose: str
    meaning: str
    expected_rows: float
    expected_cost: float
    rows: int | None
    skipped: bool = False
    recomputed: bool = False
    bill: tuple[float, ...] = ()
    """What it costs by the built-in rates, item by item, over the rows that came; empty where that is not known."""
    expected_cpu_s: float | None = None
    """What the executors were expected to take for it, by the prices of the plan."""
    measured: dict[str, float | int | None] = {}
    subject: Subject | None = None
    """What it computed, told so that later plans know it again."""


class Manifest(Record):
    """A committed run."""

    format: int = FORMAT
    job: str
    cycle: int
    run: int
    time: str
    attempt: str
    fence: int = 0
    """The number of the lock under which it was committed."""
    revision: int = 1
    """Which plan of its cycle it followed: the first, or one for the rest that was made since."""
    started: str
    finished: str
    pins: dict[str, tuple[FilePin, ...]]
    states: dict[str, StateRecord]
    output: OutputRecord | None = None
    """The answer, where there is one query."""
    outputs: dict[str, OutputRecord] = Field(default={}, exclude_if=lambda outputs: not outputs)
    """The answers of several, by name."""
    failed: dict[str, str] = Field(default={}, exclude_if=lambda failed: not failed)
    """The queries of several that a failed step has held up, and what has failed."""
    steps: tuple[StepRecord, ...]
    """What was checked, then what was computed."""
    trusted: tuple[str, ...] = ()
    """What sources promise and was not checked, in words."""
    arrived: dict[str, int] = {}
    """Rows that each source brought, as far as its files say."""
    changed: dict[str, tuple[float, float, float]] = {}
    """Of feeds whose files say it, the rows that were inserted, updated and deleted."""
    total: dict[str, float | int | None] = {}
    note: str = ""

    @property
    def answers(self) -> dict[str, OutputRecord]:
        """What it delivered, by query."""
        return {**({ONLY: self.output} if self.output is not None else {}), **self.outputs}

    @property
    def planned_cpu_s(self) -> float | None:
        """What the executors took for steps of the plan, in seconds: all that they took, but for checks of promises."""
        total = self.total.get("cpu_s") if self.total else 0.0
        checks = [step.measured.get("cpu_s") for step in self.steps if step.purpose == CHECK]
        return None if total is None or None in checks else total - sum(cpu or 0.0 for cpu in checks)

    @property
    def expected_cpu_s(self) -> float | None:
        """What the executors were expected to take for all that was done; None where a step does not say."""
        costs = [step.expected_cpu_s for step in self.steps if not step.skipped]
        return None if any(cost is None for cost in costs) else sum(cost or 0.0 for cost in costs)


def told_apart(by_query: Mapping[str, Value]) -> tuple[Value | None, dict[str, Value]]:
    """What belongs to the only query, and what to named ones: records and reports have a word for each."""
    named = dict(by_query)
    return named.pop(ONLY, None), named


def write_record(path: Path, record: BaseModel) -> None:
    """Writes a record by one rename, with its checksum; what was there is replaced."""
    write_text(path, record_text(record))


def record_text(record: BaseModel) -> str:
    """A record as its file has it."""
    body = json.loads(record.model_dump_json())
    return json.dumps({"checksum": _checksum(body), "record": body}, indent=1, ensure_ascii=False) + "\n"


def read_record(path: Path, kind: type[Model]) -> Model | None:
    """The record that a file holds; None where there is no file, an error where the file is damaged."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise damaged(path, str(error)) from None
    try:
        value: dict[str, object] = json.loads(text)
        body, checksum = value["record"], value["checksum"]
        if checksum != _checksum(body):
            raise damaged(path, "its checksum does not match")
        return kind.model_validate_json(json.dumps(body))
    except (json.JSONDecodeError, KeyError, TypeError, RecursionError):
        raise damaged(path, "it is cut off or not ours") from None
    except ValidationError as error:
        raise damaged(path, f"{counted_errors(error)}; written by another version?") from None


def damaged(path: Path, why: str) -> StateError:
    """The error for a file of ours that cannot be used."""
    return StateError(f"this file is damaged: {why}", place=Place(str(path)))


def counted_errors(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"


def _checksum(body: object) -> str:
    return checksum_of(json.dumps(body, sort_keys=True, ensure_ascii=False))


def checksum_of(text: str) -> str:
    """By which a text is known again."""
    return hashlib.blake2s(text.encode(), digest_size=12).hexdigest()


def now() -> str:
    """The time as records have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
