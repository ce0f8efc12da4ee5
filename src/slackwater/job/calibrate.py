"""A calibration: a dozen statements over generated rows, billed by the model and measured on the job's Spark.

Each statement is mostly one item: reading, writing, moving rows, sending them, or nothing but what is fixed. They are
queries like a user's, planned as batch and written as an answer is. Each runs once for nothing, since Spark is slow
when it is new, and then as often as asked for; what comes out is fitted as runs of a job are. What the driver takes for
a statement is read off those that do hardly anything, when all others are done: until then it is busy compiling.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slackwater.algebra.canonical import canonical
from slackwater.catalog.statistics import Arrival, Statistics, TableStatistics
from slackwater.catalog.table import Catalog, table
from slackwater.cost.bill import Bill
from slackwater.cost.calibration import Observation
from slackwater.cost.model import EngineCost
from slackwater.engine.program import compile_step
from slackwater.engine.views import quoted_text
from slackwater.errors import UserError
from slackwater.job.prices import ClusterPrices
from slackwater.plan.planner import Options, plan_query
from slackwater.rules.normalize import normalize
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

PARTS, GROUPS, FEW = 10, 1_000, 100
"""How many rows of the large table share a part; how many groups there are; rows of the small table."""

SENDING = "spark.sql.autoBroadcastJoinThreshold"
"""How large, in bytes, Spark takes a side to be that it sends."""

TABLES = (
    table(
        "slackwater_rows",
        {"id": "bigint", "part": "bigint", "grp": "bigint", "a": "double", "b": "double", "note": "string"},
        keys=[["id"]],
        changing=False,
    ),
    table(
        "slackwater_more",
        {"other": "bigint", "c": "double", "m": "double", "n": "double"},
        keys=[["other"]],
        changing=False,
    ),
    table("slackwater_parts", {"p": "bigint", "d": "double"}, keys=[["p"]], changing=False),
    table("slackwater_few", {"f": "bigint", "e": "double"}, keys=[["f"]], changing=False),
)

MAKING = {
    "slackwater_rows": f"""
SELECT id, id DIV {PARTS} AS part, id % {GROUPS} AS grp, rand(1) AS a, rand(2) AS b,
       concat('note ', CAST(id % 5000 AS STRING)) AS note
FROM range({{rows}})""",
    "slackwater_more": """
SELECT (id * 7919) % {rows} AS other, rand(3) AS c, rand(6) AS m, rand(7) AS n FROM range({rows})""",
    "slackwater_parts": f"SELECT id AS p, rand(4) AS d FROM range({{rows}} DIV {PARTS})",
    "slackwater_few": f"SELECT id AS f, rand(5) AS e FROM range({FEW})",
}
"""How each table is made, of as many rows."""

TRIALS = {
    "read and filter": "SELECT count(*) AS n, sum(a) AS s FROM slackwater_rows WHERE b < 0.1",
    "read texts": "SELECT max(note) AS m, count(*) AS n FROM slackwater_rows WHERE a < 0.5",
    "search texts": "SELECT count(*) AS n FROM slackwater_rows WHERE note LIKE '%9%9%'",
    "copy": "SELECT id, part, grp, a, b, note FROM slackwater_rows",
    "copy half": "SELECT id, a, b FROM slackwater_rows WHERE b < 0.5",
    "few groups": "SELECT grp, sum(a) AS s, sum(b) AS t, count(*) AS n FROM slackwater_rows GROUP BY grp",
    "many groups": "SELECT id % 250007 AS g, sum(a) AS s, count(*) AS n FROM slackwater_rows GROUP BY id % 250007",
    "join, few rows sent": (
        "SELECT count(*) AS n, sum(a * e) AS s FROM slackwater_rows JOIN slackwater_few ON grp = f"
    ),
    "join, many rows sent": (
        "SELECT count(*) AS n, sum(a * d) AS s FROM slackwater_rows JOIN slackwater_parts ON part = p"
    ),
    "join, both moved": (
        "SELECT count(*) AS k, sum(a * (c + m + n)) AS s FROM slackwater_rows JOIN slackwater_more ON id = other"
    ),
    "join, both moved, kept": "SELECT id, a, c, m, n FROM slackwater_rows JOIN slackwater_more ON id = other",
    "window": (
        "SELECT id, r FROM (SELECT id, row_number() OVER (PARTITION BY grp ORDER BY a) AS r FROM slackwater_rows) t "
        "WHERE r <= 3"
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
        found: list[Trial] = []
        for number in range(passes + 1):
            for name, step in steps.items():
                begun(name if number else f"warming up: {name}")
                trial = _measured(session, name, step, home / "answer", rows)
                found += [trial] if number else []
        for name in AGAIN * [trial.name for trial in found[: len(steps)] if trial.is_idle]:
            found.append(_measured(session, name, steps[name], home / "answer", rows))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return ClusterPrices.fitted(cluster, [seen for trial in found for seen in trial.observations]), found


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
    distinct: dict[str, dict[str, float]] = {
        "slackwater_rows": {"id": rows, "part": rows / PARTS, "grp": GROUPS, "a": rows, "b": rows, "note": 5000},
        "slackwater_more": {"other": rows, "c": rows, "m": rows, "n": rows},
        "slackwater_parts": {"p": rows / PARTS, "d": rows / PARTS},
        "slackwater_few": {"f": FEW, "e": FEW},
    }
    ranges = {"slackwater_rows": {"a": (0.0, 1.0), "b": (0.0, 1.0)}, "slackwater_few": {"f": (0.0, float(FEW))}}
    return {
        name: TableStatistics((Arrival(count),), distinct[name], {}, ranges.get(name, {}))
        for name, count in _sizes(rows).items()
    }


def _step(text: str, rows: int) -> Step:
    """A statement as a plan of one step. Half the rows are too many to be sent, for Spark as for the model."""
    query = canonical(normalize(bind(text, Catalog.of(TABLES))))
    model = EngineCost(broadcast_rows=rows / 2, states_by_key=False)
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
        hint = "over Spark Connect nobody says what a statement took; calibrate with a master of the same cluster"
        raise UserError("this Spark does not say what work costs", hint=hint)
    process = after - before if before is not None and after is not None else None
    return Trial(name, step.bill, cpu, process, step.reads() == ("slackwater_few",))
