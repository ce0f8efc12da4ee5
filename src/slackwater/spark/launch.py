"""How the JVM of a session is started: its settings in a file that only this user can read.

Everybody on the machine can read the command line of a process, and settings may be passwords. What stays on it is what
Java itself takes there: the memory of the driver and `spark.driver.extraJavaOptions`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from pyspark.java_gateway import launch_gateway

SUBMIT: Final = "PYSPARK_SUBMIT_ARGS"
HIDDEN: Final = "*****"
_SECRET: Final = re.compile(r"(?i)secret|password|passphrase|token|credential|access[.-]?key|account[.]key|sas[.]")


def launched(settings: Mapping[str, str], scratch: Path, log: IO[bytes]) -> Any:
    """The gateway to a new JVM; what that writes to its standard error goes to a log."""
    file = scratch / "spark.properties"
    file.touch(mode=0o600, exist_ok=False)
    try:
        with file.open("w", encoding="utf-8") as opened:
            opened.writelines(f"{_escaped(key)}={_escaped(value)}\n" for key, value in settings.items())
        with _submitting(f"--properties-file {shlex.quote(str(file))} --load-spark-defaults"):
            gateway: Any = launch_gateway(None, {"stderr": log})  # type: ignore[no-untyped-call]
    finally:
        file.unlink(missing_ok=True)
    if gateway.proc is not None:
        _logs[gateway.proc.pid] = Path(log.name), dict(settings)
    return gateway


_logs: dict[int, tuple[Path, dict[str, str]]] = {}
"""The logs of the JVMs that were started, with the settings of each."""


_TELLING: Final = re.compile(r"\bERROR\b|\bFATAL\b|Exception|OutOfMemory|fatal error")


def last_lines_of(process: int, count: int = 5) -> str:
    """The last lines of a JVM's log that tell of errors, without secrets."""
    log, settings = _logs.get(process, (None, {}))
    lines = log.read_text(errors="replace").strip().splitlines() if log is not None and log.exists() else []
    return without_secrets("\n  ".join([line for line in lines if _TELLING.search(line)][-count:]), settings)


@contextmanager
def _submitting(arguments: str) -> Iterator[None]:
    """Spark's start script takes its arguments from the environment."""
    before = os.environ.get(SUBMIT)
    os.environ[SUBMIT] = f"{arguments} {before or 'pyspark-shell'}"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SUBMIT]
        else:
            os.environ[SUBMIT] = before


def _escaped(text: str) -> str:
    """A key or a value as a properties file has it."""
    return "".join(_ESCAPES.get(letter, letter) for letter in text)


_ESCAPES: Final = {
    "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f",
    **{letter: f"\\{letter}" for letter in " =:#!"},
}  # fmt: skip


def without_secrets(text: str, settings: Mapping[str, str]) -> str:
    """A text that is shown to a user, without the values of settings that are secrets by their names."""
    for key, value in settings.items():
        if value and _SECRET.search(key):
            text = text.replace(value, HIDDEN)
    return text


def umask() -> str:
    """The rights that files of this process do not give, as Hadoop writes them."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return next(line.split()[1] for line in status.splitlines() if line.startswith("Umask:"))[-3:]
    except (OSError, StopIteration):
        mask = os.umask(0o077)
        os.umask(mask)
        return f"{mask:03o}"
