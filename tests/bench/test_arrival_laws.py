"""Whatever the pattern, arrivals keep their laws: on a toy schema with null and dangling references."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slackwater.bench.workloads import CHANGE_TYPE, ArrivalPattern, Change, Dataset, split

FACTS = ("sale", "line", "claim")
Row = tuple[object, ...]

shares = st.lists(st.integers(0, 5), min_size=1, max_size=5).filter(any).map(lambda s: tuple(float(x) for x in s))
small = st.sampled_from((0.0, 0.1, 0.5))
relaxed = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def patterns(draw: st.DrawFn) -> ArrivalPattern:
    changing = frozenset(draw(st.sampled_from((FACTS, ("shop", *FACTS)))))
    retracting = draw(st.none() | st.sets(st.sampled_from(sorted(changing))).map(frozenset))
    return ArrivalPattern(
        shares=draw(shares),
        deletes=draw(small),
        updates=draw(small),
        changing=changing,
        retracting=retracting,
        correlated=draw(st.booleans()),
        lag=draw(small),
        skew=draw(st.sampled_from((0.0, 1.0, 2.0))),
        bursty=draw(st.sampled_from((0.0, 1.0))),
        seed=draw(st.integers(0, 1000)),
    )


def bag(rows: pa.Table) -> Counter[Row]:
    return Counter(tuple(row.values()) for row in rows.to_pylist())


@relaxed
@given(pattern=patterns())
def test_changes_play_back_to_the_snapshots(toy: Dataset, pattern: ArrivalPattern) -> None:
    arrivals = split(toy, pattern)
    retracting = pattern.retracting_tables(toy.schema)
    for table in arrivals.changing:
        current: Counter[Row] = Counter()
        for run, change in enumerate(arrivals.changes(table), start=1):
            gone = bag(change.deletes)
            assert gone <= current, "a delete of a row that was not there"
            assert not gone or table in retracting
            current = current - gone + bag(change.inserts)
            assert current == bag(arrivals.snapshot(table, run))
            assert (change.inserts.num_rows, change.deletes.num_rows) == arrivals.sizes(table)[run - 1]
            check_updates(change, toy.schema[table].measure)
        if table not in retracting and not (pattern.correlated and retracting):
            assert current == bag(toy.read(table))


def check_updates(change: Change, measure: str | None) -> None:
    """Old and new rows of a feed are pairs that differ in the measure alone."""
    feed = change.feed().to_pylist()
    old = [row for row in feed if row[CHANGE_TYPE] == "update_preimage"]
    new = [row for row in feed if row[CHANGE_TYPE] == "update_postimage"]
    assert len(old) == len(new) == change.updates
    for before, after in zip(old, new, strict=True):
        assert {name for name in before if before[name] != after[name]} == {CHANGE_TYPE, measure}


@relaxed
@given(pattern=patterns())
def test_correlated_references_hold_at_every_run(toy: Dataset, pattern: ArrivalPattern) -> None:
    arrivals = split(toy, replace(pattern, correlated=True))
    for table in arrivals.changing:
        for reference in toy.schema[table].references:
            if reference.table not in arrivals.changing:
                continue
            key = list(toy.schema[reference.table].key)
            resolvable = set(bag(toy.read(reference.table, key)))
            for run in range(1, arrivals.runs + 1):
                present = set(bag(arrivals.snapshot(reference.table, run).select(key)))
                referred = set(bag(arrivals.snapshot(table, run).select(list(reference.columns))))
                assert referred & resolvable <= present


@relaxed
@given(shares=shares, seed=st.integers(0, 1000))
def test_independent_inserts_meet_their_shares_and_sum_to_the_table(
    toy: Dataset, shares: tuple[float, ...], seed: int
) -> None:
    arrivals = split(toy, ArrivalPattern(shares=shares, correlated=False, seed=seed))
    for table in arrivals.changing:
        for share, (came, went) in zip(arrivals.pattern.shares, arrivals.sizes(table), strict=True):
            assert abs(came - share * toy.rows(table)) <= 1
            assert went == 0
        assert bag(pa.concat_tables(c.inserts for c in arrivals.changes(table))) == bag(toy.read(table))


@relaxed
@given(pattern=patterns())
def test_the_same_seed_divides_alike(toy: Dataset, pattern: ArrivalPattern) -> None:
    first, again = split(toy, pattern), split(toy, replace(pattern))
    assert all(first.changes(table) == again.changes(table) for table in first.changing)
