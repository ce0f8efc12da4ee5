"""What every test may use: the one Spark session of the test run, and how hypothesis looks for cases."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import HealthCheck, settings
from tests.tiers import DAY_VARIABLE, Tier, cases_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# The same cases at every run; `--hypothesis-profile=search --hypothesis-seed=N` looks for others, and for longer.
_slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None, suppress_health_check=_slow)
settings.register_profile("search", max_examples=5_000, deadline=None, suppress_health_check=_slow)
settings.load_profile("repeatable")

# Planning allows for deep queries. Hypothesis warns if the limit changes in the middle of a test, which one of them
# would be by chance.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write what golden cells print as what they should print")


def pytest_configure() -> None:
    """Fix the day of the run: the workers inherit it, whatever the time when they start."""
    tier = Tier.of(os.environ)
    if tier.day:
        os.environ[DAY_VARIABLE] = str(tier.day)


def pytest_report_header() -> str:
    return str(Tier.of(os.environ))


# First, because xdist reads the groups in a hook of its own, which would come before this one.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the cases of the tier; let tests on Spark start first and keep to one worker.

    A machine has room for one Spark session, not for one a worker. A test that is named by `::` runs in every tier.
    """
    if not any("::" in argument for argument in config.args):
        chosen = cases_of(Tier.of(os.environ), items)
        left_out = {*items} - {*chosen}
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = chosen
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Local Spark for tiny data: for a handful of rows, compiling a plan costs more than interpreting it."""
    from slackwater.spark.session import local_session

    settings: dict[str, str | int | bool] = {
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.codegen.wholeStage": False,
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    session = local_session("slackwater tests", "local[2]", **settings)
    yield session
    session.stop()


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """How many queries of each workload hold, for each check that counts them."""
    passed: dict[str, int] = {}
    total: dict[str, int] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, value in getattr(report, "user_properties", ()):
                if name == "workload":
                    total[value] = total.get(value, 0) + 1
                    passed[value] = passed.get(value, 0) + (outcome == "passed")
    if total:
        terminalreporter.section("workloads")
        width = max(map(len, total))
        for check in sorted(total):
            terminalreporter.write_line(f"{check:<{width}}  {passed[check]:>3}/{total[check]}")
