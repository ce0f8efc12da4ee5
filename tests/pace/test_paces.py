"""When parts of some pace are due, and which configurations are valid."""

from __future__ import annotations

import pytest

from slackwater.pace.paces import DataflowPart, batch, every, highest, is_valid, ticks

CHAIN = (DataflowPart("A"), DataflowPart("B", (0,)), DataflowPart("C"))


def test_the_ticks_of_a_pace() -> None:
    assert ticks(3) == (34, 67, 100)
    assert ticks(2) == (50, 100)
    assert ticks(1) == (100,)
    assert ticks(100) == tuple(range(1, 101))


@pytest.mark.parametrize("most", [7, 12, 100])
def test_a_part_runs_as_often_as_its_pace_says_each_time_that_its_share_has_arrived(most: int) -> None:
    for pace in range(1, most + 1):
        due = [tick for tick in range(1, most + 1) if tick * pace // most > (tick - 1) * pace // most]
        assert list(ticks(pace, most)) == due
        assert len(due) == pace
        assert due[-1] == most


def test_a_reader_sees_its_child_as_it_was_last() -> None:
    assert max(tick for tick in ticks(3) if tick <= ticks(2)[0]) == 34


def test_no_part_runs_more_often_than_what_it_reads() -> None:
    assert is_valid(CHAIN, (2, 1, 1))
    assert is_valid(CHAIN, (1, 1, 2))
    assert not is_valid(CHAIN, (1, 2, 1))
    assert (highest(CHAIN, (4, 2, 1), 1), highest(CHAIN, (4, 2, 1), 0)) == (4, 100)


def test_every_configuration_is_valid_and_the_first_is_batch() -> None:
    configurations = list(every(CHAIN, 3))
    assert configurations[0] == batch(CHAIN)
    assert len(configurations) == len(set(configurations)) == (1 + 2 + 3) * 3
    assert all(is_valid(CHAIN, paces) for paces in configurations)
