"""Rows of plain text files, counted here: a record a line is quicker to count than to ask Spark for.

Only where every record is a line for sure, and Spark would count the same. All other files are left to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from slackwater.job.file.file_format import Format

_CHUNK: Final = 1 << 22
_PACKED: Final = frozenset({".gz", ".bz2", ".deflate", ".lz4", ".snappy", ".zst", ".zip", ".xz"})
_SAFE: Final = frozenset(
    {
        *("header", "enforceschema", "mode", "sep", "delimiter", "quote", "escape", "nullvalue", "emptyvalue"),
        *("dateformat", "timestampformat", "timestampntzformat", "locale", "ignoreleadingwhitespace"),
        *("ignoretrailingwhitespace", "prefersdecimal", "primitivesasstring", "allownumericleadingzeros"),
    }
)
"""Options of Spark's readers that do not change how many records a file has."""
_BLANK: Final = bytes(range(0x21))
"""What Java's `trim` removes; Spark passes lines over in which nothing else is."""
_ODD: Final = re.compile(rb"\n[\x00-\x20\[]")
"""The start of a line that may be blank or, in JSON, a list of records."""
_LONE_RETURN: Final = re.compile(rb"\r(?!\n)")
_MARKS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def counts_by_line(format: Format, options: Mapping[str, str]) -> bool:
    """Whether a source's files have a record a line, however else they are read."""
    modes = {value.upper() for key, value in options.items() if key.lower() == "mode"}
    return format.is_text and {key.lower() for key in options} <= _SAFE and "DROPMALFORMED" not in modes


def rows_of_lines(path: Path, format: Format, options: Mapping[str, str]) -> int | None:
    """How many records Spark finds in a file; None where only Spark can say."""
    if path.suffix.lower() in _PACKED:
        return None
    rows = 0
    with path.open("rb") as file:
        for number, chunk in enumerate(_whole_lines(iter(lambda: file.read(_CHUNK), b""))):
            if (number == 0 and chunk.startswith(_MARKS)) or _LONE_RETURN.search(chunk):
                return None
            lines = _lines(chunk, format)
            if lines is None:
                return None
            rows += lines
    has_header = format is Format.CSV and {k.lower(): v for k, v in options.items()}.get("header") == "true"
    return max(0, rows - has_header)


def _whole_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes, cut only after line ends; the last cut may have none."""
    rest = b""
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end:
            yield rest + chunk[:end]
            rest = chunk[end:]
        else:
            rest += chunk
    if rest:
        yield rest


def _lines(chunk: bytes, format: Format) -> int | None:
    """The lines of a chunk with anything in them; None if one of JSON may be several records."""
    if chunk[:1].strip(_BLANK) and not chunk.startswith(b"[") and not _ODD.search(chunk):
        return chunk.count(b"\n") + (not chunk.endswith(b"\n"))
    lines = [line.strip(_BLANK) for line in chunk.split(b"\n")]
    if format is Format.JSON and any(line.startswith(b"[") for line in lines):
        return None
    return sum(map(bool, lines))
