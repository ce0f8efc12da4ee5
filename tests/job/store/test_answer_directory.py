"""The output's path: a link of ours to the latest answer, or left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from slackwater.errors import StateError, UserError
from slackwater.job.store.answer_directory import AnswerDirectory


@pytest.fixture
def answers(tmp_path: Path) -> AnswerDirectory:
    (tmp_path / "out").mkdir()
    return AnswerDirectory(tmp_path / "out" / "[answer]")


def test_an_answer_is_shown_by_one_link(answers: AnswerDirectory) -> None:
    for name in ("1-1-a", "1-2-b"):
        (answers.path / name).mkdir(parents=True)
    for name in ("1-1-a", "1-2-b", "1-2-b"):
        answers.publish(name)
        assert answers.output.resolve() == (answers.path / name).resolve()
        assert answers.shown == answers.path / name
    assert {path.name for path in answers.output.parent.iterdir()} == {".[answer]", "[answer]"}


@pytest.mark.parametrize("kind", ["file", "directory", "link", "link to nothing"])
def test_a_path_that_is_taken_is_left_alone(answers: AnswerDirectory, tmp_path: Path, kind: str) -> None:
    match kind:
        case "file":
            answers.output.write_text("mine", encoding="utf-8")
        case "directory":
            answers.output.mkdir()
        case "link":
            answers.output.symlink_to(tmp_path)
        case _:
            answers.output.symlink_to(tmp_path / "nowhere")
    for refused in (answers.check, lambda: answers.publish("1-1-a")):
        with pytest.raises(UserError, match="something that Slackwater did not write") as raised:
            refused()
        assert str(raised.value.place) == str(answers.output)
    assert answers.shown is None
    assert [path.name for path in answers.output.parent.iterdir()] == ["[answer]"]


def test_a_place_where_no_link_can_be(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="cannot be written"):
        AnswerDirectory(tmp_path / "missing" / "answer").publish("1-1-a")
