"""Files and directories that go: whole, counted, and by name where they cannot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.job.store.test_store import data

from slackwater.errors import StateError
from slackwater.job.store.removal import remove


def test_removal(tmp_path: Path) -> None:
    directory = data(tmp_path / "a")
    (tmp_path / "link").symlink_to(directory)
    data(tmp_path / ".a.gone")
    assert remove(tmp_path / "link") > 0
    assert directory.exists()
    assert remove(directory) == 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may remove everything")
def test_what_cannot_be_removed_is_named(tmp_path: Path) -> None:
    directory = data(tmp_path / "a" / "b")
    directory.parent.chmod(0o500)
    with pytest.raises(StateError, match="cannot be removed"):
        remove(directory)
    directory.parent.chmod(0o700)


def test_what_is_not_there_cannot_be_removed(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="cannot be removed"):
        remove(tmp_path / "none")
