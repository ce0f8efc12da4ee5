"""Types of a file's columns that can be read as the type of their source without losing anything.

Each pair was tried on Spark 4.3, for parquet and ORC, with filters that Spark hands to the reader. A file whose type is
wider than its source's is never read: Spark would cut values off, or make them null. Nor is a decimal with fewer digits
and the same scale: Spark compares the parquet file's statistics with a constant cut to the file's own type, and skips
rows that it should read: `price < 30000000.00` finds nothing in a file of DECIMAL(9,2). With another scale it does not.
"""

from __future__ import annotations

from slackwater.algebra.types import Type

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_EXACT_IN_DOUBLE = ("tinyint", "smallint", "int", "float")


def is_read_as(kind: Type, wanted: Type) -> bool:
    """Whether values of one type can be read as another: the same, or one that is wider; unknown types are let pass."""
    if not kind.is_known or not wanted.is_known:
        return True
    return _family(kind) == _family(wanted) or _is_narrower(kind, wanted)


def wider(one: Type, other: Type) -> Type:
    """The type of two that values of both can be read as; the first where there is none."""
    return other if _is_narrower(one, other) else one


def _is_narrower(kind: Type, wanted: Type) -> bool:
    if wanted.is_integral:
        return kind.is_integral and _WHOLE.index(kind.text) < _WHOLE.index(wanted.text)
    if wanted.text == "double":
        return kind.text in _EXACT_IN_DOUBLE
    if not (kind.is_decimal and wanted.is_decimal) or kind == wanted:
        return False
    (digits, scale), (wanted_digits, wanted_scale) = kind.precision_and_scale, wanted.precision_and_scale
    return scale < wanted_scale and digits - scale <= wanted_digits - wanted_scale


def _family(kind: Type) -> str:
    """Types that files do not tell apart are one."""
    return "timestamp" if kind.text.startswith("timestamp") else kind.text
