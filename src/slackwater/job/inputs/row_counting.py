"""Counts the rows of new text files; files that state their rows are not read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import realpath
from typing import TYPE_CHECKING

from slackwater.errors import InternalError
from slackwater.job.inputs.file_rows import FileRows, SourceRows, by_path, keep_rows, known_rows
from slackwater.job.inputs.sources import Source, reader_options, unreadable
from slackwater.job.inputs.text_lines import counts_by_line, rows_of_lines
from slackwater.job.store.manifest import checksum_of
from slackwater.job.store.pins import FilePin
from slackwater.job.store.store import Store
from slackwater.spark.row_counts import rows_by_file
from slackwater.spark.statements import run_statement

if TYPE_CHECKING:
    from slackwater.spark.session import Session

VIEW = "slackwater__rows"


@dataclass(frozen=True)
class RowCounting:
    """A job's text files and what is known of their rows."""

    store: Store
    session: Callable[[], Session]

    def with_earlier_counts(self, sources: Mapping[str, Source]) -> dict[str, Source]:
        """The sources with what was counted before; nothing is counted."""
        if all(source.says_rows for source in sources.values()):
            return dict(sources)
        counted_before = known_rows(self.store)
        return {name: self._informed(source, counted_before.get(name)) for name, source in sources.items()}

    def counted(self, sources: Mapping[str, Source], files: Mapping[str, Iterable[FilePin]]) -> dict[str, Source]:
        """The sources with the rows of these files, of which those that were not counted yet are counted now."""
        informed = self.with_earlier_counts(sources)
        missing = {name: informed[name].uncounted(files.get(name, ())) for name in informed}
        if not any(missing.values()):
            return informed
        for name, source in informed.items():
            if missing[name]:
                counted = by_path(self._count(source, missing[name]))
                informed[name] = replace(source, counted={**source.counted, **counted})
        keep_rows(self.store, {name: _record(source) for name, source in informed.items() if source.counted})
        return informed

    def _informed(self, source: Source, counted_before: SourceRows | None) -> Source:
        if counted_before is None or counted_before.read_as != _read_as(source):
            return source
        return replace(source, counted=by_path(counted_before.files))

    def _count(self, source: Source, pins: Sequence[FilePin]) -> list[FileRows]:
        """Here, as far as records are lines; by one statement of Spark, as far as not."""
        counted = [] if source.is_feed else list(_counted_here(source, pins))
        left = pins[len(counted) :]
        return [*counted, *(self._count_by_spark(source, left) if left else ())]

    def _count_by_spark(self, source: Source, pins: Sequence[FilePin]) -> list[FileRows]:
        """By one statement; a file that Spark finds no row in has none."""
        run_statement(self.session(), source.counted_view(VIEW, pins))
        dropping = reader_options(source.config).get("mode", "").upper() == "DROPMALFORMED"
        counts_by_file = rows_by_file(self.session(), VIEW, kinds=source.is_feed, whole_rows=dropping)
        rows = {realpath(path): counts for path, counts in counts_by_file.items()}
        places = {realpath(source.directory / pin.path): pin for pin in pins}
        if unknown := rows.keys() - places.keys():
            raise InternalError(f"Spark has counted rows of {min(unknown)}, which is no file of source {source.name}")
        nothing = (0, 0, 0, 0) if source.is_feed else (0,)
        return [_file_rows(pin, rows.get(place, nothing)) for place, pin in places.items()]


def _counted_here(source: Source, pins: Sequence[FilePin]) -> Iterator[FileRows]:
    """The files whose records are lines, up to the first one that only Spark can read."""
    options = reader_options(source.config)
    if not counts_by_line(source.config.format, options):
        return
    for pin in pins:
        try:
            rows = rows_of_lines(source.directory / pin.path, source.config.format, options)
        except OSError as error:
            raise unreadable(source.name, source.directory / pin.path, error) from error
        if rows is None:
            return
        yield _file_rows(pin, (rows,))


def _file_rows(pin: FilePin, counts: Sequence[int]) -> FileRows:
    rows, *kinds = counts
    inserts, updates, deletes = kinds or (0, 0, 0)
    return FileRows(pin=pin, rows=rows, kinds=(inserts, updates, deletes) if kinds else None)


def _read_as(source: Source) -> str:
    """By what it is known that files are read as they were when they were counted."""
    options = reader_options(source.config)
    columns = [f"{field.name} {field.type.text}" for field in source.fields]
    reading = [source.format, str(source.directory), source.config.changes.value, *columns]
    return checksum_of("\n".join([*reading, *(f"{key}={options[key]}" for key in sorted(options))]))


def _record(source: Source) -> SourceRows:
    """Files that are gone are forgotten: what runs have read of them is in manifests."""
    there = [file for file in source.counted.values() if (source.directory / file.pin.path).exists()]
    return SourceRows(read_as=_read_as(source), files=tuple(there))
