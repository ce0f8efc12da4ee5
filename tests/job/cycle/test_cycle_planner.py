"""A job's queries are planned once for a cycle, however its refresh policy weighs the plan."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest
from tests.job.duck import without_spark
from tests.job.room import Room

from slackwater.plan.planner import plan_queries


@pytest.mark.parametrize("refresh", ["auto", "full", "incremental"])
def test_a_first_run_plans_once(tmp_path: Path, refresh: str) -> None:
    room = Room(tmp_path / "room", settings={"refresh": refresh})
    room.arrive(1)
    with (
        without_spark() as (_, session),
        patch("slackwater.job.cycle.cycle_planner.plan_queries", wraps=plan_queries) as planner,
    ):
        room.job(session).run()
    assert planner.call_count == 1
