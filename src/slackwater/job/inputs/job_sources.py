"""The sources of a job: as they are now, and as they were when a cycle began."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slackwater.compile.views import CHANGE_TYPE
from slackwater.errors import Place, UnsupportedError, UserError
from slackwater.job.file.sections import Changes, Format, JobConfig, SourceConfig
from slackwater.job.inputs.formats import check_formats
from slackwater.job.inputs.reserved import check_column_names
from slackwater.job.inputs.row_counting import RowCounting
from slackwater.job.inputs.sources import Source, reader_options
from slackwater.job.store.accounts import Phase, charged_to
from slackwater.job.store.column_records import fields_of
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.pins import FilePin, listed
from slackwater.job.store.store import Store
from slackwater.spark.file_columns import columns_of_files, files_of_table

if TYPE_CHECKING:
    from slackwater.spark.session import Session


@dataclass(frozen=True)
class JobSources:
    """Where the sources of a job lie, and what Spark says of their columns."""

    config: JobConfig
    store: Store
    session: Callable[[], Session]

    def counted(self, sources: Mapping[str, Source], files: Mapping[str, Iterable[FilePin]]) -> dict[str, Source]:
        """The sources with the rows of these files; text files are counted, once."""
        return RowCounting(self.store, self.session).counted(sources, files)

    @charged_to(Phase.INPUTS)
    def now(self) -> dict[str, Source]:
        """The sources as they are now."""
        for name, config in self.config.sources.items():
            if config.path is not None:  # what is missing is said before Spark is started
                _check_columns_known(name, config, config.path, listed(config.path))
        return {name: self._source_now(name, config) for name, config in self.config.sources.items()}

    def _source_now(self, name: str, config: SourceConfig) -> Source:
        directory, format = self._place(name, config)
        pins = listed(directory)
        _check_columns_known(name, config, directory, pins)
        check_formats(name, format, directory, pins)
        if pins and config.schema_text is None:
            paths = [pin.path for pin in pins]
            fields = columns_of_files(self.session(), format, str(directory), paths, reader_options(config))
        else:
            fields = columns_of_files(self.session(), format, str(directory), [], {}, config.schema_text)
        if config.changes is Changes.FEED:
            if CHANGE_TYPE not in {f.name.lower() for f in fields} and config.schema_text is None:
                have = ", ".join(f.name for f in fields)
                hint = f"rows of a feed carry insert, delete, update_preimage or update_postimage; there is {have}"
                raise UserError(f"source `{name}` is a feed without a column `{CHANGE_TYPE}`", hint=hint)
            fields = tuple(f for f in fields if f.name.lower() != CHANGE_TYPE)
        source = Source(name, config, format, directory, fields).widened(pins)
        check_column_names(name, [f.name for f in source.fields], config.changes)
        return source

    def _place(self, name: str, config: SourceConfig) -> tuple[Path, str]:
        if config.table is not None:
            files = files_of_table(self.session(), config.table)
            if files.format not in tuple(Format):
                raise UnsupportedError(f"source `{name}`: a table of format {files.format} is not supported")
            return Path(files.directory), files.format
        assert config.path is not None
        return config.path, config.format.value

    @charged_to(Phase.INPUTS)
    def of(self, cycle: Cycle) -> dict[str, Source]:
        """The sources as they were when the cycle began."""
        record = cycle.record()
        sources: dict[str, Source] = {}
        for name, config in self.config.sources.items():
            directory, format = self._place(name, config)
            then = record.sources[name]
            fields, optional = fields_of(then.columns), frozenset(then.optional)
            sources[name] = Source(name, config, format, directory, fields, optional)
        return RowCounting(self.store, self.session).with_earlier_counts(sources)


def _check_columns_known(name: str, config: SourceConfig, directory: Path, pins: Sequence[FilePin]) -> None:
    if not pins and config.schema_text is None:
        raise UserError(
            f"source `{name}` has no file yet, so its columns are not known",
            place=Place(str(directory)),
            hint="give them in the job file, e.g. `schema: o_id INT, price DOUBLE`, or wait for the first file",
        )
