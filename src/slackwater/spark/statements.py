"""Executes Spark SQL statements: one, or a graph of them with independent ones in parallel.

Spark's refusals become ours. Text that Spark does not take is a `ParseError` or a `BindError` in Spark's own words;
what goes wrong while a statement runs is a `RunError` that says the cause at the root and the file where Spark names
one, never a stack trace.

`run_all` keeps to the order that tasks need, measures each, and ends whole: when it returns or raises, nothing that
it started is still running.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from threading import Event
from typing import Any
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import inheritable_thread_target
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from slackwater.errors import BindError, InternalError, ParseError, Place, RunError, UnsupportedError, UserError
from slackwater.spark.metrics import Measured, measuring

SUBSTITUTION = "spark.sql.variable.substitute"
MOST_AT_ONCE = 4
SECONDS_BETWEEN_CANCELS = 0.2

# Messages that say only that something below them failed.
_WRAPPING = re.compile(r"Job aborted|Task failed|Writing job|\[(FAILED_READ_FILE\.NO_HINT|TASK_WRITE_FAILED)\]")
# Where such a message ends with what failed, and Spark gives no cause beside it.
_LOST_TASK = re.compile(r"most recent failure: .*? executor [^)]*\): ([^\n]+)")
# What follows in a message is not for reading: the statement again, a stack trace.
_NOISE = re.compile(r"\s*(SQLSTATE: \w{5}|== (SQL|DataFrame)|\n\s*at |\nDriver stacktrace|JVM stacktrace)")
# The system's words for a disk that takes no more; Spark often says them without the file.
_NO_ROOM = re.compile("No space left on device|Disk quota exceeded|File too large|Read-only file system")
# What Hadoop says of a file that is not what the checksums beside it say.
_STALE = re.compile(r"Checksum error: file:(?P<directory>/.*/)(?P<name>[^/]+) at \d+\b")
_PYTHON = "Traceback (most recent call last)"
_MOST_LINES = 4


@dataclass(frozen=True, slots=True)
class Task:
    """Statements to run one after the other, once the tasks that they need are done; rows go to `writes`."""

    name: str
    statements: tuple[str, ...]
    needs: frozenset[str] = frozenset()
    writes: str | None = None


def run_statement(session: SparkSession, sql: str) -> DataFrame:
    """Executes one statement; a query is only analyzed until its rows are asked for."""
    _check_no_variables(session, sql)
    try:
        return session.sql(sql)
    except (PySparkException, Py4JError) as error:
        raise our_error(error) from None


def _check_no_variables(session: SparkSession, sql: str) -> None:
    """Refuses a statement in which this session would put values at `${x}`, for example in the name of a column."""
    if "${" in sql and session.conf.get(SUBSTITUTION) != "false":
        hint = f"set `{SUBSTITUTION}` to false in the session that you pass in"
        raise UnsupportedError("this session replaces `${…}` in statements, which may name another file", hint=hint)


def our_error(error: PySparkException | Py4JError) -> UserError:
    """What Spark raised, as an error of ours."""
    match error:
        case ParseException():
            return ParseError(_readable(error.getMessage() or str(error), lines=1))
        case AnalysisException():
            return BindError(_readable(error.getMessage() or str(error), lines=1))
        case _:
            return _run_error(list(_causes(error)))


@dataclass(frozen=True, slots=True)
class _Cause:
    """One exception of a chain: what it says, and the file that it names."""

    message: str
    file: str | None = None


def _run_error(causes: list[_Cause]) -> RunError:
    """The first cause, from the outermost inwards, that tells what went wrong; and the root, where it adds to that."""
    if stale := next((match for cause in causes if (match := _STALE.search(cause.message))), None):
        return _stale_checksums(stale["directory"], stale["name"])
    file = next((cause.file for cause in causes if cause.file), None)
    telling = [cause.message for cause in causes if not _WRAPPING.match(cause.message)]
    if not telling:
        lost = _LOST_TASK.search(causes[0].message)
        telling = [lost.group(1) if lost else causes[0].message]
    message, root = _readable(telling[0]), _readable(telling[-1])
    if file:
        message = message.removeprefix(f"file:{file} ")
    hint = None if root in message or message in root else f"because: {root}"
    return RunError(message, place=Place(file) if file else None, hint=hint)


def _stale_checksums(directory: str, name: str) -> RunError:
    """The error for a file and a `.crc` beside it, one of which is of another version or damaged."""
    crc = f".{name}.crc"
    return RunError(
        f"this file does not match the checksums in `{crc}` beside it",
        place=Place(f"{directory}{name}"),
        hint=f"if the file is good, it was replaced: remove `{crc}`; if not, replace it by a good one",
    )


def _causes(error: PySparkException | Py4JError) -> Iterator[_Cause]:
    """The exception and what caused it, outermost first."""
    java: Any = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    if java is None:
        yield _Cause(str(error) or type(error).__name__)
    while java is not None:
        name, message = str(java.getClass().getSimpleName()), str(java.getMessage() or "")
        yield _Cause(f"{name}: {message}" if name.endswith("Error") else message or name, _named_file(java))
        java = java.getCause()


def _named_file(java: Any) -> str | None:
    with suppress(Py4JError):  # only Spark's own exceptions have parameters
        path = java.getMessageParameters().get("path")
        return None if path is None else re.sub(r"^file:/+", "/", unquote(path))
    return None


# Spark's word for an error that a query raises by itself, whose message says all.
_RAISED = "[USER_RAISED_EXCEPTION] "


def _readable(message: str, lines: int = _MOST_LINES) -> str:
    message = message.removeprefix(_RAISED)
    if _PYTHON in message:
        # The last line that Python wrote is the exception itself.
        return _NOISE.split(message)[0].strip().splitlines()[-1].strip()
    parts = _NOISE.split(message.strip())[0].splitlines()
    return " ".join(line.strip() for line in parts[:lines]).strip()


Started = Callable[[Task], None]
Done = Callable[[Task, Measured], None]


def run_all(
    session: SparkSession,
    tasks: Iterable[Task],
    *,
    on_start: Started = lambda _: None,
    on_done: Done = lambda *_: None,
    on_failure: Started = lambda _: None,
    at_once: int = MOST_AT_ONCE,
) -> dict[str, Measured]:
    """Runs every task after those that it needs, up to `at_once` side by side, and says what each has cost.

    The callbacks are called in the caller's thread. When a task fails no other is started, those that run are
    cancelled, and its error is raised; an interrupt ends the run in the same way.
    """
    waiting = _checked(tasks)
    costs: dict[str, Measured] = {}
    running: dict[Future[None], tuple[Task, measuring]] = {}
    stop = Event()
    with ThreadPoolExecutor(at_once, thread_name_prefix="slackwater") as threads:
        try:
            while waiting or running:
                ready = [task for task in waiting.values() if task.needs <= costs.keys()]
                for task in ready[: at_once - len(running)]:
                    del waiting[task.name]
                    on_start(task)
                    measure = measuring(session, task.name)
                    # Wrapped anew for each task: a wrapper's properties would be shared by all threads that use it.
                    work = inheritable_thread_target(session)(_run_task)
                    running[threads.submit(work, session, task, measure, stop)] = task, measure
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    task, measure = running.pop(future)
                    if future.exception() is not None:
                        on_failure(task)
                    future.result()
                    costs[task.name] = measure.result
                    on_done(task, measure.result)
        except BaseException:
            stop.set()
            _cancel(running)
            raise
    return costs


def _run_task(session: SparkSession, task: Task, measure: measuring, stop: Event) -> None:
    with measure:
        for sql in task.statements:
            if stop.is_set():
                return
            try:
                run_statement(session, sql)
            except UserError as error:
                raise _of_task(error, task) from None


def _of_task(error: UserError, task: Task) -> UserError:
    """An error that says which task it befell and, where the disk is full, which directory."""
    full = _NO_ROOM.search(f"{error.message} {error.hint}")
    if full is not None and task.writes is not None:
        place = error.place or Place(task.writes)
        hint = "free space there, and where Spark spills (`spark.local.dir`); then run again"
        return RunError(f"step `{task.name}` cannot be written: {full[0]}", place=place, hint=hint)
    return type(error)(f"step `{task.name}`: {error.message}", place=error.place, hint=error.hint)


def _cancel(running: dict[Future[None], tuple[Task, measuring]]) -> None:
    """Cancels until all have ended: a statement that is still being planned has no job to cancel yet."""
    left = set(running)
    while left:
        for future in left:
            running[future][1].cancel()
        left = wait(left, timeout=SECONDS_BETWEEN_CANCELS).not_done


def _checked(tasks: Iterable[Task]) -> dict[str, Task]:
    """The tasks by name, in an order in which they can run."""
    given = list(tasks)
    named = {task.name: task for task in given}
    if len(named) < len(given):
        raise InternalError(f"two tasks have one name: {sorted(task.name for task in given)}")
    sorter = TopologicalSorter({task.name: task.needs for task in given})
    try:
        order = list(sorter.static_order())
    except CycleError as cycle:
        raise InternalError(f"tasks need each other in a circle: {' -> '.join(cycle.args[1])}") from None
    if missing := [name for name in order if name not in named]:
        raise InternalError(f"tasks need {sorted(missing)}, which no task is called")
    return {name: named[name] for name in order}
