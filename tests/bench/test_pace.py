"""When to run for a goal: the ways that are tried, what of the data each run finds, and what a report says."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from slackwater.bench.arriving import prepare_data
from slackwater.bench.measure import Failed
from slackwater.bench.pace import (
    BEST_EVEN,
    BY_HAND,
    CROWDING,
    EVEN,
    SLICES,
    WAYS,
    ChosenCells,
    DealtOut,
    PaceBenchmark,
    PaceCell,
    PaceCost,
    PacesOfQuery,
    crowding_ticks,
    even,
    slices_of,
)
from slackwater.bench.workloads import workload
from slackwater.cli.bench_pace import PaceReport
from slackwater.cli.main import main
from slackwater.cli.output import plain


def test_even_runs_divide_the_slices() -> None:
    for runs in EVEN:
        gaps = {later - earlier for earlier, later in zip((0, *even(runs)), even(runs), strict=False)}
        assert (len(even(runs)), even(runs)[-1], len(gaps)) == (runs, SLICES, 1)


def test_gaps_double_backwards() -> None:
    every = crowding_ticks()
    assert (33, 37, 39, 40) in every
    assert len(set(every)) == len(every)
    for ticks in every:
        assert ticks[-1] == SLICES
        assert list(ticks) == sorted(set(ticks))


def test_runs_find_their_slices(tmp_path: Path) -> None:
    work = workload("tpch")
    data = prepare_data(work, 0.001, slices_of(work), tmp_path)
    dealt = DealtOut.of(data, (33, 37, 39, 40))
    assert data.changing == {table.name for table in work.tables}, "the small ones arrive too"
    assert [len(dealt.files("lineitem", run)) for run in (1, 2, 3, 4)] == [33, 4, 2, 1]
    every = [file for run in (1, 2, 3, 4) for file in dealt.files("lineitem", run)]
    assert every == [data.file("lineitem", number) for number in range(1, SLICES + 1)]
    for name in data.changing:
        assert sum(each.inserts for each in dealt.arrivals(name)) == data.dataset.rows(name)
    assert len(dealt.statistics["orders"].arrivals) == dealt.runs == 4


def test_cells_are_drawn_by_their_seed() -> None:
    names, goals = [f"q{n}" for n in range(1, 23)], (0.5, 0.1)
    quarter = ChosenCells(goals, 0.25, 1).of_queries(names)
    assert sum(map(len, quarter.values())) == 11
    assert quarter == ChosenCells(goals, 0.25, 1).of_queries(names) != ChosenCells(goals, 0.25, 2).of_queries(names)
    assert ChosenCells(goals, 1.0, 1).of_queries(names) == {name: [*goals] for name in names}


def cell(way: str, final: float, total: float) -> PaceCell:
    cost = PaceCost(final, total)
    return PaceCell(0.2, way, (32, 40), 0.2, cost, PaceCost(2 * final, 2 * total), 1.5, 0.7, True)


def test_what_is_reported() -> None:
    cells = (cell(BY_HAND, 0.3, 1.5), cell(BEST_EVEN, 0.2, 1.4), cell(CROWDING, 0.19, 1.1))
    bench = PaceBenchmark(1.0, (PacesOfQuery("tpch-q1", cells), Failed("tpch-q2", "no room")))
    assert [bench.met(way) for way in WAYS] == [0, 1, 1]
    share = bench.beside(CROWDING, BEST_EVEN)
    assert share is not None
    assert math.isclose(share, 0.25)
    assert bench.beside(BEST_EVEN, BEST_EVEN) == 1.0
    report = PaceReport(bench)
    assert plain(report.as_json())
    assert bench.failed == (Failed("tpch-q2", "no room"),)
    assert PaceReport(PaceBenchmark(1.0, ())).as_text()


@pytest.mark.parametrize("goals", ["soon", "0.5,2", "0"])
def test_goals_that_are_none(goals: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "pace", "--goals", goals]) != 0
    assert "0.5,0.2" in capsys.readouterr().err
