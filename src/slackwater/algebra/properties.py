"""What holds for every row of a relation, whatever the data: nulls, keys, dependencies, changing tables.

Derived bottom up, once per relation object. All facts are safe: a missing one loses a rewrite, a wrong one an answer.
A key is a set of columns no two rows share; the empty key says "at most one row".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import product

from sqlglot import exp

from slackwater.algebra.predicates import column_equality, equality_sides, null_rejected_columns
from slackwater.algebra.relation import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Scan,
    Union,
    Values,
    Window,
)
from slackwater.algebra.scalar import Scalar, conjuncts, function_name
from slackwater.algebra.schema import Column
from slackwater.algebra.types import keeps_apart
from slackwater.errors import InternalError

Columns = frozenset[Column]
NO_COLUMNS: Columns = frozenset()
MOST_KEYS = 8


@dataclass(frozen=True, slots=True)
class Dependency:
    """Rows that agree on the determinant agree on the dependent."""

    determinant: Columns
    dependent: Columns


@dataclass(frozen=True, slots=True)
class ArrivalKey:
    """A column with values of a table's key; rows with a value arrive in the run that brings the table's row."""

    column: Column
    table: str


@dataclass(frozen=True, slots=True)
class Properties:
    """The logical properties of one relation."""

    not_null: Columns
    keys: tuple[Columns, ...]
    dependencies: tuple[Dependency, ...]
    changing_tables: frozenset[str]
    monotone: bool
    """Whether inserts below can only cause inserts here."""
    arrives_by: frozenset[ArrivalKey] = frozenset()
    """Columns whose values arrive once: all rows with a value arrive in one run and stay as they are."""

    @property
    def at_most_one_row(self) -> bool:
        return NO_COLUMNS in self.keys

    def closure(self, columns: Iterable[Column]) -> Columns:
        """All columns that the given ones determine."""
        known = set(columns)
        grew = True
        while grew:
            grew = False
            for dependency in self.dependencies:
                if dependency.determinant <= known and not dependency.dependent <= known:
                    known |= dependency.dependent
                    grew = True
        return frozenset(known)

    def is_unique(self, columns: Iterable[Column]) -> bool:
        """Whether no two rows agree on all the given columns."""
        determined = self.closure(columns)
        return any(key <= determined for key in self.keys)


def properties(relation: Relation) -> Properties:
    """The properties of a relation; worked out once and kept with it."""
    known = relation.__dict__.get("_properties")
    if not isinstance(known, Properties):
        known = derive(relation)
        relation.__dict__["_properties"] = known
    return known


def never_null(scalar: Scalar, not_null: Columns) -> bool:
    """Whether a scalar has a value on every row, given the columns that have."""
    return _never_null(scalar.tree, frozenset(str(c.id) for c in not_null))


_TOTAL = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Abs),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.Like, exp.In),
    *(exp.And, exp.Or, exp.Not, exp.Upper, exp.Lower),
)


def _never_null(tree: exp.Expr, not_null: frozenset[str]) -> bool:
    match tree:
        case exp.Column():
            return tree.name in not_null
        case exp.Literal() | exp.Boolean() | exp.NullSafeEQ():
            return True
        case exp.Is():
            return isinstance(tree.expression, exp.Null)
        case exp.Coalesce():
            return any(_never_null(part, not_null) for part in tree.iter_expressions())
        case exp.Case():
            parts = [branch.args["true"] for branch in tree.args["ifs"]]
            default = tree.args.get("default")
            return default is not None and all(_never_null(part, not_null) for part in [*parts, default])
        case exp.If():
            otherwise = tree.args.get("false")
            return otherwise is not None and all(_never_null(p, not_null) for p in (tree.args["true"], otherwise))
        case _ if isinstance(tree, (*_TOTAL, exp.Paren)):
            return all(_never_null(part, not_null) for part in tree.iter_expressions())
        case _:
            return False


@singledispatch
def derive(relation: Relation) -> Properties:
    """The properties of one operator from those of its inputs; a new operator registers its own."""
    raise InternalError(f"no properties are defined for {type(relation).__name__}")


@derive.register
def _(relation: Scan) -> Properties:
    by_name = {f.name: column for f, column in zip(relation.table.fields, relation.columns, strict=True)}
    not_null = frozenset(by_name[f.name] for f in relation.table.fields if not f.nullable)
    keys = tuple(frozenset(by_name[name] for name in key) for key in relation.table.keys)
    dependencies = tuple(Dependency(key, frozenset(relation.columns)) for key in keys)
    tables = frozenset((relation.table.name,)) if relation.table.changing else frozenset[str]()
    return Properties(not_null, keys, dependencies, tables, monotone=True, arrives_by=_arriving(relation))


def _arriving(relation: Scan) -> frozenset[ArrivalKey]:
    """The keys of a table of which rows only arrive, and its references to rows that arrive with its own."""
    table = relation.table
    if not table.changing or not table.append_only:
        return frozenset()
    by_name = {f.name: column for f, column in zip(table.fields, relation.columns, strict=True)}
    own = [] if table.reference_key is None else [ArrivalKey(by_name[table.reference_key], table.name)]
    return frozenset((*own, *(ArrivalKey(by_name[r.column], r.table) for r in table.arrives_with)))


@derive.register
def _(relation: Values) -> Properties:
    cells = zip(relation.columns, zip(*relation.rows, strict=True), strict=False)
    not_null = frozenset(c for c, values in cells if all(never_null(v, NO_COLUMNS) for v in values))
    keys = (NO_COLUMNS,) if len(relation.rows) <= 1 else ()
    return Properties(not_null, keys, (), frozenset(), monotone=True)


@derive.register
def _(relation: Filter) -> Properties:
    below = properties(relation.input)
    dependencies = below.dependencies + tuple(_equalities(relation.predicate))
    not_null = below.not_null | null_rejected_columns(relation.predicate) & frozenset(relation.columns)
    return _with_reduced_keys(
        Properties(
            not_null,
            below.keys,
            dependencies,
            below.changing_tables,
            below.monotone and not relation.predicate.is_random,
            below.arrives_by if not relation.predicate.is_random else frozenset(),
        )
    )


@derive.register
def _(relation: Project) -> Properties:
    below = properties(relation.input)
    new_names: dict[Column, list[Column]] = {}
    dependencies: list[Dependency] = []
    for column, scalar in relation.items:
        if source := scalar.column:
            new_names.setdefault(source, []).append(column)
    rename = {old: new[0] for old, new in new_names.items()}
    for column, scalar in relation.items:
        if scalar.column is None and not scalar.is_random and scalar.columns <= rename.keys():
            dependencies.append(Dependency(frozenset(rename[c] for c in scalar.columns), frozenset((column,))))
    for twins in new_names.values():
        dependencies += [Dependency(frozenset((a,)), frozenset((b,))) for a in twins for b in twins if a != b]
    for dependency in below.dependencies:
        if dependency.determinant <= rename.keys() and (kept := dependency.dependent & rename.keys()):
            dependencies.append(
                Dependency(frozenset(rename[c] for c in dependency.determinant), frozenset(rename[c] for c in kept))
            )
    keys = tuple(frozenset(rename[c] for c in key) for key in below.keys if key <= rename.keys())
    every = frozenset(relation.columns)
    dependencies += [Dependency(key, every) for key in keys]
    not_null = frozenset(c for c, scalar in relation.items if never_null(scalar, below.not_null))
    is_random = any(scalar.is_random for _, scalar in relation.items)
    arriving = frozenset(
        replace(each, column=column) for each in below.arrives_by for column in new_names.get(each.column, ())
    )
    return Properties(
        not_null,
        keys,
        tuple(dict.fromkeys(dependencies)),
        below.changing_tables,
        below.monotone and not is_random,
        frozenset() if is_random else arriving,
    )


@derive.register
def _(relation: Join) -> Properties:
    left, right = properties(relation.left), properties(relation.right)
    tables = left.changing_tables | right.changing_tables
    equal = tuple(_equalities(relation.condition))
    rejected = null_rejected_columns(relation.condition)
    left_columns, right_columns = frozenset(relation.left.columns), frozenset(relation.right.columns)
    right_settled = not right.changing_tables
    match relation.kind:
        case JoinKind.SEMI | JoinKind.ANTI:
            semi = relation.kind is JoinKind.SEMI
            not_null = left.not_null | (rejected & left_columns if semi else NO_COLUMNS)
            monotone = left.monotone and (right.monotone if semi else right_settled)
            return Properties(not_null, left.keys, left.dependencies, tables, monotone, joined_arrivals(relation))
        case JoinKind.INNER:
            dependencies = left.dependencies + right.dependencies + equal
            keys = _join_keys(relation, both_ways=True)
            not_null = left.not_null | right.not_null | rejected & (left_columns | right_columns)
            return _with_reduced_keys(
                Properties(
                    not_null, keys, dependencies, tables, left.monotone and right.monotone, joined_arrivals(relation)
                )
            )
        case JoinKind.LEFT:
            safe = tuple(d for d in right.dependencies if d.determinant and d.determinant <= right.not_null)
            return Properties(
                left.not_null,
                _join_keys(relation, both_ways=False),
                left.dependencies + safe,
                tables,
                left.monotone and right_settled,
                joined_arrivals(relation),
            )
        case JoinKind.FULL:
            keys = tuple(
                a | b
                for a, b in product(left.keys, right.keys)
                if a and b and a <= left.not_null and b <= right.not_null
            )
            return Properties(NO_COLUMNS, keys, (), tables, monotone=not tables)


@derive.register
def _(relation: Aggregate) -> Properties:
    below = properties(relation.input)
    key = frozenset(relation.keys)
    inherited = tuple(
        Dependency(d.determinant, d.dependent & key)
        for d in below.dependencies
        if d.determinant <= key and d.dependent & key
    )
    counts = frozenset(column for column, call in relation.calls if call.function in ("count", "count_if"))
    monotone = not below.changing_tables or (relation.is_distinct and below.monotone)
    own = (Dependency(key, frozenset(relation.columns)),)
    return _with_reduced_keys(
        Properties(
            (below.not_null & key) | counts,
            (key,),
            inherited + own,
            below.changing_tables,
            monotone,
            frozenset(each for each in below.arrives_by if each.column in key),
        )
    )


@derive.register
def _(relation: Expand) -> Properties:
    below = properties(relation.input)
    keys = tuple(key | {relation.number} for key in below.keys)
    copies = tuple(
        Dependency(frozenset((source, relation.number)), frozenset((copy,))) for copy, source in relation.keys
    )
    not_null = below.not_null | {relation.number}
    return Properties(not_null, keys, below.dependencies + copies, below.changing_tables, below.monotone)


@derive.register
def _(relation: Window) -> Properties:
    below = properties(relation.input)
    always = ("rank", "dense_rank", "row_number", "ntile", "count", "percent_rank", "cume_dist")
    counts = frozenset(c for c, call in relation.calls if function_name(call.function.tree) in always)
    numbers = [
        frozenset((*call.partition, column))
        for column, call in relation.calls
        if function_name(call.function.tree) == "row_number"
    ]
    keys = _few((*below.keys, *numbers))
    dependencies = below.dependencies + tuple(Dependency(key, frozenset(relation.columns)) for key in keys)
    in_partition = frozenset(
        each for each in below.arrives_by if all(each.column in call.partition for _, call in relation.calls)
    )
    return Properties(
        below.not_null | counts,
        keys,
        dependencies,
        below.changing_tables,
        not below.changing_tables,
        in_partition,
    )


@derive.register
def _(relation: Union) -> Properties:
    below = [properties(branch) for branch in relation.branches]
    not_null = frozenset(
        name
        for position, name in enumerate(relation.names)
        if all(s[position] in p.not_null for s, p in zip(relation.sources, below, strict=True))
    )
    tables = frozenset[str]().union(*(p.changing_tables for p in below))
    arriving = [
        frozenset(
            replace(each, column=name)
            for each in known.arrives_by
            for name, source in zip(relation.names, sources, strict=True)
            if each.column == source
        )
        for sources, known in zip(relation.sources, below, strict=True)
        if known.changing_tables
    ]
    arrives_by = frozenset[ArrivalKey].intersection(*arriving) if arriving else frozenset[ArrivalKey]()
    return Properties(not_null, (), (), tables, all(p.monotone for p in below), arrives_by)


@derive.register
def _(relation: Limit) -> Properties:
    below = properties(relation.input)
    keys = (NO_COLUMNS,) if relation.count is not None and relation.count <= 1 else below.keys
    return Properties(
        below.not_null, keys, below.dependencies, below.changing_tables, monotone=not below.changing_tables
    )


@derive.register
def _(relation: Generate) -> Properties:
    below = properties(relation.input)
    dependencies = tuple(Dependency(d.determinant, d.dependent - frozenset(relation.names)) for d in below.dependencies)
    return Properties(below.not_null, (), dependencies, below.changing_tables, below.monotone)


def joined_arrivals(join: Join) -> frozenset[ArrivalKey]:
    """By which columns a join's rows arrive: those of the side that changes, or on which both sides arrive together."""
    left, right = properties(join.left), properties(join.right)
    if join.kind is JoinKind.FULL or join.condition.is_random:
        return frozenset()
    if not right.changing_tables:
        return left.arrives_by
    if not left.changing_tables:
        return right.arrives_by if join.kind is JoinKind.INNER else frozenset()
    together = arriving_together(join)
    ones = frozenset(one for one, _ in together)
    return ones | frozenset(other for _, other in together) if join.kind is JoinKind.INNER else ones


def arriving_together(join: Join) -> list[tuple[ArrivalKey, ArrivalKey]]:
    """The columns that a join compares for equality and by which both sides arrive: rows that match arrive together."""
    left, right = properties(join.left), properties(join.right)
    pairs: list[tuple[ArrivalKey, ArrivalKey]] = []
    for part in conjuncts(join.condition):
        if (equal := column_equality(part)) is None or not keeps_apart(equal[0].type, equal[1].type):
            continue
        for one in left.arrives_by:
            for other in right.arrives_by:
                compared = {one.column, other.column} == set(equal) and keeps_apart(equal[1].type, equal[0].type)
                if compared and one.table == other.table:
                    pairs.append((one, other))
    return pairs


def _equalities(predicate: Scalar) -> Iterable[Dependency]:
    """`a = b` makes each determine the other, unless their types blur it; `a = 5` fixes a."""
    for part in conjuncts(predicate):
        if pair := column_equality(part):
            for one, other in (pair, pair[::-1]):
                if keeps_apart(other.type, one.type):
                    yield Dependency(frozenset((one,)), frozenset((other,)))
        elif sides := equality_sides(part):
            for value, constant in (sides, sides[::-1]):
                if value.column and constant.is_literal and keeps_apart(value.column.type, constant.type):
                    yield Dependency(NO_COLUMNS, frozenset((value.column,)))


def _join_keys(join: Join, *, both_ways: bool) -> tuple[Columns, ...]:
    """A left row stays single where the condition reaches a whole key of the right, and the other way round."""
    left, right = properties(join.left), properties(join.right)
    keys: list[Columns] = []
    if right.is_unique(matched_columns(join, join.right)):
        keys += left.keys
    if both_ways and left.is_unique(matched_columns(join, join.left)):
        keys += right.keys
    if not keys:
        keys = [a | b for a, b in product(left.keys, right.keys)]
    return _few(keys)


def matched_columns(join: Join, side: Relation) -> Columns:
    """Columns of one input that the condition pins to one value for each row of the other input."""
    own = frozenset(side.columns)
    matched: set[Column] = set()
    for part in conjuncts(join.condition):
        if sides := equality_sides(part):
            for one, other in (sides, sides[::-1]):
                column = one.column
                fixed = column in own and not other.columns & own and not other.is_random
                if fixed and column is not None and keeps_apart(column.type, other.type):
                    matched.add(column)
    return frozenset(matched)


def _with_reduced_keys(known: Properties) -> Properties:
    """Keys without the columns that the others already determine."""
    reduced = []
    for key in known.keys:
        small = key
        for column in sorted(key, key=lambda c: c.id):
            rest = small - {column}
            if column in known.closure(rest):
                small = rest
        reduced.append(small)
    return replace(known, keys=_few(reduced))


def _few(keys: Iterable[Columns]) -> tuple[Columns, ...]:
    """Distinct keys that contain no other, the smallest first, at most a handful."""
    ordered = sorted(dict.fromkeys(keys), key=lambda key: (len(key), sorted(c.id for c in key)))
    kept: list[Columns] = []
    for key in ordered:
        if not any(small <= key for small in kept):
            kept.append(key)
    return tuple(kept[:MOST_KEYS])
