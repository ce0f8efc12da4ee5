"""Spark's data types and how Spark combines them.

A `Type` is Spark's own spelling of a type, lower case and without spaces, so equal types are equal texts.
`UNKNOWN` stands for what we cannot tell without asking Spark; every function here passes it on, none guesses.
The decimal formulas are Spark's (precision at most 38, scale kept at 6 or more where digits must go).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, reduce

from slackwater.errors import UserError

MAX_PRECISION = 38
MIN_KEPT_SCALE = 6

_INTEGRAL = ("tinyint", "smallint", "int", "bigint")
_ALIASES = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "text": "string",
    "dec": "decimal",
    "numeric": "decimal",
    "bool": "boolean",
    "timestamp_ltz": "timestamp",
    "timestamptz": "timestamp",
}
_AS_DECIMAL = {"tinyint": (3, 0), "smallint": (5, 0), "int": (10, 0), "bigint": (20, 0)}


@dataclass(frozen=True, slots=True)
class Type:
    """A Spark data type by its spelling: `int`, `decimal(15,2)`, `array<string>`."""

    text: str

    @staticmethod
    @lru_cache(maxsize=4096)
    def parse(text: str) -> Type:
        """The type a user or Spark wrote, in canonical spelling."""
        spelt = re.sub(r"\s*([<>,:()])\s*", r"\1", re.sub(r"\s+", " ", text.strip().lower()))
        if "<" in spelt or spelt.startswith("interval"):
            return Type(spelt)
        head, _, tail = spelt.partition("(")
        head = _ALIASES.get(head, head)
        if head == "decimal":
            digits = re.fullmatch(r"(\d+)(?:,(\d+))?\)", tail or "10,0)")
            if digits is None:
                hint = "a decimal has digits in all and after the point: decimal(10,2)"
                raise UserError(f"no type `{text.strip()}`", hint=hint)
            return decimal(int(digits[1]), int(digits[2] or 0))
        if head in ("varchar", "char") and not tail:
            return STRING
        return Type(f"{head}({tail}" if tail else head)

    def __str__(self) -> str:
        return self.text

    @property
    def is_known(self) -> bool:
        return self.text != "unknown"

    @property
    def is_integral(self) -> bool:
        return self.text in _INTEGRAL

    @property
    def is_decimal(self) -> bool:
        return self.text.startswith("decimal(")

    @property
    def is_floating(self) -> bool:
        return self.text in ("float", "double")

    @property
    def is_numeric(self) -> bool:
        return self.is_integral or self.is_decimal or self.is_floating

    @property
    def is_temporal(self) -> bool:
        return self.text in ("date", "timestamp", "timestamp_ntz")

    @property
    def is_string(self) -> bool:
        return self.text == "string" or self.text.startswith(("varchar(", "char("))

    @property
    def precision_and_scale(self) -> tuple[int, int]:
        """Digits in all and after the point; an integral type counts its widest value."""
        if self.is_decimal:
            precision, scale = self.text[len("decimal(") : -1].split(",")
            return int(precision), int(scale)
        return _AS_DECIMAL[self.text]

    @property
    def element(self) -> Type:
        """The element type of an array, the value type of a map."""
        if self.text.startswith("array<"):
            return Type(self.text[len("array<") : -1])
        if self.text.startswith("map<"):
            return Type(_split_arguments(self.text[len("map<") : -1])[-1])
        return UNKNOWN

    @property
    def key(self) -> Type:
        """The key type of a map."""
        return Type(_split_arguments(self.text[len("map<") : -1])[0]) if self.text.startswith("map<") else UNKNOWN

    @property
    def fields(self) -> dict[str, Type]:
        """The fields of a struct by lower-case name; nothing else has any."""
        if not self.text.startswith("struct<"):
            return {}
        named = (part.partition(":") for part in _split_arguments(self.text[len("struct<") : -1]))
        return {name: Type(kind) for name, _, kind in named}

    @property
    def has_fields(self) -> bool:
        """Whether `value.name` may mean something: for a struct, a map, an array of structs, or what we cannot tell."""
        return not self.is_known or self.text.startswith(("struct<", "map<", "array<"))


def _split_arguments(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


UNKNOWN = Type("unknown")
VOID = Type("void")
BOOLEAN = Type("boolean")
TINYINT = Type("tinyint")
INT = Type("int")
BIGINT = Type("bigint")
FLOAT = Type("float")
DOUBLE = Type("double")
STRING = Type("string")
BINARY = Type("binary")
DATE = Type("date")
TIMESTAMP = Type("timestamp")
TIMESTAMP_NTZ = Type("timestamp_ntz")


def decimal(precision: int, scale: int) -> Type:
    """A decimal within Spark's bounds, cut on both sides."""
    return Type(f"decimal({min(precision, MAX_PRECISION)},{min(scale, MAX_PRECISION)})")


def decimal_keeping_digits(precision: int, scale: int) -> Type:
    """A decimal result; when too wide, digits after the point give way first, down to six."""
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    whole = precision - scale
    return decimal(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, MIN_KEPT_SCALE)))


_quotients_are_doubles: ContextVar[bool] = ContextVar("quotients_are_doubles", default=False)


@contextmanager
def quotients_as_doubles() -> Iterator[None]:
    """Within it, decimals divided or averaged give doubles, as in DuckDB; in Spark they stay decimals."""
    token = _quotients_are_doubles.set(True)
    try:
        yield
    finally:
        _quotients_are_doubles.reset(token)


def arithmetic(operator: str, left: Type, right: Type) -> Type:
    """The type of `left operator right` for + - * / %."""
    if not (left.is_numeric and right.is_numeric):
        return UNKNOWN
    if left.is_floating or right.is_floating:
        return FLOAT if operator != "/" and left == right == FLOAT else DOUBLE
    if left.is_integral and right.is_integral:
        return DOUBLE if operator == "/" else _wider_integral(left, right)
    (p1, s1), (p2, s2) = left.precision_and_scale, right.precision_and_scale
    match operator:
        case "+" | "-":
            return decimal_keeping_digits(max(s1, s2) + max(p1 - s1, p2 - s2) + 1, max(s1, s2))
        case "*":
            return decimal_keeping_digits(p1 + p2 + 1, s1 + s2)
        case "/" if _quotients_are_doubles.get():
            return DOUBLE
        case "/":
            scale = max(MIN_KEPT_SCALE, s1 + p2 + 1)
            return decimal_keeping_digits(p1 - s1 + s2 + scale, scale)
        case "%":
            return decimal_keeping_digits(min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2))
        case _:
            return UNKNOWN


def _wider_integral(left: Type, right: Type) -> Type:
    return max(left, right, key=lambda kind: _INTEGRAL.index(kind.text))


def common_type(types: list[Type]) -> Type:
    """The one type that CASE, COALESCE, IN or a set operation gives to values of several types."""
    return reduce(_common, types) if types else UNKNOWN


def _common(left: Type, right: Type) -> Type:
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if left.is_string and right.is_string:
        return STRING
    if not (left.is_numeric and right.is_numeric):
        return TIMESTAMP if {left, right} == {DATE, TIMESTAMP} else UNKNOWN
    if left.is_floating or right.is_floating:
        return DOUBLE
    if left.is_integral and right.is_integral:
        return _wider_integral(left, right)
    (p1, s1), (p2, s2) = left.precision_and_scale, right.precision_and_scale
    whole, scale = max(p1 - s1, p2 - s2), max(s1, s2)
    # Too wide for 38 digits: those before the point stay.
    return decimal(whole + scale, max(0, min(scale, MAX_PRECISION - whole)))


def keeps_apart(kind: Type, other: Type) -> bool:
    """Whether a comparison with `other` tells any two values of `kind` apart.

    The two are first cast to one type. A number stays itself beside a text, but the texts '1' and '01' both become 1;
    a large bigint is blurred beside a double. Where we cannot tell, the answer is no.
    """
    if kind == other or (kind.is_string and other.is_string):
        return kind.is_known
    if kind.is_floating:
        return other.is_numeric or other.is_string
    if kind.is_integral:
        return other.is_integral or other.is_decimal or other.is_string
    if kind.is_decimal:
        common = _common(kind, other) if other.is_integral or other.is_decimal else UNKNOWN
        return common.is_decimal and common.precision_and_scale[1] >= kind.precision_and_scale[1]
    return kind in (DATE, TIMESTAMP) and (other in (DATE, TIMESTAMP) or other.is_string)


def array_of(element: Type) -> Type:
    """Arrays of a type."""
    return Type(f"array<{element}>") if element.is_known else UNKNOWN


def sum_type(argument: Type) -> Type:
    """The type of sum: decimals gain ten digits, integers become bigint."""
    if argument.is_decimal:
        precision, scale = argument.precision_and_scale
        return decimal(precision + 10, scale)
    if argument.is_integral:
        return BIGINT
    return DOUBLE if argument.is_floating else UNKNOWN


def sum_has_room(argument: Type) -> bool:
    """Whether sums of a type have all the digits that they need: of long decimals there are no ten to gain."""
    return not argument.is_decimal or argument.precision_and_scale[0] + 10 <= MAX_PRECISION


def average_type(argument: Type) -> Type:
    """The type of avg: decimals gain four digits on both sides, all else is double."""
    if argument.is_decimal and not _quotients_are_doubles.get():
        precision, scale = argument.precision_and_scale
        return decimal(precision + 4, scale + 4)
    return DOUBLE if argument.is_numeric else UNKNOWN
