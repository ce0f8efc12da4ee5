"""A rule that is wrong is named, with its place and what to do; one that is right is fitted to what it was shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from slackwater.algebra.scalar import TRUE
from slackwater.catalog.table import table
from slackwater.errors import InternalError
from slackwater.memo.memo import Memo
from slackwater.rules import (
    INT,
    WEIGHT,
    Aggregate,
    Column,
    ColumnId,
    Filter,
    Goal,
    Kind,
    Match,
    Project,
    Relation,
    Rule,
    RuleError,
    Scan,
    Union,
    explores,
    generates,
    literal,
    reference,
)
from slackwater.rules.catalogue import RULES, RuleBook
from slackwater.rules.generate.row_deltas import delta_of_filter
from slackwater.rules.normalize.normalizer import RULES as NORMALIZING
from slackwater.rules.rule import RuleStage
from slackwater.time.version import OLD, ChangingTables

KEY, PRICE = Column(ColumnId("t.k"), "k", INT), Column(ColumnId("t.p"), "p", INT)
ROWS = Scan(table("t", {"k": "int", "p": "int"}), (KEY, PRICE))
KEPT = Filter(ROWS, TRUE)


def goal(of: Relation = KEPT, *, retracting: bool = False) -> Goal:
    """The delta of a relation, wanted."""
    memo = Memo(ChangingTables.of(["t"]), ["t"] if retracting else [])
    group = memo[memo.insert(of).group]
    return Goal(memo.delta(group.id, OLD, group.tables), group.expressions[0], memo)


def found(rule: Rule, wanted: Goal) -> list[Relation]:
    return list(rule.apply(wanted))


def rule_of(body: Callable[[Goal, Filter], object]) -> Rule:
    return generates(Kind.DELTA, of=Filter)(body)  # type: ignore[arg-type]


def test_rows_without_a_weight_count_once_where_the_form_has_weights() -> None:
    @generates(Kind.DELTA, of=Filter)
    def mine(goal: Goal, node: Filter) -> Iterator[Relation]:
        """Δ(σ R)  =  R'"""
        yield goal.new(node.input)

    (tree,) = found(mine, goal(retracting=True))
    assert isinstance(tree, Project)
    assert dict(tree.items)[WEIGHT] == literal(1)


def test_columns_that_nobody_asked_for_are_dropped() -> None:
    @generates(Kind.DELTA, of=Project)
    def mine(goal: Goal, node: Project) -> Iterator[Relation]:
        """Δ(π R)  =  ΔR"""
        yield goal.delta(node.input)

    (tree,) = found(mine, goal(Project(ROWS, ((KEY, reference(KEY)),))))
    assert tree.columns == (KEY,)


def test_terms_stand_side_by_side_and_no_terms_are_nothing() -> None:
    @generates(Kind.DELTA, of=Filter)
    def mine(goal: Goal, node: Filter) -> Iterator[list[Relation]]:
        """Δ(σ R)  =  ΔR + ΔR"""
        yield [goal.delta(node.input), goal.delta(node.input)]
        yield []

    (tree,) = found(mine, goal())
    assert isinstance(tree, Union)
    assert len(tree.branches) == 2


def test_a_rule_without_a_law_is_refused() -> None:
    def mine(goal: Goal, node: Filter) -> Iterator[Relation]:
        yield goal.new(node.input)

    with pytest.raises(RuleError, match="rule `mine` states no law") as wrong:
        generates(Kind.DELTA, of=Filter)(mine)
    assert wrong.value.place is not None
    assert wrong.value.place.file == __file__
    assert "docstring" in str(wrong.value.hint)


def returns_a_relation(goal: Goal, node: Filter) -> object:
    """Δ(σ R)  =  R'"""
    return goal.new(node.input)


def returns_nothing(_: Goal, __: Filter) -> object:
    """Δ(σ R)  =  ∅"""
    return None


def yields_none(_: Goal, __: Filter) -> Iterator[object]:
    """Δ(σ R)  =  ∅"""
    yield None


def yields_too_few_columns(goal: Goal, node: Filter) -> Iterator[Relation]:
    """Δ(σ R)  =  π ΔR"""
    yield Project(goal.delta(node.input), ((KEY, reference(KEY)),))


def yields_weights(goal: Goal, node: Filter) -> Iterator[Relation]:
    """Δ(σ R)  =  −ΔR"""
    change = goal.delta(node.input)
    yield Project(change, (*((c, reference(c)) for c in change.columns), (WEIGHT, literal(-1))))


def raises(_: Goal, __: Filter) -> Iterator[Relation]:
    """Δ(σ R)  =  ΔR"""
    prices: dict[str, Relation] = {}
    yield prices["price"]


@pytest.mark.parametrize(
    "body, message, hint",
    [
        (returns_a_relation, "rule `returns_a_relation` returns Form", "`yield` instead of `return`"),
        (returns_nothing, "rule `returns_nothing` returns NoneType", "`yield` instead of `return`"),
        (yields_none, "rule `yields_none` yields NoneType", "yield relations"),
        (yields_too_few_columns, "yields a Project without the columns t.p", "all required columns"),
        (yields_weights, "rule `yields_weights` yields signed rows", "weight"),
        (raises, "rule `raises` raises KeyError: 'price'", "--disable raises"),
    ],
)
def test_a_rule_that_is_wrong_is_named(body: Callable[[Goal, Filter], object], message: str, hint: str) -> None:
    with pytest.raises(RuleError, match=message) as wrong:
        found(rule_of(body), goal())
    assert wrong.value.place is not None
    assert wrong.value.place.file == __file__
    assert hint in str(wrong.value.hint)


def test_an_equal_relation_has_the_columns_of_the_one_it_equals() -> None:
    @explores(Filter)
    def mine(_: Match, node: Filter) -> Iterator[Relation]:
        """σ R  =  π R"""
        yield Project(node.input, ((KEY, reference(KEY)),))

    memo = Memo(ChangingTables.of(["t"]))
    group = memo[memo.insert(KEPT).group]
    with pytest.raises(RuleError, match=r"without the columns t\.p"):
        list(mine.apply(Match(group.id, group.expressions[0], memo)))


def test_what_goes_wrong_in_a_rule_of_ours_is_no_mistake_of_the_user() -> None:
    wanted = goal()
    broken = replace(wanted, node=Aggregate(wanted.node, (KEY,), ()))
    with pytest.raises(InternalError, match="rule delta_of_filter raises"):
        found(delta_of_filter, broken)


def test_a_user_brings_rules_of_the_search_only() -> None:
    with pytest.raises(RuleError, match="is a normalization rule, which cannot take part in the search"):
        RuleBook.of(extra=[NORMALIZING[0]])


def test_stages_say_what_a_rule_is_about() -> None:
    forms = {RuleStage.SNAPSHOT, RuleStage.GENERATE, RuleStage.INTRA, RuleStage.INTER}
    assert all((rule.stage in forms) is (rule.pattern.kind is not None) for rule in (*RULES, *NORMALIZING))
    assert {rule.stage for rule in NORMALIZING} == {RuleStage.NORMALIZE}
    assert {rule.stage for rule in RULES} == set(RuleStage) - {RuleStage.NORMALIZE}
