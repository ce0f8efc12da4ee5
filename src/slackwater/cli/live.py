"""The progress of a run: line by line on a terminal, elsewhere only unusual events."""

from __future__ import annotations

from rich.console import Console
from rich.status import Status
from rich.text import Text

from slackwater.cli.text import amount, seconds
from slackwater.job.running.runner import Silent
from slackwater.job.running.work import RunWork
from slackwater.job.store.manifest import Manifest
from slackwater.spark.metrics import Measured


class Notes(Silent):
    """Only what a user should know of: for logs, and for output that a program reads."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def note(self, text: str) -> None:
        self._console.print(Text(f"note: {text}"), soft_wrap=True)


class Live:
    """A line per step: what it does while it runs, what it took when it is done."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None
        self._running: dict[str, None] = {}
        self._width = 0

    def run_begins(self, work: RunWork) -> None:
        self._width = max((len(name) for name in (*work.targets, *(check.name for check in work.checks))), default=0)
        files = sum(len(pins) for pins in work.pins[-1].values())
        arrived = f"{amount(files)} new file{'s' if files != 1 else ''}" if files else "nothing arrived"
        title = f"run {work.run} of {len(work.plan.times)} · {work.plan.time(work.run)} · {arrived}"
        self._console.print(Text(title, style="bold cyan"))
        if work.needs_spark:
            self._status = self._console.status("starting Spark")
            self._status.start()

    def step_begins(self, name: str) -> None:
        self._running[name] = None
        self._show()

    def step_ends(self, name: str, rows: int | None, measured: Measured) -> None:
        self._running.pop(name, None)
        count = f"{amount(rows)} rows" if rows is not None else ""
        cpu = f"{seconds(measured.cpu_s)} CPU" if measured.cpu_s is not None else ""
        line = Text.assemble(
            ("  ✓ ", "green"), name.ljust(self._width), f"  {count:>16}  {seconds(measured.wall_s):>7}  {cpu}"
        )
        self._console.print(line)
        self._show()

    def run_ends(self, manifest: Manifest) -> None:
        self._stop()

    def note(self, text: str) -> None:
        self._console.print(Text(f"  ! {text}", style="yellow"))

    def _show(self) -> None:
        if self._status is not None:
            self._status.update(", ".join(self._running) or "…")

    def _stop(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None
