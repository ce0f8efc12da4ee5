"""Where a job keeps what it needs between runs.

    state/cycle-1/cycle.json         what the cycle is about: the job as it was when the cycle began
                  plan.json          the plan of its runs; plan-2.json, if the rest was planned anew, and so on
                  pins-2.json        the inputs of a run, fixed before it starts
                  run-2.json         the manifest of a committed run
                  account-2.json     what the run took, as far as that is known
                  batch-2.json       what the batch query takes on the same inputs, where that was measured
                  data/2-<attempt>/  the states that the run wrote, a directory each

A cycle is one pass over the schedule. Answers lie elsewhere, in a directory for each query: see
`answer_directory.py`. Whatever no manifest names is left over from an interrupted run. A directory that goes is renamed
first, so none is ever seen with some of its files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from slackwater.job.store.answer_directory import AnswerDirectory, order_of
from slackwater.job.store.cycle_directory import ASIDE, Cycle
from slackwater.job.store.lock import JobLock
from slackwater.job.store.manifest import OutputRecord
from slackwater.job.store.removal import GONE

_CYCLE = re.compile(r"cycle-(\d+)$")


@dataclass(frozen=True)
class Store:
    """A job's own directories."""

    state: Path
    answer_directories: Mapping[str, AnswerDirectory]
    """Where the answers of each query lie."""

    @property
    def lock_file(self) -> Path:
        return self.state / "lock"

    @cached_property
    def lock(self) -> JobLock:
        """To be held by whoever changes anything but counts of columns."""
        return JobLock(self.lock_file)

    @property
    def statistics_file(self) -> Path:
        return self.state / "statistics.json"

    @property
    def rows_file(self) -> Path:
        return self.state / "rows.json"

    @property
    def promises_file(self) -> Path:
        return self.state / "promises.json"

    @property
    def prices_file(self) -> Path:
        return self.state / "prices.json"

    def cycles(self, last: int | None = None) -> list[Cycle]:
        """The cycles that have begun, all or the last ones; the latest last."""
        return list(islice(self.latest_cycles(), last))[::-1]

    def latest_cycles(self) -> Iterator[Cycle]:
        """The cycles that have begun, the latest first; who needs few of them looks at few directories."""
        return (cycle for cycle in reversed(self._cycles()) if cycle.has_begun)

    def _cycles(self) -> list[Cycle]:
        if not self.state.is_dir():
            return []
        numbered = [(int(m[1]), path) for path in self.state.iterdir() if (m := _CYCLE.match(path.name))]
        return [Cycle(number, path, self.lock) for number, path in sorted(numbered)]

    def current(self) -> Cycle | None:
        return next(self.latest_cycles(), None)

    def cycle(self, number: int) -> Cycle:
        return Cycle(number, self.state / f"cycle-{number}", self.lock)

    # --- answers -----------------------------------------------------------------------------------------------------

    def last_delivered(self, query: str) -> OutputRecord | None:
        """The answer of the last run that has delivered one of a query, shown already or not."""
        for cycle in self.latest_cycles():
            delivered = [m.answers[query] for m in cycle.readable() if query in m.answers]
            if delivered:
                return delivered[-1]
        return None

    def shows_later(self, query: str, answer: OutputRecord) -> bool:
        """Whether an output shows the answer of a committed run that comes after that of another."""
        shown = self.answer_directories[query].shown
        order = order_of(shown.name) if shown is not None and shown.is_dir() else None
        return order is not None and order > (order_of(answer.directory) or order) and self._is_committed(*order)

    def _is_committed(self, cycle: int, run: int) -> bool:
        return self.cycle(cycle).manifest_file(run).exists()

    # --- what is left over -------------------------------------------------------------------------------------------

    def named(self, cycles: Iterable[Cycle]) -> set[Path]:
        """The directories that manifests of cycles name, of states and of answers, and the answers that are shown."""
        directories = {directory.shown for directory in self.answer_directories.values() if directory.shown is not None}
        for manifest in (m for cycle in cycles for m in cycle.readable()):
            directories |= {self.state / part for state in manifest.states.values() for part in state.parts}
            for query, answer in manifest.answers.items():
                if query in self.answer_directories:  # the job may have had others
                    directories.add(self.answer_directories[query].path / answer.directory)
        return directories

    def attempts(self, cycle: Cycle, run: int) -> list[Path]:
        """What attempts at a run have left that no manifest names; only its own cycle could."""
        named = self.named([cycle])
        kept = {path.parent for path in named}
        directories = [path for path in cycle.attempts(run) if path not in kept]
        return [*directories, *(path for path in self._answers(f"{cycle.number}-{run}-") if path not in named)]

    def _answers(self, prefix: str = "") -> list[Path]:
        return [path for directory in self.answer_directories.values() for path in directory.listed(prefix)]

    def leftovers(self) -> list[Path]:
        """What interrupted runs have left: nothing that a manifest names, nor one that is damaged might name."""
        named = self.named(self.cycles())
        kept = {path.parent for path in named}
        current = self.current()
        spared = [f"{run}-" for run in current.damaged()] if current is not None else []
        paths: list[Path] = []
        for cycle in self.cycles():
            for attempt in cycle.attempts():
                if attempt in kept:
                    paths += [path for path in sorted(attempt.iterdir()) if path not in named]
                elif cycle != current or not attempt.name.startswith(tuple(spared)):
                    paths.append(attempt)
        spared_answers = tuple(f"{current.number}-{prefix}" for prefix in spared) if current is not None else ()
        paths += [p for p in self._answers() if p not in named and not p.name.startswith(spared_answers)]
        return [*paths, *self._drafts()]

    def _drafts(self) -> list[Path]:
        drafts = [path for directory in self.answer_directories.values() for path in directory.drafts()]
        if not self.state.is_dir():
            return drafts
        places = [self.state, *(cycle.directory for cycle in self.cycles())]
        drafts += [path for place in places for pattern in _DRAFTS for path in place.glob(pattern)]
        return [*drafts, *(cycle.directory for cycle in self._cycles() if not cycle.has_begun)]


_DRAFTS = (".*.draft", ".lock.*.new", f".*{GONE}", f".*{ASIDE}")
