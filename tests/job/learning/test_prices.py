"""What a job knows of its cluster's prices: kept, refined by runs, used by plans, held against what was measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import Heard, Room

from slackwater.algebra.relation import Values
from slackwater.cli.main import DONE, main
from slackwater.job.file.price_basis import BESIDE, OF_PROCESS, Basis
from slackwater.job.learning.calibration import Observation
from slackwater.job.learning.prices import (
    REMEMBERED,
    WARM,
    ClusterPrices,
    PricesRecord,
    learn,
    observations,
    read_prices,
)
from slackwater.job.learning.regret import BatchRecord, Finished, Regret, regrets
from slackwater.job.store.manifest import Manifest, StepRecord, read_record, write_record
from slackwater.physical.bill import EVEN, Bill
from slackwater.plan.explain import explain
from slackwater.plan.plan import Plan, Purpose, Step

LOCAL = "local[*]"
DEAR_FILES = Bill(compute=1.0, read=3.0, write=8.0, shuffle=1.0, broadcast=1.0, fixed=1.0)


def step(name: str, bill: Bill | None, cpu_s: float | None, *, skipped: bool = False) -> StepRecord:
    return StepRecord(
        name=name,
        purpose="state",
        meaning=name,
        expected_rows=1.0,
        expected_cost=1.0,
        rows=1,
        skipped=skipped,
        bill=() if bill is None else tuple(bill),
        expected_cpu_s=None if bill is None else bill.work / 1e6,
        measured={} if cpu_s is None else {"wall_s": 1.0, "cpu_s": cpu_s},
    )


def manifest(
    *steps: StepRecord,
    run: int = 1,
    cycle: int = 1,
    cpu_s: float | None = 2.0,
    rows: int = 9,
) -> Manifest:
    return Manifest(
        job="room",
        cycle=cycle,
        run=run,
        time=f"{run}:00",
        attempt="a",
        started="2026-01-01T00:00:00",
        finished="2026-01-01T00:00:01",
        pins={},
        states={},
        steps=steps,
        arrived={"sales": rows},
        total={"cpu_s": cpu_s, "process_cpu_s": 3.0, "wall_s": 1.0},
    )


# --- what runs show --------------------------------------------------------------------------------------------------


def test_steps_that_were_done_as_billed_say_what_executors_take() -> None:
    one, two = Bill(read=1e6, fixed=1e5), Bill(write=2e6, fixed=1e5)
    others = step("skipped", None, None, skipped=True), step("text", None, 4.0)
    seen = list(observations(manifest(step("a", one, 1.5), step("b", two, 0.5), *others)))
    assert seen == [Observation(one, 1.5e6), Observation(two, 0.5e6)]


def test_a_run_of_a_warm_spark_says_what_the_driver_takes() -> None:
    measured = manifest(step("a", Bill(read=1e6, fixed=1e5), 1.0), step("b", Bill(fixed=2e5), 0.5), cpu_s=1.5)
    warm = {**measured.total, "process_cpu_s": 3.0 * BESIDE, "process_cpu_before_s": WARM}
    *_, of_run = observations(measured.model_copy(update={"total": warm}))
    assert (of_run.bill, of_run.executors) == (Bill(fixed=3e5), None)
    assert of_run.driver == pytest.approx(1.5e6)
    cold = {**warm, "process_cpu_before_s": WARM - 1}
    assert all(each.driver is None for each in observations(measured.model_copy(update={"total": cold})))
    unbilled = measured.model_copy(update={"total": warm, "steps": (*measured.steps, step("text", None, 4.0))})
    assert all(each.driver is None for each in observations(unbilled))


def test_the_price_of_a_statement_is_learned_for_the_process() -> None:
    few = ClusterPrices.fitted(LOCAL, ())
    assert few.factors_by(Basis.PROCESS).fixed == pytest.approx(OF_PROCESS)
    assert few.factors_by(Basis.EXECUTORS) == EVEN
    seen = [Observation(Bill(fixed=1e5), driver=1e6)] * 40
    learned = ClusterPrices.fitted(LOCAL, (), seen)
    assert learned.factors_by(Basis.PROCESS).fixed == pytest.approx(10.0, rel=0.2)
    assert learned.factors_by(Basis.EXECUTORS).fixed < 2.5
    assert learned.factors_by(Basis.PROCESS).work == learned.factors.work


def test_what_was_not_measured_says_nothing(tmp_path: Path) -> None:
    measured = manifest(step("a", Bill(read=1e6), None), cpu_s=None)
    assert list(observations(measured)) == []
    learn(tmp_path / "prices.json", LOCAL, measured)
    assert not (tmp_path / "prices.json").exists()


def test_runs_refine_what_was_calibrated_and_the_latest_stay(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    trials = [Observation(Bill(read=1e6, fixed=1e5), executors=3e6)] * 4
    ClusterPrices.fitted(LOCAL, trials).write(file)
    calibrated = read_prices(file, LOCAL)
    assert calibrated.factors.read > 2
    steps = [step(f"step {n}", Bill(read=1e6, fixed=1e5), 1.03) for n in range(REMEMBERED - 10)]
    for _ in range(2):
        learn(file, LOCAL, manifest(*steps))
    refined = read_prices(file, LOCAL)
    assert refined.trials == tuple(trials)
    assert len(refined.runs) == REMEMBERED
    assert refined.factors.read == pytest.approx(1.0, abs=0.1)


# --- the file --------------------------------------------------------------------------------------------------------


def test_prices_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    seen = (Observation(EVEN, 5.0, None), Observation(DEAR_FILES, None, 7.0))
    prices = ClusterPrices.fitted(LOCAL, seen[:1], seen)
    prices.write(file)
    assert read_prices(file, LOCAL) == prices


@pytest.mark.parametrize("damage", [lambda text: text[:-20], lambda text: text.replace("3.0", "3.5"), lambda _: ""])
def test_a_damaged_file_is_said_and_not_used(tmp_path: Path, damage: Callable[[str], str]) -> None:
    file = tmp_path / "prices.json"
    write_record(file, PricesRecord(cluster=LOCAL, factors=(1.0, 3.0, 8.0, 1.0, 1.0, 1.0)))
    file.write_text(damage(file.read_text()))
    notes: list[str] = []
    assert read_prices(file, LOCAL, notes.append) == ClusterPrices(LOCAL)
    (note,) = notes
    assert note.startswith(f"{file}: this file is damaged: ")
    assert note.endswith("; planning with the built-in prices")


def test_prices_of_another_cluster_are_not_used(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    write_record(file, PricesRecord(cluster="spark://other:7077", factors=(1.0, 3.0, 8.0, 1.0, 1.0, 1.0)))
    notes: list[str] = []
    assert read_prices(file, LOCAL, notes.append).factors == EVEN
    assert notes == [f"{file}: these prices are of spark://other:7077, not {LOCAL}; planning with the built-in ones"]


# --- plans -----------------------------------------------------------------------------------------------------------


def planned(room: Room) -> tuple[Plan, list[str]]:
    heard = Heard()
    with without_spark() as (_, session):
        room.arrive(1)
        room.job(session).run(progress=heard)
        return room.job(session).plan(), heard.notes


AUTO = {"refresh": "auto", "deliver": "final", "weights": [0.4, 0.4, 1]}


def test_a_plan_goes_by_the_prices_of_its_cluster_and_keeps_them(tmp_path: Path) -> None:
    usual, _ = planned(Room(tmp_path / "usual", settings=AUTO))
    assert usual.states
    assert usual.factors == Basis.PROCESS.built_in
    by_executors = {**AUTO, "prices": "executors"}
    usual, _ = planned(Room(tmp_path / "executors", settings=by_executors))
    assert usual.factors == EVEN
    assert "prices:" not in explain(usual, costs=True)
    room = Room(tmp_path / "dear", settings=by_executors)
    factors = (1.0, 3.0, 8.0, 1.0, 1.0, 1.0)
    write_record(room.state / "prices.json", PricesRecord(cluster=LOCAL, factors=factors))
    dear, notes = planned(room)
    assert dear.factors == DEAR_FILES
    assert dear.batch_rank > usual.batch_rank
    said = "prices: compute × 1.00, read × 3.00, write × 8.00, shuffle × 1.00, broadcast × 1.00, fixed × 1.00"
    assert said in explain(dear, costs=True)
    assert not any("prices" in note for note in notes)


def test_dear_reading_and_writing_can_make_states_not_worth_it(tmp_path: Path) -> None:
    room = Room(tmp_path / "room", settings=AUTO)
    usual, _ = planned(room)
    assert usual.states
    other = Room(tmp_path / "other", settings=AUTO)
    factors = (0.1, 1.0, 10.0, 0.1, 0.1, 10.0)
    write_record(other.state / "prices.json", PricesRecord(cluster=LOCAL, factors=factors))
    dear, _ = planned(other)
    assert not dear.states


def test_a_damaged_file_is_told_when_a_cycle_begins(tmp_path: Path) -> None:
    room = Room(tmp_path / "room", settings=AUTO)
    room.state.mkdir(parents=True)
    (room.state / "prices.json").write_text("{")
    plan, notes = planned(room)
    assert plan.factors == Basis.PROCESS.built_in
    assert any("prices.json: this file is damaged" in note for note in notes)


# --- regret ----------------------------------------------------------------------------------------------------------


def plan(keeps: bool) -> Plan:
    """Two runs, at half price and at full price, of which the second delivers."""
    deliver = Step(2, "output_2", Purpose.OUTPUT, Values((), ()), "the answer", (), 1.0, 1.0)
    save = Step(1, "state", Purpose.STATE, Values((), ()), "rows", (), 1.0, 1.0)
    steps = (save, deliver) if keeps else (deliver,)
    return Plan(("10:00", "24:00"), steps, (2.0, 5.0), (0.0, 8.0), "weighted sum", 6.0, 8.0, (), (), (0.5, 1.0))


def runs(*cpu_s: float, cycle: int = 1, rows: int = 100) -> Sequence[Manifest]:
    return [manifest(run=n, cycle=cycle, cpu_s=cpu, rows=rows) for n, cpu in enumerate(cpu_s, start=1)]


def test_a_cycle_costs_its_runs_at_their_prices() -> None:
    done = Finished.of(plan(keeps=False), runs(4.0, 3.0), {})
    assert done is not None
    assert (done.number, done.cost, done.arrived) == (1, 5.0, 200)
    assert Finished.of(plan(keeps=False), runs(4.0), {}) is None


def test_regret_is_against_the_best_that_was_measured() -> None:
    keeping, whole = plan(keeps=True), plan(keeps=False)
    first = Finished(1, keeping, 5.0, 100, {2: 4.0})
    other = Finished(2, whole, 3.0, 100, {})
    third = Finished(3, keeping, 5.0, 150, {})
    kept = Finished(4, whole, 7.0, 100, {})
    far = Finished(5, keeping, 5.0, 1000, {})
    results = regrets([first, other, third, kept, far])
    assert results[0] == Regret(1, True, 5.0, 4.0, "batch, measured")
    assert results[0].lost == 1.0
    assert results[1] == Regret(2, False, 3.0, 5.0, "cycle 1, which kept states")
    assert results[1].lost == 0.0
    assert results[2] == Regret(3, True, 5.0, 4.5, "cycle 2, which was batch")
    assert results[3].lost == pytest.approx(7.0 - 5.0 * 100 / 150)
    assert results[4] == Regret(5, True, 5.0, 5.0 * (8 / 6), "batch, estimated")


def test_batch_at_other_runs_is_scaled_by_estimates() -> None:
    made = replace(plan(keeps=True), batch_cost=(4.0, 8.0))
    save, deliver = made.steps
    each = Finished(1, replace(made, steps=(save, replace(deliver, run=1), deliver)), 5.0, 100, {2: 16.0})
    assert each.batch() == 0.5 * 8.0 + 16.0


def test_history_tells_expectations_and_regret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    room = Room(tmp_path / "room", settings=AUTO)
    with without_spark() as (_, session):
        for number in (1, 2, 3):
            room.arrive(number)
            room.job(session).run()
    (cycle,) = room.job(None).store.cycles()
    for done in cycle.manifests():
        steps = [each.model_copy(update={"measured": {"cpu_s": 1.5}, "expected_cpu_s": 1.0}) for each in done.steps]
        changed = {"total": {"cpu_s": 1.5, "wall_s": 2.0, "process_cpu_s": 2.5}, "steps": tuple(steps)}
        write_record(cycle.manifest_file(done.run), done.model_copy(update=changed))
    write_record(cycle.directory / "batch-3.json", BatchRecord(run=3, cpu_s={"": 2.0}))
    monkeypatch.chdir(room.directory)
    assert main(["history"]) == DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[-4:] == ["CPU", "(expected)", "total", "CPU"]
    assert lines[3].split()[-6:-2] == ["1.50", "s", "(1.00", "s)"]
    assert lines[-1].split() == ["1", "keeps", "states", "batch,", "measured", "2.70", "s", "2.00", "s", "0.70", "s"]
    assert main(["history", "--json"]) == DONE
    (entry,) = json.loads(capsys.readouterr().out)["cycles"]
    assert entry["against"] == "batch, measured"
    assert entry["regret_cpu_s"] == pytest.approx(0.7)
    assert read_record(cycle.directory / "batch-3.json", BatchRecord) is not None
