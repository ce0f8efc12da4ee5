"""The values of a moment as SQL literals, by the names that `pinned.py` gives to calls.

Spark evaluates all of them in one statement, so that they are of one instant and of the session's own time zone. The
simulation has a moment of its own, in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from getpass import getuser
from typing import Final

DAYS: Final = {"now": 0, "today": 0, "tomorrow": 1, "yesterday": -1}
"""Spark's words for moments in the text of a date or timestamp, and the days between them and today."""

INSTANT = "current_timestamp"
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_DATE, _INSTANT, _LOCAL = "DATE", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"
_TEXT, _TIME, _NUMBER = "STRING", "TIME", "BIGINT"


def _of_days(kind: str, now: str) -> dict[str, tuple[str, str]]:
    """A typed literal of each word: a day as a date, or the midnight that it begins with."""
    texts = {f"{kind} '{word}'": f"date_add(current_date(), {days})" for word, days in DAYS.items()}
    return {name: (kind, f"CAST({now if 'now' in name else day} AS {kind})") for name, day in texts.items()}


VALUES: Final[Mapping[str, tuple[str, str]]] = {
    "current_catalog": (_TEXT, "current_catalog()"),
    "current_date": (_DATE, "current_date()"),
    "current_path": (_TEXT, "current_path()"),
    "current_schema": (_TEXT, "current_schema()"),
    "current_time": (_TIME, "date_format(current_timestamp(), 'HH:mm:ss.SSSSSS')"),
    INSTANT: (_INSTANT, "current_timestamp()"),
    "current_timezone": (_TEXT, "current_timezone()"),
    "current_user": (_TEXT, "current_user()"),
    "localtimestamp": (_LOCAL, "localtimestamp()"),
    "unix_timestamp": (_NUMBER, "unix_timestamp()"),
    **_of_days(_DATE, "current_date()"),
    **_of_days("TIMESTAMP", "current_timestamp()"),
    **_of_days(_INSTANT, "current_timestamp()"),
    **_of_days(_LOCAL, "localtimestamp()"),
}
"""The type of each value, and how Spark is asked for it."""


def question() -> str:
    """The statement that evaluates all values, as texts: an instant as microseconds, the rest as Spark prints it."""
    asked = (f"unix_micros({sql})" if kind == _INSTANT else sql for kind, sql in VALUES.values())
    return "SELECT " + ", ".join(f"CAST({sql} AS STRING)" for sql in asked)


def literals(answer: Mapping[str, str]) -> dict[str, str]:
    """The values by name as literals, from the texts that answer the question."""
    return {name: _literal(kind, answer[name]) for name, (kind, _) in VALUES.items()}


def _literal(kind: str, text: str) -> str:
    match kind:
        case "TIMESTAMP_LTZ":
            return f"{kind} '{(_EPOCH + int(text) * _MICROSECOND).isoformat(' ')}'"
        case "STRING":
            escaped = text.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        case "BIGINT":
            return f"CAST({text} AS BIGINT)"
        case _:
            return f"{kind} '{text}'"


def literals_at(moment: datetime) -> dict[str, str]:
    """The values of a moment in UTC, of a session with Spark's defaults."""
    now = moment.astimezone(UTC)
    values = {
        "current_catalog": "spark_catalog",
        "current_path": "system.builtin,system.session,spark_catalog.default",
        "current_schema": "default",
        "current_timezone": "UTC",
        "current_user": getuser(),
        "unix_timestamp": str((now - _EPOCH) // timedelta(seconds=1)),
    }
    for name, (kind, _) in VALUES.items():
        values.setdefault(name, _printed(kind, _day(now, name)))
    return literals(values)


def _day(now: datetime, name: str) -> datetime:
    """The moment that a value is of: now, or the midnight that a day begins with."""
    word = name.split("'")[1] if "'" in name else "now"
    return now if word == "now" else datetime(now.year, now.month, now.day, tzinfo=UTC) + timedelta(days=DAYS[word])


def _printed(kind: str, moment: datetime) -> str:
    """A moment as Spark answers the question."""
    match kind:
        case "DATE":
            return moment.date().isoformat()
        case "TIME":
            return moment.time().isoformat()
        case "TIMESTAMP_LTZ":
            return str((moment - _EPOCH) // _MICROSECOND)
        case _:
            return moment.replace(tzinfo=None).isoformat(" ")


def instant(values: Mapping[str, str]) -> str:
    """The moment of values, for people."""
    return values[INSTANT].split("'")[1].replace("+00:00", " UTC")
