"""What is worked out of an object once, and kept with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Concatenate, ParamSpec, TypeVar

Subject = TypeVar("Subject")
Derived = TypeVar("Derived")
Arguments = ParamSpec("Arguments")


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
        value: Derived = kept[key]
        return value

    return remembered


def once_for_each(
    work: Callable[Concatenate[Subject, Arguments], Derived],
) -> Callable[Concatenate[Subject, Arguments], Derived]:
    """The same for work with arguments, such as a method: what was worked out for each of them is kept."""
    key = f"_{work.__module__}.{work.__qualname__}"

    @wraps(work)
    def remembered(subject: Subject, /, *arguments: Arguments.args, **options: Arguments.kwargs) -> Derived:
        kept = subject.__dict__
        if key not in kept:
            kept[key] = cache(partial(work, subject))
        value: Derived = kept[key](*arguments, **options)
        return value

    return remembered
