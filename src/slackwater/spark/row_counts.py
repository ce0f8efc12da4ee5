"""Counts the rows of files, file by file, as Spark reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from slackwater.compile.views import CHANGE_TYPE, quoted_name
from slackwater.spark.column_counting import KINDS
from slackwater.spark.statements import our_error

if TYPE_CHECKING:
    from slackwater.spark.session import Session

FILE, WHOLE_ROW = "slackwater__file", "slackwater__whole_row"


def rows_by_file(
    session: Session, view: str, *, kinds: bool, whole_rows: bool = False
) -> Mapping[str, tuple[int, ...]]:
    """The rows of every file behind a view that has any, by its path; with `kinds` also those of each kind of change.

    Spark reads no column to count rows. Where a row that does not fit is dropped, that takes `whole_rows`.
    """
    counts = ["count(*)", *(f"count_if({CHANGE_TYPE} = '{kind}')" for kind in KINDS if kinds)]
    # Spark would not read columns of which nothing is asked.
    read = [f"max(xxhash64(to_json(struct(*)))) AS {WHOLE_ROW}"] if whole_rows else []
    select = ", ".join([f"input_file_name() AS {FILE}", *counts, *read])
    try:
        rows = session.sql(f"SELECT {select} FROM {quoted_name(view)} GROUP BY {FILE}").collect()
    except (PySparkException, Py4JError) as error:
        raise our_error(error) from None
    width = 1 + len(counts)
    return {unquote(urlsplit(row[0]).path): tuple(int(count) for count in row[1:width]) for row in rows}
