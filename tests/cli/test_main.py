"""Every error of every command becomes a message on standard error and one of three exit codes."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from importlib import metadata

import click
import pytest

from slackwater.cli.main import DONE, FAILED, WRONG_USAGE, main, slackwater
from slackwater.cli.output import reporting
from slackwater.errors import BindError, InternalError, Place

Raising = Callable[[BaseException], None]

MISTAKE = BindError("no column `prise` in [sales]", place=Place("daily.sql", 3, 8), hint="did you mean `price`?")


@pytest.fixture
def raising() -> Iterator[Raising]:
    """A command `fail` that raises what it is told to."""

    def prepare(error: BaseException) -> None:
        @click.command("fail")
        @reporting
        def fail() -> None:
            raise error

        slackwater.add_command(fail)

    yield prepare
    slackwater.commands.pop("fail", None)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == DONE
    assert capsys.readouterr().out == f"slackwater {metadata.version('slackwater')}\n"


def test_help_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == DONE
    assert "doctor" in capsys.readouterr().out


def test_no_command_is_wrong_usage_and_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == WRONG_USAGE
    assert "Commands:" in capsys.readouterr().err


def test_arguments_default_to_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["slackwater", "--version"])
    assert main() == DONE
    assert capsys.readouterr().out.startswith("slackwater ")


@pytest.mark.parametrize("arguments", [["docter"], ["doctor", "--nonsense"], ["doctor", "extra"]])
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == WRONG_USAGE
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert "--help`" in printed.err


def test_wrong_usage_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--nonsense", "--json"]) == WRONG_USAGE
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["kind"] == "UsageError"
    assert "--nonsense" in error["message"]


def test_users_mistake(raising: Raising, capsys: pytest.CaptureFixture[str]) -> None:
    raising(MISTAKE)
    assert main(["fail"]) == FAILED
    assert capsys.readouterr().err == (
        "error: daily.sql, line 3, column 8: no column `prise` in [sales]\n  did you mean `price`?\n"
    )


def test_users_mistake_as_json(raising: Raising, capsys: pytest.CaptureFixture[str]) -> None:
    raising(MISTAKE)
    assert main(["fail", "--json"]) == FAILED
    printed = capsys.readouterr()
    assert printed.out == ""
    assert json.loads(printed.err) == {
        "error": {
            "kind": "BindError",
            "message": "no column `prise` in [sales]",
            "place": {"file": "daily.sql", "line": 3, "column": 8},
            "hint": "did you mean `price`?",
        }
    }


def test_json_may_be_asked_for_before_the_command(raising: Raising, capsys: pytest.CaptureFixture[str]) -> None:
    raising(BindError("no table `sale`"))
    assert main(["--json", "fail"]) == FAILED
    assert json.loads(capsys.readouterr().err)["error"]["place"] is None


def test_long_messages_are_not_broken(raising: Raising, capsys: pytest.CaptureFixture[str]) -> None:
    raising(BindError("x" * 500))
    main(["fail"])
    assert capsys.readouterr().err == "error: " + "x" * 500 + "\n"
    main(["fail", "--json"])
    assert json.loads(capsys.readouterr().err)["error"]["message"] == "x" * 500


@pytest.mark.parametrize(
    "error, told",
    [
        (InternalError("rule push_filter changed the columns: {a} became {b}"), "{a} became {b}"),
        (KeyError("price"), "KeyError: 'price'"),
    ],
)
def test_our_own_error_asks_for_a_report(
    error: Exception, told: str, raising: Raising, capsys: pytest.CaptureFixture[str]
) -> None:
    raising(error)
    assert main(["fail"]) == FAILED
    printed = capsys.readouterr().err
    assert told in printed
    assert "please report it" in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("error", [MISTAKE, InternalError("broken")])
def test_debug_shows_the_traceback(error: Exception, raising: Raising, capsys: pytest.CaptureFixture[str]) -> None:
    raising(error)
    assert main(["fail", "--debug"]) == FAILED
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize("value, shown", [("1", True), ("0", False), ("", False)])
def test_debug_by_environment(
    value: str,
    shown: bool,
    raising: Raising,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SLACKWATER_DEBUG", value)
    raising(InternalError("broken"))
    assert main(["fail"]) == FAILED
    assert ("Traceback" in capsys.readouterr().err) is shown


def test_debug_keeps_json_readable(raising: Raising, capsys: pytest.CaptureFixture[str]) -> None:
    raising(InternalError("broken"))
    main(["fail", "--json", "--debug"])
    assert "traceback" in json.loads(capsys.readouterr().err)["error"]


def test_interruption_fails_quietly(raising: Raising, capsys: pytest.CaptureFixture[str]) -> None:
    raising(KeyboardInterrupt())
    assert main(["fail"]) == 128 + signal.SIGINT
    assert capsys.readouterr().err.strip() == "error: interrupted"


def test_a_file_that_cannot_be_opened_fails(raising: Raising, capsys: pytest.CaptureFixture[str]) -> None:
    raising(click.FileError("daily.sql", "no such file"))
    assert main(["fail"]) == FAILED
    assert "daily.sql" in capsys.readouterr().err


def test_an_option_after_the_separator_is_text(raising: Raising, capsys: pytest.CaptureFixture[str]) -> None:
    raising(MISTAKE)
    assert main(["fail", "--", "--json"]) == WRONG_USAGE
    assert capsys.readouterr().err.startswith("error: ")
