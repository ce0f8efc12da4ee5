"""Spark's values for a moment: `now()`, `current_user()` and similar calls, and strings that it converts to one."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from slackwater.errors import Place, UnsupportedError
from slackwater.spark.reach import plans_of
from slackwater.sql.moments import DAYS, VALUES, literals, question
from slackwater.sql.pinned import has_a_moment_as_text

# As Spark prints an analyzed plan: `cast(now as date)`, `try_cast( Today  as timestamp)`, `to_date(now, None, …)`.
_AS_MOMENT = re.compile(
    rf"\b(?:(?:try_)?cast\(\s*({'|'.join(DAYS)})\b[^()]* as (?:date|timestamp\w*)\)"
    rf"|(?:try_)?to_(?:date|timestamp\w*)\(\s*({'|'.join(DAYS)})\b[^(),#]*,)",
    re.IGNORECASE,
)


def values_now(session: SparkSession) -> dict[str, str]:
    """The values of calls that depend on the moment or the session, as literals: all of one instant."""
    (answer,) = session.sql(question()).collect()
    return literals(dict(zip(VALUES, map(str, answer), strict=True)))


def check_no_text_is_a_moment(session: SparkSession, text: str, file: str | None = None) -> None:
    """Refuses a text such as 'now' where Spark converts it to a date or timestamp, each time to another one."""
    if not has_a_moment_as_text(text):
        return
    conversion = _AS_MOMENT.search(plans_of(session, text, file)[1])
    if conversion is not None:
        word = conversion[1] or conversion[2]
        raise UnsupportedError(
            f"'{word}' is converted to a date or timestamp, whose value is that of the moment",
            place=Place(file),
            hint="write `current_date()`, `current_timestamp()` or a typed literal, e.g. DATE 'today'",
        )
