"""The collector rests while a plan is made, and only then."""

from __future__ import annotations

import gc

import pytest

from slackwater.plan.collector import collector_at_rest


def test_the_collector_rests_inside_and_works_after() -> None:
    with collector_at_rest():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_works_again_after_an_error() -> None:
    with pytest.raises(ValueError, match="no plan"), collector_at_rest():
        raise ValueError("no plan")
    assert gc.isenabled()


def test_who_had_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with collector_at_rest():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
