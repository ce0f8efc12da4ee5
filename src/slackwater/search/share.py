"""Which states to share: a greedy choice over ⟨sub-plan, run⟩, after Algorithm 1 of Beanstalk.

Dynamic programming charges a part once per use. A shared part is computed and saved once, and every use loads it: in
the same run, in later runs, and for all queries of a job. In each round the candidate that reduces the plan's cost most
is shared, until none does. A benefit is recomputed only when its candidate comes first: sharing one node seldom makes
another more valuable (the lazy evaluation of the papers).
                                                                          [Beanstalk §6.3, Kathuria & Sudarshan 2017]

A candidate is one node, or a *family*: the same form at every run, as the joined rows of each arrival. Often one
member pays only with the others: while the last run reads all rows from scratch, it has no use for those of one run.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from slackwater.search.choose import Chooser
from slackwater.search.objective import Cost, amount, clearly_less
from slackwater.time.forms import Kind
from slackwater.time.frame import FIRST
from slackwater.time.version import OLD

MOST_WORK = 7_000_000
"""The limit of nodes times candidates; candidates with the largest possible saving come first."""
MOST_MEMBERS = 320
"""How many nodes the families have that are tried: those whose use costs least beside the plan without them."""
MOST_PASSES = 3
"""How often all candidates are tried again after a family was shared."""
MOST_ROUNDS = 50
MOST_USES = 8
"""The assumed maximum number of uses of a part: a part that does not pay with so many is not a candidate."""

Candidate = tuple[int, ...]
"""Nodes that are shared together."""


@dataclass(frozen=True, slots=True)
class Gain:
    """The most that sharing a node could save, and how much more the cheapest plan costs that reads it."""

    saving: float
    detour: float


@dataclass
class Sharing:
    """Shares nodes of a chooser's space, the most valuable first."""

    chooser: Chooser
    trials: int = 0

    def run(self) -> None:
        """Shares what the plan saves anyway, then tries every candidate; again once a family has changed the plan."""
        self._settle()
        for divisor in range(1, MOST_PASSES + 1):
            if not self._share_candidates(MOST_WORK // divisor):
                break
        self._unshare_what_costs()

    def _share_candidates(self, work: int) -> bool:
        """Shares candidates as long as one helps; whether a family was among them, which makes others worth a try."""
        chooser, is_changed = self.chooser, False
        waiting: list[tuple[Cost, Candidate]] = []
        single = self.candidates()[: work // max(1, len(chooser.space))]
        for candidate in (*self.families(), *((number,) for number in single)):
            after = self._tried(candidate)
            if clearly_less(after, chooser.total):
                waiting.append((after, candidate))
        heapq.heapify(waiting)
        while waiting:
            _, candidate = heapq.heappop(waiting)
            if chooser.shared.issuperset(candidate):
                continue
            now = chooser.total
            after = self._tried(candidate)
            if not clearly_less(after, now):
                continue
            if waiting and waiting[0][0] < after:
                heapq.heappush(waiting, (after, candidate))
                continue
            for number in candidate:
                chooser.share(number)
            self._settle()
            is_changed |= len(candidate) > 1
            gained = now - chooser.total
            waiting = [(expected - gained, other) for expected, other in waiting]
            heapq.heapify(waiting)
        return is_changed

    def _unshare_what_costs(self) -> None:
        """Unshares nodes that no longer pay since others are shared."""
        chooser = self.chooser
        for number in sorted(chooser.shared):
            if clearly_less(self._after(chooser.unshare, number), chooser.total):
                chooser.unshare(number)
                self._settle()

    def candidates(self) -> list[int]:
        """Nodes that several others could read and that cost enough to be worth saving, the most promising first.

        Where early is best, only the earliest run of a cell counts (Theorem 6.3), else every run.
        """
        gains, space = self._gains(), self.chooser.space
        late = {n for n in gains if space.early_is_best and space[n].key[1] != space.first_run(space[n].key[0])}
        return sorted(gains.keys() - late, key=lambda number: (-gains[number].saving, number))

    def families(self) -> list[Candidate]:
        """The whole deltas, or the whole snapshots, of one relation at the first run that has them.

        The delta of the first run is the snapshot that it leads to.
        """
        space = self.chooser.space
        found: dict[object, dict[int, float]] = defaultdict(dict)
        for number, gain in self._gains().items():
            cell, run = space[number].key
            if cell.changes and cell.frame.is_step and run == space.first_run(cell):
                for family in self._families_of(number):
                    found[family][number] = gain.detour
        several = {tuple(sorted(family)): sum(family.values()) for family in found.values() if len(family) > 1}
        nearest = sorted(several, key=lambda family: (several[family], family))
        upto = accumulate(map(len, nearest))
        return [family for family, members in zip(nearest, upto, strict=True) if members <= MOST_MEMBERS]

    def _families_of(self, number: int) -> Iterator[object]:
        cell, _ = self.chooser.space[number].key
        form = cell.form
        whole = self.chooser.space.memo[form.group].tables
        if form.until != whole or (form.kind is Kind.DELTA and form.since != OLD):
            return
        yield form.kind, form.group, form.partial and form.names
        if form.kind is Kind.SNAPSHOT and cell.frame == FIRST:
            yield Kind.DELTA, form.group, form.partial and form.names

    def _gains(self) -> dict[int, Gain]:
        """What sharing gains, for each node that several others could read and that costs enough to be saved."""
        chooser, space = self.chooser, self.chooser.space
        total = chooser.total
        detours = chooser.detours() if isinstance(total, float) else [0.0] * len(space)
        gains: dict[int, Gain] = {}
        for number, node in enumerate(space.nodes):
            if not node.ways or number in chooser.shared:
                continue
            uses = len(node.readers) + sum(len(space[later].readers) for later in node.later)
            if uses + (number in chooser.roots) < 2 or not chooser.best[number] + chooser.save[number] < total:
                continue
            spared = amount(chooser.best[number] - chooser.load[number])
            detour = min(detours[reader] for reader in (number, *node.later))
            if amount(chooser.save[number]) + detour < (MOST_USES - 1) * spared:
                gains[number] = Gain(uses * spared - amount(chooser.save[number]), detour)
        return gains

    def _tried(self, candidate: Candidate) -> Cost:
        """The plan's cost with more nodes shared; unchanged if no reader would use them."""
        self.trials += 1
        chooser, now = self.chooser, self.chooser.total
        with chooser.trying():
            for number in candidate:
                chooser.share(number)
            uses, kept = chooser.used()
            if all(number not in kept and uses[number] < 2 for number in candidate):
                return now
            self._drop_unused(uses, kept)
            return chooser.total

    def _after(self, change: Callable[[int], None], number: int) -> Cost:
        """The plan's cost after a change, which is undone."""
        with self.chooser.trying():
            change(number)
            self._drop_unused(*self.chooser.used())
            return self.chooser.total

    def _settle(self) -> None:
        """Shares what the plan saves for later runs, if that costs no more, and unshares what it no longer uses."""
        chooser = self.chooser
        for _ in range(MOST_ROUNDS):
            _, kept = chooser.used()
            news = False
            for number in sorted(kept - chooser.shared):
                if not clearly_less(chooser.total, self._after(chooser.share, number)):
                    chooser.share(number)
                    news = True
            if not self._drop_unused(*chooser.used()) and not news:
                return

    def share_unsettled(self) -> None:
        """Shares all nodes that are read twice and may differ if computed twice, at any cost."""
        chooser, space = self.chooser, self.chooser.space
        for _ in range(MOST_ROUNDS):
            twice = {number for number, times in chooser.used()[0].items() if times > 1} - chooser.shared
            nodes = [(number, space[number]) for number in sorted(twice)]
            unsettled = [n for n, node in nodes if node.ways and space.memo[node.key[0].form.group].unstable]
            if not unsettled:
                return
            for number in unsettled:
                chooser.share(number)

    def _drop_unused(self, uses: Counter[int], kept: set[int]) -> bool:
        """Unshares nodes without readers, or with a single reader in the same run."""
        idle = sorted(number for number in self.chooser.shared - kept if uses[number] < 2)
        for number in idle:
            self.chooser.unshare(number)
        return bool(idle)

    def worth(self) -> dict[int, float]:
        """For each saved node, by how much the plan's cost would grow if it could not be saved."""
        chooser = self.chooser
        now = chooser.total
        saved = sorted(chooser.shared | chooser.used()[1])
        return {number: amount(self._after(chooser.bar, number) - now) for number in saved}
