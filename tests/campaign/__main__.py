"""`python -m tests.campaign --cases 1000 --seed 1`: tries cases, shows how it goes, tells what it found."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from tests.campaign.cases import Case, tried
from tests.campaign.plan import KINDS, Undisturbed, cases_of, jobs, undisturbed

Result = tuple[Case, str | None]


def main() -> int:
    asked = _arguments()
    console = Console(stderr=False)
    with tempfile.TemporaryDirectory(prefix="slackwater-campaign-") as scratch:
        place = Path(scratch)
        with ThreadPoolExecutor(asked.at_once) as threads, _progress(console) as progress:
            subjects = _jobs(asked.cases, asked.seed, place, threads, progress)
            cases = [case for case in cases_of(subjects, asked.cases, asked.seed) if asked.only in (None, case.number)]
            bar = progress.add_task("cases", total=len(cases))
            results: list[Result] = []
            for case, words in _tried(cases, place, threads, asked.at_once):
                results.append((case, words))
                progress.advance(bar)
                if words is not None:
                    progress.console.print(f"[red]{case}[/]\n  {words}", highlight=False)
    console.print(_table(results))
    wrong = [case for case, words in results if words is not None]
    for case in wrong:
        console.print(f"again: python -m tests.campaign --cases {asked.cases} --seed {asked.seed} --only {case.number}")
    console.print(f"{len(results) - len(wrong)} passed, {len(wrong)} failed", highlight=False)
    return 1 if wrong else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="how many cases to try")
    parser.add_argument("--seed", type=int, default=1, help="another seed gives other jobs and other moments")
    parser.add_argument("--only", type=int, default=None, help="only the case of this number")
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1, help="cases side by side")
    return parser.parse_args()


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, disable=not sys.stdout.isatty())


def _jobs(cases: int, seed: int, place: Path, threads: ThreadPoolExecutor, progress: Progress) -> list[Undisturbed]:
    """The jobs, each lived through without a fault first."""
    wanted = jobs(cases, seed)
    bar = progress.add_task("jobs without a fault", total=len(wanted))
    subjects = []
    for job in threads.map(lambda job: undisturbed(job, place), wanted):
        subjects.append(job)
        progress.advance(bar)
    return subjects


def _tried(cases: Iterable[Case], place: Path, threads: ThreadPoolExecutor, at_once: int) -> Iterator[Result]:
    """Every case with what was found wrong, as they come; what they leave is removed."""

    def one(case: Case) -> Result:
        words = tried(case, place)
        shutil.rmtree(place / f"case-{case.number}", ignore_errors=True)
        return case, words

    waiting = iter(cases)
    running: set[Future[Result]] = {threads.submit(one, case) for case in islice(waiting, at_once)}
    while running:
        done, running = wait(running, return_when=FIRST_COMPLETED)
        running |= {threads.submit(one, case) for case in islice(waiting, len(done))}
        yield from (future.result() for future in done)


def _table(results: Iterable[Result]) -> Table:
    table = Table("fault", "cases", "as promised", box=None)
    total, good = Counter[str](), Counter[str]()
    for case, words in results:
        total[case.kind] += 1
        good[case.kind] += words is None
    for kind in KINDS:
        if total[kind]:
            table.add_row(kind, str(total[kind]), str(good[kind]))
    return table


if __name__ == "__main__":
    sys.exit(main())
