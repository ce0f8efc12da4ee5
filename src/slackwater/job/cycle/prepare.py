"""Before a cycle begins: what the sources are, what Spark makes of the queries, how much data there is, the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from slackwater.algebra.schema import Field
from slackwater.algebra.types import Type
from slackwater.catalog.statistics import Arrival, Statistics, bringing
from slackwater.catalog.table import Catalog
from slackwater.compile.views import CHANGE_TYPE
from slackwater.errors import Place, UnsupportedError, UserError
from slackwater.job.cycle.conditions import Conditions
from slackwater.job.cycle.moment import at_moment, check_types, name_a_moment
from slackwater.job.cycle.planning import Planned, plan_job
from slackwater.job.file.sections import Changes, Format, JobConfig, JobQuery, SourceConfig
from slackwater.job.inputs.batches import SourceCounts, known_counts
from slackwater.job.inputs.counting import Counting, SourceStatistics, is_current, shown
from slackwater.job.inputs.formats import check_formats
from slackwater.job.inputs.record_expressions import check_upserts
from slackwater.job.inputs.reserved import check_column_names
from slackwater.job.inputs.row_counting import RowCounting
from slackwater.job.inputs.sources import Source, reader_options
from slackwater.job.learning.feedback import history_of
from slackwater.job.learning.forecasts import whole_cycles
from slackwater.job.learning.prices import ClusterPrices, cluster_of, read_prices
from slackwater.job.learning.statistics import Evidence, evidence, job_statistics
from slackwater.job.store.accounts import Phase, charged_to
from slackwater.job.store.columns import fields_of
from slackwater.job.store.pins import FilePin, listed
from slackwater.job.store.store import Cycle, Store
from slackwater.physical.bill import Bill
from slackwater.plan.past import Past
from slackwater.rows.feedback import History
from slackwater.spark.analyze import has_catalog_of_its_own, output_fields, user_aggregates
from slackwater.spark.column_counting import is_plain
from slackwater.spark.columns import columns_of_files, files_of_table
from slackwater.spark.expressions import expression_type
from slackwater.spark.moment import check_no_text_is_a_moment, values_now
from slackwater.spark.reach import check_relations
from slackwater.spark.statements import run_statement
from slackwater.sql.undeclared import check_declared
from slackwater.sql.variables import check_no_variables
from slackwater.time.timeline import Timeline

if TYPE_CHECKING:
    from slackwater.spark.session import Session


@dataclass(frozen=True)
class Engine:
    """What a session can do beside what every Spark can, and the values that queries ask it for."""

    aggregates: frozenset[str] = frozenset()
    by_key: bool = False
    ansi: bool = True
    """Whether Spark raises an error where a number overflows."""
    values: Mapping[str, str] = field(default_factory=dict)
    """What calls of the moment and of the session are, as literals; nothing where no query has any."""


@dataclass(frozen=True)
class Preparation:
    """A job that is looked at, and not yet run."""

    config: JobConfig
    store: Store
    session: Callable[[], Session]
    known: Statistics | None = None
    """What is known of the sources already: then nothing is counted."""
    methods: tuple[str, ...] | None = None
    """The methods to plan with; all of them unless told."""
    prices: ClusterPrices | None = None
    """Those to plan with; those of the job's cluster unless told."""
    history: History | None = None
    """What days before have counted; unless told the job's own cycles are asked, but not where sources are known."""

    def planned(
        self, sources: Mapping[str, Source], values: Mapping[str, str] | None = None
    ) -> tuple[Planned, dict[str, tuple[Field, ...]], Engine]:
        """The plan over the sources as they are, the columns that Spark sees in each answer, and what Spark can do.

        `values` of calls such as now() are those of a cycle that has begun, or else of now.
        """
        now = {name: source.listed() for name, source in sources.items()}
        declared = self.declared(sources)
        catalog = Catalog.of(source.schema for source in sources.values())
        statistics = self.known if self.known is not None else self._statistics(self.counted(sources, now), now)
        engine = self.with_values(replace(self._engine(), values=values or {}), sources, declared)
        planned = self.plan(catalog, declared, statistics, engine)
        return replace(planned, columns={name: source.fields for name, source in sources.items()}), declared, engine

    def _engine(self) -> Engine:
        session = self.session()
        ansi = Conditions.of_session(session).ansi is not False
        return Engine(user_aggregates(session), has_catalog_of_its_own(session), ansi)

    def with_values(
        self, engine: Engine, sources: Mapping[str, Source], declared: Mapping[str, Sequence[Field]]
    ) -> Engine:
        """With values of now, where a query asks for any and there are none yet; Spark checks what it is with them."""
        asked = engine
        if not engine.values and name_a_moment(self.config.queries.values()):
            asked = replace(engine, values=values_now(self.session()))
        pinned = {name: query for name, query in self.queries(sources, asked).items() if query.replaced}
        for name, query in pinned.items():
            check_types(query, declared[name], partial(output_fields, self.session(), query.sql, query.file))
        return asked if pinned else engine

    def queries(self, sources: Mapping[str, Source], engine: Engine) -> dict[str, JobQuery]:
        """The queries with values in place of calls that depend on the moment or the session."""
        tables = [source.schema for source in sources.values()]
        return {n: at_moment(q, tables, engine.values, engine.aggregates) for n, q in self.config.queries.items()}

    @charged_to(Phase.PLANNING)
    def plan(
        self,
        catalog: Catalog,
        declared: Mapping[str, Sequence[Field]],
        statistics: Statistics,
        engine: Engine,
        timeline: Timeline | None = None,
        past: Past | None = None,
    ) -> Planned:
        """The plan of a cycle, or of its rest; Spark is asked only for types of functions that we do not know."""
        return plan_job(
            self.config,
            catalog,
            declared,
            statistics,
            engine.aggregates,
            self.methods,
            values=engine.values,
            states_by_key=engine.by_key,
            ansi=engine.ansi,
            ask=self._type_of,
            timeline=timeline,
            past=past,
            history=self._history(),
            factors=self._factors(past),
        )

    def _type_of(self, text: str, columns: Mapping[str, Type]) -> Type | None:
        return expression_type(self.session(), text, columns)

    def _history(self) -> History:
        if self.history is not None:
            return self.history
        return history_of(self.store) if self.known is None else ()

    def _factors(self, past: Past | None) -> Bill:
        """The prices of the cluster; the rest of a cycle is planned with those of its plan, to be compared with it."""
        cycle = self.store.current() if past is not None else None
        if cycle is not None:
            return cycle.plan().factors
        return (self.prices or read_prices(self.store.prices_file, cluster_of(self.config.spark))).factors

    @charged_to(Phase.INPUTS)
    def declared(self, sources: Mapping[str, Source]) -> dict[str, tuple[Field, ...]]:
        """The columns that Spark sees in the answer of each query, over the sources as they are."""
        for name, source in sources.items():
            source.check_key()
            check_upserts(self.session(), source, self.config)
            for view in source.whole(name, [source.listed()]):
                run_statement(self.session(), view)
        return {name: self._declared(query, sources) for name, query in self.config.queries.items()}

    def _declared(self, query: JobQuery, sources: Mapping[str, Source]) -> tuple[Field, ...]:
        check_no_variables(query.text, query.file)
        check_declared(query.text, sources, query.file)
        check_relations(self.session(), query.sql, sources, query.file)
        fields = output_fields(self.session(), query.sql, query.file)
        check_no_text_is_a_moment(self.session(), query.sql, query.file)
        _check_output_names(fields, query.file)
        return fields

    @charged_to(Phase.INPUTS)
    def _statistics(self, sources: Mapping[str, Source], now: Mapping[str, Sequence[FilePin]]) -> Statistics:
        times = self.config.timeline.times
        cycles = whole_cycles(self.store, len(times))
        counting = Counting(self.store, self.session, patient=True)
        counts = counting.counts(sources, now, self.columns_used(sources))
        whole = {name: counted.whole for name, counted in counts.items()}
        found = {name: evidence(source, now[name], cycles, times) for name, source in sources.items()}
        return job_statistics(sources, found, whole, self.config.timeline)

    @charged_to(Phase.INPUTS)
    def statistics_so_far(
        self, sources: Mapping[str, Source], arrivals: Mapping[str, tuple[Arrival, ...]]
    ) -> Statistics:
        """What is known of sources that bring so much, at whatever runs, without counting columns anew."""
        known = self.known
        if known is None:
            counted = {name: counts.whole for name, counts in known_counts(self.store).items()}
            found = {name: Evidence(source.rows(source.listed())) for name, source in sources.items()}
            for name, told in arrivals.items():  # as if it came evenly: only the sum matters for how columns are spread
                found[name] = Evidence(sum(arrival.changes for arrival in told) / self.config.timeline.last)
            known = job_statistics(sources, found, counted, self.config.timeline)
        return {n: bringing(told, arrivals[n]) if n in arrivals else told for n, told in known.items()}

    def columns_used(self, sources: Mapping[str, Source]) -> dict[str, list[Field]]:
        """The columns of each source whose names the queries have: more than they use, never fewer."""
        return {name: [f for f in source.fields if self.names(f.name)] for name, source in sources.items()}

    def names(self, column: str) -> bool:
        """Whether a column is named in the queries' texts, or may be meant by a star."""
        text = "\n".join(query.text for query in self.config.queries.values())
        letters = "".join(c.lower() if c.isalnum() or c == "_" else " " for c in text)
        words = letters.split() if column.isidentifier() else text.lower()
        return "*" in text or column.lower() in words

    def statistics_of(self, names: Sequence[str], *, full: bool) -> list[SourceStatistics]:
        """What was counted of sources, once everything that is new has been."""
        times = self.config.timeline.times
        known = known_counts(self.store)
        if not all(self._is_counted(name, known.get(name), full=full) for name in names):
            sources = {name: source for name, source in self.sources_now().items() if name in names}
            now = {name: source.listed() for name, source in sources.items()}
            counting = Counting(self.store, self.session, full=full)
            known = counting.counts(sources, now, self.columns_used(sources))
        return [shown(self.store, name, known.get(name), times) for name in names]

    def _is_counted(self, name: str, known: SourceCounts | None, *, full: bool) -> bool:
        """Whether nothing is left to be counted, as far as can be said without Spark."""
        path = self.config.sources[name].path
        if known is None or path is None:
            return False
        used = [column for column, kind in known.columns.items() if self.names(column) and is_plain(Type.parse(kind))]
        return is_current(known, listed(path), used, full=full)

    def counted(self, sources: Mapping[str, Source], files: Mapping[str, Iterable[FilePin]]) -> dict[str, Source]:
        """The sources with the rows of these files; text files are counted, once."""
        return RowCounting(self.store, self.session).counted(sources, files)

    # --- sources -----------------------------------------------------------------------------------------------------

    @charged_to(Phase.INPUTS)
    def sources_now(self) -> dict[str, Source]:
        """The sources as they are now."""
        for name, config in self.config.sources.items():
            if config.path is not None:  # what is missing is said before Spark is started
                self._check_known(name, config, config.path, listed(config.path))
        return {name: self._source_now(name, config) for name, config in self.config.sources.items()}

    def _source_now(self, name: str, config: SourceConfig) -> Source:
        directory, format = self._place(name, config)
        pins = listed(directory)
        self._check_known(name, config, directory, pins)
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

    def _check_known(self, name: str, config: SourceConfig, directory: Path, pins: Sequence[FilePin]) -> None:
        if not pins and config.schema_text is None:
            raise UserError(
                f"source `{name}` has no file yet, so its columns are not known",
                place=Place(str(directory)),
                hint="give them in the job file, e.g. `schema: o_id INT, price DOUBLE`, or wait for the first file",
            )

    def _place(self, name: str, config: SourceConfig) -> tuple[Path, str]:
        if config.table is not None:
            files = files_of_table(self.session(), config.table)
            if files.format not in tuple(Format):
                raise UnsupportedError(f"source `{name}`: a table of format {files.format} is not supported")
            return Path(files.directory), files.format
        assert config.path is not None
        return config.path, config.format.value

    @charged_to(Phase.INPUTS)
    def sources_of(self, cycle: Cycle) -> dict[str, Source]:
        """The sources as they were when the cycle began."""
        record = cycle.record()
        found: dict[str, Source] = {}
        for name, config in self.config.sources.items():
            directory, format = self._place(name, config)
            then = record.sources[name]
            fields, optional = fields_of(then.columns), frozenset(then.optional)
            found[name] = Source(name, config, format, directory, fields, optional)
        return RowCounting(self.store, self.session).known(found)


def _check_output_names(declared: Sequence[Field], file: str | None) -> None:
    seen: set[str] = set()
    for column in declared:
        if column.name.lower() in seen:
            raise UserError(
                f"the query returns two columns named `{column.name}`", place=Place(file), hint="give one an alias"
            )
        seen.add(column.name.lower())
