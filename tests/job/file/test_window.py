"""Schedules that follow from a window: when runs are, what they are thought to find, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.job.config_texts import small

from slackwater.errors import UserError
from slackwater.job.file.config import parse_job
from slackwater.job.file.sections import JobConfig


def windowed(**changed: str) -> str:
    """The small job with a window and a goal instead of its schedule."""
    text = "".join(line for line in small().splitlines(keepends=True) if not line.startswith(("schedule", "weights")))
    keys = {"window": '["06:00", "24:00"]', "final_work": "30%", **changed}
    return text + "".join(f"{key}: {value}\n" for key, value in keys.items() if value)


def read(text: str, directory: Path) -> JobConfig:
    (directory / "revenue.sql").write_text("SELECT 1", encoding="utf-8")
    return parse_job(text, directory / "slackwater.yml")


@pytest.mark.parametrize(
    "window, pace, times",
    [
        ("[6:00, 24:00]", "{least_gap: 30m}", "16:30 20:30 22:30 23:30 24:00"),
        ("[6:00, 24:00]", "{least_gap: 30m, most: 3}", "22:30 23:30 24:00"),
        ("[0:00, 24:00]", "", "16:15 20:15 22:15 23:15 23:45 24:00"),
        ("[8:00, 9:00]", "{least_gap: 20m}", "08:40 09:00"),
        ("[8:00, 9:00]", "{least_gap: 10s, most: 4}", "08:53 08:57 08:59 09:00"),
    ],
)
def test_runs_crowd_toward_the_end(tmp_path: Path, window: str, pace: str, times: str) -> None:
    config = read(windowed(window=window, pace=pace), tmp_path)
    assert config.schedule == tuple(times.split())
    assert config.timeline.weights == (1.0,) * len(config.schedule)
    assert config.timeline.is_by_the_clock
    assert sum(config.rates) == pytest.approx(1.0)
    assert all(rate > 0 for rate in config.rates)


def test_rows_are_taken_to_arrive_evenly(tmp_path: Path) -> None:
    config = read(windowed(window="[22:00, 24:00]", pace="{least_gap: 30m, most: 2}"), tmp_path)
    assert config.rates == (0.75, 0.25)
    assert read(small(), tmp_path).rates == ()


@pytest.mark.parametrize(
    "text, message",
    [
        (windowed(window="[24:00, 6:00]"), "`window` must be the time from which rows arrive and the later one"),
        (windowed(window="[6:00]"), "`window` must be the time from which rows arrive"),
        (windowed(window="6:00-24:00"), "`window` must be the time from which rows arrive"),
        (windowed(final_work=""), "`window` without a goal"),
        (windowed(weights="[1, 2]"), "`weights` beside `window`"),
        (windowed(schedule="[14:00, 24:00]"), "`window` stands beside `schedule`"),
        (windowed(pace="{least_gap: 20h}"), "`window` has no room for an early run"),
        (windowed(pace="{most: 1}"), "`pace.most` must be at least 2"),
        (windowed(pace="{least_gap: soon}"), "`pace.least_gap` must be a length of time"),
        (windowed(pace="{often: true}"), "unknown key `often` in `pace`"),
        (windowed(window=""), "`schedule` is missing"),
        (small(pace="{most: 3}"), "`most` is about a window, and the file has a schedule"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        read(text, tmp_path)
    assert message in str(raised.value)


def test_parts_may_pass_over_runs_of_a_schedule_too(tmp_path: Path) -> None:
    assert read(small(pace="{pass_over: true}"), tmp_path).pace.pass_over
