"""Random queries over rows that arrive with others or after them: orders, their lines, their payments.

    python -m tests.optimizer.followers --cases 10000 --seed 1

looks for laws that break where tables promise what their arrivals keep: joins of all kinds, groups, windows.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from tests.optimizer.laws import LawCase, check_laws
from tests.optimizer.movements import Movements, following, make_movements
from tests.optimizer.plans import PlanCase, make_plan_case
from tests.strategies.choices import Choices
from tests.strategies.queries import Case, Family
from tests.strategies.search import Search
from tests.strategies.tables import Database, make_rows

from slackwater.catalog.table import table

KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT JOIN")
COLUMNS = {"k": "int", "i": "int", "big": "bigint"}


def make_followed_case(choices: Choices) -> Case:
    """A table with a key and one to three others that have it too, joined by it in some way."""
    key = ("k", "i") if choices.chance(4) else ("k",)
    names = [f"t{number}" for number in range(1, choices.between(2, 4) + 1)]
    not_null = {column: f"{kind} not null" if column in key else kind for column, kind in COLUMNS.items()}
    first = table(names[0], COLUMNS, keys=[key])
    others = (table(name, not_null if choices.chance(2) else COLUMNS) for name in names[1:])
    schemas = (first, *others)
    database = Database(schemas, {schema.name: make_rows(choices, schema) for schema in schemas})
    sides = [_side(choices, name, key) for name in choices.several(names, 2, len(names))]
    block, named = sides[0], [sides[0].split()[-1]]
    for side in sides[1:]:
        name = side.split()[-1]
        partner = choices.pick(named)
        equal = " AND ".join(f"{partner}.{column} = {name}.{column}" for column in key)
        if choices.chance(8):
            equal += f" AND {name}.n > 0"
        block += f" {choices.pick(KINDS)} {side} ON {equal}"
        named.append(name)
    where = f" WHERE {_exists(choices, named[0], choices.pick(names), key)}" if choices.chance(3) else ""
    columns = [f"{name}.{column}" for name in named for column in (*key, "n")]
    if choices.chance(3):
        group = choices.pick(columns)
        return Case(
            f"SELECT {group} AS g, count(*) AS c, sum({columns[-1]}) AS s FROM {block}{where} GROUP BY {group}",
            database,
        )
    listed = ", ".join(f"{column} AS c{number}" for number, column in enumerate(columns))
    return Case(f"SELECT {listed} FROM {block}{where}", database)


def _side(choices: Choices, name: str, key: Sequence[str]) -> str:
    """A table, or what it has of each key."""
    listed = ", ".join(key)
    match choices.below(6):
        case 3:
            inner = f"SELECT {listed}, sum(big) AS n FROM {name} GROUP BY {listed}"
        case 4:
            inner = f"SELECT DISTINCT {listed}, 1 AS n FROM {name}"
        case 5:
            inner = f"SELECT {listed}, count(*) OVER (PARTITION BY {listed}) AS n FROM {name}"
        case _:
            inner = f"SELECT {listed}, big AS n FROM {name}"
    return f"({inner}) AS {name}"


def _exists(choices: Choices, outer: str, name: str, key: Sequence[str]) -> str:
    equal = " AND ".join(f"e.{column} = {outer}.{column}" for column in key)
    return f"{choices.pick(('NOT EXISTS', 'EXISTS'))} (SELECT 1 FROM {name} AS e WHERE {equal})"


def _movements(choices: Choices, case: Case, runs: int) -> Movements:
    """Mostly of tables that only grow; where rows go, tables promise less."""
    moved = make_movements(choices, case.database, runs, only_growing=not choices.chance(4))
    return following(choices, case.database, moved)


def make_followed_law(choices: Choices, _: Family) -> LawCase:
    case = make_followed_case(choices)
    return LawCase(case, _movements(choices, case, choices.between(2, 3)), choices.chance(2))


def make_followed_plan(choices: Choices, family: Family) -> PlanCase:
    planned = make_plan_case(choices, family)
    case = make_followed_case(choices)
    return replace(planned, case=case, movements=_movements(choices, case, planned.runs), promising=True)


FOLLOWED_LAWS: Search[LawCase] = Search(make_followed_law, check_laws)


if __name__ == "__main__":
    sys.exit(FOLLOWED_LAWS.main())
