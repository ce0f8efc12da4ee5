"""The context of a normalization rule: an operator of the query."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from slackwater.algebra.relation import Relation
from slackwater.rules.rule import Found


@dataclass(frozen=True, slots=True)
class Written:
    """An operator whose inputs are in normal form."""

    node: Relation
    shared: AbstractSet[Relation] = frozenset()
    """Relations with several readers, which rules for a reader must not change."""

    def fitted(self, terms: Found) -> Relation:
        """The rule's result, unchanged: it has the columns of the operator."""
        assert isinstance(terms, Relation)
        return terms
