"""What a job's steps have counted corrects its next plan; what cannot be read is not asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import Room

from slackwater.catalog.statistics import Arrival
from slackwater.job.job import Job
from slackwater.job.learning.row_history import history_of
from slackwater.job.store.manifest import StepRecord
from slackwater.plan.explain import explain
from slackwater.spark.session import Session


@pytest.fixture
def spark() -> Iterator[Session]:
    with without_spark() as (_, session):
        yield session


@pytest.fixture
def room(tmp_path: Path, spark: Session) -> Room:
    """A job that has gone through one cycle."""
    made = Room(tmp_path / "room")
    for run in (1, 2, 3):
        made.arrive(run)
        made.job(spark).run()
    return made


def test_manifests_say_what_steps_have_counted(room: Room) -> None:
    job = room.job()
    steps = [step for manifest in job.history() for step in manifest.steps]
    assert steps
    assert all(step.subject is not None for step in steps)
    (day,) = history_of(job.store)
    assert day.arrivals["sales"] == (Arrival(7.0), Arrival(4.0), Arrival(1.0))
    assert [seen.rows for seen in day.counts] == [step.rows for step in steps]


def test_the_next_plan_goes_by_them(room: Room, spark: Session) -> None:
    plan = room.job(spark).planned().plan
    assert any(step.by_history != 1.0 for step in plan.steps)
    assert "by history" in explain(plan)
    fresh = Room(room.directory.parent / "fresh")
    fresh.arrive(1)
    assert all(step.by_history == 1.0 for step in fresh.job(spark).planned().plan.steps)


@pytest.mark.parametrize("damage", ["", "{", '{"checksum": "", "record": {}}'])
def test_a_damaged_manifest_ends_what_is_known_of_its_cycle(room: Room, spark: Session, damage: str) -> None:
    job = room.job(spark)
    (cycle,) = job.store.cycles()
    first = [step.rows for step in job.history()[0].steps]
    cycle.manifest_file(2).write_text(damage, encoding="utf-8")
    (day,) = history_of(job.store)
    assert len(day.arrivals["sales"]) == 1
    assert [seen.rows for seen in day.counts] == first
    assert job.planned().plan.steps
    cycle.manifest_file(1).write_text(damage, encoding="utf-8")
    assert history_of(job.store) == ()
    assert all(step.by_history == 1.0 for step in job.planned().plan.steps)


def test_records_of_steps_that_say_no_subject_are_read(room: Room) -> None:
    record = json.loads(room.job().history()[0].steps[0].model_dump_json())
    del record["subject"]
    assert StepRecord.model_validate_json(json.dumps(record)).subject is None


def test_what_is_told_by_hand_is_not_corrected(room: Room, spark: Session) -> None:
    """Benchmarks plan the same day again and again: what they know of it must not come from having run it."""
    job = room.job(spark)
    counted = job.planned().statistics
    plan = Job(job.config, spark, statistics=counted).planned().plan
    assert all(step.by_history == 1.0 for step in plan.steps)
