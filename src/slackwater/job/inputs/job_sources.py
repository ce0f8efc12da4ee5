"""The sources of a job: as they are now, and as they were when a cycle began."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from slackwater.algebra.schema import Field, KeyReference
from slackwater.compile.views import CHANGE_TYPE
from slackwater.errors import Place, UnsupportedError, UserError
from slackwater.job.file.file_format import Format
from slackwater.job.file.sections import Changes, JobConfig, SourceConfig
from slackwater.job.inputs.formats import check_formats
from slackwater.job.inputs.references import arriving_after, arriving_with
from slackwater.job.inputs.reserved import check_column_names
from slackwater.job.inputs.row_counting import RowCounting
from slackwater.job.inputs.sources import Source, reader_options
from slackwater.job.store.accounts import Phase, charged_to
from slackwater.job.store.column_records import fields_of
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.pins import FilePin, listed
from slackwater.job.store.store import Store
from slackwater.spark.file_columns import columns_of_files, files_of_table
from slackwater.spark.settings import settings_of_results

if TYPE_CHECKING:
    from slackwater.spark.session import Session

AssumedReference = tuple[str, KeyReference]
"""What is assumed of the rows of a source."""


@dataclass(frozen=True)
class JobSources:
    """Where the sources of a job lie, and what Spark says of their columns."""

    config: JobConfig
    store: Store
    session: Callable[[], Session]
    _seen: dict[tuple[object, ...], tuple[Field, ...]] = field(default_factory=dict, compare=False, repr=False)
    """The columns that Spark has seen, by files and settings."""

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
            fields = self._columns_of(format, directory, pins, reader_options(config))
        else:
            fields = columns_of_files(self.session(), format, str(directory), [], {}, config.schema_text)
        if config.changes is Changes.FEED:
            if CHANGE_TYPE not in {f.name.lower() for f in fields} and config.schema_text is None:
                have = ", ".join(f.name for f in fields)
                hint = f"rows of a feed carry insert, delete, update_preimage or update_postimage; there is {have}"
                raise UserError(f"source `{name}` is a feed without a column `{CHANGE_TYPE}`", hint=hint)
            fields = tuple(f for f in fields if f.name.lower() != CHANGE_TYPE)
        source = self._referring(Source(name, config, format, directory, fields).widened(pins))
        check_column_names(name, [f.name for f in source.fields], config.changes)
        return source

    def _columns_of(
        self, format: str, directory: Path, pins: tuple[FilePin, ...], options: Mapping[str, str]
    ) -> tuple[Field, ...]:
        """The columns of files: Spark looks into them once, as long as they and its settings are the same."""
        session = self.session()
        settings = settings_of_results(session)
        key = format, directory, pins, tuple(sorted(options.items())), tuple(sorted(settings.items()))
        if key not in self._seen:
            self._seen[key] = columns_of_files(session, format, str(directory), [pin.path for pin in pins], options)
        return self._seen[key]

    def _place(self, name: str, config: SourceConfig) -> tuple[Path, str]:
        if config.table is not None:
            files = files_of_table(self.session(), config.table)
            if files.format not in tuple(Format):
                raise UnsupportedError(f"source `{name}`: a table of format {files.format} is not supported")
            return Path(files.directory), files.format
        assert config.path is not None
        return config.path, config.format.value

    def _referring(self, source: Source) -> Source:
        """The source with what it promises of rows of others."""
        with_others = arriving_with(source.name, self.config.sources)
        return replace(source, arrives_with=with_others, arrives_after=arriving_after(source.name, self.config.sources))

    @charged_to(Phase.INPUTS)
    def of(self, cycle: Cycle, without: AssumedReference | None = None) -> dict[str, Source]:
        """The sources as they were when the cycle began, with what its plan assumes of them, but for one thing."""
        record = cycle.record()
        assumed = [each for each in record.assumptions if each != without]
        sources: dict[str, Source] = {}
        for name, config in self.config.sources.items():
            directory, format = self._place(name, config)
            then = record.sources[name]
            fields, optional = fields_of(then.columns), frozenset(then.optional)
            source = self._referring(Source(name, config, format, directory, fields, optional))
            sources[name] = source.assuming(tuple(reference for of, reference in assumed if of == name))
        return RowCounting(self.store, self.session).with_earlier_counts(sources)


def _check_columns_known(name: str, config: SourceConfig, directory: Path, pins: Sequence[FilePin]) -> None:
    if not pins and config.schema_text is None:
        raise UserError(
            f"source `{name}` has no file yet, so its columns are not known",
            place=Place(str(directory)),
            hint="give them in the job file, e.g. `schema: o_id INT, price DOUBLE`, or wait for the first file",
        )
