"""Random blocks of inner and outer joins over keyed tables, where outer-join views and staircases have most to do.

    python -m tests.optimizer.outer_joins --cases 10000 --seed 1

looks for laws that such a block breaks: every way to compute every form, deletes, nulls and nesting included.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from tests.optimizer.laws import LawCase, check_laws
from tests.optimizer.movements import make_movements
from tests.optimizer.plans import PlanCase, make_plan_case
from tests.strategies.choices import Choices
from tests.strategies.queries import Case, Family
from tests.strategies.search import Search
from tests.strategies.tables import Database, make_rows

from slackwater.algebra.schema import TableSchema
from slackwater.catalog.table import table

KINDS = ("LEFT JOIN", "FULL JOIN", "JOIN", "RIGHT JOIN", "LEFT JOIN")
COLUMNS = ("k", "i", "big")


def make_outer_case(choices: Choices) -> Case:
    """Two to four tables in a tree of joins, all columns or a few of them, filtered or grouped or as they are."""
    schemas = tuple(_schema(choices, f"t{number}") for number in range(1, choices.between(2, 4) + 1))
    database = Database(schemas, {schema.name: make_rows(choices, schema) for schema in schemas})
    names = [schema.name for schema in schemas]
    block = _tree(choices, names)
    columns = [f"{name}.{column}" for name in names for column in COLUMNS]
    if choices.chance(3):
        columns = choices.several(columns, 1, len(columns))
    where = f" WHERE {_one_sided(choices, choices.pick(names))}" if choices.chance(4) else ""
    if choices.chance(4):
        key, value = columns[0], choices.pick(columns)
        sql = f"SELECT {key} AS g, count(*) AS n, sum({value}) AS s FROM {block}{where} GROUP BY {key}"
    else:
        listed = ", ".join(f"{column} AS c{number}" for number, column in enumerate(columns))
        sql = f"SELECT {listed} FROM {block}{where}"
    return Case(sql, database)


def _schema(choices: Choices, name: str) -> TableSchema:
    keys = () if choices.chance(6) else (("k", "i"),) if choices.chance(4) else (("k",),)
    return table(name, {"k": "int", "i": "int", "big": "bigint"}, keys=keys)


def _tree(choices: Choices, names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    cut = choices.between(1, len(names) - 1)
    left, right = _tree(choices, names[:cut]), _tree(choices, names[cut:])
    if choices.chance(5) and " " not in right:
        right = f"(SELECT * FROM {right} WHERE {_one_sided(choices, right)}) AS {right}"
    other = f"({right})" if len(names) - cut > 1 else right
    return f"{left} {choices.pick(KINDS)} {other} ON {_condition(choices, names[:cut], names[cut:])}"


def _condition(choices: Choices, left: Sequence[str], right: Sequence[str]) -> str:
    one, other = (f"{choices.pick(side)}.{choices.pick(('k', 'i'))}" for side in (left, right))
    match choices.below(12):
        case 9:
            return f"({one} = {other} OR {other} IS NULL)"
        case 10:
            return f"{one} < {other}"
        case 11:
            return f"{one} = {other} AND {_one_sided(choices, choices.pick((*left, *right)))}"
        case _:
            return f"{one} = {other}"


def _one_sided(choices: Choices, name: str) -> str:
    return f"{name}.{choices.pick(COLUMNS)} {choices.pick(('> 0', 'IS NULL', '<= 1', 'IS NOT NULL'))}"


def make_outer_law(choices: Choices, _: Family) -> LawCase:
    case = make_outer_case(choices)
    return LawCase(case, make_movements(choices, case.database, choices.between(1, 3)), choices.chance(2))


def make_outer_plan(choices: Choices, family: Family) -> PlanCase:
    """Such a block, planned in any setting, or by outer-join views at prices that bring them out."""
    planned = make_plan_case(choices, family)
    case = make_outer_case(choices)
    movements = make_movements(choices, case.database, planned.runs)
    methods = choices.pick((("outer-join-view",), None, ("higher-order",), planned.methods))
    return replace(planned, case=case, movements=movements, methods=methods)


OUTER_LAWS: Search[LawCase] = Search(make_outer_law, check_laws)


if __name__ == "__main__":
    sys.exit(OUTER_LAWS.main())
