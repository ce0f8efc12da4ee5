"""What DuckDB does not know reaches the user of a simulation as an error of ours."""

from __future__ import annotations

import pyarrow as pa
import pytest

from slackwater import simulate
from slackwater.compile.refusals import our_error
from slackwater.errors import RunError, UnsupportedError, UserError

ROWS = pa.table({"g": pa.array([1, 1, 2], pa.int32()), "b": pa.array([1, 2, 3], pa.int32())})


@pytest.mark.parametrize(
    "sql, words",
    [
        ("SELECT g, percentile_approx(b, 0.5, 100) AS p FROM t GROUP BY g", "simulation"),
        ("SELECT soundex(CAST(b AS STRING)) AS s FROM t", "does not know the function `soundex`"),
        ("SELECT g, try_sum(b) AS s FROM t GROUP BY g", "does not know the function `try_sum`"),
        ("SELECT g, (SELECT b FROM t) AS one FROM t", "returned more than one row"),
    ],
)
def test_what_a_simulation_cannot_compute(sql: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        simulate(sql, {"t": [ROWS, ROWS]}, deliver="every")


def test_an_order_by_pairs_is_computed_or_refused() -> None:
    try:
        result = simulate("SELECT g, b FROM t ORDER BY (g, b)", {"t": [ROWS, ROWS]}).results[2]
    except UserError:
        return
    assert result is not None


NO_FUNCTION = "Binder Error: No function matches the given name and argument types 'lang(INTEGER)'. You"


@pytest.mark.parametrize(
    "kind, message, wanted, words",
    [
        (
            "CatalogException",
            "Catalog Error: Function with name kurz does not exist!",
            UnsupportedError,
            "`kurz`",
        ),
        ("BinderException", NO_FUNCTION, UnsupportedError, "`lang`"),
        ("ParserException", "Parser Error: syntax error near x", UnsupportedError, "this query: syntax error near x"),
        ("ConversionException", "Conversion Error: Could not convert 'x'", RunError, "Could not convert"),
        ("InternalException", "", UnsupportedError, "does not say why"),
    ],
)
def test_in_our_words(kind: str, message: str, wanted: type[UserError], words: str) -> None:
    error = our_error(kind, message)
    assert type(error) is wanted
    assert words in error.message
