"""What evaluating an expression is made of, so that it can be priced.

Comparing and adding is cheap. What is not is searching a text, and multiplying or dividing decimals, for which Spark
makes objects.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from slackwater.algebra.once import once
from slackwater.algebra.scalar import Scalar

_SEARCHES = (exp.Like, exp.ILike, exp.RegexpLike)
_PRODUCTS = (exp.Mul, exp.Div)
_FREE = (exp.Paren, exp.And, exp.Or, exp.Not)


@dataclass(frozen=True, slots=True)
class Effort:
    """How often an expression does what, on each row that it sees whole."""

    searches: int
    """A text held against a pattern with something left open in the middle: LIKE '%a%b%', regular expressions."""
    finds: int
    """A text looked for in another: LIKE '%a%', or at one of its ends."""
    products: int
    """Decimals multiplied or divided."""
    others: int
    """Everything else: comparisons, sums, functions."""


@once
def effort(scalar: Scalar) -> Effort:
    """What an expression does; a column as it is costs nothing."""
    decimal = any(column.type.is_decimal for column in scalar.columns)
    searches = finds = products = others = 0
    for node in scalar.tree.walk():
        if isinstance(node, _SEARCHES):
            searches += not _is_plain(node)
            finds += _is_plain(node)
        elif isinstance(node, _PRODUCTS) and decimal:
            products += 1
        elif isinstance(node, (exp.Binary, exp.Predicate, exp.Func)) and not isinstance(node, _FREE):
            others += 1
    return Effort(searches, finds, products, others)


def _is_plain(node: exp.Expr) -> bool:
    """Whether a pattern is a text with wildcards at its ends only, so that no regular expression is needed."""
    pattern = node.expression
    if not isinstance(node, exp.Like) or not (isinstance(pattern, exp.Literal) and pattern.is_string):
        return False
    middle = pattern.name.strip("%")
    return not any(sign in middle for sign in "%_\\")
