from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from slackwater.job.store import owner
from slackwater.job.store.owner import Owner

linux = pytest.mark.skipif(not Path("/proc/self/ns/pid").exists(), reason="only Linux tells so much of a process")


def test_we_are_here() -> None:
    assert Owner.here().is_here
    assert not Owner.here().is_gone
    assert not Owner.here().is_stopped
    assert str(Owner("host", 7, "me")) == "me on host (process 7)"


@linux
def test_a_process_is_known_by_boot_namespace_and_start() -> None:
    here = Owner.here()
    assert here.where is not None
    assert here.started is not None
    assert replace(here, started="1").is_gone
    for other in (replace(here, where="other"), replace(here, where=None), replace(here, host="other")):
        assert not other.is_here
        assert not replace(other, started="1").is_gone


def test_where_the_system_tells_little_the_name_of_the_machine_has_to_do(tmp_path: Path) -> None:
    with patch.object(owner, "PROC", tmp_path):
        here = Owner.here()
        assert (here.started, here.where) == (None, None)
        assert here.is_here
        assert not here.is_gone
        process = subprocess.Popen([sys.executable, "-c", ""])
        process.wait()
        assert replace(here, pid=process.pid).is_gone


@linux
def test_a_process_that_is_stopped() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        os.kill(process.pid, signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        assert replace(Owner.here(), pid=process.pid).is_stopped
    finally:
        process.kill()
        process.wait()
    assert not replace(Owner.here(), pid=process.pid).is_stopped
