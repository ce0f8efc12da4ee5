"""The queries of a job as a cycle computes them: with the values of its moment in place of calls such as `now()`.

The values are evaluated when a cycle begins and written into its record. Steps, a query that is computed by its text,
`verify` and `explain --sql` all see them, so that all runs of a cycle are about one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from slackwater.algebra.schema import Field, TableSchema
from slackwater.catalog.table import Catalog
from slackwater.compile.views import view_of_query
from slackwater.errors import Place, StateError, UnsupportedError, UserError
from slackwater.job.file.sections import JobQuery
from slackwater.job.inputs.sources import Source
from slackwater.job.store.cycle_directory import BEGIN_AGAIN
from slackwater.job.store.cycle_record import CycleRecord
from slackwater.sql.pinned import names_a_moment, pinned_calls, with_values


def name_a_moment(queries: Iterable[JobQuery]) -> bool:
    """Whether any query may have a value of the moment or of the session."""
    return any(names_a_moment(query.text) for query in queries)


def at_moment(
    query: JobQuery, tables: Iterable[TableSchema], values: Mapping[str, str], aggregates: Iterable[str] = ()
) -> JobQuery:
    """A query with values in place of its calls."""
    if not names_a_moment(query.text):
        return query
    calls = pinned_calls(query.text, Catalog.of(tables), query.file, aggregates)
    if calls and not values:
        message = f"this cycle has no value of {calls[0].value}: it began with an earlier version"
        raise StateError(message, place=Place(query.file), hint=BEGIN_AGAIN)
    return replace(query, replaced=with_values(calls, values))


def view_in_cycle(name: str, query: JobQuery, record: CycleRecord, sources: Iterable[Source]) -> str:
    """A view of what a query's text returns in a cycle, at its moment."""
    pinned = at_moment(query, [source.schema for source in sources], record.pinned, record.aggregates)
    return view_of_text(name, pinned, [column for column, _ in record.answers[query.name]])


def view_of_text(name: str, query: JobQuery, columns: Sequence[str]) -> str:
    """A view of what a query's text returns, by the names that Spark gives its columns as they are written."""
    return view_of_query(name, query.sql, columns if query.replaced else ())


def check_types(query: JobQuery, declared: Sequence[Field], with_literals: Callable[[], Sequence[Field]]) -> None:
    """Refuses a query that is another one once its calls are literals; `with_literals` is Spark's word on that."""
    instead = f"with the values of a moment for {', '.join(_called(query))}"
    try:
        fields = with_literals()
    except UserError as error:
        message = f"{instead} Spark does not take this query: {error.message}"
        hint = "give the column a name, e.g. `current_date() AS today`, and use that"
        raise UnsupportedError(message, place=Place(query.file), hint=hint) from None
    if [field.type for field in declared] != [field.type for field in fields]:
        message = f"{instead} the columns of this query have other types"
        raise UnsupportedError(message, place=Place(query.file), hint="cast them to the types that you want")


def _called(query: JobQuery) -> Iterator[str]:
    return iter(dict.fromkeys(query.text[part.start : part.end] for part in query.replaced))
