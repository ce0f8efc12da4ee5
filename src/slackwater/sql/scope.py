"""Which names mean which columns at one point of a query.

Names are compared in lower case, as Spark does by default. A scope knows the columns a bare name may mean
(`visible`, where a USING column stands once), the columns behind each table alias, and the scope around it, which
correlated names fall through to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from slackwater.algebra.schema import Column
from slackwater.errors import BindError, did_you_mean
from slackwater.sql.parse import place_of

Named = tuple[str, Column]


@dataclass
class Scope:
    """The columns of one FROM clause, and the scope around it."""

    visible: list[Named] = field(default_factory=list)
    by_alias: dict[str, list[Named]] = field(default_factory=dict)
    around: Scope | None = None

    def add(self, alias: str | None, columns: list[Named]) -> None:
        self.visible += columns
        if alias:
            self.by_alias[alias.lower()] = columns

    def columns(self) -> Iterator[Column]:
        for _, column in self.visible:
            yield column
        for named in self.by_alias.values():
            for _, column in named:
                yield column

    def all_columns(self) -> Iterator[Column]:
        """Columns of this scope and of all around it."""
        scope: Scope | None = self
        while scope:
            yield from scope.columns()
            scope = scope.around


@dataclass(frozen=True)
class Resolver:
    """Finds the column that a written name means, or says which names would have been known."""

    scope: Scope
    file: str | None = None
    aliases_first: Mapping[str, exp.Expr] = field(default_factory=dict)
    aliases_last: Mapping[str, exp.Expr] = field(default_factory=dict)

    def resolve(self, node: exp.Column) -> exp.Expr:
        """The tree a written column stands for: a column leaf by id, a field of one, or an alias's expression."""
        parts = [part.name for part in node.parts]
        if len(parts) == 1 and (found := self.aliases_first.get(parts[0].lower())):
            return found.copy()
        if (local := self._in_scope(self.scope, parts, node)) is not None:
            return local
        if len(parts) == 1 and (found := self.aliases_last.get(parts[0].lower())):
            return found.copy()
        around = self.scope.around
        while around:
            if (outer := self._in_scope(around, parts, node)) is not None:
                return outer
            around = around.around
        raise self._unknown(node, parts)

    def _in_scope(self, scope: Scope, parts: list[str], node: exp.Column) -> exp.Expr | None:
        """Tries `column.field…` for a bare name, then `alias.column.field…`, with the qualifier of any length."""
        head = parts[0].lower()
        qualified = [a for a in scope.by_alias if a == head or a.rpartition(".")[2] == head]
        if len(parts) > 1:
            for length in range(len(parts) - 1, 0, -1):
                alias = ".".join(parts[:length]).lower()
                source = scope.by_alias.get(alias)
                if source is None and length == 1 and len(qualified) == 1:
                    source = scope.by_alias[qualified[0]]
                if source is not None and (column := self._pick(source, parts[length], node)):
                    return _with_fields(column, parts[length + 1 :])
            if head in scope.by_alias:
                return None
        column = self._pick(scope.visible, parts[0], node)
        return _with_fields(column, parts[1:]) if column else None

    def _pick(self, columns: list[Named], name: str, node: exp.Column) -> Column | None:
        found = {column for known, column in columns if known.lower() == name.lower()}
        if len(found) > 1:
            owners = sorted(
                alias for alias, named in self.scope.by_alias.items() if any(column in found for _, column in named)
            )
            raise BindError(
                f"column `{name}` is ambiguous",
                place=place_of(node, self.file),
                hint="write " + " or ".join(f"`{owner}.{name}`" for owner in owners) if owners else None,
            )
        return found.pop() if found else None

    def _unknown(self, node: exp.Column, parts: list[str]) -> BindError:
        place = place_of(node, self.file)
        if len(parts) > 1:
            alias = parts[-2].lower()
            if alias in self.scope.by_alias:
                known = [name for name, _ in self.scope.by_alias[alias]]
                return BindError(
                    f"`{alias}` has no column `{parts[-1]}`", place=place, hint=did_you_mean(parts[-1], known)
                )
            return BindError(
                f"no table or alias `{parts[-2]}` here", place=place, hint=did_you_mean(alias, self.scope.by_alias)
            )
        known = [name.lower() for name, _ in self.scope.visible] + list(self.aliases_first) + list(self.aliases_last)
        return BindError(f"no column `{parts[0]}`", place=place, hint=did_you_mean(parts[0], known))


def leaf(column: Column) -> exp.Column:
    """The tree of one column, by id."""
    return exp.Column(this=exp.Identifier(this=str(column.id), quoted=True))


def _with_fields(column: Column, fields: list[str]) -> exp.Expr:
    tree: exp.Expr = leaf(column)
    for name in fields:
        tree = exp.Dot(this=tree, expression=exp.to_identifier(name))
    return tree
