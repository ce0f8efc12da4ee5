"""Which exchanges an expression needs, what its leaves could spare it, and what is counted once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slackwater.algebra import types as t
from slackwater.algebra.relation import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Union,
    Values,
    Window,
    WindowCall,
)
from slackwater.algebra.scalar import call, conjunction, equality, greater, literal, null_safe_equality, reference
from slackwater.algebra.schema import Column, ColumnId
from slackwater.algebra.types import Type
from slackwater.physical.bill import EVEN
from slackwater.physical.distribution import Clustered, Hash, Required, by_each, join_keys, meets, passed_on
from slackwater.physical.layouts import Layouts
from slackwater.physical.memory import Memory
from slackwater.physical.model import EngineCost
from slackwater.physical.operators import Demand, Operator
from slackwater.rows.estimate import Estimate, Rows
from slackwater.rules.intra.merges import consolidated
from slackwater.rules.signed import all_of, weighted
from slackwater.time.forms import WEIGHT, Form, GroupId, Kind
from slackwater.time.version import OLD, Mask

MILLION = 1_000_000.0
SHUFFLING = EngineCost(memory=Memory(broadcast_rows=0.0))
"""An engine that may send nothing."""


def column(name: str, kind: Type = t.BIGINT) -> Column:
    return Column(ColumnId(name), name, kind)


def form(number: int, *names: str, kind: Kind = Kind.SNAPSHOT, signed: bool = False) -> Form:
    return Form(kind, GroupId(number), OLD, Mask(1), False, signed, tuple(column(name) for name in names))


SALES, RETURNS, STORES = form(1, "s", "s_g", "s_v"), form(2, "r", "r_g", "r_v"), form(3, "c", "c_g", "c_v")
S, S_G, R, R_G, C = (column(name) for name in ("s", "s_g", "r", "r_g", "c"))


def anything(_: Relation) -> bool:
    return True


def interesting(model: EngineCost, tree: Relation, rows: Rows) -> list[tuple[tuple[Demand, ...], float]]:
    """How leaves must lie to spare an expression an exchange, and what that saves."""
    free, *others = model.ways(tree, rows, anything)
    return [(way.demands, free.price - way.price) for way in others]


def rows_of(**named: float) -> Rows:
    """Rows of leaves by their first column, of anything else the most that it reads; a first column is a key."""

    def rows(node: Relation) -> Estimate:
        if isinstance(node, Form):
            first = node.columns[0]
            return Estimate(named.get(first.name, MILLION), keys=(frozenset((first,)),))
        below = [rows(one) for one in node.inputs]
        keys = below[0].keys if isinstance(node, Project) else ()
        met = min(1.0, below[0].rows / below[1].rows) if isinstance(node, Join) else 1.0
        return Estimate(max((one.rows for one in below), default=0.0), keys=keys, right_hit=met)

    return rows


def joined(kind: JoinKind = JoinKind.INNER, left: Relation = SALES, right: Relation = RETURNS) -> Join:
    return Join(kind, left, right, equality(reference(S), reference(R)))


def counted(below: Relation, *keys: Column) -> Aggregate:
    return Aggregate(below, keys, ((column("n"), AggregateCall("count", (), t.BIGINT)),))


def numbered(below: Relation, *partition: Column) -> Window:
    return Window(below, ((column("w"), WindowCall(call("row_number"), partition, ())),))


def exchanges(tree: Relation, model: EngineCost = SHUFFLING) -> int:
    """How often rows are moved by hash."""
    return sum(work.operator is Operator.EXCHANGE for work in model.layout(tree, rows_of()).works)


SECOND = equality(reference(S), reference(C))
SAME_NULLS = null_safe_equality(reference(S), reference(R))


@pytest.mark.parametrize(
    "tree, moved",
    [
        (joined(), 2),
        (counted(joined(), S), 2),
        (counted(joined(), R), 2),  # equal to the other side's
        (counted(joined(), S, S_G), 2),  # finer groups of rows that lie together already
        (counted(joined(), S_G), 3),
        (counted(joined(JoinKind.LEFT), S), 2),
        (counted(joined(JoinKind.LEFT), R), 3),  # padded rows lie by their left key
        (counted(joined(JoinKind.FULL), S), 3),
        (counted(joined(JoinKind.SEMI), S), 2),
        (Join(JoinKind.INNER, joined(), STORES, SECOND), 3),  # the second join by the same key
        (Join(JoinKind.INNER, counted(SALES, S), STORES, SECOND), 2),
        (Join(JoinKind.INNER, counted(SALES, S, S_G), STORES, SECOND), 3),  # hashed by both columns, not by one
        (counted(Join(JoinKind.INNER, SALES, RETURNS, SAME_NULLS), S), 3),  # a hash of its own
        (numbered(joined(), S), 2),
        (numbered(joined(), S_G), 3),
        (counted(Filter(joined(), greater(reference(S), literal(1))), S), 2),
        (counted(Project(joined(), ((C, reference(R)),)), C), 2),
        (counted(Project(joined(), ((C, call("abs", reference(R))),)), C), 3),
        (counted(Limit(joined(), (), 5), S), 2),  # all in one place
    ],
)
def test_only_needed_exchanges(tree: Relation, moved: int) -> None:
    """Exchanges as Spark 4.3 plans them for the same text (docs/cost.md)."""
    assert exchanges(tree) == moved


def test_unions_of_rows_hashed_alike_stay_so() -> None:
    columns = (S, S_G)
    one = Project(counted(SALES, S), ((S, reference(S)), (S_G, reference(column("n")))))
    other = Project(counted(RETURNS, R), ((R, reference(R)), (R_G, reference(column("n")))))
    both = Union((one, other), columns, (columns, (R, R_G)))
    assert exchanges(counted(both, S)) == 2


def test_a_broadcast_join_leaves_the_large_side_where_it_is() -> None:
    groups = counted(SALES, S)
    tree = counted(Join(JoinKind.INNER, groups, RETURNS, equality(reference(groups.columns[1]), reference(R))), S)
    rows = rows_of(r=100.0)
    done = [work.operator for work in EngineCost().layout(tree, rows).works]
    assert done.count(Operator.EXCHANGE) == 1
    assert Operator.BROADCAST_JOIN in done
    asked = [way.demands for way in Layouts(EngineCost(), rows, anything).ways(joined(), Clustered(frozenset((S,))))]
    assert ((SALES, Clustered(frozenset((S,)))),) in asked


def test_a_leaf_that_lies_as_asked_is_not_moved() -> None:
    rows = rows_of()
    plain = SHUFFLING.compute(joined(), rows)
    half = SHUFFLING.layout(joined(), rows, {SALES: frozenset((S,))}).price
    none = SHUFFLING.layout(joined(), rows, {SALES: frozenset((S,)), RETURNS: frozenset((R,))}).price
    other = SHUFFLING.layout(joined(), rows, {SALES: frozenset((S_G,))}).price
    moved = SHUFFLING.price(SHUFFLING.exchange(SALES, frozenset((S,)), rows))
    assert [plain - half, half - none, plain - other] == pytest.approx([moved, moved, 0.0])


def test_interesting_distributions_and_what_they_save() -> None:
    rows = rows_of(r=10_000.0)
    by_s, by_r = (SALES, Hash(frozenset((S,)))), (RETURNS, Hash(frozenset((R,))))
    saved = dict(interesting(SHUFFLING, joined(), rows))
    moved = [SHUFFLING.price(SHUFFLING.exchange(leaf, required.columns, rows)) for leaf, required in (by_s, by_r)]
    assert [saved[by_s,], saved[by_r,], saved[by_s, by_r]] == pytest.approx([*moved, sum(moved)])
    no_waiting = EngineCost(exchanging=0.0)
    assert interesting(no_waiting, joined(), rows_of(r=10.0)) == []  # sending ten rows is cheaper than anything


def test_broadcast_or_not_may_depend_on_how_leaves_lie() -> None:
    """Sent, the smaller side costs more than probing a state that lies by the key already: Tempura §2.2(3)."""
    model, rows = EngineCost(), rows_of(r=400_000.0)
    given: dict[Relation, frozenset[Column]] = {SALES: frozenset((S,))}
    assert model.layout(joined(), rows).works[-1].operator is Operator.BROADCAST_JOIN
    assert model.layout(joined(), rows, given).works[-1].operator is Operator.SHUFFLED_JOIN


@pytest.mark.parametrize("kind", [JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI])
def test_a_small_left_side_reduces_the_right_one_before_it_is_moved(kind: JoinKind) -> None:
    """Whoever wants rows without a partner cannot be sent to be joined, but to find the rows that it will meet."""
    few, many = rows_of(s=1000.0), rows_of(s=600_000.0)
    model, tree = EngineCost(), joined(kind)
    assert model.layout(tree, few).works[-1].operator is Operator.REDUCED_JOIN
    assert model.compute(tree, few) < 0.5 * EngineCost(hinted=False).compute(tree, few)
    assert model.layout(tree, many).works[-1].operator is Operator.SHUFFLED_JOIN
    assert Operator.EXCHANGE not in [w.operator for w in model.layout(counted(tree, S), few).works if w.of is not SALES]


def test_what_is_done_for_a_reduced_side_is_done_for_fewer_rows() -> None:
    """Groups by the key of the join are made of rows that are asked for; a filter comes first anyway."""
    model, few = EngineCost(), rows_of(s=1000.0)
    groups = counted(Filter(RETURNS, greater(reference(R), literal(1))), R)
    tree = Join(JoinKind.SEMI, SALES, groups, equality(reference(S), reference(R)))
    way = model.layout(tree, few)
    assert way.works[-1].operator is Operator.REDUCED_JOIN
    shares = {work.operator: work.share for work in way.works if work.operator in (Operator.AGGREGATE, Operator.FILTER)}
    assert shares[Operator.FILTER] == 1.0
    assert shares[Operator.AGGREGATE] < 0.1
    assert way.price < 0.5 * EngineCost(hinted=False).compute(tree, few)


def test_what_two_parts_have_in_common_is_counted_once() -> None:
    """The same rows moved by the same key, and the same table built, serve both joins."""
    names = (S,)
    first = Project(joined(), ((S, reference(S)),))
    second = Project(Join(JoinKind.INNER, SALES, STORES, SECOND), ((S, reference(S)),))
    rows = rows_of(s=1000.0)
    twice = Union((first, second), names, (names, names))
    for model, shared in ((SHUFFLING, Operator.BUILD), (EngineCost(), Operator.BROADCAST)):
        apart = model.compute(first, rows) + model.compute(second, rows) + model.price(model.on_rows(twice, rows))
        way = model.layout(twice, rows)
        done = [work for work in way.works if work.operator is shared]
        assert [work.of for work in done] == [SALES]
        more = model.price(model.exchange(SALES, frozenset((S,)), rows)) if model is SHUFFLING else 0.0
        assert apart - way.price == pytest.approx(model.price(done[0]) + more)


# --- multiplicity ----------------------------------------------------------------------------------------------------


def test_consolidation_moves_nothing_if_state_and_change_lie_by_a_key() -> None:
    change = form(1, "s", "s_g", "s_v", kind=Kind.DELTA, signed=True)
    together = all_of((*SALES.columns, WEIGHT), [weighted(SALES), change])
    tree = consolidated(together, SALES.columns, unique=True)
    rows, by_key = rows_of(), Hash(frozenset((S,)))
    way = SHUFFLING.layout(tree, rows)
    assert Operator.CONSOLIDATE in [work.operator for work in way.works]
    ((demands, saved),) = interesting(SHUFFLING, tree, rows)
    assert demands == ((SALES, by_key), (change, by_key))
    assert saved == pytest.approx(SHUFFLING.price(SHUFFLING.exchange(SALES, by_key.columns, rows)), rel=0.15)


# --- the property itself ---------------------------------------------------------------------------------------------


def test_what_meets_what() -> None:
    by_s, by_both = by_each((S,)), by_each((S, S_G))
    assert meets(by_s, Clustered(frozenset((S, S_G))))
    assert not meets(by_both, Clustered(frozenset((S,))))
    assert meets(by_s, Hash(frozenset((S,))))
    assert not meets(by_s, Hash(frozenset((S, S_G))))
    assert meets((), Clustered(frozenset((S,))))
    assert not meets((), Hash(frozenset((S,))))


def test_join_keys_are_plain_columns_of_one_type() -> None:
    wide = column("r", t.decimal(10, 0))
    other = Values((wide,), ())
    assert join_keys(joined()) == ((S, R),)
    assert join_keys(Join(JoinKind.INNER, SALES, other, equality(reference(S), reference(wide)))) is None
    assert join_keys(Join(JoinKind.INNER, SALES, RETURNS, SAME_NULLS)) is None
    mixed = conjunction((equality(reference(S), reference(R)), equality(reference(S_G), call("abs", reference(R_G)))))
    assert join_keys(Join(JoinKind.INNER, SALES, RETURNS, mixed)) is None
    more = conjunction((equality(reference(S), reference(R)), greater(reference(S_G), reference(R_G))))
    assert join_keys(Join(JoinKind.INNER, SALES, RETURNS, more)) == ((S, R),)


@pytest.mark.parametrize(
    "required, below",
    [
        (Hash(frozenset((C,))), Hash(frozenset((S,)))),
        (Clustered(frozenset((C, S_G))), Clustered(frozenset((S,)))),  # without what is computed: fewer is stricter
        (Hash(frozenset((C, S_G))), None),
        (Clustered(frozenset((S_G,))), None),
    ],
)
def test_requirements_pass_through_projections(required: Required, below: Required | None) -> None:
    node = Project(SALES, ((C, reference(S)), (S_G, call("abs", reference(S_G)))))
    assert passed_on(node, required) == (None if below is None else (below,))


def test_a_part_of_the_work_waits_as_long_as_the_whole() -> None:
    """What is fixed has a factor of its own, 0.2 here: of 1,000 + 0.2 · 8,000 a tenth is 100 + 1,600."""
    model = EngineCost(factors=replace(EVEN, fixed=0.2))
    one = model.exchange(SALES, frozenset({S}), lambda _: Estimate(1.0))
    rows = 1_000.0 / model.prices.work(one.used)
    whole = model.exchange(SALES, frozenset({S}), lambda _: Estimate(rows))
    assert model.price(whole) == pytest.approx(2_600.0)
    tenth = whole.of_share(0.1)
    assert model.price(tenth) == pytest.approx(1_700.0)
    again = model.exchange(SALES, frozenset({S}), lambda _: Estimate(0.1 * rows))
    assert model.price(tenth) == pytest.approx(model.price(again))
    assert model.price(tenth.of_share(0.5)) == pytest.approx(1_650.0)
