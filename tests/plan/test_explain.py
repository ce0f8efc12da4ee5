"""What is said of plans: text, timeline, pictures, alternatives."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests.optimizer.test_tempura_example import SALES_STATUS, arrivals, planned

from slackwater.advice.alternatives import explain_alternatives
from slackwater.algebra.canonical import canonical
from slackwater.bench.workloads import parse_pattern, workload
from slackwater.bench.workloads.workload_sizes import workload_statistics
from slackwater.catalog.statistics import Arrival, TableStatistics
from slackwater.catalog.table import Catalog, table
from slackwater.figures import number
from slackwater.physical.flat_models import RowsCost
from slackwater.physical.model import EngineCost
from slackwater.plan.codec import plan_to_value
from slackwater.plan.draw import plan_to_dot, plan_to_html, plan_to_mermaid
from slackwater.plan.explain import explain, timeline, verdict
from slackwater.plan.options import Options
from slackwater.plan.plan import ONLY, Plan
from slackwater.plan.planner import plan_query
from slackwater.rules.normalize.normalizer import normalize
from slackwater.search.explore import Budget
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planned(arrivals(), "maintain").plan


def test_costs_only_on_request(plan: Plan) -> None:
    assert "cost" not in explain(plan).replace("-cost", "").replace("cost :=", "").replace("cost IS", "")
    text = explain(plan, costs=True)
    assert "weight 0.2 · cost 9 rows (batch 0 rows)" in text
    assert "weighted sum of cost: 11.8 rows against 17 rows, 31 % cheaper than batch" in text


def test_costs_of_an_engine_are_seconds_of_cpu() -> None:
    query = canonical(normalize(bind("SELECT k, sum(v) AS s FROM t GROUP BY k", CATALOG)))
    options = Options(model=EngineCost())
    timeline = Timeline.of(["a", "b", "c"])
    plan = plan_query(query, KNOWN, timeline, options).plan
    cost = f"expected CPU {number(plan.cost[-1] / 1e6)} s (batch {number(plan.batch_cost[-1] / 1e6)} s)"
    assert cost in explain(plan, costs=True)
    assert f"weighted sum of expected CPU: {number(plan.rank / 1e6)} s against " in verdict(plan)
    assert f'<td class="number">{number(plan.cost[-1] / 1e6)} s</td>' in plan_to_html(plan)
    value = plan_to_value(plan)
    assert value["rank_cpu_s"] == pytest.approx(plan.rank / 1e6)
    (compared,) = explain_alternatives({ONLY: query}, KNOWN, timeline, options)
    assert "to deliver at c, by expected CPU" in str(compared)
    assert compared.winner.as_value(compared.plan.unit)["rank_cpu_s"] == pytest.approx(plan.rank / 1e6)


def test_one_run(plan: Plan) -> None:
    assert "run 2 of 2" in explain(plan, run=2)
    assert "run 1 of 2" not in explain(plan, run=2)


def test_timeline(plan: Plan) -> None:
    (state,) = plan.states
    heading, saved, answer = timeline(plan).splitlines()
    assert heading.split() == ["t1", "t2"]
    assert saved.split() == [state.name, "save", "load"]
    assert answer.split() == ["answer", "deliver"]


def test_every_source_is_called_by_what_it_holds(plan: Plan) -> None:
    text = str(plan)
    assert not re.search(r"__[vd]\d", text), "a technical name"
    for words in ("sales (what arrived at t2)", "returns (as of t2)", f"state {plan.states[0].name} (saved t1)"):
        assert words in text


@pytest.mark.parametrize(
    "rank, batch, told",
    [(5.0, 10.0, "50 % cheaper"), (10.0, 10.0, "as cheap as batch"), (11.0, 10.0, "more expensive than batch")],
)
def test_the_verdict_is_honest(rank: float, batch: float, told: str, plan: Plan) -> None:
    assert told in verdict(replace(plan, rank=rank, batch_rank=batch))


def test_numbers_are_short() -> None:
    assert [number(n) for n in (0, 0.012, 0.2, 9, 11.8, 1234.5, 7e9)] == [
        "0",
        "0.012",
        "0.2",
        "9",
        "11.8",
        "1,234",
        "7,000,000,000",
    ]


def test_pictures_have_every_step_and_no_dangling_arrow(plan: Plan) -> None:
    mermaid, dot = plan_to_mermaid(plan), plan_to_dot(plan)
    for text, arrow in ((mermaid, r"(\w+) --> (\w+)"), (dot, r"(\w+) -> (\w+);")):
        ends = {end for pair in re.findall(arrow, text) for end in pair}
        nodes = set(re.findall(r"^ *((?:step|source)\d+)\b", text, re.MULTILINE))
        assert ends <= nodes
        assert {f"step{i}" for i in range(1, len(plan.steps) + 1)} <= nodes
    assert dot.count("{") == dot.count("}")


def test_names_are_escaped_in_pictures(plan: Plan) -> None:
    odd = replace(plan, times=('<b>"early"</b>', "late"))
    assert '<b>"early"' not in plan_to_html(odd)
    assert '\\"early\\"' in plan_to_dot(odd)
    assert "#quot;early#quot;" in plan_to_mermaid(odd)


class Balance(HTMLParser):
    """Every tag that opens closes, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "link", "img", "iframe"), "something from elsewhere"
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_plan_shows_itself_in_a_notebook(plan: Plan) -> None:
    page = plan._repr_html_()
    checker = Balance()
    checker.feed(page)
    assert not checker.open
    assert "31 % cheaper than batch" in page
    assert page.count("<details>") == len(plan.steps)


def test_a_budget_that_was_hit_is_said_everywhere(plan: Plan) -> None:
    short = replace(plan, limits=("exploration stopped at 3 forms",))
    assert "INCOMPLETE: exploration stopped at 3 forms" in explain(short)
    assert "Incomplete: exploration stopped at 3 forms" in plan_to_html(short)


def test_runs_without_steps_say_so() -> None:
    late = planned(arrivals(), sql=SALES_STATUS).plan
    idle = [run for run in late.runs if not late.run(run)]
    assert explain(late).count("nothing to do") == len(idle)


CATALOG = Catalog.of([table("t", {"k": "int", "v": "int"}), table("u", {"k": "int", "w": "int"})])
KNOWN = {
    "t": TableStatistics((Arrival(900), Arrival(50), Arrival(50)), {"k": 100}),
    "u": TableStatistics((Arrival(90), Arrival(5), Arrival(5)), {"k": 100}),
}


def test_a_plan_that_must_keep_something_is_no_better_than_the_best() -> None:
    query = canonical(normalize(bind("SELECT t.k, sum(w) AS s FROM t LEFT JOIN u USING (k) GROUP BY t.k", CATALOG)))
    for weights in ([1, 1, 1], [0.1, 0.1, 1]):
        timeline = Timeline.of(["a", "b", "c"], weights, "every")
        best = plan_query(query, KNOWN, timeline, Options(model=RowsCost())).plan
        kept = plan_query(query, KNOWN, timeline, Options(model=RowsCost(), keeping=True)).plan
        assert kept.states
        assert kept.rank >= best.rank


def test_at_the_first_run_there_is_nothing_to_keep() -> None:
    query = canonical(normalize(bind("SELECT k, w FROM u WHERE w > 3", CATALOG)))
    plan = plan_query(query, KNOWN, Timeline.of(["a", "b", "c"], deliver=["a"]), Options(keeping=True)).plan
    assert not plan.states


def test_a_tiny_budget_makes_a_partial_plan_that_says_so() -> None:
    query = canonical(normalize(bind("SELECT t.k, sum(w) AS s FROM t JOIN u USING (k) GROUP BY t.k", CATALOG)))
    options = Options(model=RowsCost(), budget=Budget(forms=6))
    plan = plan_query(query, KNOWN, Timeline.of(["a", "b", "c"]), options).plan
    assert plan.limits
    assert "INCOMPLETE" in str(plan)


@pytest.mark.parametrize("forms", range(1, 16))
def test_whatever_the_budget_there_is_a_plan(forms: int) -> None:
    query = canonical(normalize(bind("SELECT t.k, sum(w) AS s FROM t JOIN u USING (k) GROUP BY t.k", CATALOG)))
    options = Options(model=RowsCost(), budget=Budget(forms=forms))
    plan = plan_query(query, KNOWN, Timeline.of(["a", "b", "c"]), options).plan
    assert bool(plan.limits) is ("INCOMPLETE" in str(plan))
    assert plan.rank <= plan.batch_rank


@pytest.mark.parametrize("number", [17, 18, 21])
@pytest.mark.parametrize("deliver", ["final", "every"])
def test_a_plan_is_never_dearer_than_batch(number: int, deliver: str) -> None:
    """Queries whose parts are read several times, which the search counts several times."""
    work = workload("tpch")
    query = canonical(normalize(bind(work.queries()[number].spark, work.catalog())))
    statistics = workload_statistics(work, 1, parse_pattern("60/20/20", work.tables))
    plan = plan_query(query, statistics, Timeline.of(["a", "b", "c"], [0.2, 0.3, 1], deliver)).plan
    assert plan.rank <= plan.batch_rank
