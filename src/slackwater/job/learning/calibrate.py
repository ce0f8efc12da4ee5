"""A calibration: a dozen statements over generated rows, billed by the model and measured on the job's Spark.

Each statement is mostly one item: reading, writing, moving rows, sending them, or nothing but what is fixed. They are
queries like a user's, planned as batch and written as an answer is. Each runs once for nothing, since Spark is slow
when it is new, and then as often as asked for; what comes out is fitted as runs of a job are. What the driver takes for
a statement is read off those that do hardly anything, when all others are done: until then it is busy compiling.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from slackwater.algebra.canonical import canonical
from slackwater.algebra.value_tests import days_since_epoch
from slackwater.catalog.statistics import Arrival, Statistics, TableStatistics
from slackwater.catalog.table import Catalog, table
from slackwater.compile.program import compile_step
from slackwater.compile.views import quoted_text
from slackwater.errors import UserError
from slackwater.job.learning.calibration import Observation
from slackwater.job.learning.prices import ClusterPrices
from slackwater.physical.bill import Bill
from slackwater.physical.memory import Memory
from slackwater.physical.model import EngineCost
from slackwater.plan.options import Options
from slackwater.plan.planner import plan_query
from slackwater.rules.normalize.normalizer import normalize
from slackwater.spark.answer import attach
from slackwater.spark.metrics import jvm_cpu_seconds, measuring
from slackwater.spark.statements import run_statement
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline

if TYPE_CHECKING:
    from slackwater.plan.plan import Step
    from slackwater.spark.session import Session

ROWS = 1_000_000
"""Of the largest table: enough for its work to outweigh what is fixed, on a cluster too."""

PASSES = 2

AGAIN = 8
"""How often statements that do hardly anything run at the end."""

PARTS, GROUPS, FEW, DAYS, STATUSES = 10, 1_000, 100, 2_000, 5
"""How many rows of the large table share a part; how many groups, days and statuses there are; rows of the small
table."""

CENTS = 100_000
"""How many prices there are."""

SENDING = "spark.sql.autoBroadcastJoinThreshold"
"""How large, in bytes, Spark takes a side to be that it sends."""

_PRICE, _SHARE = "decimal(12,2)", "decimal(4,2)"

TABLES = (
    table(
        "slackwater_rows",
        {
            "id": "bigint",
            "part": "bigint",
            "grp": "bigint",
            "day": "date",
            "price": _PRICE,
            "share": _SHARE,
            "status": "string",
            "note": "string",
        },
        keys=[["id"]],
        changing=False,
    ),
    table(
        "slackwater_more",
        {"other": "bigint", "cost": _PRICE, "tax": _SHARE, "since": "date"},
        keys=[["other"]],
        changing=False,
    ),
    table("slackwater_parts", {"p": "bigint", "worth": _PRICE}, keys=[["p"]], changing=False),
    table("slackwater_few", {"f": "bigint", "e": "double"}, keys=[["f"]], changing=False),
)


def _drawn(seed: int, values: int, kind: str) -> str:
    """A decimal of two places that is one of so many values."""
    return f"CAST(floor(rand({seed}) * {values}) / 100 AS {kind})"


_WORDS = "array('early', 'packed', 'quietly', 'returned', 'standing', 'again', 'harbour', 'without', 'notice', 'tides')"
_NOTE = " || ' ' || ".join(
    f"element_at({_WORDS}, 1 + CAST(id DIV {step} % 10 AS INT))" for step in (1, 10, 100, 1000, 3)
)

MAKING = {
    "slackwater_rows": f"""
SELECT id, id DIV {PARTS} AS part, id % {GROUPS} AS grp,
       date_add(DATE '2020-01-01', CAST(floor(rand(1) * {DAYS}) AS INT)) AS day,
       {_drawn(2, CENTS, _PRICE)} AS price, {_drawn(3, 100, _SHARE)} AS share,
       concat('status ', CAST(id % {STATUSES} AS STRING)) AS status, {_NOTE} AS note
FROM range({{rows}})""",
    "slackwater_more": f"""
SELECT (id * 7919) % {{rows}} AS other, {_drawn(4, CENTS, _PRICE)} AS cost, {_drawn(5, 100, _SHARE)} AS tax,
       date_add(DATE '2020-01-01', CAST(floor(rand(6) * {DAYS}) AS INT)) AS since
FROM range({{rows}})""",
    "slackwater_parts": f"SELECT id AS p, {_drawn(7, CENTS, _PRICE)} AS worth FROM range({{rows}} DIV {PARTS})",
    "slackwater_few": f"SELECT id AS f, rand(8) AS e FROM range({FEW})",
}
"""How each table is made, of as many rows."""

TRIALS = {
    "read and filter": (
        "SELECT count(*) AS n, sum(price * share) AS s FROM slackwater_rows "
        "WHERE day BETWEEN DATE '2021-01-01' AND DATE '2021-12-31' AND share < 0.5"
    ),
    "read texts": (
        "SELECT status, count(*) AS n, max(length(note)) AS m FROM slackwater_rows WHERE share < 0.5 GROUP BY status"
    ),
    "search texts": "SELECT count(*) AS n FROM slackwater_rows WHERE note NOT LIKE '%quietly%notice%'",
    "copy": "SELECT id, part, grp, day, price, share, status, note FROM slackwater_rows",
    "copy half": "SELECT id, day, price FROM slackwater_rows WHERE share < 0.5",
    "few groups": (
        "SELECT status, grp, sum(price) AS s, sum(price * (1 - share)) AS t, avg(share) AS a, count(*) AS n "
        "FROM slackwater_rows GROUP BY status, grp"
    ),
    "many groups": (
        "SELECT id % 250007 AS g, sum(price) AS s, count(*) AS n FROM slackwater_rows GROUP BY id % 250007"
    ),
    "join, few rows sent": (
        "SELECT f, sum(price * share) AS s FROM slackwater_rows JOIN slackwater_few ON grp = f GROUP BY f"
    ),
    "join, many rows sent": (
        "SELECT count(*) AS n, sum(price - worth) AS s FROM slackwater_rows JOIN slackwater_parts ON part = p"
    ),
    "join, both moved": (
        "SELECT status, sum(price * tax) AS s, sum(cost) AS c FROM slackwater_rows JOIN slackwater_more ON id = other "
        "WHERE day < since GROUP BY status"
    ),
    "join, both moved, kept": (
        "SELECT id, day, price, cost, tax FROM slackwater_rows JOIN slackwater_more ON id = other"
    ),
    "window": (
        "SELECT count(*) AS n, sum(r) AS s FROM "
        "(SELECT rank() OVER (PARTITION BY grp ORDER BY price) AS r FROM slackwater_rows) t"
    ),
    "hardly anything": "SELECT f, e FROM slackwater_few WHERE f < 10",
    "hardly anything, joined": (
        "SELECT x.f, sum(y.e) AS s FROM slackwater_few x JOIN slackwater_few y ON x.f = y.f GROUP BY x.f"
    ),
}
"""The statements, by what they are about."""


@dataclass(frozen=True)
class Trial:
    """A statement that was measured: its bill, and seconds of CPU."""

    name: str
    bill: Bill
    cpu_s: float
    process_cpu_s: float | None
    is_idle: bool
    """Whether there is hardly anything to do but what every statement costs."""

    @property
    def observations(self) -> tuple[Observation, ...]:
        tasks = Observation(self.bill, executors=1e6 * self.cpu_s)
        if self.process_cpu_s is None or not self.is_idle:
            return (tasks,)
        return tasks, Observation(self.bill, driver=1e6 * max(0.0, self.process_cpu_s - self.cpu_s))


def calibrate(
    session: Session,
    cluster: str,
    *,
    rows: int = ROWS,
    passes: int = PASSES,
    scratch: Path | None = None,
    begun: Callable[[str], None] = lambda _: None,
) -> tuple[ClusterPrices, list[Trial]]:
    """The prices of a cluster, and the statements that they were fitted to.

    Generated tables go to `scratch`, which all workers must see, and are removed at the end.
    """
    home = Path(tempfile.mkdtemp(prefix=".calibration-", suffix=".draft", dir=scratch))  # `clean` finds it
    try:
        begun("generating rows")
        for name, text in MAKING.items():
            run_statement(session, _insert(home / name, text.format(rows=rows)))
        attach(session, {name: home / name for name in MAKING})
        steps = {name: _step(text, rows) for name, text in TRIALS.items()}
        trials: list[Trial] = []
        for number in range(passes + 1):
            for name, step in steps.items():
                begun(name if number else f"warming up: {name}")
                trial = _measured(session, name, step, home / "answer", rows)
                trials += [trial] if number else []
        for name in AGAIN * [trial.name for trial in trials[: len(steps)] if trial.is_idle]:
            trials.append(_measured(session, name, steps[name], home / "answer", rows))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return ClusterPrices.fitted(cluster, [seen for trial in trials for seen in trial.observations]), trials


def calibrate_cluster(
    master: str, file: Path | None, *, rows: int = ROWS, passes: int = PASSES, begun: Callable[[str], None]
) -> tuple[ClusterPrices, list[Trial]]:
    """The same for a cluster without a job; the prices go to a file, beside which rows are generated."""
    from slackwater.spark.session import open_session

    scratch = file.absolute().parent if file is not None else None
    prices, trials = calibrate(
        open_session("slackwater calibrate", master), master, rows=rows, passes=passes, scratch=scratch, begun=begun
    )
    if file is not None:
        prices.write(file)
    return prices, trials


def _insert(directory: Path, select: str) -> str:
    return f"INSERT OVERWRITE DIRECTORY {quoted_text(str(directory))} USING parquet\n{select}"


def _sizes(rows: int) -> dict[str, int]:
    large, parts, few = rows, rows // PARTS, FEW
    return {"slackwater_rows": large, "slackwater_more": large, "slackwater_parts": parts, "slackwater_few": few}


def _statistics(rows: int) -> Statistics:
    cents = min(rows, CENTS)
    distinct: dict[str, dict[str, float]] = {
        "slackwater_rows": {
            "id": rows,
            "part": rows / PARTS,
            "grp": GROUPS,
            "day": DAYS,
            "price": cents,
            "share": 100,
            "status": STATUSES,
            "note": min(rows, 10_000),
        },
        "slackwater_more": {"other": rows, "cost": cents, "tax": 100, "since": DAYS},
        "slackwater_parts": {"p": rows / PARTS, "worth": min(rows / PARTS, CENTS)},
        "slackwater_few": {"f": FEW, "e": FEW},
    }
    first = days_since_epoch(date(2020, 1, 1))
    days = (first, first + DAYS)
    ranges = {
        "slackwater_rows": {"day": days, "price": (0.0, CENTS / 100), "share": (0.0, 1.0)},
        "slackwater_more": {"since": days, "tax": (0.0, 1.0)},
        "slackwater_few": {"f": (0.0, float(FEW))},
    }
    widths = {"slackwater_rows": {"note": 40.0, "status": 8.0}}
    return {
        name: TableStatistics((Arrival(count),), distinct[name], {}, ranges.get(name, {}), widths.get(name, {}))
        for name, count in _sizes(rows).items()
    }


def _step(text: str, rows: int) -> Step:
    """A statement as a plan of one step. Half the rows are too many to be sent, for Spark as for the model."""
    query = canonical(normalize(bind(text, Catalog.of(TABLES))))
    model = EngineCost(memory=Memory(broadcast_rows=rows / 2, broadcast_bytes=math.inf), states_by_key=False)
    options = Options(methods=(), model=model, sharing=False)
    (step,) = plan_query(query, _statistics(rows), Timeline.of(["now"], None, "final"), options).plan.steps
    return step


def _measured(session: Session, name: str, step: Step, answer: Path, rows: int) -> Trial:
    sizes = {table: float(count) for table, count in _sizes(rows).items()}
    select = compile_step(step, rows=sizes).select
    assert select is not None
    if not step.bill.broadcast:  # what is billed as moved shall not be sent
        run_statement(session, f"SET {SENDING} = -1")
    try:
        before = jvm_cpu_seconds(session)
        with measuring(session, f"calibrate: {name}") as measured:
            run_statement(session, _insert(answer, select))
        after = jvm_cpu_seconds(session)
    finally:
        run_statement(session, f"RESET {SENDING}")
    cpu = measured.result.cpu_s
    if cpu is None:
        hint = "it is not available with Spark Connect; calibrate with a master of the same cluster"
        raise UserError("this Spark does not report CPU time", hint=hint)
    process = after - before if before is not None and after is not None else None
    return Trial(name, step.bill, cpu, process, step.reads() == ("slackwater_few",))
