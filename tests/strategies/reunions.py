"""Random queries in which a table meets itself again: beside its own groups, or grouped twice.

An aggregate of one's own group in a comparison, keys of groups that pass a HAVING, a partner of the same key with
another value, two aggregates by one key, joins around an outer one, sums over an outer join of what either side brings.
Conditions on the two occurrences are the same now
and then, and sometimes one occurrence has a condition more.
"""

from __future__ import annotations

from tests.strategies.expressions import COMPARISONS
from tests.strategies.model import Column, Origin, Scope, Select, Term, wider
from tests.strategies.subqueries import Subqueries
from tests.strategies.tables import Kind

from slackwater.algebra.schema import TableSchema

EXACT = ("sum", "count", "min", "max")


class Reunions(Subqueries):
    """Makes queries over two or three occurrences of a table."""

    def reunion(self) -> Select:
        schema = self.choices.pick(self.schemas)
        made = (
            self._beside_own_groups,
            self._of_kept_keys,
            self._with_other_partners,
            self._grouped_twice,
            self._joined_around,
            self._added_up_by_cases,
        )
        return self.choices.pick(made)(schema)

    def _key(self, origin: Origin) -> Term:
        """A column to meet by: the first one, mostly."""
        return self.choices.pick(origin.terms) if self.choices.chance(4) else origin.terms[0]

    def _again(self, schema: TableSchema, text: str, of: Origin) -> tuple[Origin, str]:
        """Another occurrence of the table, and what a text over the first one says of it."""
        other = self.table(schema)
        for mine, theirs in zip(of.terms, other.terms, strict=True):
            text = text.replace(mine.text, theirs.text)
        return other, text

    def _own_aggregate(self, origin: Origin) -> Term:
        numbers = [term for term in origin.terms if term.kind.is_numeric]
        of = self.choices.pick(numbers or list(origin.terms))
        return Term(f"{self.choices.pick(EXACT if numbers else EXACT[1:])}({of.text})", of.kind)

    def _conditions(self, origin: Origin, *, most: int = 2) -> list[str]:
        return [self.condition(Scope(origin.terms), 1) for _ in range(self.choices.below(most))]

    def _with_another(self, origin: Origin, key: Term) -> tuple[str, tuple[Term, ...]]:
        """The FROM clause, with another table that the key leads to, or without."""
        if self.choices.chance(2):
            return origin.text, origin.terms
        other = self.table(self.choices.pick(self.schemas))
        meets = self.column_like(Scope(other.terms), key.kind)
        return f"{origin.text} JOIN {other.text} ON {key.text} = {meets.text}", (*origin.terms, *other.terms)

    def _selected(self, terms: tuple[Term, ...]) -> tuple[tuple[str, ...], tuple[Column, ...]]:
        chosen = self.choices.several(terms, 1, 3)
        names = [self.fresh("x") for _ in chosen]
        items = tuple(f"{term.text} AS {name}" for term, name in zip(chosen, names, strict=True))
        return items, tuple(Column(name, term.kind) for term, name in zip(chosen, names, strict=True))

    def _finished(self, terms: tuple[Term, ...], text: str, tests: list[str]) -> Select:
        """Rows as they are, or added up by some of their columns."""
        where = " AND ".join(tests)
        if self.choices.chance(2):
            return Select(*self._selected(terms), text, where)
        keys = self.choices.several(terms, 1, 2)
        made = self.aggregate(Scope(terms))
        names = [self.fresh("x") for _ in (*keys, made)]
        items = tuple(f"{term.text} AS {name}" for term, name in zip((*keys, made), names, strict=True))
        columns = tuple(Column(n, t.kind, t.exact) for n, t in zip(names, (*keys, made), strict=True))
        return Select(items, columns, text, where, group=", ".join(dict.fromkeys(key.text for key in keys)))

    # --- shapes ------------------------------------------------------------------------------------------------------

    def _beside_own_groups(self, schema: TableSchema) -> Select:
        """`x < (SELECT max(y) … WHERE k = outer.k)`."""
        first = self.table(schema)
        key = self._key(first)
        shared = self._conditions(first)
        made = self._own_aggregate(first)
        second, asked = self._again(schema, " AND ".join([f"@ = {key.text}", *shared]), first)
        twin = next(t for t, f in zip(second.terms, first.terms, strict=True) if f is key)
        value = made.text
        for mine, theirs in zip(first.terms, second.terms, strict=True):
            value = value.replace(mine.text, theirs.text)
        asked = asked.replace(f"@ = {twin.text}", f"{twin.text} = {key.text}")
        tested = self.column_like(Scope(first.terms), made.kind if "count" not in value else first.terms[0].kind)
        if "count" in value and not tested.kind.is_numeric:
            tested = self.literal(made.kind) if made.kind.is_numeric else Term("1", made.kind)
        test = f"{tested.text} {self.choices.pick(COMPARISONS)} (SELECT {value} FROM {second.text} WHERE {asked})"
        text, terms = self._with_another(first, key)
        extra = self._conditions(first) if self.choices.chance(3) else []
        return self._finished(terms, text, [test, *shared, *extra])

    def _of_kept_keys(self, schema: TableSchema) -> Select:
        """`k IN (SELECT k … GROUP BY k HAVING …)`, and often sums by that key outside."""
        first = self.table(schema)
        key = self._key(first)
        shared = self._conditions(first)
        tested = self.aggregate(Scope(first.terms))
        having = f"{tested.text} {self.choices.pick(COMPARISONS)} {self.literal(tested.kind).text}"
        where = f" WHERE {' AND '.join(shared)}" if shared else ""
        second, inner = self._again(schema, f"{where} GROUP BY {key.text} HAVING {having}", first)
        twin = next(t for t, f in zip(second.terms, first.terms, strict=True) if f is key)
        test = f"{key.text} IN (SELECT {twin.text} FROM {second.text}{inner})"
        text, terms = self._with_another(first, key)
        if self.choices.chance(4):
            return self._finished(terms, text, [test, *shared])
        made, name, total = self._own_aggregate(first), self.fresh("x"), self.fresh("x")
        others = [term for term in terms if term not in first.terms]
        keys = [key, *(self.choices.several(others, 0, 1) if others else [])]
        names = [name, *(self.fresh("x") for _ in keys[1:])]
        items = (*(f"{k.text} AS {n}" for k, n in zip(keys, names, strict=True)), f"{made.text} AS {total}")
        columns = (*(Column(n, k.kind) for k, n in zip(keys, names, strict=True)), Column(total, made.kind))
        return Select(items, columns, text, " AND ".join([test, *shared]), group=", ".join(k.text for k in keys))

    def _with_other_partners(self, schema: TableSchema) -> Select:
        """EXISTS and NOT EXISTS of a row with the same key and another value."""
        first = self.table(schema)
        key, value = self._key(first), self.choices.pick(first.terms)
        tests = self._conditions(first)
        for word in self.choices.several(("EXISTS", "NOT EXISTS"), 1, 2):
            own = tests[0] if tests and self.choices.chance(2) else " AND ".join(self._conditions(first))
            second, asked = self._again(schema, own, first)
            places = dict(zip(first.terms, second.terms, strict=True))
            parts = [f"{places[key].text} = {key.text}", f"{places[value].text} <> {value.text}"]
            parts += [asked] if asked else []
            tests.append(f"{word} (SELECT * FROM {second.text} WHERE {' AND '.join(parts)})")
        text, terms = self._with_another(first, key)
        return self._finished(terms, text, tests)

    def _grouped_twice(self, schema: TableSchema) -> Select:
        """Two aggregates by one key, joined by it."""
        first = self.table(schema)
        key = self._key(first)
        sides, names = [], []
        for _ in range(2):
            made = self._own_aggregate(first)
            tests = self._conditions(first)
            where = f" WHERE {' AND '.join(tests)}" if tests else ""
            alias, by, total = self.fresh("q"), self.fresh("x"), self.fresh("x")
            kind = made.kind if "count" not in made.text else first.terms[0].kind
            sides.append(
                f"(SELECT {key.text} AS {by}, {made.text} AS {total} FROM {first.text}{where} GROUP BY {key.text})"
                f" AS {alias}"
            )
            names += [Term(f"{alias}.{by}", key.kind, by, True), Term(f"{alias}.{total}", kind, total, True)]
        join = self.choices.pick(("JOIN", "LEFT JOIN"))
        text = f"{sides[0]} {join} {sides[1]} ON {names[0].text} = {names[2].text}"
        terms = tuple(names)
        if self.choices.chance(2):
            other = self.table(self.choices.pick(self.schemas))
            meets = self.column_like(Scope(other.terms), key.kind)
            text += f" JOIN {other.text} ON {names[0].text} = {meets.text}"
            terms += other.terms
        return Select(*self._selected(terms), text, "")

    def _joined_around(self, schema: TableSchema) -> Select:
        """An outer join, and inner joins with what stands on its left."""
        first, optional = self.table(schema), self.table(self.choices.pick(self.schemas))
        key = self._key(first)
        meets = self.column_like(Scope(optional.terms), key.kind)
        text = f"{first.text} LEFT JOIN {optional.text} ON {key.text} = {meets.text}"
        terms = (*first.terms, *optional.terms)
        for _ in range(self.choices.between(1, 2)):
            other = self.table(self.choices.pick(self.schemas))
            near = self._key(first)
            text += f" JOIN {other.text} ON {near.text} = {self.column_like(Scope(other.terms), near.kind).text}"
            terms += other.terms
        return self._finished(terms, text, self._conditions(first))

    def _added_up_by_cases(self, schema: TableSchema) -> Select:
        """Sums over an outer join of a value that now the one side brings and now the other."""
        first, optional = self.table(schema), self.table(self.choices.pick(self.schemas))
        key = self._key(first)
        meets = self.column_like(Scope(optional.terms), key.kind)
        own = [f" AND {test}" for test in self._conditions(optional)]
        text = f"{first.text} LEFT JOIN {optional.text} ON {key.text} = {meets.text}{''.join(own)}"
        keys = self.choices.several((*first.terms, meets), 0, 2)
        made = [self._sum_by_cases(first, optional) for _ in range(self.choices.between(1, 2))]
        names = [self.fresh("x") for _ in (*keys, *made)]
        items = tuple(f"{term.text} AS {name}" for term, name in zip((*keys, *made), names, strict=True))
        columns = tuple(Column(n, t.kind, t.exact) for n, t in zip(names, (*keys, *made), strict=True))
        group = ", ".join(dict.fromkeys(key.text for key in keys))
        return Select(items, columns, text, " AND ".join(self._conditions(first)), group=group)

    def _sum_by_cases(self, first: Origin, optional: Origin) -> Term:
        sides = Scope(first.terms), Scope(optional.terms)
        kind = self.choices.pick((Kind.INT, Kind.INT, Kind.DECIMAL))
        mine, theirs = (self.value(side, kind) for side in self.choices.several(sides, 2, 2))
        tested, test = self.column(sides[1]).text, self.condition(self.choices.pick(sides), 1)
        value = self.choices.pick(
            (
                f"if({tested} IS NULL, {mine.text}, -({theirs.text}))",
                f"coalesce({theirs.text}, {mine.text})",
                f"CASE WHEN {test} THEN {mine.text} WHEN {tested} IS NOT NULL THEN {theirs.text} END",
                mine.text,
            )
        )
        asked = f" FILTER (WHERE {self.condition(self.choices.pick(sides), 1)})" if self.choices.chance(4) else ""
        if self.choices.chance(3):
            return Term(f"count({value}){asked}", Kind.BIGINT)
        of = wider(mine.kind, theirs.kind)
        return Term(f"sum({value}){asked}", Kind.BIGINT if of.is_whole else of)
