"""Writing and reading of answer files, with options that keep what Spark would lose in text files by default.

Spark's CSV trims spaces and quotes with a backslash, which few readers support; its CSV and JSON round timestamps to
milliseconds. In CSV, NULL is written as nothing and the empty string as `""`.
"""

from __future__ import annotations

from slackwater.job.file.file_format import Format

_TIMES = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_CSV = {
    "header": "true",
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}
# Spark reads as NULL what equals `nullValue`: it must not be the empty text, nor one that an answer has.
_READING_CSV = {"multiLine": "true", "nullValue": "\u0001slackwater NULL", "mode": "FAILFAST"}


def options_to_write(format: Format) -> dict[str, str]:
    """Spark's options for writing an answer."""
    match format:
        case Format.CSV:
            return {**_CSV, **_TIMES}
        case Format.JSON:
            return dict(_TIMES)
        case _:
            return {}


def options_to_read(format: Format) -> dict[str, str]:
    """Spark's options for reading an answer as it was written."""
    return {**options_to_write(format), **(_READING_CSV if format is Format.CSV else {})}
