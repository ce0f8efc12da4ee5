"""Both benchmarks at scale factor 0.01, generated once a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from slackwater.bench.workloads import Dataset, Workload, tpcds, tpch

SCALE = 0.01


@pytest.fixture(scope="session")
def workloads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Workload, Dataset]]:
    cache: Path = tmp_path_factory.mktemp("workloads")
    return {w.name: (w, w.generate(SCALE, cache)) for w in (tpch(), tpcds())}
