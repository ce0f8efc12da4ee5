"""Scalar expressions: immutable, comparable, cheap to hash.

A `Scalar` wraps a sqlglot tree that nobody mutates. Its column leaves carry column *ids*, so equal trees mean equal
values wherever they stand. Parentheses are not part of the tree's meaning: `Scalar.of` strips what was written and puts
back what precedence needs, so that a substitution can never change how an expression reads.

This module and `sql/` are the only places that know sqlglot trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial, reduce

from sqlglot import exp

from slackwater.algebra.functions import PINNED, RANDOM
from slackwater.algebra.once import once
from slackwater.algebra.parentheses import with_needed_parentheses
from slackwater.algebra.schema import Column, ColumnId
from slackwater.algebra.types import Type


class Scalar:
    """An expression over columns. Equal when the trees are equal."""

    __slots__ = ("__dict__", "_columns", "_hash", "_tree")

    def __init__(self, tree: exp.Expr, columns: frozenset[Column]) -> None:
        self._tree = tree
        self._columns = columns
        self._hash = hash(tree)

    @staticmethod
    def of(tree: exp.Expr, columns: Iterable[Column]) -> Scalar:
        """Wraps a tree whose column leaves carry ids; `columns` holds at least the columns it names."""
        by_id = {column.id: column for column in columns}
        tidy = with_needed_parentheses(tree)
        used = frozenset(by_id[ColumnId(leaf.name)] for leaf in tidy.find_all(exp.Column))
        return Scalar(tidy, used)

    def part(self, tree: exp.Expr) -> Scalar:
        """A part of this expression, by its tree."""
        return Scalar.of(tree.copy(), self._columns)

    @property
    def tree(self) -> exp.Expr:
        """The sqlglot tree, to read or to copy, never to change."""
        return self._tree

    @property
    def columns(self) -> frozenset[Column]:
        return self._columns

    @cached_property
    def text(self) -> str:
        """Canonical Spark text, with ids as column names."""
        return self._tree.sql(dialect="spark")

    @cached_property
    def type(self) -> Type:
        from slackwater.algebra.infer import type_of

        return type_of(self._tree, {column.id: column.type for column in self._columns})

    @cached_property
    def is_random(self) -> bool:
        """Whether two evaluations on one row may differ."""
        return bool(self.random_calls)

    @cached_property
    def random_calls(self) -> tuple[str, ...]:
        """The functions in it that have another value each time, by name."""
        names = (function_name(node) for node in self._tree.find_all(exp.Func))
        return tuple(dict.fromkeys(name for name in names if name in RANDOM))

    @cached_property
    def is_pinned(self) -> bool:
        """Whether the value depends on the moment or the session."""
        return any(function_name(node) in PINNED for node in self._tree.find_all(exp.Func))

    @cached_property
    def can_raise(self) -> bool:
        """Whether evaluating it is an event in itself, so that it must not run on rows it was not written for."""
        return any(function_name(node) in ("raise_error", "assert_true") for node in self._tree.find_all(exp.Func))

    @property
    def may_move(self) -> bool:
        """Whether it has the same value for a row wherever it is evaluated."""
        return not self.is_random and not self.can_raise

    @property
    def column(self) -> Column | None:
        """The column that this scalar merely names, if it does nothing else."""
        return next(iter(self._columns)) if isinstance(self._tree, exp.Column) else None

    @property
    def is_literal(self) -> bool:
        """Whether no column and no function is involved: a constant as written, casts of one included."""
        return _is_literal(self._tree)

    def substitute(self, mapping: Mapping[Column, Scalar]) -> Scalar:
        """The same expression with some columns replaced, all at once."""
        touched = self._columns & mapping.keys()
        if not touched:
            return self
        by_id = {column.id: mapping[column] for column in touched}

        def replace(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and (new := by_id.get(ColumnId(node.name))):
                return new.tree.copy()
            return node

        columns = self._columns - touched
        return Scalar.of(self._tree.transform(replace), columns.union(*(mapping[c].columns for c in touched)))

    def rename(self, mapping: Mapping[Column, Column]) -> Scalar:
        return self.substitute({old: reference(new) for old, new in mapping.items()})

    def show(self, name: Callable[[Column], str]) -> str:
        """Readable text, with columns spelt by `name`."""
        by_id = {column.id: name(column) for column in self._columns}

        def spell(node: exp.Expr) -> exp.Expr:
            return exp.column(by_id[ColumnId(node.name)]) if isinstance(node, exp.Column) else node

        return self._tree.transform(spell).sql(dialect="spark", normalize_functions="lower")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scalar) and (self is other or self._tree == other._tree)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Scalar({self.show(str)})"


def function_name(node: exp.Expr) -> str:
    """Spark's name of the function that a tree calls, in lower case; empty when it is not a call."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    if not isinstance(node, exp.Func) or isinstance(node, (exp.Cast, exp.Case, exp.And, exp.Or)):
        return ""
    return _FIXED_NAMES.get(type(node)) or node.sql(dialect="spark").partition("(")[0].strip().lower()


_FIXED_NAMES: dict[type[exp.Expr], str] = {
    kind: kind.sql_name().lower()
    for kind in (
        *(exp.Sum, exp.Count, exp.Avg, exp.Min, exp.Max, exp.Coalesce, exp.If, exp.Substring, exp.Abs, exp.Round),
        *(exp.Concat, exp.Rand, exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentCatalog, exp.Localtimestamp),
        *(exp.ParseJSON, exp.UnixDate),
    )
}
"""Functions whose name in Spark is sqlglot's own, whatever their arguments: the usual ones, and some spelt apart."""


def branch_values(tree: exp.Case | exp.If) -> list[exp.Expr | None]:
    """The values that a CASE or an IF chooses from, the last for all other rows; None if that is not given."""
    whens, otherwise = (tree.args["ifs"], "default") if isinstance(tree, exp.Case) else ([tree], "false")
    return [*(when.args["true"] for when in whens), tree.args.get(otherwise)]


def _is_literal(tree: exp.Expr) -> bool:
    if isinstance(tree, (exp.Literal, exp.Null, exp.Boolean)):
        return True
    return isinstance(tree, (exp.Cast, exp.Neg, exp.Paren)) and _is_literal(tree.this)


# --- building ----------------------------------------------------------------------------------------------------


def reference(column: Column) -> Scalar:
    """The scalar that names one column."""
    return Scalar(exp.Column(this=exp.Identifier(this=str(column.id), quoted=True)), frozenset((column,)))


def literal(value: int | str | bool | None) -> Scalar:
    """A constant."""
    if value is None:
        tree: exp.Expr = exp.Null()
    elif isinstance(value, bool):
        tree = exp.Boolean(this=value)
    elif isinstance(value, int):
        tree = exp.Literal.number(value)
    else:
        tree = exp.Literal.string(value)
    return Scalar.of(tree, ())


TRUE = literal(True)
FALSE = literal(False)
NULL = literal(None)


def unary(kind: type[exp.Unary], operand: Scalar) -> Scalar:
    return Scalar.of(kind(this=operand.tree.copy()), operand.columns)


def binary(kind: type[exp.Expr], left: Scalar, right: Scalar) -> Scalar:
    """`left op right` for a binary sqlglot node."""
    return Scalar.of(kind(this=left.tree.copy(), expression=right.tree.copy()), left.columns | right.columns)


product = partial(binary, exp.Mul)
quotient = partial(binary, exp.Div)
whole_quotient = partial(binary, exp.IntDiv)
remainder = partial(binary, exp.Mod)
addition = partial(binary, exp.Add)
difference = partial(binary, exp.Sub)
negative = partial(unary, exp.Neg)
greater = partial(binary, exp.GT)
equality = partial(binary, exp.EQ)
null_safe_equality = partial(binary, exp.NullSafeEQ)
"""Equal, or both null."""


def negation(operand: Scalar) -> Scalar:
    if isinstance(operand.tree, exp.Not):
        return operand.part(operand.tree.this)
    return unary(exp.Not, operand)


def is_null(operand: Scalar) -> Scalar:
    return binary(exp.Is, operand, NULL)


def is_not_null(operand: Scalar) -> Scalar:
    return negation(is_null(operand))


def cast(operand: Scalar, type_: Type) -> Scalar:
    return _converted(exp.Cast, operand, type_)


def typed(operand: Scalar, type_: Type) -> Scalar:
    """As `cast`, if the type is known."""
    return cast(operand, type_) if type_.is_known else operand


def try_cast(operand: Scalar, type_: Type) -> Scalar:
    """As `cast`, and null where the value does not fit."""
    return _converted(exp.TryCast, operand, type_, safe=True)


def _converted(kind: type[exp.Cast], operand: Scalar, type_: Type, **options: bool) -> Scalar:
    to = exp.DataType.build(type_.text, dialect="spark")
    return Scalar.of(kind(this=operand.tree.copy(), to=to, **options), operand.columns)


def call(name: str, *arguments: Scalar) -> Scalar:
    """A function by Spark's name."""
    columns = frozenset[Column]().union(*(argument.columns for argument in arguments))
    return Scalar.of(exp.func(name, *(argument.tree.copy() for argument in arguments), dialect="spark"), columns)


def case_when(condition: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
    branch = exp.If(this=condition.tree.copy(), true=then.tree.copy())
    tree = exp.Case(ifs=[branch], default=otherwise.tree.copy())
    return Scalar.of(tree, condition.columns | then.columns | otherwise.columns)


def conjunction(parts: Iterable[Scalar]) -> Scalar:
    """All of them; the conjunction of nothing is TRUE."""
    kept = _each_once(part for whole in parts for part in conjuncts(whole))
    if len(kept) < 2:
        return kept[0] if kept else TRUE
    result = _connected(exp.And, kept)
    result.__dict__["conjuncts"] = kept
    return result


def disjunction(parts: Iterable[Scalar]) -> Scalar:
    """Any of them; the disjunction of nothing is FALSE."""
    kept = _each_once(part for part in parts if part != FALSE)
    if len(kept) < 2:
        return kept[0] if kept else FALSE
    return _connected(exp.Or, kept)


def _each_once(parts: Iterable[Scalar]) -> tuple[Scalar, ...]:
    """Without repetitions; a random part asked twice is two questions."""
    kept: dict[Scalar, int] = {}
    for part in parts:
        kept[part] = kept[part] + 1 if part in kept and part.is_random else 1
    return tuple(part for part, times in kept.items() for _ in range(times))


def conjuncts(scalar: Scalar) -> tuple[Scalar, ...]:
    """The parts of a top-level AND, in order; TRUE has none."""
    parts = scalar.__dict__.get("conjuncts")
    if parts is None:
        parts = () if scalar == TRUE else _parts(scalar, exp.And)
        scalar.__dict__["conjuncts"] = parts
    return parts


@once
def disjuncts(scalar: Scalar) -> tuple[Scalar, ...]:
    """The parts of a top-level OR, in order."""
    return _parts(scalar, exp.Or)


def _connected(kind: type[exp.Connector], parts: tuple[Scalar, ...]) -> Scalar:
    """A left-deep chain; only an OR, or a connector of the other kind below OR's AND, needs parentheses."""
    trees = [exp.Paren(this=p.tree.copy()) if isinstance(p.tree, (exp.Or, exp.Xor)) else p.tree.copy() for p in parts]
    tree = reduce(lambda left, right: kind(this=left, expression=right), trees)
    return Scalar(tree, frozenset[Column]().union(*(part.columns for part in parts)))


def _parts(scalar: Scalar, kind: type[exp.Connector]) -> tuple[Scalar, ...]:
    trees = list(_flatten(scalar.tree, kind))
    return (scalar,) if len(trees) == 1 else tuple(map(scalar.part, trees))


def _flatten(tree: exp.Expr, kind: type[exp.Connector]) -> Iterator[exp.Expr]:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, kind):
        yield from _flatten(tree.this, kind)
        yield from _flatten(tree.expression, kind)
    else:
        yield tree
