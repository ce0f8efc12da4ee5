"""Random laws: every alternative of every form of a random query over random arrivals, against brute force.

    python -m tests.optimizer.laws --cases 100000 --seed 1

looks for broken ones, on all cores, and prints each as small as it can be made.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from tests.optimizer.movements import Movements, make_movements
from tests.optimizer.truth import Truth
from tests.strategies.choices import Choices
from tests.strategies.queries import Case, Family, make_case
from tests.strategies.search import Search


@dataclass(frozen=True)
class LawCase:
    """A query, its arrivals, and how its deltas are spelt."""

    case: Case
    movements: Movements
    long_spelling: bool


def make_law_case(choices: Choices, family: Family) -> LawCase:
    case = make_case(choices, family)
    return LawCase(case, make_movements(choices, case.database, choices.between(1, 4)), choices.chance(2))


def check_laws(made: LawCase) -> None:
    """Fails at the first alternative that is not what its form means."""
    truth = Truth(made.case, made.movements, made.long_spelling)
    for cell, way in truth.every_alternative():
        actual, wanted = truth.value(cell, way), truth.wanted(cell)
        assert actual == wanted, (
            f"{way.alternative.rule}: {cell.form} of {cell.frame}, from {way.frame}\n"
            f"missing {dict(wanted - actual)}\nextra {dict(actual - wanted)}\n{made}"
        )


LAWS: Search[LawCase] = Search(make_law_case, check_laws)


if __name__ == "__main__":
    sys.exit(LAWS.main())
