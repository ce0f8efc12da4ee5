"""Partial aggregates: Initialize and Iterate, Merge, Final.                                          [Yu et al. 2009]

`partials_of` turns an Aggregate's calls into partial columns by key: how each is computed from rows, how two of them
are merged, and how the calls are computed in the end. With signed rows, only functions with an inverse can be kept:
counts and sums, and what follows from them. Minimum and maximum can be kept if rows only arrive. If rows may be
removed, the row count of a group is always kept, since a group without rows does not exist.

A partial sum must not overflow if the batch query does not. Spark's sum of bigints is a bigint; whether it overflows
depends on the order of rows, and so it does here. Spark's avg adds doubles and its try_sum returns NULL, so for these
two bigints are summed as decimals of 38 digits. Sums of decimals have ten more digits, enough for ten billion rows. If
there is no room for ten more, merging partial sums would lose an overflow to NULL, so try_sum and try_avg have no
partial form.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2s

from slackwater.algebra import types as t
from slackwater.algebra.cases import branches_of
from slackwater.algebra.functions import AVERAGE_OF
from slackwater.algebra.nullability import never_null
from slackwater.algebra.once import once_for_each
from slackwater.algebra.relation import Aggregate, AggregateCall, Filter, Project, Relation
from slackwater.algebra.scalar import (
    NULL,
    Scalar,
    addition,
    call,
    case_when,
    cast,
    conjunction,
    difference,
    greater,
    is_not_null,
    literal,
    product,
    quotient,
    reference,
    remainder,
    try_cast,
    typed,
    whole_quotient,
)
from slackwater.algebra.schema import Column, ColumnId
from slackwater.algebra.types import Type
from slackwater.rules.signed import all_of
from slackwater.time.forms import WEIGHT

_VARIANCES = {
    "stddev": True,
    "stddev_samp": True,
    "std": True,
    "variance": True,
    "var_samp": True,
    "stddev_pop": False,
    "var_pop": False,
}
_SPREADS = frozenset(("stddev", "stddev_samp", "std", "stddev_pop"))
_SQUARED_DIGITS = 12
"""Sums of squares of numbers with more digits may not be exact."""
_WHOLE = t.decimal(19, 0)
_LONGEST = t.decimal(t.MAX_PRECISION, 0)
_EXTREMES = {name: name for name in ("min", "max", "bool_and", "bool_or")} | {"every": "bool_and", "some": "bool_or"}
_EXTREMES_BY = {"min_by": "min", "max_by": "max"}


@dataclass(frozen=True, slots=True)
class Part:
    """One partial column: a value summed (or minimized) over rows, merged by the same function."""

    column: Column
    value: Scalar | None
    function: str
    by: Part | None = None
    """The least or greatest value whose row the value is of, for min_by and max_by."""

    def of_rows(self, *, signed: bool) -> AggregateCall:
        """Initialize and Iterate. Without a value, rows are counted."""
        if self.value is None:
            if signed:
                return AggregateCall("sum", (reference(WEIGHT),), t.BIGINT)
            return AggregateCall("count", (), t.BIGINT)
        value, by = self.value, self.by.value if self.by is not None else None
        if by is not None:
            return AggregateCall(self.function, (value, by), self.column.type)
        if signed:
            value = product(value, reference(WEIGHT))
        return AggregateCall(self.function, (value,), self.column.type)

    def merged(self) -> AggregateCall:
        """Merge."""
        by = () if self.by is None else (reference(self.by.column),)
        return AggregateCall(self.function, (reference(self.column), *by), self.column.type)


@dataclass(frozen=True, slots=True)
class Partials:
    """How an Aggregate is kept in group form."""

    keys: tuple[Column, ...]
    parts: tuple[Part, ...]
    finals: tuple[tuple[Column, Scalar], ...]
    rows: Column | None
    knows_types: bool = False
    """Whether results have the engine's types before they are cast, as the columns of a separate relation must."""

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.keys, *(part.column for part in self.parts))

    def of_rows(self, rows: Relation) -> Relation:
        """Partial aggregates of plain or signed rows."""
        signed = WEIGHT in rows.columns
        return self._typed(rows, [(part, part.of_rows(signed=signed)) for part in self.parts])

    def merge(self, *sources: Relation) -> Relation:
        """Partial aggregates of one or several sources as one per key."""
        parts = sources[0] if len(sources) == 1 else all_of(self.columns, sources)
        return self._typed(parts, [(part, part.merged()) for part in self.parts])

    def _typed(self, below: Relation, calls: list[tuple[Part, AggregateCall]]) -> Relation:
        """Sums widen; each partial column is cast back to its own type."""
        raw = []
        for part, measure in calls:
            kind = _raw_type(measure) if self.knows_types else t.UNKNOWN
            raw.append((Column(ColumnId(f"{part.column.id}+"), part.column.name, kind), part, measure))
        grouped = Aggregate(below, self.keys, tuple((column, measure) for column, _, measure in raw))
        kept = [(key, reference(key)) for key in self.keys]
        return Project(grouped, (*kept, *((part.column, typed(reference(c), part.column.type)) for c, part, _ in raw)))

    def final(self, parts: Relation) -> Relation:
        """Final: merged partials to the Aggregate's own rows; groups without rows are dropped."""
        if self.rows is not None and self.keys:
            parts = Filter(parts, greater(reference(self.rows), literal(0)))
        return Project(parts, (*((key, reference(key)) for key in self.keys), *self.finals))


def _raw_type(measure: AggregateCall) -> t.Type:
    """The engine's result type, before the cast."""
    match measure.function:
        case "count":
            return t.BIGINT
        case "sum":
            return t.sum_type(measure.arguments[0].type)
        case "min" | "max":
            return measure.arguments[0].type
        case _:
            return t.UNKNOWN


@once_for_each
def partials_of(aggregate: Aggregate, *, signed: bool, deletes: bool = False) -> Partials | None:
    """The group form of an Aggregate over plain or signed rows, or None if some call has none; cached on the operator.

    `deletes` says that base rows may be deleted, and not only the padding of outer joins.
    """
    maker = _Maker(signed, deletes)
    finals: list[tuple[Column, Scalar]] = []
    for column, measure in aggregate.calls:
        value = maker.call(measure)
        if value is None:
            return None
        if column.type.is_known and value.type != column.type:
            value = cast(value, column.type)
        finals.append((column, value))
    rows = maker.count(None) if maker.signed else None
    return Partials(aggregate.keys, tuple(maker.parts.values()), tuple(finals), rows)


def _has_value(value: Scalar) -> Scalar:
    """The test that a value is not NULL; of `CASE WHEN p THEN x END`, that p holds and x is not NULL."""
    match branches_of(value):
        case [(condition, inner), (_, otherwise)] if otherwise == NULL:
            return conjunction([condition] if never_null(inner, frozenset()) else [condition, _has_value(inner)])
        case _:
            return is_not_null(value)


class _Maker:
    """Collects the distinct partial columns that some calls need."""

    def __init__(self, signed: bool, deletes: bool) -> None:
        self.signed = signed
        self.deletes = deletes
        self.parts: dict[tuple[str, Scalar | None, Part | None], Part] = {}

    def _part(self, function: str, value: Scalar | None, name: str, kind: Type, by: Part | None = None) -> Column:
        key = (function, value, by)
        if key not in self.parts:
            text = "|".join((function, value.text if value else "*", *((by.column.id,) if by else ())))
            digest = blake2s(text.encode(), digest_size=5).hexdigest()
            self.parts[key] = Part(Column(ColumnId(f"part:{digest}"), name, kind), value, function, by)
        return self.parts[key].column

    def count(self, value: Scalar | None) -> Column:
        if value is None:
            return self._part("sum", None, "row_count", t.BIGINT)
        one = case_when(_has_value(value), literal(1), literal(0))
        return self._part("sum", one, "value_count", t.BIGINT)

    def call(self, measure: AggregateCall) -> Scalar | None:
        """The call in terms of partial columns."""
        if measure.function in _EXTREMES_BY:
            return self._by_extreme(measure)
        if measure.distinct or measure.order or measure.ignore_nulls or len(measure.arguments) > 1:
            return None
        value = measure.value if measure.arguments or measure.filter is not None else None
        match measure.function:
            case "count":
                return call("coalesce", reference(self.count(value)), literal(0))
            case "count_if" if value is not None:
                return call("coalesce", reference(self.count(case_when(value, literal(1), NULL))), literal(0))
            case "try_sum" | "try_avg" if value is not None and not t.sum_has_room(value.type):
                return None
            case "try_sum" if value is not None and value.type == t.BIGINT:
                return self._sum(cast(value, _WHOLE), _LONGEST, t.BIGINT)
            case "sum" | "try_sum" if value is not None:
                return self._sum(value, measure.type)
            case "avg" | "mean" | "try_avg" if value is not None:
                return self._average(value, measure.type)
            case function if function in _VARIANCES and value is not None:
                return self._variance(function, value)
            case function if function in _EXTREMES and value is not None and not self.signed:
                return reference(self._part(_EXTREMES[function], value, function, measure.type))
            case _:
                return None

    def _by_extreme(self, measure: AggregateCall) -> Scalar | None:
        """The value of the first or last row, and what it is first or last by."""
        value, by, *several = measure.arguments
        is_known = value.type.is_known and by.type.is_known
        if self.signed or measure.filter is not None or measure.distinct or several or not is_known:
            return None
        order = _EXTREMES_BY[measure.function]
        self._part(order, by, order, by.type)
        return reference(self._part(measure.function, value, f"of_{order}", value.type, self.parts[order, by, None]))

    def _sum(self, value: Scalar, kind: Type, fits: Type | None = None) -> Scalar | None:
        """A sum, kept in type `kind`; NULL if it does not fit into type `fits`, if given."""
        if not kind.is_known or not self._adds_up(value):
            return None
        total = reference(self._part("sum", value, "total", kind))
        if fits is not None:
            total = try_cast(total, fits)
        if not self.signed:
            return total
        # Values that were added and removed leave a sum of zero; a sum of no values is NULL.
        return case_when(greater(reference(self.count(value)), literal(0)), total, NULL)

    def _average(self, value: Scalar, kind: Type) -> Scalar | None:
        if not value.type.is_numeric or not self._adds_up(value):
            return None
        if kind.is_decimal and kind.precision_and_scale[0] >= t.MAX_PRECISION:
            return None  # no room to divide the sum without losing digits
        if value.type == t.BIGINT:
            total = cast(reference(self._part("sum", cast(value, _WHOLE), "total", _LONGEST)), t.DOUBLE)
        else:
            total = reference(self._part("sum", value, "total", t.sum_type(value.type)))
        count = reference(self.count(value))
        scale = value.type.precision_and_scale[1] if value.type.is_decimal else 0
        average = call(AVERAGE_OF, total, count, literal(kind.text), literal(scale))
        return case_when(greater(count, literal(0)), average, NULL)

    def _adds_up(self, value: Scalar) -> bool:
        """Whether an added value can be subtracted again: not for doubles, where 1e16 + 1 − 1e16 is 0."""
        return not self.deletes or not value.type.is_floating

    def _variance(self, function: str, value: Scalar) -> Scalar | None:
        """From n, Σx and Σx², which are kept exactly: with doubles, n·Σx² − (Σx)² would lose small variances.

        Decimals are scaled to whole numbers here. Not for doubles, nor for numbers with too many digits.
        """
        if not (value.type.is_integral or value.type.is_decimal):
            return None
        digits, scale = value.type.precision_and_scale
        if digits > _SQUARED_DIGITS:
            return None
        whole = product(value, literal(10**scale)) if scale else value
        total, squares = self._short_sums(whole) if digits < 10 or value.type == t.INT else self._long_sums(whole)
        count = reference(self.count(value))
        n = cast(count, _WHOLE)
        centred = cast(difference(product(n, squares), product(total, total)), t.DOUBLE)
        by = product(n, difference(n, literal(1))) if _VARIANCES[function] else product(n, n)
        unit = literal(10 ** (2 * scale))
        variance = quotient(centred, cast(product(by, unit) if scale else by, t.DOUBLE))
        result = call("sqrt", variance) if function in _SPREADS else variance
        return case_when(greater(count, literal(1 if _VARIANCES[function] else 0)), result, NULL)

    def _short_sums(self, whole: Scalar) -> tuple[Scalar, Scalar]:
        """Σx and Σx². A square has up to 62 bits: its halves are summed separately, so that neither sum overflows."""
        x, half = cast(whole, t.BIGINT), literal(2**31)
        total = self._part("sum", whole if whole.type.is_integral else x, "total", t.BIGINT)
        upper = self._part("sum", whole_quotient(product(x, x), half), "squares_upper", t.BIGINT)
        lower = self._part("sum", remainder(product(x, x), half), "squares_lower", t.BIGINT)
        sums = [cast(reference(part), _WHOLE) for part in (total, upper, lower)]
        return sums[0], addition(product(sums[1], half), sums[2])

    def _long_sums(self, whole: Scalar) -> tuple[Scalar, Scalar]:
        x = cast(whole, _WHOLE)
        total = self._part("sum", x, "total", _WHOLE)
        squares = self._part("sum", product(x, x), "squares", _LONGEST)
        return reference(total), reference(squares)
