"""The account of a run, and who is running a job, as commands show them."""

from __future__ import annotations

from rich.text import Text

from slackwater.cli.text import seconds
from slackwater.job.store.accounts import Account, Spent
from slackwater.job.store.at_work import AtWork
from slackwater.json_text import Json


def account_lines(account: Account) -> Text:
    """The whole, who took it, and each phase's part of the CPU."""
    total = account.total
    parts = [f"{name} {seconds(part)}" for name, part in (("JVM", total.jvm_cpu_s), ("Python", total.python_cpu_s))]
    parts += [f"executors elsewhere {seconds(account.executors_cpu_s)}"] if account.executors_cpu_s else []
    whole = f"total CPU {seconds(account.cpu_s)} ({', '.join(parts)}), wall {seconds(account.wall_s)}"
    whole += f"; not counted: {', '.join(account.uncounted)}" if account.uncounted else ""
    phases = ", ".join(f"{phase} {seconds(spent.cpu_s)}" for phase, spent in account.phases.items())
    return Text(f"{whole}\n  CPU of {phases}", style="dim")


def account_as_json(account: Account | None) -> Json:
    if account is None:
        return None
    return {
        **_spent(account.total),
        "cpu_s": account.cpu_s,
        "executors_elsewhere_cpu_s": account.executors_cpu_s,
        "phases": {phase.value: _spent(spent) for phase, spent in account.phases.items()},
        "uncounted": list(account.uncounted),
    }


def at_work_as_json(at_work: AtWork | None) -> Json:
    if at_work is None:
        return None
    return {
        "owner": at_work.owner,
        "since": at_work.started,
        "seconds": at_work.for_s,
        "left_behind": at_work.left_behind,
        "run": at_work.run,
        "writing": list(at_work.steps),
    }


def _spent(spent: Spent) -> dict[str, Json]:
    return {
        "wall_s": spent.wall_s,
        "cpu_s": spent.cpu_s,
        "python_cpu_s": spent.python_cpu_s,
        "jvm_cpu_s": spent.jvm_cpu_s,
    }
