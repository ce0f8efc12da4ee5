"""Where a generator's decisions come from: hypothesis, or a seed.

Every decision is a number below a bound, and 0 is the simplest. Hypothesis shrinks towards 0, so write the plainest
alternative first.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

T = TypeVar("T")


class Choices(ABC):
    """A stream of decisions."""

    @abstractmethod
    def below(self, bound: int) -> int:
        """A number from 0 to `bound` - 1."""

    def between(self, least: int, most: int) -> int:
        return least + self.below(most - least + 1)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, the first being the simplest."""
        return options[self.below(len(options))]

    def chance(self, one_in: int) -> bool:
        """True once in so many times; False is the simplest."""
        return self.below(one_in) == one_in - 1

    def several(self, options: Sequence[T], least: int, most: int) -> list[T]:
        """Distinct options, in random order."""
        left = list(options)
        count = min(self.between(least, most), len(left))
        return [left.pop(self.below(len(left))) for _ in range(count)]


@lru_cache(maxsize=256)
def _below(bound: int) -> SearchStrategy[int]:
    return st.integers(0, bound - 1)


class Drawn(Choices):
    """Decisions drawn by hypothesis, inside a composite strategy."""

    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw

    def below(self, bound: int) -> int:
        return 0 if bound == 1 else self._draw(_below(bound))


class Seeded(Choices):
    """Decisions of a pseudo-random generator: the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, bound: int) -> int:
        return int(self._random.random() * bound)


class Replayed(Choices):
    """Decisions made before, as far as they go, and then the simplest. `made` is what was really used."""

    def __init__(self, decisions: Sequence[int]) -> None:
        self._left = iter(decisions)
        self.made: list[int] = []

    def below(self, bound: int) -> int:
        self.made.append(min(next(self._left, 0), bound - 1))
        return self.made[-1]


class Recorded(Seeded):
    """Seeded decisions that remember themselves, to be replayed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.made: list[int] = []

    def below(self, bound: int) -> int:
        self.made.append(super().below(bound))
        return self.made[-1]
