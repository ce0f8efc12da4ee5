"""Names in an emitted text: of the columns that come out of it, and of its blocks."""

from __future__ import annotations

from slackwater.algebra.relation import Aggregate, Filter, Limit, Project, Relation, Union, Window
from slackwater.algebra.schema import Column


def output_names(columns: tuple[Column, ...]) -> dict[Column, str]:
    """The names under which a relation's columns come out of its text."""
    names: dict[Column, str] = {}
    taken: set[str] = set()
    for column in columns:
        base = column.name.lower() if column.name.isidentifier() else "value"
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        names[column] = name
    return names


def block_name(relation: Relation) -> str:
    """A short name for a block: the first tables below it, and what was done to them."""
    tables = list(dict.fromkeys(scan.table.name.rpartition(".")[2] for scan in relation.scans()))
    main = "_".join(tables[:2]) or "rows"
    node = relation
    while isinstance(node, (Filter, Project)):
        node = node.input
    if isinstance(node, Aggregate) and node.is_distinct:
        return f"{main}_distinct"
    return f"{main}_{_DONE.get(type(node), 'rows')}"


_DONE: dict[type[Relation], str] = {Aggregate: "groups", Window: "windows", Union: "union", Limit: "top"}
