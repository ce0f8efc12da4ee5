"""Runs of a cycle: what is said when one fails."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest
from tests.job.duck import without_spark
from tests.job.room import Room

from slackwater.errors import InternalError, RunError, SlackwaterError
from slackwater.job.store.lock import LostLockError


@pytest.mark.parametrize("error", [InternalError("no _SUCCESS"), RunError("no such file"), OSError(2, "gone")])
def test_a_lost_lock_is_the_reason_whatever_failed_for_it(tmp_path: Path, error: SlackwaterError | OSError) -> None:
    """Another process that took the job over has removed the files of the attempt."""
    room = Room(tmp_path / "room")
    room.arrive(1)

    def overtaken(*_: object) -> None:
        (room.state / "lock").unlink()
        raise error

    with (
        without_spark() as (_, session),
        patch("slackwater.job.running.execution.execute", overtaken),
        pytest.raises(LostLockError),
    ):
        room.job(session).run()
