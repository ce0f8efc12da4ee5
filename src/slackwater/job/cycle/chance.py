"""Queries whose answer their inputs do not determine: which of them are computed by their text, and what is compared.

A query with a random value is computed by its text at each delivery: a value that one run has kept, and another one of
the same row that a later run computes, would be an answer that no batch query gives. So is one that picks among rows
that tie and reads its pick twice. Other picks, such as `first` of a group, are planned like everything else: whichever
row a run takes, some batch query takes it as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.algebra.relation import Limit, Query
from slackwater.algebra.schema import Field
from slackwater.algebra.undetermined import Chance
from slackwater.errors import Place, UnsupportedError
from slackwater.job.file.sections import JobQuery
from slackwater.sql.random_calls import random_calls


def check_chance(query: Query, file: str | None) -> None:
    """Refuses to take a query apart whose parts might each see another outcome of chance."""
    chance = Chance(query.relation)
    if (name := chance.random()) is not None:
        message = f"{name}() has another value each time it is computed"
    elif (cause := chance.picked_twice()) is not None:
        message = f"{cause} is up to chance, and the query reads it twice"
    else:
        return
    raise UnsupportedError(message, place=Place(file))


@dataclass(frozen=True)
class Undetermined:
    """Why the answer of a query is not determined by its inputs, and the columns of it that are."""

    reason: str
    comparable: tuple[Field, ...] = ()


def undetermined(query: JobQuery, bound: Query | None, fields: tuple[Field, ...]) -> Undetermined | None:
    """What cannot be compared of an answer; None where all of it can be.

    The rows that LIMIT takes last are no part of this: that they may be others of a tie is known of them.
    """
    if bound is None:
        names = random_calls(query.text)
        return Undetermined(f"{names[0]}() has another value each time it is computed") if names else None
    is_cut = isinstance(bound.relation, Limit)
    chance = Chance(bound.relation.inputs[0] if is_cut else bound.relation)
    touched = [output.column in chance.columns for output in bound.outputs]
    if not any(touched) and not (is_cut and chance.columns):
        return None
    causes = ", ".join(chance.causes())
    settled = tuple(field for field, by_chance in zip(fields, touched, strict=True) if not by_chance)
    return Undetermined(f"{causes}: up to chance", () if is_cut else settled)
