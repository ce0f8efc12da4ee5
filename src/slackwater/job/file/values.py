"""The values of a job file that are more than a string or a number: paths, queries, amounts, settings.

Each is read by one function that returns it or raises `Refused` with a message for the user. The directory of the file
is in the validation's context (`Around`), so paths become absolute and the query's text is read.
"""

from __future__ import annotations

import math
import os.path
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, tzinfo
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, TypeAlias
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BeforeValidator, Field, PlainValidator, ValidationInfo, WithJsonSchema

from slackwater.errors import did_you_mean
from slackwater.sql.record_expression import refusal

FILE_NAME: Final = r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$"
MOST_ROWS: Final = 10**15
TABLE_NAME: Final = r"^[A-Za-z_][A-Za-z0-9_]*$"

_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/+(?P<rest>.*)")
_INLINE = re.compile(r"\s*(--[^\n]*\n\s*|/\*.*?\*/\s*|\()*\b(select|with|from|values)\b\s", re.IGNORECASE | re.DOTALL)
_PERCENT = re.compile(r"(?P<number>[0-9]+(\.[0-9]*)?|\.[0-9]+)\s*%")


class Refused(ValueError):
    """A value that cannot be; the place is where it was found."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Around:
    """Where a job file stands."""

    file: Path

    @property
    def directory(self) -> Path:
        return self.file.parent

    @staticmethod
    def of(info: ValidationInfo[Around]) -> Around:
        assert isinstance(info.context, Around), "job files are read by load_job and parse_job"
        return info.context


# -- paths -------------------------------------------------------------------------------------------------------------


def _local_path(value: object, info: ValidationInfo[Around]) -> Path:
    if isinstance(value, Path):
        value = str(value)
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise Refused(f"must be a path, not {shown(value)}")
    if matched := _URI.fullmatch(value):
        scheme = matched["scheme"].lower()
        if scheme != "file":
            raise Refused(
                f"is on `{scheme}`, but only local or mounted paths are supported: {value}",
                "mount the storage, and give the path where it is mounted",
            )
        value = "/" + matched["rest"]
    try:
        path = Path(value).expanduser()
    except RuntimeError:
        raise Refused(f"is in the home directory of somebody who has none: {value}") from None
    # Not resolved: a mount or a `current` link is to be followed at each run, not once.
    return Path(os.path.normpath(Around.of(info).directory / path))


LocalPath: TypeAlias = Annotated[
    Path, PlainValidator(_local_path), WithJsonSchema({"type": "string", "minLength": 1}, mode="validation")
]
"""A path on this machine; a relative one is relative to the job file."""


# -- the query ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueryText:
    """A query, and the file it was read from, if any."""

    text: str
    file: Path | None = None


def _query(value: object, info: ValidationInfo[Around]) -> QueryText:
    if not isinstance(value, str) or not value.strip():
        raise Refused(f"must be a file or the text of a query, not {shown(value)}", "e.g. `query: revenue.sql`")
    if _INLINE.match(value):
        return QueryText(value)
    if "\n" in value.strip():
        raise Refused("is neither a file nor a query", "the text of a query begins with SELECT or WITH")
    file = _local_path(value, info)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        near = did_you_mean(file.name, _beside(file)) if _beside(file) else None
        raise Refused(f"there is no file {file}", near or "the path is relative to the job file") from None
    except UnicodeDecodeError:
        raise Refused(f"the file {file} is not UTF-8 text") from None
    except OSError as error:
        raise Refused(f"the file {file} cannot be read: {error.strerror}") from None
    if not text.strip():
        raise Refused(f"the file {file} is empty")
    return QueryText(text, file)


def _beside(file: Path) -> list[str]:
    return sorted(other.name for other in file.parent.glob("*.sql")) if file.parent.is_dir() else []


_QUERY_SCHEMA: Final = WithJsonSchema({"type": "string", "minLength": 1}, mode="validation")

QueryField: TypeAlias = Annotated[QueryText, PlainValidator(_query), _QUERY_SCHEMA]
QueryFieldIfAny: TypeAlias = Annotated[QueryText | None, PlainValidator(_query), _QUERY_SCHEMA]
"""The key may be left out; where it stands, it has a value."""


# -- amounts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of rows, or a percentage of the rows that there are in the end."""

    number: float
    percent: bool = False

    def rows(self, total: float) -> float:
        return self.number / 100 * total if self.percent else self.number


def _amount(value: object) -> Amount:
    if isinstance(value, Amount):
        return value
    if isinstance(value, str) and (matched := _PERCENT.fullmatch(value.strip())):
        return Amount(float(matched["number"]), percent=True)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused(f"must be a percentage or a number of rows, not {shown(value)}", "e.g. 60% or 7000000")
    if not value <= MOST_ROWS:
        raise Refused(f"cannot be more than {MOST_ROWS:.0e} rows")
    if value < 0:
        raise Refused(f"cannot be {value:g} rows")
    if value != int(value):
        share = f"did you mean {value * 100:g}%?" if value < 1 else "rows are whole"
        raise Refused(f"cannot be {value:g} rows", share)
    return Amount(float(value))


_ROWS: Final = {"type": "integer", "minimum": 0}
_SHARE: Final = {"type": "string", "pattern": r"^\s*([0-9]+(\.[0-9]*)?|\.[0-9]+)\s*%\s*$"}
_CHANGES: Final = {
    "type": "object",
    "properties": {kind: {"anyOf": [_ROWS, _SHARE], "default": 0} for kind in ("inserts", "updates", "deletes")},
    "additionalProperties": False,
}

AmountField: TypeAlias = Annotated[Amount, PlainValidator(_amount)]
AMOUNTS_SCHEMA: Final = WithJsonSchema({"anyOf": [_ROWS, _SHARE, _CHANGES]}, mode="validation")
"""A bare amount, or one for each kind of change."""


def _share(value: object) -> float | None:
    if value is None:
        return None
    matched = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if matched is None:
        near = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1
        hint = f"did you mean {100 * float(str(value)):g}%?" if near else "e.g. 1%"
        raise Refused(f"must be a percentage, not {shown(value)}", hint)
    if not 0 < float(matched["number"]) <= 100:
        raise Refused(f"must be above 0 and at most 100 percent, not {shown(value)}", "e.g. 1%")
    return float(matched["number"]) / 100


Share: TypeAlias = Annotated[float | None, PlainValidator(_share), WithJsonSchema(_SHARE, mode="validation")]
"""A part of something, written as a percentage."""


def _whole(value: object) -> object:
    if isinstance(value, (str, bool)):
        raise Refused(f"must be a whole number, not {shown(value)}", "e.g. 7000000 or 7_000_000")
    return value


def _number(value: object) -> object:
    if isinstance(value, (str, bool)):
        raise Refused(f"must be a number, not {shown(value)}", "e.g. 0.25")
    return value


# The bound comes first, so that it stands in the JSON schema; values pass the function before it.
Count: TypeAlias = Annotated[int, Field(ge=0, le=MOST_ROWS), BeforeValidator(_whole)]
Price: TypeAlias = Annotated[float, Field(ge=0), BeforeValidator(_number)]
Tolerance: TypeAlias = Annotated[float, Field(ge=0, lt=1), BeforeValidator(_number)]


class Replanning(StrEnum):
    """When the rest of a day is planned again, unless by a factor of the user's."""

    AUTO = "auto"
    """If rows are off by more than a usual factor, and a new plan can save more than planning costs."""
    NEVER = "never"


def _replanning(value: object) -> Replanning | float:
    if value is None or value == Replanning.NEVER:
        return Replanning.NEVER
    if value == Replanning.AUTO:
        return Replanning.AUTO
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 < value < math.inf:
        raise Refused(f"must be auto, never or a factor above 1, not {shown(value)}", "e.g. `replan: 3`")
    return float(value)


Replan: TypeAlias = Annotated[
    Replanning | float,
    PlainValidator(_replanning),
    WithJsonSchema(
        {"anyOf": [{"type": "number", "exclusiveMinimum": 1}, {"enum": list(Replanning)}]}, mode="validation"
    ),
]
"""A factor above one, by which rows must be off, or a word."""


# -- time zones --------------------------------------------------------------------------------------------------------


def zone_named(name: str) -> tzinfo:
    """A time zone by the name that the IANA database has for it; UTC needs no database."""
    return UTC if name == "UTC" else ZoneInfo(name)


def _time_zone(value: object) -> str:
    if not isinstance(value, str):
        raise Refused(f"must be the name of a time zone, not {shown(value)}", "e.g. Europe/Berlin")
    try:
        zone_named(value)
    except (KeyError, ValueError, OSError):  # unknown, no name at all, or a directory of the database
        zones = available_timezones()
        hint = did_you_mean(value, sorted(zones)) if get_close_matches(value, zones) else "e.g. Europe/Berlin or UTC"
        if not zones:
            hint = "this machine has no time zone database: install the package tzdata"
        raise Refused(f"is no time zone: {value}", hint) from None
    return value


TimeZone: TypeAlias = Annotated[
    str, PlainValidator(_time_zone), WithJsonSchema({"type": "string", "minLength": 1}, mode="validation")
]
"""The name of a time zone."""


# -- lists and settings ------------------------------------------------------------------------------------------------


def _columns(value: object) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
        raise Refused(f"must be a list of columns, not {shown(value)}", "e.g. `key: [o_id]`")
    if not names:
        raise Refused("names no column", "leave it out where no key is known")
    if twice := repeated(names):
        raise Refused(f"has the column `{twice}` twice")
    return tuple(str(name) for name in names)


Columns: TypeAlias = Annotated[
    tuple[str, ...],
    PlainValidator(_columns),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
            ]
        },
        mode="validation",
    ),
]


def _expression(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Refused(f"must be an SQL expression, not {shown(value)}", "e.g. `deletes: op = 'd'`")
    if problem := refusal(value):
        raise Refused(f"{problem}: {shown(value)}")
    return value


def _expressions(value: object) -> tuple[str, ...]:
    texts = value if isinstance(value, list) else [value]
    if not texts:
        raise Refused("names no column", "e.g. `sequence: updated_at`")
    return tuple(map(_expression, texts))


_TEXT_SCHEMA: Final = {"type": "string", "minLength": 1}

Expression: TypeAlias = Annotated[str, PlainValidator(_expression), WithJsonSchema(_TEXT_SCHEMA, mode="validation")]
"""Spark SQL over the columns of one record."""

Expressions: TypeAlias = Annotated[
    tuple[str, ...],
    PlainValidator(_expressions),
    WithJsonSchema(
        {"anyOf": [_TEXT_SCHEMA, {"type": "array", "items": _TEXT_SCHEMA, "minItems": 1}]}, mode="validation"
    ),
]
"""One of these, or several."""


def _deliver(value: object) -> str | tuple[str, ...]:
    if value in ("final", "every"):
        return str(value)
    times = value if isinstance(value, list) else [value]
    if not times or any(isinstance(time, bool) or not isinstance(time, (str, int, float)) for time in times):
        raise Refused(
            f"must be final, every or a list of times, not {shown(value)}", 'e.g. `deliver: ["14:00", "24:00"]`'
        )
    return tuple(str(time) for time in times)


Deliver: TypeAlias = Annotated[
    str | tuple[str, ...],
    PlainValidator(_deliver),
    WithJsonSchema(
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]},
        mode="validation",
    ),
]


def _setting(value: object) -> str | int | float | bool:
    if isinstance(value, (str, int, float, bool)):
        return value
    raise Refused(f"must be a text, a number, true or false, not {shown(value)}")


Setting: TypeAlias = Annotated[
    str | int | float | bool,
    PlainValidator(_setting),
    WithJsonSchema({"type": ["string", "number", "boolean"]}, mode="validation"),
]
"""A value handed to Spark as it is."""


# -- words -------------------------------------------------------------------------------------------------------------


def repeated(names: Iterable[str]) -> str | None:
    """The first name that was there before, in any case: Spark does not tell them apart."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            return name
        seen.add(name.lower())
    return None


def shown(value: object) -> str:
    """A value in a message."""
    match value:
        case None | "":
            return "empty"
        case bool():
            return str(value).lower()
        case str():
            return f"`{value}`" if len(value) <= 60 else f"`{value[:57]}...`"
        case dict():
            return "`key: value` entries"
        case list() | tuple():
            return "a list"
        case _:
            return f"`{value}`"
