"""When a job keeps anything, and when its queries are computed by their texts."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest
from tests.job.duck import without_spark
from tests.job.room import THREE_ARRIVALS, Room, expected

from slackwater.errors import BindError, ParseError, UnsupportedError, UserError
from slackwater.job.cycle.refresh_policy import IDLE, KEPT

EARLY = [0.38 + 0.02 * step for step in range(8)]
"""Prices of early work, from where it pays to where it does not."""


def test_a_promise_that_is_smaller_than_estimates_are_sure_of_is_none(tmp_path: Path) -> None:
    said: dict[str, float] = {}
    with without_spark() as (_, session):
        for weight in EARLY:
            settings = {"refresh": "auto", "deliver": "final", "weights": [weight, weight, 1]}
            room = Room(tmp_path / f"{weight:.2f}", settings=settings)
            room.arrive(1)
            planned = room.job(session).planned()
            assert planned.planning is not None
            plan = planned.planning.plan
            part = plan.rank / plan.batch_rank
            assert bool(planned.plan.states) == (part < KEPT)
            if KEPT <= part < 1:
                why = f"what early runs could do promises {100 * (1 - part):.1f} %, less than estimates can tell apart"
                assert planned.reasons == {"": why}
                assert planned.plan.rank == plan.batch_rank
                said["too little"] = part
            elif part < KEPT:
                assert not planned.reasons
                said["enough"] = part
            else:
                assert planned.reasons == {"": IDLE}
                said["nothing"] = part
    assert said.keys() == {"enough", "too little", "nothing"}


def test_who_asks_for_states_has_them_whatever_they_promise(tmp_path: Path) -> None:
    with without_spark() as (_, session):
        settings = {"refresh": "incremental", "deliver": "final", "weights": [0.46, 0.46, 1]}
        room = Room(tmp_path / "room", settings=settings)
        room.arrive(1)
        plan = room.job(session).plan()
    assert plan.states
    assert KEPT <= plan.rank / plan.batch_rank < 1


@pytest.mark.parametrize("kind", [BindError, ParseError, UnsupportedError])
def test_what_spark_understands_and_we_do_not_is_computed_by_its_text(tmp_path: Path, kind: type[UserError]) -> None:
    room = Room(tmp_path / "room", settings={"refresh": "auto"})
    room.arrive(1)
    refusal = patch("slackwater.job.cycle.binding.bind", side_effect=kind("no such thing"))
    with without_spark() as (_, session), refusal:
        planned = room.job(session).planned()
        room.job(session).run()
    assert planned.reasons == {"": "no such thing"}
    assert room.answer() == expected(THREE_ARRIVALS[:1])
