"""What holds for every row of a relation, whatever the data: nulls, keys, dependencies, changing tables.

Derived bottom up, once per relation object. All facts are safe: a missing one loses a rewrite, a wrong one an answer.
A key is a set of columns no two rows share; the empty key says "at most one row".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import product

from slackwater.algebra import arrival_keys
from slackwater.algebra.arrival_keys import ArrivalKeys, at_once, in_all, left_is_later, of_scan, renamed, together
from slackwater.algebra.nullability import never_null, null_rejected_columns
from slackwater.algebra.once import once, once_for_each
from slackwater.algebra.predicates import column_equality, equality_sides
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
from slackwater.algebra.scalar import Scalar, conjuncts
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
class Properties:
    """The logical properties of one relation."""

    not_null: Columns
    keys: tuple[Columns, ...]
    dependencies: tuple[Dependency, ...]
    changing_tables: frozenset[str]
    monotone: bool
    """Whether inserts below can only cause inserts here."""
    arrives_by: ArrivalKeys = frozenset()
    """Columns whose values arrive once: all rows with a value arrive in one run and stay as they are, or come later."""
    grows: bool = False
    """Whether inserts of a whole run, in all tables, only cause inserts here; one table alone may do otherwise."""

    @property
    def at_most_one_row(self) -> bool:
        return NO_COLUMNS in self.keys

    def closure(self, columns: Iterable[Column]) -> Columns:
        """All columns that the given ones determine."""
        closure = set(columns)
        grew = True
        while grew:
            grew = False
            for dependency in self.dependencies:
                if dependency.determinant <= closure and not dependency.dependent <= closure:
                    closure |= dependency.dependent
                    grew = True
        return frozenset(closure)

    def is_unique(self, columns: Iterable[Column]) -> bool:
        """Whether no two rows agree on all the given columns."""
        determined = self.closure(columns)
        return any(key <= determined for key in self.keys)


@once
def properties(relation: Relation) -> Properties:
    """The properties of a relation; worked out once and kept with it."""
    return derive(relation)


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
    return Properties(not_null, keys, dependencies, tables, True, of_scan(relation), grows=True)


@derive.register
def _(relation: Values) -> Properties:
    cells = zip(relation.columns, zip(*relation.rows, strict=True), strict=False)
    not_null = frozenset(c for c, values in cells if all(never_null(v, NO_COLUMNS) for v in values))
    keys = (NO_COLUMNS,) if len(relation.rows) <= 1 else ()
    return Properties(not_null, keys, (), frozenset(), monotone=True, grows=True)


@derive.register
def _(relation: Filter) -> Properties:
    below = properties(relation.input)
    dependencies = below.dependencies + tuple(_equalities(relation.predicate))
    not_null = below.not_null | null_rejected_columns(relation.predicate) & frozenset(relation.columns)
    facts = replace(below, not_null=not_null, dependencies=dependencies)
    return _with_reduced_keys(facts if not relation.predicate.is_random else _drawn_again(facts))


def _drawn_again(facts: Properties) -> Properties:
    """What is left if every run draws other rows or values."""
    return replace(facts, monotone=False, arrives_by=frozenset(), grows=False)


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
    for determinant in dict.fromkeys(dependency.determinant for dependency in below.dependencies):
        if determinant <= rename.keys() and (kept := below.closure(determinant) & rename.keys() - determinant):
            dependencies.append(
                Dependency(frozenset(rename[c] for c in determinant), frozenset(rename[c] for c in kept))
            )
    keys = tuple(frozenset(rename[c] for c in key) for key in below.keys if key <= rename.keys())
    every = frozenset(relation.columns)
    dependencies += [Dependency(key, every) for key in keys]
    not_null = frozenset(c for c, scalar in relation.items if never_null(scalar, below.not_null))
    facts = replace(
        below,
        not_null=not_null,
        keys=keys,
        dependencies=tuple(dict.fromkeys(dependencies)),
        arrives_by=renamed(below.arrives_by, new_names),
    )
    return _drawn_again(facts) if any(scalar.is_random for _, scalar in relation.items) else facts


@derive.register
def _(relation: Join) -> Properties:
    left, right = properties(relation.left), properties(relation.right)
    tables = left.changing_tables | right.changing_tables
    if relation.kind is JoinKind.FULL:
        pairs = ((a, b) for a, b in product(left.keys, right.keys) if a <= left.not_null and b <= right.not_null)
        keys = tuple(a | b for a, b in pairs if a and b)
        return Properties(NO_COLUMNS, keys, (), tables, monotone=not tables, grows=not tables)
    if relation.kind in (JoinKind.INNER, JoinKind.SEMI):
        monotone, grows = left.monotone and right.monotone, left.grows and right.grows
    else:
        monotone, grows = left.monotone and not right.changing_tables, _grows_with_partners(relation)
    sides = [side.arrives_by if side.changing_tables else None for side in (left, right)]
    arriving = arrival_keys.of_join(relation, *sides)
    joined = Properties(left.not_null, left.keys, left.dependencies, tables, monotone, arriving, grows)
    rejected = null_rejected_columns(relation.condition)
    match relation.kind:
        case JoinKind.ANTI:
            return joined
        case JoinKind.SEMI:
            return replace(joined, not_null=left.not_null | rejected & frozenset(relation.columns))
        case JoinKind.LEFT:
            safe = tuple(d for d in right.dependencies if d.determinant and d.determinant <= right.not_null)
            keys = _join_keys(relation, both_ways=False)
            return replace(joined, keys=keys, dependencies=(*left.dependencies, *safe, *_chosen_partner(relation)))
        case JoinKind.INNER:
            not_null = left.not_null | right.not_null | rejected & frozenset(relation.columns)
            dependencies = left.dependencies + right.dependencies + tuple(_equalities(relation.condition))
            keys = _join_keys(relation, both_ways=True)
            return _with_reduced_keys(replace(joined, not_null=not_null, keys=keys, dependencies=dependencies))


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
    arriving = in_all(below.arrives_by, [relation.keys])
    settled = not below.changing_tables
    facts = replace(
        below,
        not_null=(below.not_null & key) | counts,
        keys=(key,),
        dependencies=(*inherited, Dependency(key, frozenset(relation.columns))),
        monotone=settled or (relation.is_distinct and below.monotone),
        arrives_by=arriving,
        grows=settled or (below.grows and (relation.is_distinct or bool(at_once(arriving)))),
    )
    return _with_reduced_keys(facts)


@derive.register
def _(relation: Expand) -> Properties:
    below = properties(relation.input)
    keys = tuple(key | {relation.number} for key in below.keys)
    copies = tuple(
        Dependency(frozenset((source, relation.number)), frozenset((copy,))) for copy, source in relation.keys
    )
    not_null, dependencies = below.not_null | {relation.number}, below.dependencies + copies
    return replace(below, not_null=not_null, keys=keys, dependencies=dependencies, arrives_by=frozenset())


@derive.register
def _(relation: Window) -> Properties:
    below = properties(relation.input)
    always = ("rank", "dense_rank", "row_number", "ntile", "count", "percent_rank", "cume_dist")
    counts = frozenset(c for c, call in relation.calls if call.name in always)
    numbers = [frozenset((*call.partition, column)) for column, call in relation.calls if call.name == "row_number"]
    keys = _few((*below.keys, *numbers))
    dependencies = below.dependencies + tuple(Dependency(key, frozenset(relation.columns)) for key in keys)
    in_partition = in_all(below.arrives_by, [call.partition for _, call in relation.calls])
    settled = not below.changing_tables
    grows = settled or (below.grows and bool(at_once(in_partition)))
    not_null = below.not_null | counts
    return Properties(not_null, keys, dependencies, below.changing_tables, settled, in_partition, grows)


@derive.register
def _(relation: Union) -> Properties:
    below = [properties(branch) for branch in relation.branches]
    not_null = frozenset(
        name
        for position, name in enumerate(relation.names)
        if all(s[position] in p.not_null for s, p in zip(relation.sources, below, strict=True))
    )
    tables = frozenset[str]().union(*(p.changing_tables for p in below))
    arrives_by = arrival_keys.of_union(relation, [p.arrives_by for p in below])
    grows = all(p.grows for p in below)
    return Properties(not_null, (), (), tables, all(p.monotone for p in below), arrives_by, grows)


@derive.register
def _(relation: Limit) -> Properties:
    below = properties(relation.input)
    keys = (NO_COLUMNS,) if relation.count is not None and relation.count <= 1 else below.keys
    settled = not below.changing_tables
    return replace(below, keys=keys, monotone=settled, grows=settled, arrives_by=frozenset())


@derive.register
def _(relation: Generate) -> Properties:
    below = properties(relation.input)
    dependencies = tuple(Dependency(d.determinant, d.dependent - frozenset(relation.names)) for d in below.dependencies)
    return replace(below, keys=(), dependencies=dependencies, arrives_by=frozenset())


def _grows_with_partners(join: Join) -> bool:
    """Whether a left or anti join only gains rows: rows on the left keep the partners that they have, or have not."""
    left, right = properties(join.left), properties(join.right)
    if not right.changing_tables:
        return left.grows
    if join.condition.is_random or not (left.grows and right.grows):
        return False
    return any(how(join, left.arrives_by, right.arrives_by) for how in (together, left_is_later))


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


def _chosen_partner(join: Join) -> Iterable[Dependency]:
    """Left rows that agree on what the condition reads have the same partner, or none.

    Not if it reads floats: 0.0 and -0.0 agree, and their texts do not.
    """
    asked = join.condition.columns & frozenset(join.left.columns)
    if not asked or join.condition.is_random or any(column.type.is_floating for column in asked):
        return
    if has_one_partner(join):
        yield Dependency(asked, frozenset(join.right.columns))


def _join_keys(join: Join, *, both_ways: bool) -> tuple[Columns, ...]:
    """A left row stays single where the condition reaches a whole key of the right, and the other way round."""
    left, right = properties(join.left), properties(join.right)
    keys: list[Columns] = []
    if has_one_partner(join):
        keys += left.keys
    if both_ways and left.is_unique(matched_columns(join, join.left)):
        keys += right.keys
    if not keys:
        keys = [a | b for a, b in product(left.keys, right.keys)]
    return _few(keys)


def has_one_partner(join: Join) -> bool:
    """Whether a left row matches at most one right row: the condition reaches a key of the right input."""
    return properties(join.right).is_unique(matched_columns(join, join.right))


@once_for_each
def matched_columns(join: Join, side: Relation) -> Columns:
    """Columns of one input that the condition pins to one value for each row of the other input; cached on the join."""
    return frozenset(column for column, _ in fixed_by(join.condition, frozenset(side.columns)))


def fixed_by(condition: Scalar, own: Columns) -> Iterator[tuple[Column, Scalar]]:
    """The columns of one input that a condition pins to a value for each row of the other input, and the value."""
    for part in conjuncts(condition):
        if sides := equality_sides(part):
            for one, other in (sides, sides[::-1]):
                column = one.column
                fixed = column in own and not other.columns & own and not other.is_random
                if fixed and column is not None and keeps_apart(column.type, other.type):
                    yield column, other


def _with_reduced_keys(facts: Properties) -> Properties:
    """Keys without the columns that the others already determine."""
    reduced = []
    for key in facts.keys:
        small = key
        for column in sorted(key, key=lambda c: c.id):
            rest = small - {column}
            if column in facts.closure(rest):
                small = rest
        reduced.append(small)
    return replace(facts, keys=_few(reduced))


def _few(keys: Iterable[Columns]) -> tuple[Columns, ...]:
    """Distinct keys that contain no other, the smallest first, at most a handful."""
    ordered = sorted(dict.fromkeys(keys), key=lambda key: (len(key), sorted(c.id for c in key)))
    kept: list[Columns] = []
    for key in ordered:
        if not any(small <= key for small in kept):
            kept.append(key)
    return tuple(kept[:MOST_KEYS])
