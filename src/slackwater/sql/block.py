"""One SELECT under construction: the emitter's working piece.

A `SelectBlock` collects FROM, WHERE, GROUP BY, HAVING, windows and LIMIT in the order SQL evaluates them, and knows how
to say each column of the relation it stands for. `stage` tells how far it has come; an operator that SQL would evaluate
earlier than the block's stage needs a new block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from sqlglot import exp

from slackwater.algebra.schema import Column


class Stage(IntEnum):
    """How far a SELECT has come."""

    FROM = 0
    GROUPED = 1
    WINDOWED = 2
    LIMITED = 3


@dataclass
class SelectBlock:
    """A SELECT without its select list; `columns` says how each column reads inside it."""

    source: exp.Expr | None
    columns: dict[Column, exp.Expr]
    joins: list[exp.Join] = field(default_factory=list)
    laterals: list[exp.Lateral] = field(default_factory=list)
    where: list[exp.Expr] = field(default_factory=list)
    group: exp.Group | None = None
    is_one_group: bool = False
    having: list[exp.Expr] = field(default_factory=list)
    order: list[exp.Ordered] = field(default_factory=list)
    limit: int | None = None
    offset: int = 0
    stage: Stage = Stage.FROM
    hints: list[str] = field(default_factory=list)
    """Tables of the FROM clause to send to every worker."""

    @property
    def is_single_source(self) -> bool:
        return not self.joins and not self.laterals and self.source is not None

    def say(self, column: Column) -> exp.Expr:
        """The expression of a column, as a copy to build with."""
        return self.columns[column].copy()

    def is_plain(self) -> bool:
        """Whether every column is just named, nothing computed."""
        return all(isinstance(tree, exp.Column) for tree in self.columns.values())

    def as_table(self) -> tuple[str, dict[Column, str]] | None:
        """The table this block merely reads, and its columns' names there, if it does nothing else."""
        untouched = self.stage is Stage.FROM and self.is_single_source and not self.where
        if not untouched or not isinstance(self.source, exp.Table) or not self.is_plain():
            return None
        return self.source.name, {column: tree.name for column, tree in self.columns.items()}

    def select(self, items: list[tuple[str, exp.Expr]], order: list[exp.Ordered]) -> exp.Select:
        """The finished SELECT with the given names and expressions."""
        expressions = [_named(tree, name) for name, tree in items] or [_named(exp.Literal.number(1), "one")]
        result = exp.Select(expressions=expressions)
        if self.hints:
            names = [exp.to_identifier(name) for name in self.hints]
            result.set("hint", exp.Hint(expressions=[exp.Anonymous(this="BROADCAST", expressions=names)]))
        if self.source is not None:
            result.set("from_", exp.From(this=self.source))
        result.set("joins", self.joins)
        result.set("laterals", self.laterals)
        if self.where:
            result.set("where", exp.Where(this=_all(self.where)))
        result.set("group", self.group)
        having = self.having
        if self.is_one_group and not any(tree.find(exp.AggFunc) for tree in (*expressions, *having)):
            # Without an aggregate in sight SQL would not know that there is one row.
            having = [*having, exp.GTE(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))]
        if having:
            result.set("having", exp.Having(this=_all(having)))
        if order:
            result.set("order", exp.Order(expressions=order))
        if self.limit is not None:
            result.set("limit", exp.Limit(expression=exp.Literal.number(self.limit)))
        if self.offset:
            result.set("offset", exp.Offset(expression=exp.Literal.number(self.offset)))
        if self.is_single_source and not _alias_hides_column(items, result):
            _drop_qualifiers(result)
        return result


def _named(tree: exp.Expr, name: str) -> exp.Expr:
    if isinstance(tree, exp.Column) and tree.name == name:
        return tree
    quoted = not (name.isascii() and name.replace("_", "a").isalnum() and not name[:1].isdigit())
    return exp.Alias(this=tree, alias=exp.to_identifier(name, quoted=quoted or None))


def _all(parts: list[exp.Expr]) -> exp.Expr:
    """Every part; an OR inside keeps its parentheses."""
    wrapped = [exp.Paren(this=p) if isinstance(p, (exp.Or, exp.Xor)) else p for p in parts]
    result = wrapped[0]
    for part in wrapped[1:]:
        result = exp.And(this=result, expression=part)
    return result


def _alias_hides_column(items: list[tuple[str, exp.Expr]], select: exp.Select) -> bool:
    """Whether an output name is also the name of another column that the block reads."""
    renamed = {name.lower() for name, tree in items if not (isinstance(tree, exp.Column) and tree.name == name)}
    return any(column.name.lower() in renamed for column in select.find_all(exp.Column))


def _drop_qualifiers(select: exp.Select) -> None:
    for column in select.find_all(exp.Column):
        column.set("table", None)
