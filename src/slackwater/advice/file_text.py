"""What is written into a job file or a catalog file, as a value to merge into it and as a line of text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

from slackwater.json_text import Json

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*\Z")
_WORDS = frozenset("true false null yes no on off y n".split())


class FileKind(StrEnum):
    """Where a user states what is known of tables."""

    JOB = "job file"
    CATALOG = "catalog file"


def flow(value: Json) -> str:
    """A value as YAML on one line."""
    match value:
        case bool() | None:
            return json.dumps(value)
        case int() | float():
            return f"{value:.10g}"
        case str():
            is_plain = _PLAIN.match(value) and value.lower() not in _WORDS
            return value if is_plain else json.dumps(value, ensure_ascii=False)
        case Mapping():
            return "{" + ", ".join(f"{flow(key)}: {flow(inside)}" for key, inside in value.items()) + "}"
        case Sequence():
            return "[" + ", ".join(map(flow, value)) + "]"


def entry(name: str, value: Json, kind: FileKind) -> str:
    """A key and its value as they are written into a file."""
    if kind is FileKind.CATALOG:
        return f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
    return f"{flow(name)}: {flow(value)}"
