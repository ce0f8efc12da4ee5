"""Which names mean which columns at one point of a query.

Names are compared in lower case, as Spark does by default. A scope knows the columns a bare name may mean
(`visible`, where a USING column stands once), the columns behind each table alias, and the scope around it, which
correlated names fall through to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from slackwater.algebra.functions import CALLED_BARE
from slackwater.algebra.schema import Column
from slackwater.algebra.types import UNKNOWN
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
        """One more FROM item; a second one of the same alias makes their common names ambiguous."""
        self.visible = self.visible + columns
        if alias:
            self.by_alias[alias.lower()] = self.by_alias.get(alias.lower(), []) + columns

    def include(self, other: Scope) -> None:
        """All that another FROM clause brought in, aliases and all."""
        self.visible = self.visible + other.visible
        for alias, columns in other.by_alias.items():
            self.by_alias[alias] = self.by_alias.get(alias, []) + columns

    def source(self, qualifier: list[str]) -> list[Named] | None:
        """The columns that a qualifier stands for: all without one, else those of an alias or of a table's name."""
        if not qualifier:
            return self.visible
        written = ".".join(qualifier).lower()
        by_last_part = [alias for alias in self.by_alias if alias.rpartition(".")[2] == written]
        alias = written if written in self.by_alias or len(by_last_part) != 1 else by_last_part[0]
        return self.by_alias.get(alias)

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
class Aliases:
    """Resolved expressions of a select list by the name they were given; one name may have several."""

    trees: Mapping[str, tuple[exp.Expr, ...]] = field(default_factory=dict)

    @staticmethod
    def of(named: Iterable[tuple[str, exp.Expr]]) -> Aliases:
        trees: dict[str, tuple[exp.Expr, ...]] = {}
        for name, tree in named:
            others = trees.get(name.lower(), ())
            trees[name.lower()] = others if tree in others else (*others, tree)
        return Aliases(trees)

    def without(self, names: Collection[str]) -> Aliases:
        return Aliases({name: trees for name, trees in self.trees.items() if name not in names})


NO_ALIASES = Aliases()


@dataclass(frozen=True)
class Resolver:
    """Finds the column that a written name means, or says which names would have been known."""

    scope: Scope
    file: str | None = None
    aliases_first: Aliases = NO_ALIASES
    aliases_last: Aliases = NO_ALIASES
    bare_calls: set[int] = field(default_factory=set)
    """Where functions are called by a bare name, by offset in the text."""

    def resolve(self, node: exp.Column) -> exp.Expr:
        """The tree a written column stands for: a column leaf by id, a field of one, or an alias's expression."""
        parts = [part.name for part in node.parts]
        if len(parts) == 1 and (alias := self._alias(self.aliases_first, parts, node)) is not None:
            return alias
        if (local := self._in_scope(self.scope, parts, node)) is not None:
            return local
        if len(parts) == 1 and parts[0].lower() in CALLED_BARE:
            self.bare_calls.update(int(part.meta["start"]) for part in node.parts if "start" in part.meta)
            return exp.func(parts[0].lower())
        for aliases in (self.aliases_last, self.aliases_first):
            if (alias := self._alias(aliases, parts, node)) is not None:
                return alias
        around = self.scope.around
        while around:
            if (outer := self._in_scope(around, parts, node)) is not None:
                return outer
            around = around.around
        raise self._unknown(node, parts)

    def _alias(self, aliases: Aliases, parts: list[str], node: exp.Column) -> exp.Expr | None:
        """An alias by its bare name, or a field of what it stands for."""
        matches = aliases.trees.get(parts[0].lower(), ())
        if len(matches) > 1:
            raise self._ambiguous(parts[0], node)
        return with_fields(matches[0].copy(), parts[1:]) if matches else None

    def _in_scope(self, scope: Scope, parts: list[str], node: exp.Column) -> exp.Expr | None:
        """Tries the longest qualifier first: `alias.column.field…`, then `column.field…`."""
        for length in range(len(parts) - 1, -1, -1):
            source = scope.source(parts[:length])
            column = self._pick(source, parts[length], node) if source is not None else None
            if column and (fields := parts[length + 1 :]):
                self._must_have_fields(column, fields, node)
            if column and (length == len(parts) - 1 or column.type.has_fields):
                return with_fields(leaf(column), parts[length + 1 :])
        return None

    def _pick(self, columns: list[Named], name: str, node: exp.Column) -> Column | None:
        matches = {column for other, column in columns if other.lower() == name.lower()}
        if len(matches) > 1:
            raise self._ambiguous(name, node)
        return matches.pop() if matches else None

    def _must_have_fields(self, column: Column, path: list[str], node: exp.Column) -> None:
        owner, kind = column.name, column.type
        for name in path:
            if kind.fields and name.lower() not in kind.fields:
                place, hint = place_of(node, self.file), did_you_mean(name, kind.fields)
                raise BindError(f"`{owner}` has no field `{name}`", place=place, hint=hint)
            owner, kind = f"{owner}.{name}", kind.fields.get(name.lower(), UNKNOWN)

    def _ambiguous(self, name: str, node: exp.Column) -> BindError:
        owners = [
            alias
            for alias, named in self.scope.by_alias.items()
            if sum(other.lower() == name.lower() for other, _ in named) == 1
        ]
        hint = "write " + " or ".join(f"`{owner}.{name}`" for owner in owners) if owners else "give them other names"
        return BindError(f"column `{name}` is ambiguous", place=place_of(node, self.file), hint=hint)

    def _unknown(self, node: exp.Column, parts: list[str]) -> BindError:
        place = place_of(node, self.file)
        if len(parts) > 1:
            qualifier, name = ".".join(parts[:-1]), parts[-1]
            source = self.scope.source(parts[:-1])
            if source is None:
                message, hint = f"no table or alias `{qualifier}` here", did_you_mean(qualifier, self.scope.by_alias)
            else:
                message, hint = f"`{qualifier}` has no column `{name}`", did_you_mean(name, (n for n, _ in source))
            return BindError(message, place=place, hint=hint)
        names = [*(name for name, _ in self.scope.visible), *self.aliases_first.trees, *self.aliases_last.trees]
        return BindError(f"no column `{parts[0]}`", place=place, hint=did_you_mean(parts[0], names))


def leaf(column: Column) -> exp.Column:
    """The tree of one column, by id."""
    return exp.Column(this=exp.Identifier(this=str(column.id), quoted=True))


def with_fields(tree: exp.Expr, fields: list[str]) -> exp.Expr:
    """Fields of a struct; like all names they are the same in any case."""
    for name in fields:
        tree = exp.Dot(this=tree, expression=exp.to_identifier(name.lower()))
    return tree
