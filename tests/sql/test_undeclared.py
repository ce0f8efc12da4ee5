"""A query reads what its job declares, and says where it reads something else."""

from __future__ import annotations

import pytest

from slackwater.errors import BindError
from slackwater.sql.undeclared import check_declared


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM sales",
        "SELECT * FROM Sales s JOIN `returns` r ON s.id = r.id",
        "WITH w AS (SELECT * FROM sales) SELECT * FROM w WHERE id IN (SELECT id FROM returns)",
        "SELECT * FROM range(3)",
        "SELECT 1",
        "SELECT FROM WHERE",
    ],
)
def test_what_is_declared(text: str) -> None:
    check_declared(text, ["sales", "returns"])


@pytest.mark.parametrize(
    "text, name, place",
    [
        ("SELECT *\nFROM sale", "sale", "q.sql, line 2, column 6"),
        ("SELECT * FROM shop.sales", "shop.sales", "q.sql, line 1, column 15"),
        ("SELECT (SELECT max(id) FROM refunds) FROM sales", "refunds", "q.sql, line 1, column 29"),
        ("SELECT * FROM parquet.`data/sales`", "parquet.data/sales", "q.sql, line 1, column 15"),
    ],
)
def test_what_is_not(text: str, name: str, place: str) -> None:
    with pytest.raises(BindError) as refused:
        check_declared(text, ["sales", "returns"], "q.sql")
    assert refused.value.message == f"`{name}` is not a source of this job"
    assert str(refused.value.place) == place
