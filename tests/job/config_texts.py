"""Small job files to read right or wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from slackwater.job.file.config import (
    FileError,
    JobConfig,
    parse_job,
)

SMALL = {
    "name": "name: revenue",
    "query": "query: SELECT 1 AS one FROM sales",
    "schedule": "schedule: [14:00, 24:00]",
    "sources": "sources: {sales: {path: data/sales}}",
    "output": "output: {path: out}",
}


def small(**entries: str) -> str:
    """A job file of few lines: name, query, schedule, sources, output, then whatever else is given."""
    return "\n".join({**SMALL, **{key: f"{key}: {value}" for key, value in entries.items()}}.values()) + "\n"


def queries(*entries: str, **others: str) -> str:
    """A job file of five lines: name, schedule, sources, then `queries` with these entries, one a line."""
    lines = {key: SMALL[key] for key in ("name", "schedule", "sources")}
    texts = {key: f"{key}: {value}" for key, value in others.items()}
    return "\n".join([*{**lines, **texts}.values(), "queries:", *(f"  {entry}" for entry in entries)]) + "\n"


ONE, OTHER = (f"{name}: {{query: SELECT 1 AS one FROM sales, output: {{path: out/{name}}}}}" for name in ("a", "b"))


def source(entry: str) -> str:
    return small(sources=f"{{sales: {{{entry}}}}}")


def parsed(text: str) -> JobConfig:
    return parse_job(text, Path("/jobs/slackwater.yml"))


def refused(text: str) -> FileError:
    with pytest.raises(FileError) as raised:
        parsed(text)
    return raised.value
