"""Spark's own servers as processes on loopback: a standalone master, its workers, a Connect server.

Each server is the leader of a process group, so that what it starts goes with it.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

from slackwater.spark.java import find_java

SECONDS_TO_START = 120.0
HOST = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def server(
    scratch: Path, name: str, *command: str, ready: str, memory: str = "256m"
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a script of Spark's until the block ends; it is up when its log says `ready`."""
    home = Path(pyspark.__file__).parent
    environ = {
        **os.environ,
        "JAVA_HOME": str(find_java(os.environ).home),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(scratch / "spill"),
        "SPARK_DAEMON_MEMORY": memory,
        "SPARK_NO_DAEMONIZE": "1",
    }
    log = scratch / f"{name}.log"
    with log.open("wb") as sink:
        script = str(home / "bin" / command[0])
        process = subprocess.Popen(
            [script, *command[1:]], cwd=scratch, env=environ, stdout=sink, stderr=sink, start_new_session=True
        )
    try:
        _await(process, log, ready)
        yield process
    finally:
        kill(process.pid)
        process.wait()


def kill(pid: int) -> None:
    """Ends a server and all that it started, as a machine does that loses its power."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _await(process: subprocess.Popen[bytes], log: Path, ready: str) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while ready not in (text := log.read_text(errors="replace")):
        if process.poll() is not None or time.monotonic() > until:
            raise AssertionError(f"{log.name}: not up\n{text[-2000:]}")
        time.sleep(0.1)


@contextmanager
def master(scratch: Path) -> Iterator[str]:
    """A standalone cluster without workers; its address."""
    port = free_port()
    command = ("org.apache.spark.deploy.master.Master", "--host", HOST, "--port", str(port), "--webui-port", "0")
    with server(scratch, "master", "spark-class", *command, ready="New state: ALIVE"):
        yield f"spark://{HOST}:{port}"


@contextmanager
def worker(scratch: Path, name: str, master_url: str) -> Iterator[int]:
    """A worker with one core; the process group that it leads."""
    command = ("org.apache.spark.deploy.worker.Worker", "--host", HOST, "--webui-port", "0", "--cores", "1")
    room = ("--memory", "1g", "--work-dir", str(scratch / name), master_url)
    ready = "Successfully registered with master"
    with server(scratch, name, "spark-class", *command, *room, ready=ready) as process:
        yield process.pid


@contextmanager
def connect_server(scratch: Path) -> Iterator[str]:
    """A Spark Connect server; its address."""
    port = free_port()
    conf = {
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    settings = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    main = ("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal")
    command = ("--master", "local[2]", *settings, *main)
    with server(scratch, "connect", "spark-submit", *command, ready="Spark Connect server started", memory="1g"):
        yield f"sc://{HOST}:{port}"
