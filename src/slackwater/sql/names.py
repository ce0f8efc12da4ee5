"""Names in an emitted text: of the columns that come out of it, and of its blocks."""

from __future__ import annotations

from slackwater.algebra.relation import Aggregate, Filter, Limit, Project, Relation, Scan, Union, Window
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
    tables = list(dict.fromkeys(n.table.name.rpartition(".")[2] for n in relation.walk() if isinstance(n, Scan)))
    main = "_".join(tables[:2]) or "rows"
    node = relation
    while isinstance(node, (Filter, Project)):
        node = node.input
    match node:
        case Aggregate():
            return f"{main}_groups" if node.calls else f"{main}_distinct"
        case Window():
            return f"{main}_windows"
        case Union():
            return f"{main}_union"
        case Limit():
            return f"{main}_top"
        case _:
            return f"{main}_rows"
