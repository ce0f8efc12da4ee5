"""Which states to share: a greedy choice over ⟨sub-plan, run⟩, after Algorithm 1 of Beanstalk.

Dynamic programming charges a part once per use. A shared part is computed and saved once, and every use loads it: in
the same run, in later runs, and for all queries of a job. In each round the candidate that reduces the plan's cost most
is shared, until none does. A benefit is recomputed only when its candidate comes first: sharing one node seldom makes
another more valuable (the lazy evaluation of the papers).
                                                                          [Beanstalk §6.3, Kathuria & Sudarshan 2017]
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from slackwater.search.choose import Chooser
from slackwater.search.objective import Cost, amount, clearly_less

MOST_WORK = 7_000_000
"""The limit of nodes times candidates; candidates with the largest possible saving come first."""
MOST_ROUNDS = 50
MOST_USES = 8
"""The assumed maximum number of uses of a part: a part that does not pay with so many is not a candidate."""


@dataclass
class Sharing:
    """Shares nodes of a chooser's space, the most valuable first."""

    chooser: Chooser
    trials: int = 0

    def run(self) -> None:
        """Shares what the plan saves anyway, then tries every candidate."""
        chooser = self.chooser
        self._settle()
        waiting: list[tuple[Cost, int]] = []
        for number in self.candidates()[: MOST_WORK // max(1, len(chooser.space))]:
            after = self._tried(number)
            if clearly_less(after, chooser.total):
                waiting.append((after, number))
        heapq.heapify(waiting)
        while waiting:
            _, number = heapq.heappop(waiting)
            if number in chooser.shared:
                continue
            now = chooser.total
            after = self._tried(number)
            if not clearly_less(after, now):
                continue
            if waiting and waiting[0][0] < after:
                heapq.heappush(waiting, (after, number))
                continue
            chooser.share(number)
            self._settle()
            gained = now - chooser.total
            waiting = [(expected - gained, other) for expected, other in waiting]
            heapq.heapify(waiting)
        self._unshare_what_costs()

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
        chooser, space = self.chooser, self.chooser.space
        total = chooser.total
        detours = chooser.detours() if isinstance(total, float) else [0.0] * len(space)
        promising: list[tuple[float, int]] = []
        for number, node in enumerate(space.nodes):
            cell, run = node.key
            if not node.ways or number in chooser.shared or (space.early_is_best and run != space.first_run(cell)):
                continue
            uses = len(node.readers) + sum(len(space[later].readers) for later in node.later)
            if uses + (number in chooser.roots) < 2 or not chooser.best[number] + chooser.save[number] < total:
                continue
            spared = amount(chooser.best[number] - chooser.load[number])
            detour = min(detours[reader] for reader in (number, *node.later))
            if amount(chooser.save[number]) + detour < (MOST_USES - 1) * spared:
                promising.append((amount(chooser.save[number]) - uses * spared, number))
        return [number for _, number in sorted(promising)]

    def _tried(self, number: int) -> Cost:
        """The plan's cost with one more node shared; unchanged if no reader would use the node."""
        self.trials += 1
        chooser, now = self.chooser, self.chooser.total
        with chooser.trying():
            chooser.share(number)
            uses, kept = chooser.used()
            if number not in kept and uses[number] < 2:
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
