"""`slackwater parse`: a query as a relation, and the SQL regenerated from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.text import Text

from slackwater.algebra.canonical import canonical
from slackwater.algebra.properties import Properties, properties
from slackwater.algebra.relation import Query
from slackwater.algebra.relation_text import show
from slackwater.algebra.schema import Column
from slackwater.cli.output import CommandOutput, reporting
from slackwater.cli.query_options import read_catalog, read_query, takes_query
from slackwater.cli.text import RelationTree, sql
from slackwater.json_text import Json
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.sql.dialect import DIALECTS
from slackwater.sql.emit import emit


@dataclass(frozen=True, slots=True)
class Parsed:
    """A query's relation, what is known of it, and its text in a dialect."""

    query: Query
    sql: str

    @property
    def facts(self) -> Properties:
        return properties(self.query.relation)

    def as_json(self) -> Json:
        facts = self.facts
        return {
            "relation": show(self.query),
            "sql": self.sql,
            "columns": [{"name": o.name, "type": str(o.type)} for o in self.query.outputs],
            "properties": {
                "not_null": self._names(facts.not_null),
                "keys": self._keys(),
                "at_most_one_row": facts.at_most_one_row,
                "changing_tables": sorted(facts.changing_tables),
                "monotone": facts.monotone,
            },
        }

    def as_text(self) -> RenderableType:
        sections: dict[str, RenderableType] = {
            "relation": RelationTree(show(self.query)),
            "known": Text(self._known()),
            "sql": sql(self.sql),
        }
        parts: list[RenderableType] = []
        for title, content in sections.items():
            parts += [Text(title, style="bold cyan"), content, Text()]
        return Group(*parts[:-1])

    def _known(self) -> str:
        facts = self.facts
        keys = " or ".join("(" + ", ".join(key) + ")" for key in self._keys())
        rows = "at most one row" if facts.at_most_one_row else f"key {keys}" if keys else "no key"
        tables = ", ".join(sorted(facts.changing_tables))
        changes = f"changes with {tables}" if tables else "never changes"
        retracts = "" if not tables else "; inserts only add rows" if facts.monotone else "; inserts may take rows back"
        return f"{rows}; {changes}{retracts}"

    def _keys(self) -> list[list[str]]:
        """Keys whose columns all are part of the answer, by the answer's names."""
        visible = {output.column for output in self.query.outputs}
        return [self._names(key) for key in self.facts.keys if key and key <= visible]

    def _names(self, columns: Iterable[Column]) -> list[str]:
        wanted = set(columns)
        return list(dict.fromkeys(o.name for o in self.query.outputs if o.column in wanted))


@click.command()
@takes_query
@click.option("--dialect", type=click.Choice(DIALECTS), default="spark", show_default=True, help="Of the SQL printed.")
@click.option("--raw", is_flag=True, help="Show the relation as bound, before it is normalized.")
@reporting
@click.pass_obj
def parse(
    output: CommandOutput,
    file: Path | None,
    text: str | None,
    catalog_file: Path | None,
    workload_name: str | None,
    number: int | None,
    dialect: str,
    raw: bool,
) -> None:
    """Show a query as a relation, and the SQL regenerated from it.

    The query is a FILE, - for standard input, or the TEXT of -e; its tables come from a catalog file or a workload:

    \b
      slackwater parse daily.sql --catalog tables.json
      slackwater parse --workload tpch --query 17
      slackwater parse --workload tpch -e 'SELECT count(*) FROM orders'
    """
    written, name = read_query(file, text, workload_name, number)
    query = bind(written, read_catalog(catalog_file, workload_name), file=name)
    if not raw:
        query = canonical(normalize(query))
    output.report(Parsed(query, emit(query, dialect)))
