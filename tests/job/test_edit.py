"""A goal written into a job file: one line is new, and the file is still what it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from slackwater.errors import UserError
from slackwater.job.file.config import parse_job
from slackwater.job.file.edit import with_key

REST = """sources:
  t: {path: data/t}   # where rows land
output: {path: out}
"""
FILE = Path("/jobs/slackwater.yml")


def written(text: str, value: str = "30%") -> str:
    return with_key(text, "final_work", value, "schedule", FILE)


@pytest.mark.parametrize(
    "schedule",
    [
        'schedule: ["14:00", "24:00"]   # twice a day\n',
        'schedule:\n  - "14:00"\n  - "24:00"   # at the end\n\n# prices\n',
        'schedule: ["14:00",\n  "24:00"]\nweights: [0.2, 1]\n',
    ],
)
def test_a_line_is_added_and_nothing_else_changes(schedule: str) -> None:
    text = f"name: small\nquery: SELECT * FROM t\n{schedule}{REST}"
    new = written(text)
    assert [line for line in new.splitlines() if line != "final_work: 30%"] == text.splitlines()
    assert parse_job(new, FILE).final_work == 0.3


def test_a_value_that_is_there_is_replaced_in_its_place() -> None:
    schedule = 'final_work: 50%   # half\nschedule: ["14:00", "24:00"]\n'
    text = f"name: small\nquery: SELECT * FROM t\n{schedule}{REST}"
    assert written(text) == text.replace("50%", "30%")


def test_a_file_that_is_one_line_stays_one() -> None:
    text = "{name: a, query: SELECT 1 AS n FROM t, schedule: [x, y], sources: {t: {path: d}}, output: {path: o}}"
    assert written(text) == text.replace("[x, y],", "[x, y], final_work: 30%,")


def test_a_last_line_without_an_end_gets_one() -> None:
    text = f'name: small\nquery: SELECT * FROM t\n{REST}schedule: ["14:00", "24:00"]'
    assert written(text) == f"{text}\nfinal_work: 30%\n"


def test_a_file_that_would_not_be_a_job_file_is_refused() -> None:
    text = f'name: small\nquery: SELECT * FROM t\nschedule: ["24:00"]\n{REST}'
    with pytest.raises(UserError, match="schedule with one run"):
        written(text)
