from __future__ import annotations

from pathlib import Path

import pytest

from slackwater.catalog.file import load_tables
from slackwater.errors import Place, StateError, UserError
from slackwater.job.store.lock import Held
from slackwater.job.store.manifest import Manifest, read_record
from slackwater.json_text import DEEPEST, read_json
from slackwater.plan.codec import plan_from_json

DEEP = "[\n" * 100_000


def test_what_is_right() -> None:
    assert read_json('{"a": [1, "[{\\"", null]}', "here") == {"a": [1, '[{"', None]}
    assert read_json("[" * DEEPEST + "]" * DEEPEST, "here")
    assert read_json("[" + ", ".join(["[[]]"] * 2 * DEEPEST) + "]", "here")


def test_what_is_no_json() -> None:
    with pytest.raises(UserError, match="not JSON") as raised:
        read_json('{"a":\n x}', "here")
    assert raised.value.place == Place("here", 2, 2)


def test_what_is_nested_too_deeply_is_said_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"more than {DEEPEST} arrays and objects") as raised:
        read_json(DEEP, "here")
    assert raised.value.place == Place("here", DEEPEST + 1, 1)
    file = tmp_path / "tables.json"
    file.write_text('{"t": ' + DEEP, encoding="utf-8")
    with pytest.raises(UserError, match="arrays and objects within one another") as raised:
        load_tables(file)
    assert str(raised.value.place).startswith(f"{file}, line ")
    with pytest.raises(UserError, match="a plan that cannot be read"):
        plan_from_json(DEEP, file=str(file))


def test_records_that_are_nested_too_deeply_are_damaged(tmp_path: Path) -> None:
    file = tmp_path / "run-1.json"
    file.write_text('{"record": ' + DEEP, encoding="utf-8")
    with pytest.raises(StateError, match="this file is damaged"):
        read_record(file, Manifest)
    assert Held.of_text(DEEP) is None
