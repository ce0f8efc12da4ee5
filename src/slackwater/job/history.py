"""The committed runs of a job, each with its account."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, overload

from slackwater.figures import amount, seconds
from slackwater.job.running.after_run import Verified
from slackwater.job.store.accounts import Account
from slackwater.job.store.manifest import Manifest
from slackwater.job.text_table import Table, paragraph

TIMES: Final = ("wall", "executor CPU (expected)", "total CPU")


def beside_expected(measured: float | None, expected: float | None) -> str:
    """A time, and in brackets the one that was expected."""
    return seconds(measured) if measured is None or expected is None else f"{seconds(measured)} ({seconds(expected)})"


@dataclass(frozen=True, repr=False)
class History(Sequence[Manifest]):
    """A sequence of manifests, from the first run to the last, and what is known of each beside.

    An account is None where it was lost, a verdict where the run was not verified.
    """

    runs: tuple[Manifest, ...]
    accounts: tuple[Account | None, ...]
    verified: tuple[Verified | None, ...]
    queries: tuple[str, ...]

    @overload
    def __getitem__(self, index: int) -> Manifest: ...

    @overload
    def __getitem__(self, index: slice[int | None, int | None, int | None]) -> tuple[Manifest, ...]: ...

    def __getitem__(self, index: int | slice[int | None, int | None, int | None]) -> Manifest | tuple[Manifest, ...]:
        return self.runs[index]

    def __len__(self) -> int:
        return len(self.runs)

    def table(self) -> Table:
        """A line for each run: what came, what was delivered, what it took."""
        delivered = tuple(name or "delivered" for name in self.queries)
        columns = ("cycle", "run", "finished (UTC)", "arrived", *delivered, *TIMES)
        rows = tuple(self._cells(*each) for each in self.entries)
        if not any(self.verified):
            return Table(columns, rows, left=3)
        verdicts = ("" if each is None else str(each) for each in self.verified)
        return Table((*columns, "verified"), tuple((*row, v) for row, v in zip(rows, verdicts, strict=True)), left=3)

    def _cells(self, manifest: Manifest, account: Account | None, _: Verified | None) -> tuple[str, ...]:
        revised = f" · plan {manifest.revision}" if manifest.revision > 1 else ""
        return (
            str(manifest.cycle),
            f"{manifest.run} · {manifest.time}{revised}",
            manifest.finished[:19].replace("T", " "),
            amount(sum(manifest.arrived.values())),
            *(amount(manifest.answers[name].rows) if name in manifest.answers else "" for name in self.queries),
            seconds(account.wall_s if account is not None else None),
            beside_expected(manifest.total.get("cpu_s"), manifest.expected_cpu_s),
            seconds(account.cpu_s if account is not None else None),
        )

    def __repr__(self) -> str:
        return self.table().as_text() if self.runs else "no run is committed yet"

    def _repr_html_(self) -> str:
        return self.table().as_html() if self.runs else paragraph("no run is committed yet")

    @property
    def entries(self) -> Iterator[tuple[Manifest, Account | None, Verified | None]]:
        return zip(self.runs, self.accounts, self.verified, strict=True)
