"""Python's garbage collector, paused while a plan is made.

The memo keeps nearly all objects of a search alive until the plan is complete, so the collector would traverse them
repeatedly and free almost nothing. That took a quarter of the time of planning a large query.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """No garbage collection inside; afterwards the collector is enabled if it was before.

    What was created inside then counts as old, so that the next collection does not traverse it at once.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():  # else a caller keeps objects frozen
                gc.freeze()
                gc.unfreeze()
            gc.enable()
