"""The garbage collector is paused while a plan is made, and only then."""

from __future__ import annotations

import gc

import pytest

from slackwater.plan.gc_paused import gc_paused


def test_nothing_is_collected_inside() -> None:
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_ends_the_pause() -> None:
    with pytest.raises(ValueError, match="no plan"), gc_paused():
        raise ValueError("no plan")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
