"""`slackwater doctor`: what is installed here, and whether Slackwater can work with it."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata

import click
from rich.table import Table
from rich.text import Text

from slackwater.cli.output import CommandOutput, reporting
from slackwater.errors import MachineError
from slackwater.json_text import Json
from slackwater.spark.java import OLDEST_JAVA, find_java

OLDEST_PYTHON = (3, 11)

# `pyspark<4.4,>=4.3` or `duckdb==1.5.5; extra == 'workloads'`, as the metadata of a package lists them.
REQUIREMENT = re.compile(r"""(?P<name>[\w.-]+)\s*(?P<wanted>[^;]*?)\s*(;.*extra == ['"](?P<extra>\w+)['"])?""")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that Slackwater needs, or can use, and what was found of it."""

    subject: str
    wanted: str
    found: str | None
    needed: bool = True
    hint: str | None = None

    @property
    def healthy(self) -> bool:
        return self.found is not None or not self.needed


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings; healthy when nothing that is needed is missing."""

    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        return all(finding.healthy for finding in self.findings)

    def as_json(self) -> Json:
        findings = [asdict(finding) | {"healthy": finding.healthy} for finding in self.findings]
        return {"healthy": self.healthy, "findings": findings}

    def as_text(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for finding in self.findings:
            table.add_row(
                _mark(finding),
                Text(finding.subject),
                Text(finding.found or finding.hint or ""),
                Text(finding.wanted, style="dim"),
            )
        return table


def _mark(finding: Finding) -> Text:
    if finding.found is not None:
        return Text("ok", style="green")
    return Text("missing", style="bold red") if finding.needed else Text("absent", style="yellow")


@click.command()
@click.option("--start-spark", is_flag=True, help="Also start a local Spark session and run a query (about 10 s).")
@reporting
@click.pass_obj
def doctor(output: CommandOutput, start_spark: bool) -> None:
    """Show the versions of Python, Java, Spark and every package that Slackwater uses.

    The exit code is 1 if something required is missing.
    """
    findings = (_python(), _java(), *_packages())
    if start_spark:
        findings = (*findings, _spark())
    diagnosis = Diagnosis(findings)
    output.report(diagnosis)
    if not diagnosis.healthy:
        raise click.exceptions.Exit(1)


def _python() -> Finding:
    wanted = ">=" + ".".join(map(str, OLDEST_PYTHON))
    if sys.version_info < OLDEST_PYTHON:
        return Finding("python", wanted, None, hint=f"this is {platform.python_version()}")
    return Finding("python", wanted, platform.python_version())


def _java() -> Finding:
    try:
        java = find_java(os.environ)
    except MachineError as error:
        return Finding("java", f">={OLDEST_JAVA}", None, hint=str(error))
    return Finding("java", f">={OLDEST_JAVA}", f"{java.version} ({java.origin}: {java.home})")


def _packages() -> Iterator[Finding]:
    """Each requirement of Slackwater, except for what only its developers need."""
    yield Finding("slackwater", "", _version("slackwater"))
    for requirement in metadata.requires("slackwater") or ():
        matched = REQUIREMENT.fullmatch(requirement)
        if matched is None or matched["extra"] == "dev":
            continue
        extra = matched["extra"]
        hint = f"pip install 'slackwater[{extra}]'" if extra else "pip install slackwater"
        yield Finding(matched["name"], matched["wanted"], _version(matched["name"]), needed=extra is None, hint=hint)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _spark() -> Finding:
    from slackwater.spark.session import local_session

    try:
        session = local_session("slackwater doctor", "local[1]")
    except MachineError as error:
        return Finding("spark session", "starts", None, hint=str(error))
    try:
        return Finding("spark session", "starts", f"Spark {session.version}, {session.range(3).count()} rows counted")
    finally:
        session.stop()
