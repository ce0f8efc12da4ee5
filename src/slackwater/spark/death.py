"""Recognizes that Spark's JVM has died: killed, or out of memory.

py4j then raises errors of many kinds, none of which says so.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from slackwater.errors import MachineError
from slackwater.spark.launch import last_lines_of

SECONDS_TO_DIE = 5.0
"""For how long a JVM that does not answer may still be a process."""


def jvm_death() -> MachineError | None:
    """The error that says so, if the JVM that this process has started does not run any more."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None or (process.poll() is None and _answers()):
        return None
    with suppress(subprocess.TimeoutExpired):
        process.wait(SECONDS_TO_DIE)
    code = process.poll()
    if code is None:
        return None  # it runs, and has trouble of its own
    return MachineError(
        f"Spark's JVM (process {process.pid}) has died{_cause(code)}",
        hint=last_lines_of(process.pid) or "nothing of a run is committed before its end; run again",
    )


def _answers() -> bool:
    jvm: Any = SparkContext._jvm
    try:
        return bool(jvm.java.lang.System.nanoTime())
    except (Py4JError, OSError, AttributeError, TypeError):
        return False


def _cause(code: int) -> str:
    if code == -signal.SIGKILL:
        return ": it was killed, by somebody or because the machine had no memory left"
    if code < 0:
        return f": it was ended by {signal.Signals(-code).name}"
    return f" with exit code {code}"


@contextmanager
def saying_if_spark_died() -> Iterator[None]:
    """Whatever goes wrong in the block because the JVM has died is said to be that."""
    try:
        yield
    except Exception:
        death = jvm_death()
        if death is None:
            raise
        raise death from None


def forget_dead_jvm() -> bool:
    """Whether there was one that has died; the next session then starts another."""
    if jvm_death() is None:
        return False
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    return True
