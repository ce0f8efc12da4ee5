"""The runs that a job has committed, each with the account of what it took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from slackwater.job.accounts import Account
from slackwater.job.manifest import Manifest


@dataclass(frozen=True)
class History(Sequence[Manifest]):
    """A sequence of manifests, from the first run to the last; `accounts` goes with it, None where one was lost."""

    runs: tuple[Manifest, ...]
    accounts: tuple[Account | None, ...]
    queries: tuple[str, ...]

    @overload
    def __getitem__(self, index: int) -> Manifest: ...

    @overload
    def __getitem__(self, index: slice[int | None, int | None, int | None]) -> tuple[Manifest, ...]: ...

    def __getitem__(self, index: int | slice[int | None, int | None, int | None]) -> Manifest | tuple[Manifest, ...]:
        return self.runs[index]

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def with_accounts(self) -> Iterator[tuple[Manifest, Account | None]]:
        return zip(self.runs, self.accounts, strict=True)
