from __future__ import annotations

import pytest

from slackwater.errors import Place, UnsupportedError
from slackwater.sql.variables import check_no_variables


@pytest.mark.parametrize(
    "text, line, column",
    [
        ("SELECT *\nFROM t WHERE d = '${day}'", 2, 19),
        ("SELECT `${x}` FROM t", 1, 9),
        ("SELECT '${env:HOME}'", 1, 9),
        ("SELECT '${'", 1, 9),
    ],
)
def test_a_query_with_a_variable_is_refused(text: str, line: int, column: int) -> None:
    with pytest.raises(UnsupportedError, match="is not replaced by a value") as raised:
        check_no_variables(text, "query.sql")
    assert raised.value.place == Place("query.sql", line, column)


@pytest.mark.parametrize("text", ["SELECT 1 -- ${x}", "SELECT '$', '{', '\\u0024{x}' /* ${y} */", "SELECT 'a$ {b}'"])
def test_what_is_no_variable_is_none(text: str) -> None:
    check_no_variables(text, None)
