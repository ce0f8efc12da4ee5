"""A local Spark session that is quiet, small and leaves nothing behind.

Quiet: whatever the JVM writes to its standard error goes to a log file in the session's scratch directory, start-up
included, and is shown only when Spark does not start. Small: few partitions, no web page, loopback only. Nothing left
behind: the warehouse, the spill files and the log live in the scratch directory, which goes when Python ends.

A process has one Spark. When one is running already, `local_session` returns a session of it, as Spark's own builder
does, and settings that are fixed at start-up keep the values of the first call.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from slackwater.errors import MachineError
from slackwater.spark.java import find_java

GIB = 1 << 30

# These Python loggers repeat on standard error, as JSON, the message of an exception that is raised anyway.
REPEATING_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


Session: TypeAlias = SparkSession
"""Spark, for those who must not import it."""


def local_session(app_name: str = "slackwater", master: str = "local[*]", **conf: str | int | bool) -> SparkSession:
    """A session on this machine; `conf` adds to or overrides `local_settings`, for example `**{"spark.x": 1}`."""
    if SparkContext._active_spark_context is None:
        _start(app_name, master, conf)
    builder = SparkSession.Builder()
    for key, value in conf.items():
        builder = builder.config(key, _text(value))
    return builder.getOrCreate()


def open_session(
    app_name: str, master: str, connect: str | None = None, conf: Mapping[str, str | int | float | bool] | None = None
) -> SparkSession:
    """The session a job asks for: on this machine, on a cluster, or through a Spark Connect server."""
    settings = {key: _text(value) for key, value in (conf or {}).items()}
    if connect is not None:
        return _connected(connect, settings)
    return local_session(app_name, master, **settings)


def _connected(url: str, settings: Mapping[str, str]) -> SparkSession:
    try:
        session: SparkSession = SparkSession.Builder().remote(url).getOrCreate()
        for key, value in settings.items():
            session.conf.set(key, value)
        session.sql("SELECT 1").collect()
    except ImportError as error:
        hint = "pip install 'slackwater[connect]'"
        raise MachineError(f"Spark Connect needs more packages: {error}", hint=hint) from None
    except Exception as error:  # the client raises grpc's own errors as well as Spark's
        words = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise MachineError(f"no Spark Connect server answers at {url}: {words}", hint="is it running?") from None
    return session


def local_settings(scratch: Path) -> dict[str, str]:
    """What every local session starts with."""
    return {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": f"{driver_memory_gib()}g",
        # Vectored reads are no faster on local disks, and Spark does not count their bytes.
        "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
        "spark.local.dir": str(scratch / "spill"),
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "8",
        # Beyond this many named files Spark lists them in a job, a task each; on one machine a loop is far faster.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def driver_memory_gib() -> int:
    """A quarter of the machine's memory, from one GiB to eight."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(8, memory // (4 * GIB)))


def _start(app_name: str, master: str, conf: dict[str, str | int | bool]) -> None:
    java = find_java(os.environ)
    # Spark's start script reads JAVA_HOME from the process and has no argument for it.
    os.environ["JAVA_HOME"] = str(java.home)
    for name in REPEATING_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)

    scratch = Path(tempfile.mkdtemp(prefix="slackwater-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    settings = local_settings(scratch) | {key: _text(value) for key, value in conf.items()}
    configured = SparkConf(loadDefaults=False).setAppName(app_name).setMaster(master).setAll(list(settings.items()))
    log = scratch / "spark.log"
    try:
        # A stopped Spark leaves its JVM running, and the next one in the process must use it again.
        gateway = SparkContext._gateway
        if gateway is None:
            with log.open("wb") as sink:
                gateway = launch_gateway(configured, {"stderr": sink})  # type: ignore[no-untyped-call]
        SparkContext(conf=configured, gateway=gateway)
    except PySparkException as error:
        raise MachineError(
            f"Spark did not start on Java {java.version} at {java.home}: {error}",
            hint=_last_lines(log) or "run `slackwater doctor` to see what is installed",
        ) from error


def _last_lines(log: Path, count: int = 5) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return "\n  ".join(lines[-count:])


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
