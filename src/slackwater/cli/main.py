"""The `slackwater` command: gathers the commands and turns every error into a message and an exit code.

Exit codes are stable: 0 done, 1 failed, 2 wrong usage, 130 interrupted (Ctrl-C), 143 terminated (SIGTERM). No error
of any kind leaves `main` as an exception, and a traceback is printed only on request.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from slackwater.cli.bench import bench
from slackwater.cli.calibrate_command import calibrate
from slackwater.cli.demo import demo
from slackwater.cli.doctor import doctor
from slackwater.cli.forecast_command import forecast
from slackwater.cli.init import init
from slackwater.cli.job_commands import clean, history, run, status, verify
from slackwater.cli.output import CommandOutput, Failure, reporting
from slackwater.cli.parse_command import parse
from slackwater.cli.plan_commands import explain, plan
from slackwater.cli.repin_command import repin
from slackwater.cli.signals import ended_by_sigterm, exit_code
from slackwater.cli.stats import stats
from slackwater.cli.tradeoff import tradeoff
from slackwater.cli.watch import watch
from slackwater.errors import UserError
from slackwater.job.store.accounts import process_of_a_command

DONE, FAILED, WRONG_USAGE = 0, 1, 2

HELP_OPTIONS = ["-h", "--help"]

COMMANDS: tuple[click.Command, ...] = (
    *(demo, init, plan, run, watch, explain, tradeoff, status, history, forecast, stats, verify, repin, calibrate),
    *(clean, parse, bench, doctor),
)


@click.group(commands=COMMANDS, context_settings={"help_option_names": HELP_OPTIONS})
@click.version_option(package_name="slackwater", message="%(prog)s %(version)s")
@reporting
def slackwater() -> None:
    """Refresh Spark SQL queries incrementally: plan them by cost and run them on Spark."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; the return value is the exit code.

    Without arguments it is the one that this process was started with, and ends with it.
    """
    if arguments is not None:
        return _run(list(arguments))
    with process_of_a_command():
        return _run(sys.argv[1:])


def _run(given: list[str]) -> int:
    output = CommandOutput.asked_for(given, os.environ)
    try:
        with ended_by_sigterm():
            code = slackwater.main(given, prog_name="slackwater", standalone_mode=False, obj=output)
    except click.exceptions.NoArgsIsHelpError as missing:
        missing.show()
        return WRONG_USAGE
    except click.UsageError as wrong:
        command = wrong.ctx.command_path if wrong.ctx else "slackwater"
        output.fail(Failure("UsageError", wrong.format_message(), hint=f"try `{command} --help`"))
        return WRONG_USAGE
    except click.Abort as abort:
        output.fail(Failure("Interrupted", str(abort.__cause__ or "") or "interrupted"))
        return exit_code(abort.__cause__)
    except click.ClickException as failed:
        output.fail(Failure(type(failed).__name__, failed.format_message()))
        return FAILED
    except UserError as mistake:
        output.fail(Failure.of_user(mistake))
        return FAILED
    except Exception as broken:
        output.fail(Failure.of_ours(broken))
        return FAILED
    # Click returns what `Exit` carried, or else what the command returned.
    return code if isinstance(code, int) else DONE
