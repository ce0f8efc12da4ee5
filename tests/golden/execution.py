"""Relations executed: what a rewrite must not change, and what is claimed of a relation, held against data."""

from __future__ import annotations

import duckdb
from tests.compare import Row, differences

from slackwater.algebra.properties import properties
from slackwater.algebra.relation import Project, Query, Relation
from slackwater.algebra.schema import Column
from slackwater.sql.emit import emit


class Refused(Exception):
    """The engine raised; what it said."""


def rows(connection: duckdb.DuckDBPyConnection, query: Query | Relation) -> list[Row]:
    text = emit(query, "duckdb", like_spark=True)
    try:
        return connection.execute(text).fetchall()
    except duckdb.Error as error:
        raise Refused(f"{error}\n{text}") from error


def check_equal(connection: duckdb.DuckDBPyConnection, original: Query, rewritten: Query) -> None:
    """The same bag. An original that raises promises nothing, so there is nothing to keep."""
    try:
        expected = rows(connection, original)
    except Refused as refused:
        if isinstance(refused.__cause__, (duckdb.ParserException, duckdb.BinderException)):
            raise
        return
    problems = differences(expected, rows(connection, rewritten))
    assert not problems, "\n".join([*problems, emit(original, "duckdb"), "became", emit(rewritten, "duckdb")])


def check_claims(connection: duckdb.DuckDBPyConnection, relation: Relation) -> None:
    """Keys, dependencies and never-null columns, as the rows bear them out."""
    if not relation.columns:
        return
    try:
        values = rows(connection, relation)
    except Refused:
        return
    facts = properties(relation)
    place = {column: position for position, column in enumerate(relation.columns)}

    def cells(row: Row, columns: frozenset[Column]) -> Row:
        return tuple(str(row[place[c]]) for c in sorted(columns, key=lambda c: c.id))

    for column in facts.not_null:
        assert all(row[place[column]] is not None for row in values), f"{column.id} has nulls"
    for key in facts.keys:
        assert len({cells(row, key) for row in values}) == len(values), f"{sorted(c.id for c in key)} is no key"
    for dependency in facts.dependencies:
        if dependency.determinant | dependency.dependent <= place.keys():
            pairs = {(cells(row, dependency.determinant), cells(row, dependency.dependent)) for row in values}
            assert len({one for one, _ in pairs}) == len(pairs), f"{dependency} does not hold"


def check_types(relation: Relation, given: Relation | None = None) -> None:
    """A column has the type of what it stands for; beside a given relation with known types, types are known."""
    is_typed = given is not None and all(column.type.is_known for node in given.walk() for column in node.columns)
    for node in relation.walk():
        for column in node.columns if is_typed else ():
            assert column.type.is_known, f"the type of {column.id} is not known"
        for column, scalar in node.items if isinstance(node, Project) else ():
            if column.type.is_known and scalar.type.is_known:
                assert scalar.type == column.type, f"{column.id} is {column.type}, but {scalar.text} is {scalar.type}"
