"""The queries of a job bound: with Spark's own names and types, at the moment of the cycle."""

from __future__ import annotations

from collections.abc import Sequence

from slackwater.algebra.canonical import Canonicalizer
from slackwater.algebra.relation import Query
from slackwater.algebra.schema import Field
from slackwater.catalog.table import Catalog
from slackwater.errors import BindError, ParseError, UnsupportedError, UserError
from slackwater.job.cycle.chance import check_chance
from slackwater.job.cycle.moment import at_moment
from slackwater.job.cycle.planned import query_prefix
from slackwater.job.cycle.problem import CycleProblem
from slackwater.job.file.sections import JobConfig, JobQuery, Refresh
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.sql.typing import AskType, check_types


def bound_query(
    query: JobQuery,
    catalog: Catalog,
    declared: Sequence[Field],
    aggregates: frozenset[str] = frozenset(),
    naming: Canonicalizer | None = None,
    *,
    ansi: bool = True,
    ask: AskType | None = None,
) -> Query:
    """A query as the planner needs it, with Spark's own names and types.

    Queries that are planned together are named by one canonicalizer, so that what they have in common is equal.
    """
    bound = bind(
        query.text,
        catalog,
        file=query.file,
        declared=declared,
        aggregates=aggregates,
        ansi=ansi,
        ask=ask,
        replaced=query.replaced,
    )
    normalized = normalize(bound)
    check_types(normalized.relation, query.file)
    return (naming or Canonicalizer()).query(normalized)


def bound_queries(config: JobConfig, problem: CycleProblem, ask: AskType) -> tuple[dict[str, Query], dict[str, str]]:
    """The queries that can be taken apart, and of each other one the reason why it cannot.

    `refresh: incremental strict` refuses such a one.
    """
    engine, catalog, naming = problem.engine, problem.catalog, Canonicalizer()
    queries: dict[str, Query] = {}
    reasons: dict[str, str] = {}
    for name, query in config.queries.items():
        fields = problem.fields[name]
        try:
            pinned = at_moment(query, catalog, engine.values, engine.aggregates)
            bound = bound_query(pinned, catalog, fields, engine.aggregates, naming, ansi=engine.ansi, ask=ask)
            check_chance(bound, query.file)
            queries[name] = bound
        except (UnsupportedError, ParseError, BindError) as error:  # Spark has read and analyzed the text already
            if config.refresh is Refresh.INCREMENTAL_STRICT:
                hint = "`refresh: auto` would compute it from scratch"
                message = f"{query_prefix(name)}not incremental: {error.message}"
                raise UserError(message, place=error.place, hint=hint) from None
            reasons[name] = str(error)
    return queries, reasons
