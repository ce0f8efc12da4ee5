"""The memo's checker: silent on a memo that rules have filled, and loud, by number, when something is broken in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Aggregate, Filter, Join, Project, Values
from slackwater.algebra.scalar import TRUE, reference
from slackwater.catalog.statistics import Arrival, TableStatistics
from slackwater.catalog.table import Catalog, table
from slackwater.errors import InternalError
from slackwater.memo.check import MemoCheck
from slackwater.memo.group import Alternative, Group
from slackwater.memo.memo import Memo
from slackwater.plan.options import Options
from slackwater.plan.planner import plan_query
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.time.forms import Form, GroupId, GroupLeaf, Kind
from slackwater.time.timeline import Timeline
from slackwater.time.version import OLD, Mask

CATALOG = Catalog.of(
    (
        table("sales", {"id": "int", "cat": "string", "price": "int"}, keys=[["id"]]),
        table("returns", {"id": "int", "cost": "int"}),
        table("cats", {"cat": "string", "name": "string"}, keys=[["cat"]], changing=False),
    )
)
SQL = """
    SELECT name, sum(CASE WHEN cost IS NULL THEN price ELSE -cost END) AS gross, count(*) AS n
    FROM sales LEFT JOIN returns ON sales.id = returns.id JOIN cats ON sales.cat = cats.cat
    WHERE price > 0 GROUP BY name
"""


def explored() -> Memo:
    query = canonical(normalize(bind(SQL, CATALOG)))
    arriving = TableStatistics((Arrival(60.0), Arrival(40.0)))
    statistics = {"sales": arriving, "returns": arriving, "cats": TableStatistics((Arrival(5.0),))}
    return plan_query(query, statistics, Timeline.of(["1", "2"]), Options(check_memo=True)).memo


def group_of(memo: Memo, kind: type[object]) -> Group:
    return next(g for g in memo if isinstance(g.expressions[0], kind) and not g.is_static)


def static(memo: Memo) -> Group:
    return next(group for group in memo if group.is_static)


def form_of(group: Group, kind: Kind) -> Form:
    return next(form for form in group.forms if form.kind is kind and not form.partial)


def no_expression(memo: Memo) -> None:
    group_of(memo, Join).expressions.clear()


def input_that_is_no_group(memo: Memo) -> None:
    group = group_of(memo, Join)
    group.expressions.append(Filter(Values(group.columns, ()), TRUE))


def input_of_another_memo(memo: Memo) -> None:
    group = group_of(memo, Join)
    group.expressions.append(Filter(GroupLeaf(GroupId(10_000), group.columns, group.properties), TRUE))


def two_owners(memo: Memo) -> None:
    one, other = group_of(memo, Join), group_of(memo, Aggregate)
    other.expressions.append(one.expressions[0])


def other_columns(memo: Memo) -> None:
    group, other = group_of(memo, Aggregate), group_of(memo, Join)
    group.expressions.append(Filter(other.leaf, TRUE))


def wrong_tables(memo: Memo) -> None:
    group_of(memo, Join).tables = Mask(0b100)


def too_many_tables(memo: Memo) -> None:
    group, other = static(memo), group_of(memo, Join)
    items = tuple((column, reference(other.columns[0])) for column in group.columns)
    group.expressions.append(Project(other.leaf, items))


def foreign_form(memo: Memo) -> None:
    group, other = group_of(memo, Join), group_of(memo, Aggregate)
    other.forms[form_of(group, Kind.DELTA)] = []


def foreign_version(memo: Memo) -> None:
    group = group_of(memo, Join)
    group.forms[replace(form_of(group, Kind.SNAPSHOT), until=Mask(0b111))] = []


def snapshot_with_a_start(memo: Memo) -> None:
    group = group_of(memo, Join)
    group.forms[replace(form_of(group, Kind.SNAPSHOT), since=group.tables)] = []


def delta_of_a_static_group(memo: Memo) -> None:
    group = static(memo)
    group.forms[Form(Kind.DELTA, group.id, OLD, OLD, False, False, group.columns)] = []


def backward_delta(memo: Memo) -> None:
    group = group_of(memo, Join)
    group.forms[replace(form_of(group, Kind.DELTA), since=group.tables, until=OLD)] = []


def weight_without_need(memo: Memo) -> None:
    group = group_of(memo, Join)
    group.forms[replace(form_of(group, Kind.SNAPSHOT), signed=True)] = []


def group_form_of_a_join(memo: Memo) -> None:
    group = group_of(memo, Join)
    group.forms[replace(form_of(group, Kind.SNAPSHOT), partial=True)] = []


def form_with_few_columns(memo: Memo) -> None:
    group = group_of(memo, Join)
    group.forms[replace(form_of(group, Kind.SNAPSHOT), names=group.columns[:1])] = []


def alternative_with_other_columns(memo: Memo) -> None:
    group, other = group_of(memo, Join), group_of(memo, Aggregate)
    group.forms[form_of(group, Kind.SNAPSHOT)].append(Alternative(form_of(other, Kind.SNAPSHOT), "mine"))


def alternative_over_a_group(memo: Memo) -> None:
    group = group_of(memo, Join)
    group.forms[form_of(group, Kind.SNAPSHOT)].append(Alternative(Filter(group.leaf, TRUE), "mine"))


def alternative_of_another_memo(memo: Memo) -> None:
    group = group_of(memo, Join)
    form = form_of(group, Kind.SNAPSHOT)
    group.forms[form].append(Alternative(Filter(replace(form, group=GroupId(10_000)), TRUE), "mine"))


def retracting_positive(memo: Memo) -> None:
    group = group_of(memo, Join)
    assert group.retracts
    group.relatives["positive"] = group.leaf


def positive_of_other_columns(memo: Memo) -> None:
    group_of(memo, Join).relatives["positive"] = static(memo).leaf


def completion_of_nothing(memo: Memo) -> None:
    group = group_of(memo, Aggregate)
    group.forms[Form(Kind.COMPLETION, group.id, OLD, group.tables, False, False, group.columns)] = []


def expression_over_itself(memo: Memo) -> None:
    group = group_of(memo, Join)
    group.expressions.append(Filter(group.leaf, TRUE))


def form_from_itself(memo: Memo) -> None:
    group = group_of(memo, Join)
    form = form_of(group, Kind.SNAPSHOT)
    group.forms[form].append(Alternative(Filter(form, TRUE), "mine"))


BREAKS: list[tuple[int, Callable[[Memo], None]]] = [
    (1, no_expression),
    (1, input_that_is_no_group),
    (1, input_of_another_memo),
    (2, two_owners),
    (3, other_columns),
    (4, wrong_tables),
    (4, too_many_tables),
    (5, foreign_form),
    (5, foreign_version),
    (5, snapshot_with_a_start),
    (6, delta_of_a_static_group),
    (6, backward_delta),
    (7, weight_without_need),
    (7, group_form_of_a_join),
    (7, form_with_few_columns),
    (8, alternative_with_other_columns),
    (9, alternative_over_a_group),
    (9, alternative_of_another_memo),
    (10, retracting_positive),
    (10, positive_of_other_columns),
    (10, completion_of_nothing),
    (11, expression_over_itself),
    (11, form_from_itself),
]


def test_a_memo_filled_by_the_rules_is_whole() -> None:
    memo = explored()
    assert any(group.relatives for group in memo)
    MemoCheck(memo).whole()


@pytest.mark.parametrize("number,damage", BREAKS, ids=[damage.__name__ for _, damage in BREAKS])
def test_what_is_broken_is_named_by_number(number: int, damage: Callable[[Memo], None]) -> None:
    memo = explored()
    check = MemoCheck(memo)
    check.whole()
    damage(memo)
    with pytest.raises(InternalError, match=f"invariant M{number} of the memo is broken"):
        check.whole()


def test_a_firing_is_checked_at_once() -> None:
    memo = explored()
    check = MemoCheck(memo)
    check.changed()
    expression_over_itself(memo)
    with pytest.raises(InternalError, match="M11"):
        check.changed()
