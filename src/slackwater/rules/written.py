"""What a normalization rule is shown: an operator as it stands in the query."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from slackwater.algebra.relation import Relation
from slackwater.rules.rule import Found


@dataclass(frozen=True, slots=True)
class Written:
    """An operator whose inputs are normal."""

    node: Relation
    shared: AbstractSet[Relation] = frozenset()
    """Relations with several readers, not to be taken apart from above."""

    def fitted(self, found: Found) -> Relation:
        """What a rule has found, as it is: it has the columns of the operator."""
        assert isinstance(found, Relation)
        return found
