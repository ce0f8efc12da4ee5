from __future__ import annotations

import pytest

from slackwater.algebra.relation import AggregateCall
from slackwater.algebra.scalar import Scalar, is_not_null, reference
from slackwater.algebra.schema import Column, ColumnId
from slackwater.algebra.types import BIGINT, INT

X = reference(Column(ColumnId("x"), "x", INT))


@pytest.mark.parametrize(
    "arguments, asked, value",
    [
        ((X,), None, "x"),
        ((), None, "1"),
        ((X,), is_not_null(X), "CASE WHEN NOT x IS NULL THEN x ELSE NULL END"),
        ((), is_not_null(X), "CASE WHEN NOT x IS NULL THEN 1 ELSE NULL END"),
    ],
)
def test_what_a_call_aggregates_of_a_row(arguments: tuple[Scalar, ...], asked: Scalar | None, value: str) -> None:
    call = AggregateCall("count", arguments, BIGINT, filter=asked)
    assert call.value.show(str) == value
