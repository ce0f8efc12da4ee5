"""Finding and installing Java, with small shell scripts that answer as a `java` would."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from slackwater.errors import MachineError
from slackwater.spark import java as module
from slackwater.spark.java import VECTOR_MODULE, Java, ensure_java, find_java, main, major_version, wrap_runtime

ANSWER = """\
#!/bin/sh
{refusal}
echo "Property settings:" >&2
echo "    java.home = {home}" >&2
echo "    java.version = {version}" >&2
"""

REFUSAL = f'case "$*" in *{VECTOR_MODULE}*) echo "Module jdk.incubator.vector not found" >&2; exit 1;; esac'


def fake_java(home: Path, version: str = "17.0.15", *, vector: bool = True) -> Path:
    """A JAVA_HOME with a `java` of the given version, with or without the module that Spark asks for."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(ANSWER.format(refusal="" if vector else REFUSAL, home=home, version=version))
    executable.chmod(0o755)
    return home


@pytest.fixture
def nothing(tmp_path: Path) -> Path:
    """Where no Java was ever installed."""
    return tmp_path / "nothing"


@pytest.mark.parametrize(
    "version, major", [("17.0.15", 17), ("21", 21), ("1.8.0_402", 8), ("17-ea", 17), ("25.0.2.1", 25)]
)
def test_major_version(version: str, major: int) -> None:
    assert major_version(version) == major


def test_java_home_comes_before_path(tmp_path: Path, nothing: Path) -> None:
    home, other = fake_java(tmp_path / "home"), fake_java(tmp_path / "other", "21.0.1")
    java = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")}, nothing)
    assert java == Java(home, "17.0.15", "JAVA_HOME")


def test_path_is_asked_for_its_real_home(tmp_path: Path, nothing: Path) -> None:
    home = fake_java(tmp_path / "home")
    (shims := tmp_path / "shims").mkdir()
    (shims / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(shims)}, nothing) == Java(home, "17.0.15", "PATH")


def test_an_old_java_home_is_passed_over(tmp_path: Path, nothing: Path) -> None:
    old, recent = fake_java(tmp_path / "old", "11.0.2"), fake_java(tmp_path / "recent")
    java = find_java({"JAVA_HOME": str(old), "PATH": str(recent / "bin")}, nothing)
    assert java.home == recent


def test_the_installed_one_is_the_last_resort(tmp_path: Path) -> None:
    installed = fake_java(tmp_path / "installed")
    assert find_java({"PATH": ""}, installed) == Java(installed, "17.0.15", "set-up")
    other = fake_java(tmp_path / "other")
    assert find_java({"PATH": str(other / "bin")}, installed).home == other


def test_message_when_there_is_none(nothing: Path) -> None:
    with pytest.raises(MachineError) as raised:
        find_java({"PATH": ""}, nothing)
    assert "JAVA_HOME is not set and there is no `java` on PATH" in raised.value.message
    assert raised.value.hint is not None
    assert "--ensure" in raised.value.hint


def test_message_says_why_each_was_passed_over(tmp_path: Path, nothing: Path) -> None:
    old = fake_java(tmp_path / "old", "11.0.2")
    with pytest.raises(MachineError, match=r"JAVA_HOME: there is no .*; PATH: .* is Java 11\.0\.2"):
        find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(old / "bin")}, nothing)


def test_a_runtime_without_the_module_is_passed_over(tmp_path: Path, nothing: Path) -> None:
    small = fake_java(tmp_path / "small", vector=False)
    with pytest.raises(MachineError, match="lacks the module"):
        find_java({"JAVA_HOME": str(small), "PATH": ""}, nothing)


@pytest.mark.parametrize("script", ["#!/bin/sh\nexit 1\n", "#!/no/such/shell\n", "#!/bin/sh\necho hello >&2\n"])
def test_what_does_not_answer_as_java_is_passed_over(script: str, tmp_path: Path, nothing: Path) -> None:
    home = fake_java(tmp_path / "home")
    (home / "bin" / "java").write_text(script)
    with pytest.raises(MachineError, match="does not start"):
        find_java({"JAVA_HOME": str(home), "PATH": ""}, nothing)


def test_wrapper_makes_a_small_runtime_usable(tmp_path: Path) -> None:
    small = fake_java(tmp_path / "a small one", vector=False)
    wrap_runtime(small / "bin" / "java", tmp_path / "wrapped")
    assert find_java({"PATH": ""}, tmp_path / "wrapped").home == tmp_path / "wrapped"


def test_wrapper_drops_that_argument_alone(tmp_path: Path) -> None:
    echo = tmp_path / "echo"
    echo.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    echo.chmod(0o755)
    wrap_runtime(echo, tmp_path / "wrapped")
    command = [str(tmp_path / "wrapped" / "bin" / "java"), "-Dx=a b", VECTOR_MODULE, "", "--add-modules=other", "*"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == "<-Dx=a b><><--add-modules=other><*>"


def test_nothing_is_installed_where_there_is_a_java(tmp_path: Path, nothing: Path) -> None:
    home = fake_java(tmp_path / "home")

    def never() -> str | None:
        raise AssertionError("an installer ran")

    assert ensure_java({"JAVA_HOME": str(home), "PATH": ""}, [never], nothing).home == home


def test_the_first_installer_that_works_is_used(tmp_path: Path) -> None:
    def works() -> None:
        fake_java(tmp_path / "installed")

    java = ensure_java({"PATH": ""}, [lambda: "no package index", works], tmp_path / "installed")
    assert java.origin == "set-up"


def test_message_when_nothing_could_be_installed(nothing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(MachineError, match=r"could not be installed: no package index; Spark needs") as raised:
        ensure_java({"PATH": ""}, [lambda: "no package index", lambda: None], nothing)
    assert raised.value.hint is not None
    assert "installing one" in capsys.readouterr().err


def test_system_packages_are_for_root_with_apt_get(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "only by root" in (module.install_system_package() or "")


def test_a_failed_installation_tells_the_last_line_of_the_complaint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho trying >&2\necho 'no such package' >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    assert (module.install_runtime_package() or "").endswith("failed (no such package)")
    monkeypatch.setattr("sys.executable", str(tmp_path / "gone"))
    assert "did not start" in (module.install_runtime_package() or "")


def test_as_a_command(
    tmp_path: Path, nothing: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = fake_java(tmp_path / "home")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert main(["--ensure"]) == 0
    assert capsys.readouterr().out == f"Java 17.0.15 at {home} (found through JAVA_HOME)\n"

    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.prefix", str(nothing))
    assert main([]) == 1
    assert capsys.readouterr().err.startswith("error: Spark needs Java 17 or newer")
