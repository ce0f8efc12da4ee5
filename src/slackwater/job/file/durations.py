"""Lengths of time in a job file, written with their units: `90s`, `5m`, `1h30m`."""

from __future__ import annotations

import re
from typing import Annotated, Final, TypeAlias

from pydantic import PlainValidator, WithJsonSchema

from slackwater.job.file.values import Refused, shown

_DURATION = re.compile(r"(?:(?P<h>\d+)\s*h)?\s*(?:(?P<m>\d+)\s*m(?:in)?)?\s*(?:(?P<s>\d+(?:\.\d+)?)\s*s)?")


def _duration(value: object) -> float | None:
    if value is None:
        return None
    matched = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    given = {unit: float(number) for unit, number in matched.groupdict().items() if number} if matched else {}
    length = 3600 * given.get("h", 0.0) + 60 * given.get("m", 0.0) + given.get("s", 0.0)
    if not length:
        hint = f"did you mean {value}s?" if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
        raise Refused(f"must be a length of time, not {shown(value)}", hint or "e.g. 90s, 5m or 1h30m")
    return length


_PATTERN: Final = r"^\s*(\d+\s*h)?\s*(\d+\s*m(in)?)?\s*(\d+(\.\d+)?\s*s)?\s*$"
_SCHEMA: Final = WithJsonSchema({"type": "string", "pattern": _PATTERN, "minLength": 2}, mode="validation")
Duration: TypeAlias = Annotated[float | None, PlainValidator(_duration), _SCHEMA]
"""A length of time in seconds, written with its units."""
