"""Whether a file in a source's directory can be data: a README, or a file of another format, is named and refused.

A file is never ignored without a message, because it might be data. Parquet and ORC files are recognized by their first
bytes. A text file has none, so only what is certain is refused: other formats by their first bytes, documents by their
names. So are files that Spark would read by checksums of an older version.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from slackwater.errors import Place, UserError
from slackwater.job.file.file_format import Format
from slackwater.job.store.hadoop_crc import crc_file, has_length_of
from slackwater.job.store.pins import FilePin

_MAGIC = {Format.PARQUET: b"PAR1", Format.ORC: b"ORC"}
_DOCUMENTS = frozenset({"changelog", "contributing", "copying", "licence", "license", "notice", "readme"})
_DOCUMENT_SUFFIXES = frozenset({".doc", ".docx", ".htm", ".html", ".md", ".odt", ".pdf", ".rst", ".xls", ".xlsx"})


def check_formats(source: str, format: str, directory: Path, pins: Iterable[FilePin]) -> None:
    """Refuses files that are not what their source says, or cannot be read as they are."""
    for path in (directory / pin.path for pin in pins):
        if problem := _problem(Format(format), path):
            hint = "if it is data, fix it; if not, move it away or rename it to begin with `_` or `.`"
            raise UserError(f"source `{source}`: {problem}", place=Place(str(path)), hint=hint)
        if not has_length_of(path):
            stale = crc_file(path).name
            raise UserError(
                f"source `{source}`: `{stale}` next to this file contains checksums of another version of it",
                place=Place(str(path)),
                hint=f"if the file is good, remove `{stale}`: because of it Spark refuses to read the file",
            )


def _problem(format: Format, path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        return f"this file cannot be read ({error.strerror})"
    own = _MAGIC.get(format)
    if own is not None:
        return None if start.startswith(own) else f"this is no {format.value} file"
    if start == _MAGIC[Format.PARQUET]:  # three letters, as of ORC, could begin a text
        return f"this is a parquet file, and should be {format.value}"
    return f"this is a document, and no {format.value} file" if _is_document(PurePosixPath(path.name)) else None


def _is_document(name: PurePosixPath) -> bool:
    return name.name.partition(".")[0].lower() in _DOCUMENTS or name.suffix.lower() in _DOCUMENT_SUFFIXES
