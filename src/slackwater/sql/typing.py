"""Types that only Spark knows, written down.

Columns need types: a run saves them in files, and an input that is empty is written as typed nulls. Where `infer` does
not know the type of a call, Spark is asked, and the call becomes a cast to what Spark says. The cast does nothing and
keeps the type with the expression, through rules, plans and files. Without Spark such a query is refused by name; a
type is never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp
from sqlglot.errors import SqlglotError

from slackwater.algebra.infer import type_of
from slackwater.algebra.relation import Aggregate, Generate, Project, Relation, Values, Window
from slackwater.algebra.scalar import function_name
from slackwater.algebra.schema import Column
from slackwater.algebra.types import UNKNOWN, Type
from slackwater.errors import Place, UnsupportedError
from slackwater.sql.dialect import render
from slackwater.sql.parse import place_of
from slackwater.sql.tree import with_parts

AskType = Callable[[str, Mapping[str, Type]], Type | None]
"""The type of an expression over typed columns, both as Spark spells them; None where it has none that can be kept."""

_NO_VALUES = (exp.Lambda, exp.DataType, exp.Interval, exp.Query)


def with_types(tree: exp.Expr, columns: Mapping[str, Type], ask: AskType) -> exp.Expr:
    """A tree in which every call has a type that we know, as far as Spark knows it."""

    def visit(node: exp.Expr) -> exp.Expr:
        if isinstance(node, _NO_VALUES):
            return node.copy()
        rebuilt = with_parts(node, visit)
        is_call = isinstance(rebuilt, exp.Func) and not isinstance(rebuilt, (exp.If, exp.Case))
        return _with_type(rebuilt, columns, ask) if is_call else rebuilt

    return _with_type(visit(tree), columns, ask)


def _with_type(tree: exp.Expr, columns: Mapping[str, Type], ask: AskType) -> exp.Expr:
    if type_of(tree, columns).is_known:
        return tree
    kind = asked_type(tree, columns, ask)
    if not kind.is_known:
        return tree
    typed = exp.Cast(this=tree, to=exp.DataType.build(kind.text, dialect="spark"))
    typed.meta.update(tree.meta)
    return typed


def asked_type(tree: exp.Expr, columns: Mapping[str, Type], ask: AskType) -> Type:
    """What Spark says of a tree; `UNKNOWN` where it cannot be asked, or the type cannot be written."""
    used = {leaf.name: columns[leaf.name] for leaf in tree.find_all(exp.Column)}
    if isinstance(tree, exp.Column) or not all(kind.is_known for kind in used.values()):
        return UNKNOWN
    kind = ask(render(tree, "spark", pretty=False), used)
    return kind if kind is not None and can_be_written(kind) else UNKNOWN


def can_be_written(kind: Type) -> bool:
    """Whether a cast to a type says this type and no other."""
    try:
        return Type.parse(exp.DataType.build(kind.text, dialect="spark").sql("spark")) == kind
    except SqlglotError:
        return False


def check_types(relation: Relation, file: str | None = None) -> None:
    """Refuses a relation that computes a column without a type: no run could keep it."""
    for node in relation.walk():
        for column, tree in _computed(node):
            if not column.type.is_known:
                name = function_name(tree) or tree.sql("spark")
                place = place_of(tree, file) if any("line" in part.meta for part in tree.walk()) else Place(file)
                hint = "only Spark's analysis knows it, and columns of such a type cannot be kept or simulated"
                raise UnsupportedError(f"the type of `{name}` is not known", place=place, hint=hint)


def _computed(node: Relation) -> Iterator[tuple[Column, exp.Expr]]:
    """The columns that an operator computes, each with what computes it."""
    match node:
        case Project():
            yield from ((column, scalar.tree) for column, scalar in node.items if scalar.column is None)
        case Aggregate():
            yield from ((column, exp.Anonymous(this=call.function)) for column, call in node.calls)
        case Window():
            yield from ((column, call.function.tree) for column, call in node.calls)
        case Generate():
            yield from ((column, node.generator.tree) for column in node.names)
        case Values() if node.rows:
            yield from ((column, cell.tree) for column, cell in zip(node.names, node.rows[0], strict=True))
        case _:
            return
