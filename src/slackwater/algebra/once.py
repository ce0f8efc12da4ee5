"""What is worked out of a scalar or a relation once, and kept with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Subject = TypeVar("Subject")
Derived = TypeVar("Derived")


def once(work: Callable[[Subject], Derived]) -> Callable[[Subject], Derived]:
    """Keeps what was worked out with the object itself.

    A cache by equality would not do: columns of two queries may share an id and differ in type.
    """
    key = f"_{work.__module__}.{work.__qualname__}"

    @wraps(work)
    def remembered(subject: Subject) -> Derived:
        kept = subject.__dict__
        if key not in kept:
            kept[key] = work(subject)
        found: Derived = kept[key]
        return found

    return remembered
