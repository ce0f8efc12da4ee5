"""The tables of a job: where their rows come from, what their columns are, how a run reads them.

A source is a directory of files or a table of the Spark catalog that is one. Its columns are those of its files when a
cycle begins; one that some of them lack is NULL there. A file that comes later without a column that all of them had is
refused before anything is computed from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from slackwater.algebra.schema import Field, KeyReference, TableSchema
from slackwater.algebra.types import Type
from slackwater.catalog.statistics import Arrival
from slackwater.compile.upserts import Upserts
from slackwater.compile.views import (
    CHANGE_TYPE,
    Files,
    change_of_feed,
    version_of_feed,
    view_of_files,
    view_of_nothing,
    view_of_query,
)
from slackwater.errors import Place, UserError, counted
from slackwater.job.file.file_format import Format
from slackwater.job.file.sections import Changes, SourceConfig
from slackwater.job.inputs.file_rows import FileRows
from slackwater.job.inputs.widening import is_read_as, wider
from slackwater.job.store.pins import FilePin, listed
from slackwater.simulation.tables import spark_type
from slackwater.time.source_names import change_name, snapshot_name, wide_changes

BYTES_PER_ROW = 100
"""A guess for text files whose rows nobody has counted yet: never for what a run records or decides by."""


FileColumns: TypeAlias = Mapping[str, Field]
"""The columns of a file, by their names in lower case."""


@dataclass(frozen=True)
class Source:
    """A table of the query and the files behind it."""

    name: str
    config: SourceConfig
    format: str
    directory: Path
    fields: tuple[Field, ...]
    optional: frozenset[str] = frozenset()
    """Columns that some files lack, in lower case: they are NULL there."""
    arrives_with: tuple[KeyReference, ...] = ()
    """References to rows that arrive in the same run."""
    arrives_after: tuple[KeyReference, ...] = ()
    """References to rows that never arrive later."""
    assumed: tuple[KeyReference, ...] = ()
    """References to rows that are thought to arrive in the same run, though nobody promises it."""
    counted: Mapping[str, FileRows] = field(default_factory=dict, compare=False, repr=False)
    """The rows of text files that were counted, by their paths."""

    @property
    def changing(self) -> bool:
        return not self.config.static

    @property
    def is_feed(self) -> bool:
        return self.config.changes is Changes.FEED

    @property
    def upserts(self) -> Upserts | None:
        """What its records mean, if they are upserts."""
        config = self.config
        if config.changes is not Changes.UPSERTS or config.key is None:
            return None
        return Upserts(self.name, self.fields, config.key, config.sequence, config.deletes)

    @property
    def schema(self) -> TableSchema:
        """The table as the binder sees it; a key is also a promise that its columns are never null."""
        never_null = self.config.never_null
        fields = tuple(Field(f.name, f.type, f.nullable and f.name not in never_null) for f in self.fields)
        keys = tuple(frozenset(key) for key in self.config.unique)
        together, append_only = (*self.arrives_with, *self.assumed), self.config.append_only
        return TableSchema(self.name, fields, keys, self.changing, append_only, together, self.arrives_after)

    def assuming(self, references: tuple[KeyReference, ...]) -> Source:
        """The source with other assumptions."""
        return replace(self, assumed=references) if references != self.assumed else self

    def listed(self) -> tuple[FilePin, ...]:
        return listed(self.directory)

    def check_key(self) -> None:
        names = {f.name for f in self.fields}
        in_keys = {column for key in self.config.unique for column in key}
        for column in self.config.never_null:
            if column not in names:
                shown, where = ", ".join(sorted(names)), "key" if column in in_keys else "`not_null`"
                message = f"source `{self.name}`: its {where} names no column `{column}`"
                raise UserError(message, hint=f"there is {shown}")
        for column in (column for columns in self.config.arrives_after.values() for column in columns):
            if column not in names:
                message = f"source `{self.name}`: `after` names no column `{column}`"
                raise UserError(message, hint=f"there is {', '.join(sorted(names))}")

    # --- views -------------------------------------------------------------------------------------------------------

    def views(self, names: Iterable[str], pins: Sequence[Sequence[FilePin]]) -> Iterator[str]:
        """The views among `names` that are of this source, given the pins of the runs so far."""
        wanted = set(names)
        if not self.changing:
            if self.name in wanted:
                yield from self._version(self.name, [pin for run in pins for pin in run])
            return
        for run in range(1, len(pins) + 1):
            if (change := change_name(self.name, run)) in wanted:
                yield from self._change(change, pins[run - 1])
        for change, runs in wide_changes(self.name, wanted):
            yield from self._change(change, [pin for run in runs for pin in pins[run - 1]])
        for run in range(len(pins) + 1):
            if (version := snapshot_name(self.name, run)) in wanted:
                yield from self.whole(version, pins[:run])

    def whole(self, name: str, pins: Sequence[Sequence[FilePin]]) -> Iterator[str]:
        """The views by which the table, as of the last of the runs given, has a name: from its files alone."""
        if self.upserts is not None:
            yield from self._by_definition(name, self.upserts, pins)
        else:
            yield from self._version(name, [pin for run in pins for pin in run])

    def _by_definition(self, name: str, upserts: Upserts, pins: Sequence[Sequence[FilePin]]) -> Iterator[str]:
        """What upserts come to; by a sequence the runs make no difference, so all files are read as one."""
        together = [[pin for run in pins for pin in run]] if upserts.sequence else pins
        records = [(run, f"{name}__records_{run}") for run, files in enumerate(together, start=1) if files]
        if not records:
            yield view_of_nothing(name, self.fields)
            return
        yield from (self.counted_view(view, together[run - 1]) for run, view in records)
        yield view_of_query(name, upserts.table(records))

    def counted_view(self, name: str, pins: Sequence[FilePin]) -> str:
        """The rows of files as they lie there, kinds of change included."""
        return view_of_files(name, self._files(pins), self._feed_fields if self.is_feed else self.fields)

    def _change(self, name: str, pins: Sequence[FilePin]) -> Iterator[str]:
        if not self.is_feed:
            yield view_of_files(name, self._files(pins), self.fields)
        elif not pins:
            yield view_of_nothing(name, (*self.fields, Field("multiplicity", Type.parse("bigint"))))
        else:
            yield view_of_files(f"{name}__feed", self._files(pins), self._feed_fields)
            yield change_of_feed(name, f"{name}__feed", self.fields)

    def _version(self, name: str, pins: Sequence[FilePin]) -> Iterator[str]:
        if not self.is_feed or not pins:
            yield view_of_files(name, self._files(pins), self.fields)
        else:
            yield view_of_files(f"{name}__feed", self._files(pins), self._feed_fields)
            yield version_of_feed(name, f"{name}__feed", self.fields, unique=bool(self.config.unique))

    @property
    def _feed_fields(self) -> tuple[Field, ...]:
        return (*self.fields, Field(CHANGE_TYPE, Type.parse("string")))

    def _files(self, pins: Sequence[FilePin]) -> Files:
        return Files(self.format, str(self.directory), tuple(pin.path for pin in pins), reader_options(self.config))

    # --- what the files say of themselves ----------------------------------------------------------------------------

    @property
    def says_rows(self) -> bool:
        """Whether its files say how many rows they have."""
        return self.format in (Format.PARQUET, Format.ORC)

    def rows(self, pins: Iterable[FilePin]) -> float:
        """How many rows files have: as they say or were counted, guessed by size where neither."""
        return sum(self._rows_of(pin) for pin in pins)

    def uncounted(self, pins: Iterable[FilePin]) -> list[FilePin]:
        """The files whose rows nobody knows: text files that were not counted as they are."""
        return [] if self.says_rows else [pin for pin in pins if self._counted(pin) is None]

    def _counted(self, pin: FilePin) -> FileRows | None:
        rows = self.counted.get(pin.path)
        return rows if rows is not None and rows.pin.is_same(pin) else None

    def _rows_of(self, pin: FilePin) -> float:
        path = self.directory / pin.path
        try:
            if self.format == Format.PARQUET:
                return float(pq.read_metadata(path).num_rows)
            if self.format == Format.ORC:
                return float(orc.ORCFile(path).nrows)
        except (OSError, pa.ArrowException) as error:
            raise unreadable(self.name, path, error) from None
        counted = self._counted(pin)
        return float(counted.rows) if counted is not None else pin.size / BYTES_PER_ROW

    def arrival(self, pins: Iterable[FilePin]) -> Arrival:
        """What files bring; of a feed in kinds of change, where they can be asked or were counted, else all inserts."""
        pins = tuple(pins)
        if not self.is_feed:
            return Arrival(self.rows(pins))
        if not self.says_rows:
            counted = [self._counted(pin) for pin in pins]
            of_files = [rows.kinds for rows in counted if rows is not None and rows.kinds is not None]
            inserts, updates, deletes = (float(sum(kinds[place] for kinds in of_files)) for place in range(3))
            guessed = sum(pin.size / BYTES_PER_ROW for pin in self.uncounted(pins))
            return Arrival(inserts + guessed, updates, deletes)
        kinds = Counter[str]()
        for pin in pins:
            kinds.update(self._kinds_of(self.directory / pin.path))
        return Arrival(float(kinds["insert"]), float(kinds["update_postimage"]), float(kinds["delete"]))

    def _kinds_of(self, path: Path) -> dict[str, int]:
        try:
            if self.format == Format.PARQUET:
                table = pq.read_table(path, columns=[CHANGE_TYPE], partitioning=None)
            else:
                table = orc.ORCFile(path).read(columns=[CHANGE_TYPE])
        except (OSError, pa.ArrowException) as error:
            raise unreadable(self.name, path, error) from None
        counts: list[dict[str, str | int]] = table.column(CHANGE_TYPE).value_counts().to_pylist()
        return {str(count["values"]): int(count["counts"]) for count in counts}

    def check_columns(self, pins: Iterable[FilePin]) -> list[str]:
        """Refuses files whose columns are not the source's, and says which have more or less than it reads.

        Text files are checked by Spark when it reads them.
        """
        by_file = self._columns_by_file(pins)
        for path, columns in by_file.items():
            self._check_columns(path, columns)
        if self.config.schema_text is not None:
            return []
        return [*self._added_columns(by_file), *self._lacking_columns(by_file)]

    def widened(self, pins: Iterable[FilePin]) -> Source:
        """The source with all columns of its files, each in the widest type; a file that does not fit is refused.

        A schema of the job file stands as it is.
        """
        by_file = self._columns_by_file(pins)
        source = self
        if self.config.schema_text is None:
            source = replace(self, fields=self._united(by_file), optional=self._lacked_by_some(by_file))
        for path, columns in by_file.items():
            source._check_columns(path, columns)
        return source

    def _united(self, by_file: Mapping[str, FileColumns]) -> tuple[Field, ...]:
        """The columns of all files: those that Spark saw in one of them first, then those that only others have."""
        seen = {column.name.lower(): column for column in self._expected}
        for path, columns in by_file.items():
            new = columns.keys() - seen.keys() - partitions_of(path)
            seen |= {name: column for name, column in columns.items() if name in new and column.type.is_known}
        return tuple(_widest(column, by_file.values()) for name, column in seen.items() if name not in self._always)

    def _lacked_by_some(self, by_file: Mapping[str, FileColumns]) -> frozenset[str]:
        """The columns that some files have and others lack."""
        everywhere = {name for columns in by_file.values() for name in columns} - self._always
        return frozenset(
            name for path, columns in by_file.items() for name in everywhere - columns.keys() - partitions_of(path)
        )

    @property
    def _always(self) -> set[str]:
        """What every file has beside the table's columns: of a feed, how each row changes it."""
        return {CHANGE_TYPE} if self.is_feed else set()

    def _columns_by_file(self, pins: Iterable[FilePin]) -> dict[str, FileColumns]:
        """The columns of files that say what they have."""
        by_file = {pin.path: self._columns_of(self.directory / pin.path) for pin in pins}
        return {path: columns for path, columns in by_file.items() if columns is not None}

    @property
    def _expected(self) -> tuple[Field, ...]:
        """The columns that each of its files must have."""
        return self._feed_fields if self.is_feed else self.fields

    def _lacking_columns(self, by_file: Mapping[str, FileColumns]) -> list[str]:
        """The columns of the source that some of its files do not have, in words."""
        lacking: dict[str, list[str]] = {}
        for path, columns in by_file.items():
            for name in self.optional - columns.keys() - partitions_of(path):
                lacking.setdefault(name, []).append(path)
        return [
            f"source `{self.name}`: {_files_have(paths)} no column `{name}`; it is NULL there"
            for name, paths in sorted(lacking.items())
        ]

    def _added_columns(self, by_file: Mapping[str, FileColumns]) -> list[str]:
        """The columns of files that the source does not have, in words."""
        expected = {field.name.lower() for field in self._expected}
        added: dict[str, list[str]] = {}
        for path, columns in by_file.items():
            for name in columns.keys() - expected - partitions_of(path):
                added.setdefault(name, []).append(path)
        return [
            f"source `{self.name}`: {_files_have(paths)} a new column `{name}`; it is not read in this cycle"
            for name, paths in sorted(added.items())
        ]

    def _columns_of(self, path: Path) -> FileColumns | None:
        try:
            if self.format == Format.PARQUET:
                schema = pq.read_schema(path)
            elif self.format == Format.ORC:
                schema = orc.ORCFile(path).schema
            else:
                return None
        except (OSError, pa.ArrowException) as error:
            raise unreadable(self.name, path, error) from None
        return {column.name.lower(): Field(column.name, spark_type(column.type)) for column in schema}

    def _check_columns(self, path: str, columns: FileColumns) -> None:
        let_be = partitions_of(path) | (self.optional - columns.keys())
        for expect in self._expected:
            if expect.name.lower() in let_be:
                continue
            column = columns.get(expect.name.lower())
            if column is None:
                raise self._drifted(path, f"it has no column `{expect.name}`", columns)
            if not is_read_as(column.type, expect.type):
                raise self._drifted(path, f"`{expect.name}` is {column.type}, and was {expect.type}", columns)

    def _drifted(self, path: str, what: str, columns: FileColumns) -> UserError:
        return UserError(
            f"source `{self.name}` has other columns: {what}",
            place=Place(str(self.directory / path)),
            hint=f"the file has {', '.join(columns)}; fix the file, or begin again with `slackwater run --new-cycle`",
        )


def reader_options(config: SourceConfig) -> dict[str, str]:
    """Spark's options for a source; unless told otherwise, text that does not fit is an error and never a null."""
    options = {key: _option(value) for key, value in config.options.items()}
    if config.format.is_text:
        options.setdefault("mode", "FAILFAST")
    if config.format is Format.CSV and options.get("header") == "true":
        options.setdefault("enforceSchema", "false")
    return options


def _option(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def unreadable(source: str, path: Path, error: Exception) -> UserError:
    """The error for a data file that is not what its format says."""
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    hint = "fix or remove it, then run again; write a file under another name and rename it when it is complete"
    return UserError(f"source `{source}`: this file cannot be read ({first})", place=Place(str(path)), hint=hint)


def partitions_of(path: str) -> frozenset[str]:
    """The columns that a file has by the names of its directories, in lower case."""
    return frozenset(part.partition("=")[0].lower() for part in path.split("/")[:-1] if "=" in part)


def _widest(column: Field, files: Iterable[FileColumns]) -> Field:
    kind = column.type
    for columns in files:
        kind = wider(kind, columns.get(column.name.lower(), column).type)
    return replace(column, type=kind)


def _files_have(paths: Sequence[str]) -> str:
    first = f"file {paths[0]}"
    return f"{first} has" if len(paths) == 1 else f"{first} and {counted(len(paths) - 1, 'more file')} have"
