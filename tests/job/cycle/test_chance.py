"""Queries whose answers are up to chance: computed by their text where it must be, and said so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import Heard, Room

from slackwater.algebra.schema import Field
from slackwater.algebra.types import BIGINT, STRING
from slackwater.cli.verify_report import VerifyReport
from slackwater.errors import UserError
from slackwater.job.cycle.chance import Undetermined, undetermined
from slackwater.job.running.verify import Verdict
from slackwater.spark.compare import Difference

SAMPLE = "SELECT cat, sum(price) AS gross, count(*) AS n FROM sales WHERE {} GROUP BY cat"
PICK = """\
WITH p AS (SELECT cat, first(price) AS gross, count(*) AS n FROM sales GROUP BY cat)
SELECT cat, gross, n FROM p WHERE gross >= (SELECT min(gross) FROM p)
"""


@pytest.mark.parametrize(
    "query,reason",
    [
        (SAMPLE.format("rand() < 2"), "rand() has another value each time it is computed"),
        (SAMPLE.format("uuid() IS NOT NULL"), "uuid() has another value each time it is computed"),
        (PICK, "first() of rows in no order is up to chance, and the query reads it twice"),
    ],
)
def test_a_query_up_to_chance_is_computed_by_its_text(tmp_path: Path, query: str, reason: str) -> None:
    room, heard = Room(tmp_path / "room", query), Heard()
    with without_spark() as (_, session):
        room.arrive(1)
        planned = room.job(session).planned()
        assert list(planned.reason_lines("from scratch")) == [f"from scratch: query: {reason}"]
        assert not planned.plan.states
        (manifest,) = room.job(session).run(progress=heard)
        assert f"computed from scratch at every delivery: query: {reason}" in heard.notes
        assert not manifest.states
        assert room.answer()


def test_a_pick_that_is_read_once_is_planned(tmp_path: Path) -> None:
    room = Room(tmp_path / "room", "SELECT cat, first(price) AS gross, count(*) AS n FROM sales GROUP BY cat")
    room.arrive(1)
    with without_spark() as (_, session):
        assert not room.job(session).planned().reasons


def test_strict_refuses_by_name(tmp_path: Path) -> None:
    room = Room(tmp_path / "room", SAMPLE.format("rand() < 2"), settings={"refresh": "incremental strict"})
    room.arrive(1)
    with (
        without_spark() as (_, session),
        pytest.raises(UserError, match=r"not incremental: rand\(\) has another value"),
    ):
        room.job(session).planned()


FIELDS = (Field("cat", STRING), Field("n", BIGINT))


def verdict(reason: str, *, differs: bool = False, fields: tuple[Field, ...] = FIELDS[:1]) -> Verdict:
    difference = Difference((("a",),), ()) if differs else Difference((), ())
    return Verdict(1, "10:00", 3, fields, difference, undetermined=reason)


def test_a_verdict_of_its_own() -> None:
    own = verdict("rand(): up to chance")
    assert (own.equal, own.differs, own.sound) == (False, False, True)
    assert own.outcome == "cannot be compared: rand(): up to chance; equal in cat"
    value = VerifyReport({"": own}).as_json()
    assert isinstance(value, dict)
    assert (value["equal"], value["cannot_be_compared"], value["compared"]) == (None, "rand(): up to chance", ["cat"])
    assert "cannot be compared" in repr(own)


def test_columns_that_are_determined_may_still_differ() -> None:
    own = verdict("rand(): up to chance", differs=True)
    assert (own.equal, own.differs, own.sound) == (False, True, False)
    report = VerifyReport({"a": own, "b": verdict("x")}).as_json()
    assert isinstance(report, dict)
    assert report["equal"] is False
    assert json.dumps(report)
    both = VerifyReport({"a": verdict(""), "b": verdict("x")}).as_json()
    assert isinstance(both, dict)
    assert both["equal"] is None


def test_a_text_that_cannot_be_bound_is_read_word_by_word(tmp_path: Path) -> None:
    (query,) = Room(tmp_path / "room", SAMPLE.format("rand() < 2")).config().queries.values()
    assert undetermined(query, None, FIELDS) == Undetermined("rand() has another value each time it is computed")
    (query,) = Room(tmp_path / "other", SAMPLE.format("'rand()' < cat")).config().queries.values()
    assert undetermined(query, None, FIELDS) is None
