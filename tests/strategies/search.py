"""Looks for a failing case among as many as you like, faster than hypothesis would, and shrinks what it finds.

python -m tests.strategies.search --cases 100000 --seed 1

A `Search` is a maker of cases and a law they must obey; other packages bring their own.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from tests.strategies.choices import Choices, Recorded, Replayed, Seeded
from tests.strategies.queries import Case, Family, make_case
from tests.strategies.regenerated import check

T = TypeVar("T")
Failure = tuple[Family, int, str]
BATCH = 100
SEEDS_A_SEED = 1_000_000


@dataclass(frozen=True)
class Search(Generic[T]):
    """Cases and their law. Both are functions of a module, so that other processes can be told of them."""

    make: Callable[[Choices, Family], T]
    law: Callable[[T], None]

    def fault(self, case: T) -> str | None:
        """What is wrong with a case, in one line that tells one fault from another."""
        try:
            self.law(case)
        except AssertionError as error:
            return str(error).partition(":")[0]
        except Exception as error:
            return f"{type(error).__name__} {str(error)[:30]}"
        return None

    def failures(self, family: Family, seeds: Iterable[int]) -> list[Failure]:
        """The cases that break the law."""
        found = ((seed, self.fault(self.make(Seeded(seed), family))) for seed in seeds)
        return [(family, seed, what) for seed, what in found if what is not None]

    def shrunk(self, family: Family, seed: int) -> T:
        """The smallest case found with the fault of the given one: choices left out, or made simpler."""
        recorded = Recorded(seed)
        case = self.make(recorded, family)
        made, known = recorded.made, self.fault(case)

        def accept(decisions: list[int]) -> bool:
            nonlocal case, made
            replayed = Replayed(decisions)
            candidate = self.make(replayed, family)
            smaller = (len(replayed.made), replayed.made) < (len(made), made)
            if not smaller or self.fault(candidate) != known:
                return False
            case, made = candidate, replayed.made
            return True

        progress = True
        while progress:
            progress = False
            for size in (32, 16, 8, 4, 2, 1):
                position = 0
                while position < len(made):
                    if accept(made[:position] + made[position + size :]):
                        progress = True
                    else:
                        position += max(1, size // 2)
            for position in range(len(made)):
                for simpler in (0, made[position] - 1) if position < len(made) and made[position] else ():
                    progress = accept([*made[:position], simpler, *made[position + 1 :]]) or progress
        return case

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Searches as the command line says; prints the smallest case of each kind of failure."""
        parser = argparse.ArgumentParser()
        parser.add_argument("--cases", type=int, default=10_000)
        parser.add_argument("--seed", type=int, default=0)
        options = parser.parse_args(arguments)
        by_fault: dict[str, Failure] = {}
        with ProcessPoolExecutor() as pool:
            for found in pool.map(self.failures, *zip(*batches(options.cases, options.seed), strict=True)):
                for failure in found:
                    by_fault.setdefault(failure[2], failure)
        for what, (family, seed, _) in by_fault.items():
            print(f"{what}  ({family}, seed {seed})\n{self.shrunk(family, seed)}\n")
        print(f"{options.cases} cases, {len(by_fault)} kinds of failure")
        return 1 if by_fault else 0


def batches(cases: int, seed: int, size: int = BATCH) -> Iterator[tuple[Family, range]]:
    """As many cases, of all families in turn, in batches of seeds."""
    first = seed * SEEDS_A_SEED
    seeds = range(first, first + -(-cases // len(Family)))
    for start in range(0, len(seeds), size):
        for family in Family:
            yield family, seeds[start : start + size]


FRONT_END: Search[Case] = Search(make_case, check)


if __name__ == "__main__":
    sys.exit(FRONT_END.main())
