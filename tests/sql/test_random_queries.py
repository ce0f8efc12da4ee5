"""Random queries over random tables: the regenerated text answers as the original, on DuckDB.

Nine families of 200 cases, 1,800 in all, the same at every run; a day takes three families. To look for more:

    pytest tests/sql/test_random_queries.py -n auto --hypothesis-profile=search --hypothesis-seed=1
    python -m tests.strategies.search --cases 100000 --seed 1
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies.choices import Seeded
from tests.strategies.queries import Family, cases, make_case
from tests.strategies.regenerated import check
from tests.strategies.tables import Database, databases

pytestmark = pytest.mark.heavy

CASES = 200
at_length = settings(max_examples=max(CASES, settings.default.max_examples if settings.default else 0))


@pytest.mark.rotating(3)
@pytest.mark.parametrize("family", list(Family))
@at_length
@given(data=st.data())
def test_the_regenerated_text_answers_as_the_original(family: Family, data: st.DataObject) -> None:
    check(data.draw(cases(family)))


@given(st.integers(0, 2**32), st.sampled_from(Family))
def test_a_seed_always_makes_the_same_case(seed: int, family: Family) -> None:
    assert make_case(Seeded(seed), family) == make_case(Seeded(seed), family)


@given(databases())
def test_random_tables_keep_what_they_declare(database: Database) -> None:
    for schema in database.schemas:
        names, rows = schema.column_names(), database.rows[schema.name]
        for key in schema.keys:
            values = [tuple(row[names.index(column)] for column in sorted(key)) for row in rows]
            assert len(set(values)) == len(values)
        required = [i for i, field in enumerate(schema.fields) if not field.nullable]
        assert all(row[i] is not None for row in rows for i in required)
        assert database.arrow[schema.name].num_rows == len(rows)
