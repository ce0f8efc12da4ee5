"""A plan read back from its JSON is the same plan; JSON that is damaged says so."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.optimizer.test_tempura_example import arrivals, planned
from tests.strategies.queries import Family, cases

from slackwater import Simulator
from slackwater.algebra.canonical import canonical
from slackwater.algebra.scalar import Scalar, call, literal, reference
from slackwater.algebra.scalar_codec import read_scalar, write_scalar
from slackwater.algebra.schema import Column, ColumnId
from slackwater.algebra.types import INT
from slackwater.bench.workloads import parse_pattern, workload
from slackwater.bench.workloads.workload_sizes import workload_statistics
from slackwater.compile.step_text import step_sql
from slackwater.errors import InternalError, UserError
from slackwater.physical.flat_models import RowsCost
from slackwater.physical.memory import Memory
from slackwater.physical.unit import Unit
from slackwater.plan.codec import FORMAT, VERSION, plan_from_json, plan_to_json, plan_to_value
from slackwater.plan.options import Options
from slackwater.plan.plan import ONLY, Plan
from slackwater.plan.planner import plan_query
from slackwater.rules.catalogue import METHODS
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline


def check(plan: Plan) -> None:
    text = plan_to_json(plan)
    again = plan_from_json(text)
    assert again == plan
    # Columns are equal by id alone; the text also has their names and types.
    assert plan_to_json(again) == text
    assert str(again) == str(plan)


def of_workload(name: str, number: int, pattern: str = "60/20/20") -> Plan:
    work = workload(name)
    arriving = parse_pattern(pattern, work.tables)
    if name == "tpcds" and number % 2:
        arriving = replace(arriving, deletes=0.05)
    query = canonical(normalize(bind(work.queries()[number].spark, work.catalog())))
    times = [f"run {i}" for i in range(1, arriving.runs + 1)]
    return plan_query(query, workload_statistics(work, 1, arriving), Timeline.of(times, deliver="every")).plan


@pytest.mark.parametrize("number", [1, 2, 6, 9, 13, 14, 15, 17, 18, 21, 22])
def test_tpch(number: int) -> None:
    check(of_workload("tpch", number))


# One of each kind: grouping sets, windows, unions, full joins, intersections. `tests/workloads` tries all queries.
@pytest.mark.parametrize("number", [1, 5, 14, 36, 49, 51, 97])
def test_tpcds(number: int) -> None:
    check(of_workload("tpcds", number))


def test_the_running_example() -> None:
    for methods in ((), *((name,) for name in METHODS)):
        check(planned(arrivals(), *methods).plan)


@pytest.mark.parametrize("family", list(Family))
@settings(max_examples=8)
@given(data=st.data())
def test_random_queries(family: Family, data: st.DataObject) -> None:
    case = data.draw(cases(family))
    query = canonical(normalize(bind(case.sql, case.database.catalog)))
    deliver = data.draw(st.sampled_from(("final", "every")))
    check(plan_query(query, {}, Timeline.of(["a", "b"], [0.1, 1], deliver), Options(model=RowsCost())).plan)


def test_limits_are_kept() -> None:
    plan = replace(planned(arrivals()).plan, limits=("exploration stopped at 3 forms",))
    assert plan_from_json(plan_to_json(plan)).limits == plan.limits
    assert "INCOMPLETE: exploration stopped at 3 forms" in str(plan)


VERSION_5 = Path(__file__).parent / "plan-version-5.json"


@cache
def example() -> str:
    return plan_to_json(planned(arrivals()).plan)


def test_a_plan_of_a_cycle_that_began_earlier_is_read() -> None:
    """Records of cycles contain plans. If this fails, raise the version: records of earlier cycles are then refused."""
    text = VERSION_5.read_text(encoding="utf-8")
    plan = plan_from_json(text)
    assert len(plan.states) == 1
    assert plan_to_value(plan) == json.loads(text)


def test_a_plan_from_before_costs_had_a_unit_is_read() -> None:
    without = {name: value for name, value in json.loads(example()).items() if name != "unit"}
    assert plan_from_json(json.dumps(without)).unit is Unit.CPU


def test_a_plan_says_for_which_memory_it_was_made_unless_it_is_the_usual_one() -> None:
    usual = of_workload("tpch", 6)
    assert "memory" not in plan_to_value(usual)
    check(replace(usual, memory=Memory(broadcast_rows=10.0, copies=3.0)))


def test_a_relation_of_the_memo_is_not_written() -> None:
    planning = planned(arrivals()).planning
    leaf = planning.memo[planning.roots[ONLY].group].leaf
    step = replace(planning.plan.steps[0], relation=leaf)
    with pytest.raises(InternalError, match="GroupLeaf, which has no place outside the memo"):
        plan_to_json(replace(planning.plan, steps=(step,)))


@pytest.mark.parametrize(
    "text, told",
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "not a plan"),
        ("{}", "not a plan"),
        (json.dumps({"format": FORMAT, "version": VERSION + 1}), f"version {VERSION + 1}"),
        (json.dumps({"format": FORMAT}), "version None"),
        (json.dumps({"format": FORMAT, "version": VERSION}), "`columns` is missing"),
    ],
)
def test_what_is_no_plan_is_refused(text: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        plan_from_json(text, file="plan.json")


@pytest.mark.parametrize(
    "field, value, told",
    [
        ("relations", [], "no relation"),
        ("columns", [], "no column"),
        ("times", ["t1"], "damaged"),
        ("cost", "much", "cost: a list was expected, not much"),
    ],
)
def test_damaged_plans_are_refused(field: str, value: object, told: str) -> None:
    with pytest.raises(UserError, match=told):
        plan_from_json(json.dumps({**json.loads(example()), field: value}), file="plan.json")


@pytest.mark.parametrize(
    "part, field, value, told",
    [
        ("steps", "rows", "many", r"steps\[0\].rows: a number was expected, not many"),
        ("steps", "rules", ["one", 2], r"steps\[0\].rules\[1\]: a text was expected, not 2"),
        ("steps", "run", 3, "a step of run 3, there are 2"),
        ("steps", "by", [-1], r"steps\[0\]: no column -1"),
        ("steps", "purpose", "save", r"steps\[0\].purpose: one of state, scratch, output was expected, not save"),
        ("relations", "operator", "scam", r"relations\[0\]: one of scan, values.* was expected, not scam"),
        ("relations", "inputs", [0], r"relations\[0\]: 1 inputs, scan has 0"),
        ("relations", "names", [0, 0], r"relations\[0\]: Scan produces .* more than once"),
    ],
)
def test_damage_is_placed(part: str, field: str, value: object, told: str) -> None:
    plan = json.loads(example())
    plan[part][0][field] = value
    with pytest.raises(UserError, match=told):
        plan_from_json(json.dumps(plan), file="plan.json")


@given(data=st.data())
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
def test_whatever_is_damaged_is_a_users_error(data: st.DataObject) -> None:
    """Any one value of a plan replaced by another: a plan, or a clear refusal; never another exception."""
    content = json.loads(example())
    place: object = content
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place))) if isinstance(place, list) else []
        key = data.draw(st.sampled_from(keys))
        below = place[key]  # type: ignore[index]
        if isinstance(below, (dict, list)) and below and data.draw(st.integers(0, 9)):
            place = below
            continue
        junk = st.one_of(st.none(), st.booleans(), st.integers(-2, 99), st.text(max_size=5), st.just([]), st.just({}))
        place[key] = data.draw(junk)  # type: ignore[index]
        break
    with suppress(UserError):
        plan_from_json(json.dumps(content))


A = Column(ColumnId("a `quoted` name#1"), "a", INT)


@pytest.mark.parametrize(
    "scalar",
    [
        reference(A),
        literal("it's"),
        literal("back\\slash"),
        call("average_of", reference(A), literal(2), literal("double"), literal(0)),
        call("date_add", call("to_date", literal("2024-01-01")), reference(A)),
    ],
)
def test_scalars(scalar: Scalar) -> None:
    assert read_scalar(json.loads(json.dumps(write_scalar(scalar))), scalar.columns) == scalar


@pytest.mark.parametrize("name", ["os.system", "subprocess.Popen", "builtins.print", "sqlglot.serde.load"])
def test_reading_makes_nothing_but_expressions(name: str) -> None:
    with pytest.raises(UserError, match="no expression"):
        read_scalar([{"c": name}], ())


def test_a_plan_read_back_compiles_to_the_same_sql() -> None:
    """An average read off partial sums is a function of ours, whatever case it is read back in."""
    first, later = pa.table({"k": [1, 2], "v": [10, 20]}), pa.table({"k": [1], "v": [5]})
    simulator = Simulator({"t": [first, later]})
    plan = simulator.plan(
        "SELECT k, avg(v) AS a FROM t GROUP BY k", weights=[0.01, 1.0], options=Options(model=RowsCost())
    ).plan
    again = plan_from_json(plan_to_json(plan))
    texts = [step_sql(step) for step in plan.steps]
    assert any("value_count" in text for text in texts)
    assert [step_sql(step) for step in again.steps] == texts
    assert not any("average_of" in text.lower() for text in texts)
