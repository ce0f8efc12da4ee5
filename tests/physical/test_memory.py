"""What fits into memory."""

from __future__ import annotations

from slackwater.physical.memory import Memory


def test_rows_are_limited_by_number_and_by_size() -> None:
    memory = Memory(broadcast_rows=1000, broadcast_bytes=10_000)
    assert memory.may_broadcast(1000, 10)
    assert not memory.may_broadcast(1000, 11)
    assert not memory.may_broadcast(1001, 1)


def test_only_what_the_tasks_cannot_hold_spills() -> None:
    memory = Memory(task_bytes=1000, partitions=10)
    assert memory.spilled(100, 68) == 0
    assert memory.spilled(150, 68) == 5_000
