"""CPU time of this process and of all processes that it started: Spark's launcher, its JVM, the Python workers of the
JVM.

Linux tells it of every process, in `/proc`: what it took itself, and what those of its children took that it has waited
for. Elsewhere there is this process, the processes that it has waited for and, by Spark's own word, the JVM; Python
workers are then not counted, and `UNCOUNTED` says so.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark import SparkContext

from slackwater.spark.metrics import jvm_cpu_seconds_of

PROCESSES: Final = Path("/proc")
HAS_PROCESSES: Final = (PROCESSES / "self" / "stat").exists()
UNCOUNTED: Final[tuple[str, ...]] = () if HAS_PROCESSES else ("Python workers of Spark",)
"""What this system does not tell."""

# The fields of `/proc/<pid>/stat` that follow the name: utime, stime, cutime, cstime, and the start in ticks.
_TIMES, _START = slice(11, 15), 19
_MOST: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Reading:
    """What the processes have taken up to a moment; the wall clock counts from a moment that means nothing."""

    wall_s: float
    own_cpu_s: float
    """This process."""
    started_cpu_s: float
    """All that it has started, running or ended."""

    @staticmethod
    def now() -> Reading:
        own = resource.getrusage(resource.RUSAGE_SELF)
        return Reading(time.perf_counter(), own.ru_utime + own.ru_stime, _ended_cpu() + _running_cpu())

    @staticmethod
    def when_process_started() -> Reading:
        """Before the interpreter was loaded; children of whatever was there before it do not count."""
        return Reading(time.perf_counter() - _seconds_since_start(), 0.0, _ended_cpu() + _running_cpu())


def _ended_cpu() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def _running_cpu() -> float:
    if HAS_PROCESSES:
        ticks = sum(sum(map(int, fields[_TIMES])) for pid in _descendants(os.getpid()) if (fields := _stat(pid)))
        return ticks / os.sysconf("SC_CLK_TCK")
    context = SparkContext._active_spark_context
    return (jvm_cpu_seconds_of(context) or 0.0) if context is not None else 0.0


def _seconds_since_start() -> float:
    fields = _stat(os.getpid()) if HAS_PROCESSES else []
    if not fields:
        return 0.0
    since_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
    return max(0.0, since_boot - int(fields[_START]) / os.sysconf("SC_CLK_TCK"))


def _descendants(pid: int) -> Iterator[int]:
    for child in _children(pid):
        yield child
        yield from _descendants(child)


def _children(pid: int) -> Iterator[int]:
    """The processes that each thread of a process has started.

    A JVM has a hundred threads and more, and a run reads this some twenty times: hence the plain calls of the system.
    """
    threads = f"{PROCESSES}/{pid}/task"
    with suppress(OSError), os.scandir(threads) as entries:  # it may have just ended
        for thread in entries:
            yield from map(int, _text(f"{threads}/{thread.name}/children").split())


def _stat(pid: int) -> list[bytes]:
    """The fields after the name, which stands in parentheses and may hold anything; none of a process that is gone."""
    return _text(f"{PROCESSES}/{pid}/stat").rpartition(b")")[2].split()


def _text(path: str) -> bytes:
    """A file of the system, which is short; nothing where it has just gone."""
    with suppress(OSError):
        file = os.open(path, os.O_RDONLY)
        try:
            return os.read(file, _MOST)
        finally:
            os.close(file)
    return b""
