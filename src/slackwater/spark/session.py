"""A Spark session that is quiet and leaves nothing behind: on this machine, on a cluster, or through Spark Connect.

Quiet: whatever the JVM writes to its standard error goes to a log file in the session's scratch directory, start-up
included, and is shown only when Spark does not start. Nothing left behind: the warehouse, the spill files and the log
of a local session live in the scratch directory, which goes when Python ends. A local session is small, too: few
partitions, no web page, loopback only. On a cluster the cluster's own settings stand (`spark-defaults.conf`, then the
job's `spark.conf`), and only what results depend on is set here: the time zone.

A process has one Spark. When one is running already, `local_session` returns a session of it, as Spark's own builder
does, and settings that are fixed at start-up keep the values of the first call.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark import __version__ as pyspark_version
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from slackwater.errors import MachineError, UserError
from slackwater.spark.java import find_java
from slackwater.spark.launch import launched, umask, without_secrets

GIB = 1 << 30
LOOPBACK = "127.0.0.1"
CONNECT_PORT = 15002
SECONDS_TO_ANSWER = 5.0
SECONDS_TO_END = 10.0
LOCAL_PARTITIONS = 8
SPARKS_PARTITIONS = 200
"""Partitions of an exchange: in sessions on this machine, and where nothing is said of it."""

SHARED: Final = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # Else Spark puts settings and the environment where a path or a text has `${x}`.
    "spark.sql.variable.substitute": "false",
}
"""What every session has, wherever it runs, unless a job says otherwise."""

LOCAL_JVM: Final = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    # G1 marks and refines beside the program; what is dead at the end of a statement is cheaper to collect at once.
    "-XX:+UseParallelGC",
    # The driver's code runs a few thousand times a statement. The JVM's own thresholds spend more on optimizing it than
    # it saves. Loops over rows are optimized by their iterations, as before, and what rows call reaches these as well.
    "-XX:Tier4InvocationThreshold=200000",
    "-XX:Tier4MinInvocationThreshold=100000",
    "-XX:Tier4CompileThreshold=400000",
)
"""Options of the JVM of a local session, which is driver and executor in one."""

# These Python loggers repeat on standard error, as JSON, the message of an exception that is raised anyway.
REPEATING_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "py4j")


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


def _connected(url: str, conf: Mapping[str, str]) -> SparkSession:
    _check_listening(url)
    try:
        session: SparkSession = SparkSession.Builder().remote(url).getOrCreate()
        session.sql("SELECT 1").collect()
    except ImportError as error:
        hint = "pip install 'slackwater[connect]'"
        raise MachineError(f"Spark Connect needs more packages: {_first_line(error)}", hint=hint) from None
    except Exception as error:  # the client raises grpc's own errors as well as Spark's
        hint = f"is that a Spark Connect server, of version {pyspark_version}?"
        raise MachineError(f"no Spark Connect server answers at {url}: {_first_line(error)}", hint=hint) from None
    for key, value in {**SHARED, **conf}.items():
        try:
            session.conf.set(key, value)
        except PySparkException as error:
            hint = "what is fixed when Spark starts belongs to the server's own settings"
            message = without_secrets(f"{url} does not take `{key}: {value}`: {_first_line(error)}", conf)
            raise UserError(message, hint=hint) from None
    return session


def _check_listening(url: str) -> None:
    """Refuses an address where nobody is at all: the client itself would try for ten minutes."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or CONNECT_PORT
    except ValueError:
        host, port = None, CONNECT_PORT
    if host is None or not url.startswith("sc://"):
        raise UserError(f"`{url}` is not the address of a Spark Connect server", hint="write it as sc://host:15002")
    if problem := _silence(host, port):
        hint = "start one with `$SPARK_HOME/sbin/start-connect-server.sh`, or correct `spark: {connect: ...}`"
        raise MachineError(f"no Spark Connect server listens at {host}:{port}: {problem}", hint=hint)


def _check_master(master: str) -> None:
    """The same for a standalone cluster, of whose masters one is enough: Spark itself would try for a minute."""
    if not master.startswith("spark://"):
        return
    problems = []
    for host, _, port in (address.rpartition(":") for address in master.removeprefix("spark://").split(",")):
        if not host or not port.isdigit():
            raise UserError(f"`{master}` is not the address of a Spark master", hint="write it as spark://host:7077")
        problem = _silence(host.strip("[]"), int(port))
        if problem is None:
            return
        problems.append(f"{host}:{port}: {problem}")
    hint = "start one with `$SPARK_HOME/sbin/start-master.sh`, or correct `spark: {master: ...}`"
    raise MachineError(f"no Spark master listens at {'; '.join(problems)}", hint=hint)


def _silence(host: str, port: int) -> str | None:
    """Why nobody answers at an address; None where somebody does."""
    try:
        socket.create_connection((host, port), timeout=SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        return str(error)
    return None


def settings_for(master: str, scratch: Path) -> dict[str, str]:
    """What a session with this master starts with, before a job's own settings."""
    if master.startswith("local"):
        return local_settings(scratch)
    # The driver runs here and executors must reach it: at its name, unless the cluster is on this machine as well.
    near = dict.fromkeys(("spark.driver.bindAddress", "spark.driver.host"), LOOPBACK) if _is_here(master) else {}
    return {
        **SHARED,
        **near,
        "spark.driver.memory": f"{driver_memory_gib()}g",
        "spark.hadoop.fs.permissions.umask-mode": umask(),
        "spark.ui.showConsoleProgress": "false",
    }


def _is_here(master: str) -> bool:
    """Whether all hosts of a standalone master are this machine's loopback address."""
    scheme, _, hosts = master.partition("://")
    names = [host.rpartition(":")[0].strip("[]") for host in hosts.split(",")]
    return scheme == "spark" and all(name == "localhost" or _is_loopback(name) for name in names)


def _is_loopback(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def local_settings(scratch: Path) -> dict[str, str]:
    """What every local session starts with."""
    return {
        **SHARED,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.extraJavaOptions": " ".join(LOCAL_JVM),
        "spark.driver.host": LOOPBACK,
        "spark.driver.memory": f"{driver_memory_gib()}g",
        # Hadoop does not look at the umask of its process.
        "spark.hadoop.fs.permissions.umask-mode": umask(),
        # Vectored reads are no faster on local disks, and Spark does not count their bytes.
        "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
        "spark.local.dir": str(scratch / "spill"),
        # Spark prefers sorting both sides of a join; once it knows how small the parts are, a hash table is cheaper.
        "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "64MB",
        "spark.sql.catalogImplementation": "in-memory",
        # The runs of a job generate more than the hundred classes that Spark keeps; others would be compiled again.
        "spark.sql.codegen.cache.maxEntries": "1000",
        "spark.sql.shuffle.partitions": str(LOCAL_PARTITIONS),
        # Beyond this many named files Spark lists them in a job, a task each; on one machine a loop is far faster.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        # Every statement is described for web pages that do not exist; a short description takes less.
        "spark.sql.ui.explainMode": "simple",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def driver_memory_gib() -> int:
    """A quarter of the machine's memory, from one GiB to eight."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(8, memory // (4 * GIB)))


def _start(app_name: str, master: str, conf: dict[str, str | int | bool]) -> None:
    _check_master(master)
    java = find_java(os.environ)
    # Spark's start script reads JAVA_HOME from the process and has no argument for it.
    os.environ["JAVA_HOME"] = str(java.home)
    for name in REPEATING_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_is_not_of_py4j)

    scratch = Path(tempfile.mkdtemp(prefix="slackwater-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    settings = settings_for(master, scratch) | {key: _text(value) for key, value in conf.items()}
    configured = SparkConf(loadDefaults=False).setAppName(app_name).setMaster(master).setAll(list(settings.items()))
    log = scratch / "spark.log"
    try:
        # A stopped Spark leaves its JVM running, and the next one in the process must use it again.
        gateway = SparkContext._gateway
        if gateway is None:
            with log.open("wb") as sink:
                gateway = launched(dict(configured.getAll()), scratch, sink)
        SparkContext(conf=configured, gateway=gateway)
    except (PySparkException, Py4JError) as error:
        where = "" if master.startswith("local") else f" with master {master}"
        raise MachineError(
            without_secrets(
                f"Spark did not start on Java {java.version} at {java.home}{where}: {_start_error(error)}", settings
            ),
            hint=without_secrets(_last_lines(log), settings) or "run `slackwater doctor` to see what is installed",
        ) from None


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """py4j logs the traceback of a connection that broke, with the root logger, and then raises it."""
    return "py4j" not in Path(record.pathname).parts


def shut_down() -> None:
    """Ends the JVM that this process has started, if any, and waits until it is gone; then there is no session."""
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if gateway is None or process is None:
        return
    server = getattr(SparkContext._active_spark_context, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: None  # it may find the JVM gone, and would print a traceback
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    with suppress(OSError, Py4JError):
        gateway.shutdown()
    with suppress(OSError):
        process.stdin.close()  # by which the JVM learns that Python has ended: it stops Spark in its own shutdown hooks
    with suppress(subprocess.TimeoutExpired):
        process.wait(SECONDS_TO_END)


def _start_error(error: PySparkException | Py4JError) -> str:
    java = error.java_exception if isinstance(error, Py4JJavaError) else None
    return str(error) if java is None else str(java.getMessage() or java.toString())


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def _last_lines(log: Path, count: int = 5) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return "\n  ".join(lines[-count:])


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
