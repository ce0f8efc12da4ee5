"""Looks for a failing case among as many as you like, faster than hypothesis would, and shrinks what it finds.

python -m tests.strategies.search --cases 100000 --seed 1

A `Search` is a maker of cases and a law they must obey; other packages bring their own.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
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
        faults = ((seed, self.fault(self.make(Seeded(seed), family))) for seed in seeds)
        return [(family, seed, what) for seed, what in faults if what is not None]

    def shrunk(self, family: Family, seed: int) -> T:
        """The smallest case found with the fault of the given one: choices left out, or made simpler."""
        recorded = Recorded(seed)
        case = self.make(recorded, family)
        made, fault = recorded.made, self.fault(case)
        if fault is None:
            return case  # it does not fail every time

        def accept(decisions: list[int]) -> bool:
            nonlocal case, made
            replayed = Replayed(decisions)
            candidate = self.make(replayed, family)
            smaller = (len(replayed.made), replayed.made) < (len(made), made)
            if not smaller or self.fault(candidate) != fault:
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
        """Searches as the command line says; prints the smallest case of each kind of failure.

        Failures are told as they are found and how far it is now and then, so that a long search can be watched; when
        it is interrupted, what was found so far is shrunk and shown all the same.
        """
        parser = argparse.ArgumentParser()
        parser.add_argument("--cases", type=int, default=10_000, help="how many; 10000")
        parser.add_argument("--seed", type=int, default=0, help="where to begin: another number, other cases")
        parser.add_argument("--workers", type=int, default=None, help="processes; as many as there are cores")
        options = parser.parse_args(arguments)
        work = list(batches(options.cases, options.seed))
        progress = _Progress(sum(len(seeds) for _, seeds in work))
        by_fault: dict[str, Failure] = {}
        with ProcessPoolExecutor(options.workers) as pool:
            futures = {pool.submit(self.failures, family, seeds): len(seeds) for family, seeds in work}
            try:
                for future in as_completed(futures):
                    for failure in future.result():
                        if by_fault.setdefault(failure[2], failure) is failure:
                            progress.tell(f"found: {failure[2]}  ({failure[0]}, seed {failure[1]})")
                    progress.step(futures[future], len(by_fault))
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
        for what, (family, seed, _) in sorted(by_fault.items()):
            print(f"{what}  ({family}, seed {seed})\n{self.shrunk(family, seed)}\n")
        print(f"{progress.done} cases, {len(by_fault)} kinds of failure")
        return 1 if by_fault else 0


@dataclass
class _Progress:
    """How far a search is, told to whoever watches: on standard error, every half minute."""

    total: int
    every: float = 30.0
    done: int = 0
    started: float = field(default_factory=time.monotonic)
    reported: float = field(default_factory=time.monotonic)

    def step(self, cases: int, faults: int) -> None:
        self.done += cases
        now = time.monotonic()
        if now - self.reported > self.every:
            self.reported = now
            pace = self.done / (now - self.started)
            left = (self.total - self.done) / pace / 3600
            self.tell(
                f"{self.done} of {self.total} cases, {faults} kinds of failure, {pace:.0f} a second, {left:.1f} h to go"
            )

    def tell(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


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
