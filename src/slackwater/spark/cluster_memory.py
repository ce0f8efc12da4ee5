"""What fits into the memory of a session's driver and executors, derived from Spark's settings.

A broadcast is collected by the driver, built there into a hash table, and held by every executor. So the smaller of
both limits it, and what a statement may bring to the driver does. The tasks of an executor share its memory.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from slackwater.physical.memory import MIB, ROW_OVERHEAD, Memory
from slackwater.spark.settings import explicit_settings

if TYPE_CHECKING:
    from slackwater.spark.session import Session

GIB: Final = 1 << 30

RESERVED: Final = 300.0 * MIB
"""Memory of a JVM that Spark does not manage, whatever its size."""

BROADCAST_SHARE: Final = 1 / 16
"""The share of a JVM's managed memory that one broadcast may have: it is held as rows, as a hash table and as
serialized blocks at the same time, tables grow by doubling, and a statement may have several broadcasts."""

LARGEST_BROADCAST: Final = 8.0 * GIB
"""Spark refuses larger ones."""

_SIZE: Final = re.compile(r"\s*(\d+)\s*([kmgtp]?)(b?)\s*", re.IGNORECASE)
_LOCAL: Final = re.compile(r"local(?:\[(\d+|\*)(?:,.*)?\])?")


def memory_of(session: Session) -> Memory:
    """What fits into the memory of a session's cluster."""
    return memory_by(explicit_settings(session))


def memory_by(settings: Mapping[str, str]) -> Memory:
    """What fits by what is set of Spark; its defaults count for the rest."""
    setting_of = settings.get
    managed = float(setting_of("spark.memory.fraction", "0.6"))
    driver = managed * _heap(setting_of("spark.driver.memory", "1g"))
    local = _LOCAL.fullmatch(setting_of("spark.master", ""))
    if local:
        executor, copies, tasks = driver, 0, _whole(local[1] or "1", os.cpu_count() or 1)
    else:
        executor = managed * _heap(setting_of("spark.executor.memory", "1g"))
        most = setting_of("spark.dynamicAllocation.maxExecutors", "1")
        copies = _whole(setting_of("spark.executor.instances", most), 1)
        tasks = _whole(setting_of("spark.executor.cores", "1"), 1)
    collected = size_in_bytes(setting_of("spark.driver.maxResultSize", "1g"), 1)
    limit = min(BROADCAST_SHARE * min(driver, executor), LARGEST_BROADCAST, collected / 2 or math.inf)
    return Memory(
        broadcast_rows=limit // ROW_OVERHEAD,
        broadcast_bytes=limit,
        unhinted_bytes=size_in_bytes(setting_of("spark.sql.autoBroadcastJoinThreshold", "10m"), 1),
        task_bytes=executor / max(tasks, 1),
        partitions=_whole(setting_of("spark.sql.shuffle.partitions", "200"), 200),
        copies=copies,
    )


def size_in_bytes(text: str, unit: float) -> float:
    """A size as Spark's settings have it, such as `4g`; `unit` is that of a number without one. -1 is nothing."""
    size = _SIZE.fullmatch(text)
    if size is None:
        return 0.0
    suffix = size[2].lower()
    return float(size[1]) * (1024.0 ** " kmgtp".index(suffix) if suffix else 1.0 if size[3] else unit)


def _heap(text: str) -> float:
    """The bytes of a JVM that Spark can manage."""
    return max(size_in_bytes(text, MIB) - RESERVED, 0.0)


def _whole(text: str, other: int) -> int:
    """A whole number; of `*`, or of Spark's `infinity` (2147483647), another one."""
    return int(text) if text.isdigit() and int(text) < 2**31 - 1 else other
