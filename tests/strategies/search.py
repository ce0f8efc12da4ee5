"""Looks for a failing case among as many as you like, faster than hypothesis would, and shrinks what it finds.

python -m tests.strategies.search --cases 100000 --seed 1
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.strategies.choices import Recorded, Replayed, Seeded
from tests.strategies.queries import Case, Family, make_case
from tests.strategies.regenerated import check

Check = Callable[[Case], None]
Failure = tuple[Family, int, str]
BATCH = 100


def fault(case: Case, law: Check = check) -> str | None:
    """What is wrong with a case, in one line that tells one fault from another."""
    try:
        law(case)
    except AssertionError as error:
        return str(error).partition(":")[0]
    except Exception as error:
        return f"{type(error).__name__} {str(error)[:30]}"
    return None


def shrunk(family: Family, seed: int, law: Check = check) -> Case:
    """The smallest case found with the fault of the given one: choices left out, or made simpler."""
    recorded = Recorded(seed)
    case = make_case(recorded, family)
    made, known = recorded.made, fault(case, law)

    def accept(decisions: list[int]) -> bool:
        nonlocal case, made
        replayed = Replayed(decisions)
        candidate = make_case(replayed, family)
        smaller = (len(replayed.made), replayed.made) < (len(made), made)
        if not smaller or fault(candidate, law) != known:
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


def failures(family: Family, seeds: Sequence[int]) -> list[Failure]:
    """The cases that break the law."""
    found = ((seed, fault(make_case(Seeded(seed), family))) for seed in seeds)
    return [(family, seed, what) for seed, what in found if what is not None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    first = arguments.seed * 1_000_000
    seeds = range(first, first + arguments.cases // len(Family))
    batches = [(family, seeds[i : i + BATCH]) for i in range(0, len(seeds), BATCH) for family in Family]
    by_fault: dict[str, Failure] = {}
    with ProcessPoolExecutor() as pool:
        for found in pool.map(failures, *zip(*batches, strict=True)):
            for failure in found:
                by_fault.setdefault(failure[2], failure)
    for what, (family, seed, _) in by_fault.items():
        print(f"{what}  ({family}, seed {seed})\n{shrunk(family, seed)}\n")
    print(f"{arguments.cases} cases, {len(by_fault)} kinds of failure")
    return 1 if by_fault else 0


if __name__ == "__main__":
    sys.exit(main())
