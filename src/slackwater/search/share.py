"""Which states to share: a greedy choice over ⟨sub-plan, run⟩, after Algorithm 1 of Beanstalk.

Dynamic programming pays for a part once per use. A shared part is computed and saved once, and every use loads it: in
the same run, in later ones, and for every query of a job alike. In each round the candidate that makes the plan
cheapest is shared, until none helps. A benefit is only worked out again when a candidate comes to the front: sharing
more seldom makes another share worth more (the lazy evaluation of the papers).
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
"""Nodes times candidates that are tried at all; first those that would spare most if all loaded them who could."""
MOST_ROUNDS = 50
MOST_USES = 8
"""How often a part is thought to be used at most: what saving it could bring by that much is not tried."""


@dataclass
class Sharing:
    """Shares nodes of a chooser's space, best first."""

    chooser: Chooser
    most_work: int = MOST_WORK
    trials: int = 0

    def run(self) -> None:
        """Adopts what the plan keeps anyway, then tries every candidate."""
        chooser = self.chooser
        self._settle()
        waiting: list[tuple[Cost, int]] = []
        for number in self.candidates()[: self.most_work // max(1, len(chooser.space))]:
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
        self._give_up_what_costs()

    def _give_up_what_costs(self) -> None:
        """What was worth sharing before something else was shared may no longer be."""
        chooser = self.chooser
        for number in sorted(chooser.shared):
            if clearly_less(self._after(chooser.unshare, number), chooser.total):
                chooser.unshare(number)
                self._settle()

    def candidates(self) -> list[int]:
        """Nodes that several others could read and that are dear enough to be worth saving, the most promising first.

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
        """What the plan would cost with one more node shared; what it costs now if nothing would then use the node."""
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
        """What the plan would cost after a change, which is taken back."""
        with self.chooser.trying():
            change(number)
            self._drop_unused(*self.chooser.used())
            return self.chooser.total

    def _settle(self) -> None:
        """Shares what the plan keeps for later runs, where nobody loses by it, and gives up what it no longer uses."""
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
        """Shares whatever is read twice and might come out differently if it were computed twice, at any price."""
        chooser = self.chooser
        for _ in range(MOST_ROUNDS):
            twice = {number for number, times in chooser.used()[0].items() if times > 1} - chooser.shared
            found = [number for number in sorted(twice) if chooser.space.is_unsettled(number)]
            if not found:
                return
            for number in found:
                chooser.share(number)

    def _drop_unused(self, uses: Counter[int], kept: set[int]) -> bool:
        """Gives up what nothing reads, or one reader of the same run only."""
        idle = sorted(number for number in self.chooser.shared - kept if uses[number] < 2)
        for number in idle:
            self.chooser.unshare(number)
        return bool(idle)

    def worth(self) -> dict[int, float]:
        """What the plan would cost more if a node could not be saved, for each that is."""
        chooser = self.chooser
        now = chooser.total
        saved = sorted(chooser.shared | chooser.used()[1])
        return {number: amount(self._after(chooser.bar, number) - now) for number in saved}
