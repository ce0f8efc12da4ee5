"""A cell is computed by a rule, read from a source, kept by an earlier run, or known to be empty: nothing else."""

from __future__ import annotations

from slackwater.algebra.canonical import canonical
from slackwater.catalog.statistics import Arrival, TableStatistics
from slackwater.catalog.table import Catalog, table
from slackwater.physical.flat_models import RowsCost
from slackwater.plan.options import Options
from slackwater.plan.planner import Planning, plan_query
from slackwater.plan.proposals import open_space
from slackwater.rules.normalize.normalizer import normalize
from slackwater.search.choose import Chooser
from slackwater.search.objective import WeightedSum
from slackwater.search.price_list import PriceList
from slackwater.search.space import Space, SpaceScope
from slackwater.sql.bind import bind
from slackwater.time.frame import Frame
from slackwater.time.timeline import Timeline
from slackwater.time.version import OLD

CATALOG = Catalog.of([table("sales", {"cat": "int", "price": "int"})])
TIMELINE = Timeline.of(["14:00", "24:00"], [0.1, 1.0], "final")
OBJECTIVE = WeightedSum(TIMELINE.weights)
OPTIONS = Options(model=RowsCost(), exact=True, keeping=True)


def planned(*rows: float) -> Planning:
    query = canonical(normalize(bind("SELECT cat, sum(price) AS total FROM sales GROUP BY cat", CATALOG)))
    statistics = {"sales": TableStatistics(tuple(Arrival(count) for count in rows), {"cat": 5.0})}
    return plan_query(query, statistics, TIMELINE, OPTIONS)


def test_what_a_rule_computes_names_it_and_what_is_read_names_none() -> None:
    choices = planned(900.0, 100.0).choices
    assert {choice.way is None for choice in choices.values()} == {True, False}
    for choice in choices.values():
        assert bool(choice.rules) == (choice.tree is not None) == (choice.way is not None)


def test_what_brings_no_rows_is_empty() -> None:
    planning = planned(900.0, 0.0)
    (root,) = planning.roots.values()
    change = planning.memo.delta(root.group, OLD, root.until)
    space = Space(PriceList(planning.cells, OPTIONS.model), TIMELINE)
    chooser = Chooser(space, OBJECTIVE, [space.node(planning.cells.cell(change, Frame.of(2)), 2)])
    ((cell, _),) = choices = chooser.choices()
    assert [choice.way for choice in choices.values()] == [None]
    assert planning.cells.at_hand(cell).is_empty


def test_what_an_earlier_run_left_is_kept() -> None:
    planning = planned(900.0, 100.0)
    saved = {key for key, choice in planning.choices.items() if key[1] == 1 and choice.tree is not None}
    (delivery,) = planning.deliveries
    scope = SpaceScope(2, frozenset(saved))
    chooser = open_space(PriceList(planning.cells, OPTIONS.model), [delivery], TIMELINE, OPTIONS, scope)
    choices = chooser.choices()
    kept = {key for key, choice in choices.items() if choice.way is None and not planning.cells.is_at_hand(key[0])}
    assert kept
    assert kept <= saved
    assert all(choices[key].rules == () for key in kept)
