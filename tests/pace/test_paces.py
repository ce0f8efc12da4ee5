"""When parts of some pace are due, and which configurations are valid."""

from __future__ import annotations

import pytest

from slackwater.pace.paces import DataflowPart, batch, every, highest, is_due, is_valid, last_tick, lowest, ticks

CHAIN = (DataflowPart("A"), DataflowPart("B", (0,)), DataflowPart("C"))


def test_the_ticks_of_a_pace() -> None:
    assert ticks(3) == (34, 67, 100)
    assert ticks(2) == (50, 100)
    assert ticks(1) == (100,)
    assert ticks(100) == tuple(range(1, 101))


@pytest.mark.parametrize("most", [7, 12, 100])
def test_a_part_is_due_as_often_as_its_pace_says_and_always_at_the_end(most: int) -> None:
    for pace in range(1, most + 1):
        due = tuple(tick for tick in range(1, most + 1) if is_due(pace, tick, most))
        assert due == ticks(pace, most)
        assert len(due) == pace
        assert due[-1] == most


def test_a_reader_sees_its_child_as_it_was_last() -> None:
    assert last_tick(3, 50) == 34
    assert last_tick(3, 33) == 0
    assert last_tick(3, 34) == 34
    assert last_tick(2, 100) == 100


def test_no_part_runs_more_often_than_what_it_reads() -> None:
    assert is_valid(CHAIN, (2, 1, 1))
    assert is_valid(CHAIN, (1, 1, 2))
    assert not is_valid(CHAIN, (1, 2, 1))
    assert (highest(CHAIN, (4, 2, 1), 1), highest(CHAIN, (4, 2, 1), 0)) == (4, 100)
    assert (lowest(CHAIN, (4, 2, 1), 0), lowest(CHAIN, (4, 2, 1), 2)) == (2, 1)


def test_every_configuration_is_valid_and_the_first_is_batch() -> None:
    configurations = list(every(CHAIN, 3))
    assert configurations[0] == batch(CHAIN)
    assert len(configurations) == len(set(configurations)) == (1 + 2 + 3) * 3
    assert all(is_valid(CHAIN, paces) for paces in configurations)
