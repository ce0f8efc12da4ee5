"""How long runs take on the clock: what accounts show, a run that delays the next, and what nobody has seen yet."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import Room

from slackwater.job.file.sections import SparkConfig
from slackwater.job.learning.wall_times import START_S, WallTimes, wall_times
from slackwater.job.store.accounts import Phase


def test_seconds_follow_from_cost_and_back() -> None:
    times = WallTimes(beside_s=10.0, each_s=0.5, runs=3)
    assert times.of(40.0) == 30.0
    assert times.cost_s(30.0) == 40.0
    assert times.cost_s(5.0) == 0.0


@pytest.mark.parametrize(
    "costs, latency",
    [
        ((0.0, 0.0, 100.0), 60.0),  # runs without work take nothing
        ((600.0, 0.0, 100.0), 60.0),  # 310 s are over within ten minutes
        ((0.0, 1800.0, 100.0), 370.0),  # 910 s from 14:10, which is 310 s late
        ((7200.0, 1800.0, 100.0), 3380.0),  # one delays the next, and both the last
    ],
)
def test_a_run_that_is_not_over_delays_the_next(costs: tuple[float, ...], latency: float) -> None:
    times = WallTimes(beside_s=10.0, each_s=0.5, runs=3)
    assert times.latency_s(("14:00", "14:10", "14:20"), costs) == latency


def test_names_of_runs_delay_nothing() -> None:
    assert WallTimes(10.0, 0.5, 3).latency_s(("early", "late"), (0.0, 10.0)) == 15.0


@pytest.mark.parametrize(
    "spark, cores",
    [
        (SparkConfig(master="local[4]"), 4.0),
        (SparkConfig(master="local[2,3]"), 2.0),
        (SparkConfig(master="local"), 1.0),
        (SparkConfig(master="yarn", conf={"spark.executor.instances": 5, "spark.executor.cores": 4}), 20.0),
        (SparkConfig(master="yarn"), 1.0),
        (SparkConfig(connect="sc://host:15002"), 1.0),
    ],
)
def test_before_the_first_run_cores_decide(spark: SparkConfig, cores: float, tmp_path: Path) -> None:
    room = Room(tmp_path / "room")
    assert wall_times(room.job().store, spark) == WallTimes(START_S, 1.0 / cores, 0)


def test_what_runs_took_is_known_from_their_accounts(tmp_path: Path) -> None:
    room = Room(tmp_path / "room")
    with without_spark() as (_, session):
        job = room.job(session)
        for run in (1, 2, 3):
            room.arrive(run)
            job.run()
    times = wall_times(job.store, room.config().spark)
    accounts = [account for _, account, _ in job.history().entries if account is not None]
    steps = [account.phases[Phase.STEPS].wall_s for account in accounts]
    assert times.runs == 3
    assert min(steps) < times.of(sum(job.plan().cost) / 3 / 1e6)
    assert 0.0 < times.beside_s <= max(account.wall_s for account in accounts)
