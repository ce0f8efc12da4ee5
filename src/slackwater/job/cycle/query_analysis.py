"""What Spark makes of a job's queries: the columns of their answers, the functions it has, the values of its moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from slackwater.algebra.schema import Field
from slackwater.algebra.types import Type
from slackwater.errors import Place, UserError
from slackwater.job.cycle.conditions import Conditions
from slackwater.job.cycle.moment import at_moment, check_types, name_a_moment
from slackwater.job.file.sections import JobConfig, JobQuery
from slackwater.job.inputs.record_expressions import check_upserts
from slackwater.job.inputs.sources import Source
from slackwater.job.store.accounts import Phase, charged_to
from slackwater.physical.memory import USUAL, Memory
from slackwater.spark.analyze import has_catalog_of_its_own, output_fields, user_aggregates
from slackwater.spark.cluster_memory import memory_of
from slackwater.spark.expressions import expression_type
from slackwater.spark.moment_values import check_no_text_is_a_moment, values_now
from slackwater.spark.reach import fields_over
from slackwater.spark.statements import run_statement
from slackwater.sql.undeclared import check_declared
from slackwater.sql.variables import check_no_variables

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
    memory: Memory = USUAL
    """What fits into the memory of its driver and its executors."""


@dataclass(frozen=True)
class QueryAnalysis:
    """The queries of a job, as its Spark reads them."""

    config: JobConfig
    session: Callable[[], Session]

    @charged_to(Phase.INPUTS)
    def answer_fields(self, sources: Mapping[str, Source]) -> dict[str, tuple[Field, ...]]:
        """The columns that Spark sees in the answer of each query, over the sources as they are."""
        for name, source in sources.items():
            source.check_key()
            check_upserts(self.session(), source, self.config)
            for view in source.whole(name, [source.listed()]):
                run_statement(self.session(), view)
        return {name: self._fields(query, sources) for name, query in self.config.queries.items()}

    def _fields(self, query: JobQuery, sources: Mapping[str, Source]) -> tuple[Field, ...]:
        check_no_variables(query.text, query.file)
        check_declared(query.text, sources, query.file)
        fields = fields_over(self.session(), query.sql, sources, query.file)
        check_no_text_is_a_moment(self.session(), query.sql, query.file)
        _check_output_names(fields, query.file)
        return fields

    def engine(self, values: Mapping[str, str]) -> Engine:
        """The session as it is now; `values` are those of a cycle that has begun."""
        session = self.session()
        ansi = Conditions.of_session(session).ansi is not False
        memory = memory_of(session)
        return Engine(user_aggregates(session), has_catalog_of_its_own(session), ansi, values, memory)

    def with_values(
        self, engine: Engine, sources: Mapping[str, Source], fields: Mapping[str, Sequence[Field]]
    ) -> Engine:
        """With values of now, where a query asks for any and there are none yet; Spark checks what it is with them."""
        asked = engine
        if not engine.values and name_a_moment(self.config.queries.values()):
            asked = replace(engine, values=values_now(self.session()))
        pinned = {name: query for name, query in self._pinned(sources, asked).items() if query.replaced}
        for name, query in pinned.items():
            check_types(query, fields[name], partial(output_fields, self.session(), query.sql, query.file))
        return asked if pinned else engine

    def _pinned(self, sources: Mapping[str, Source], engine: Engine) -> dict[str, JobQuery]:
        """The queries with values in place of calls that depend on the moment or the session."""
        tables = [source.schema for source in sources.values()]
        return {n: at_moment(q, tables, engine.values, engine.aggregates) for n, q in self.config.queries.items()}

    def type_of(self, text: str, columns: Mapping[str, Type]) -> Type | None:
        """The type of an expression whose function we do not know."""
        return expression_type(self.session(), text, columns)


def _check_output_names(fields: Sequence[Field], file: str | None) -> None:
    seen: set[str] = set()
    for column in fields:
        if column.name.lower() in seen:
            raise UserError(
                f"the query returns two columns named `{column.name}`", place=Place(file), hint="give one an alias"
            )
        seen.add(column.name.lower())
