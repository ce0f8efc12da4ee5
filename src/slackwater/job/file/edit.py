"""A key of a job file set by a command: everything else stays as it was written, comments included."""

from __future__ import annotations

from pathlib import Path

import yaml
from yaml.nodes import MappingNode, Node

from slackwater.job.file.config import parse_job


def with_key(text: str, key: str, value: str, after: str, path: Path) -> str:
    """The text of a job file with a key at the top level: in its place if it is there, else after another one.

    The result is a job file again, or an error says why it is none.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, MappingNode), "a job file has been read"
    entries: dict[str, Node] = {name.value: node for name, node in root.value}
    if key in entries:
        node = entries[key]
        new = text[: node.start_mark.index] + value + text[node.end_mark.index :]
    elif root.flow_style:
        end = entries[after].end_mark.index
        new = f"{text[:end]}, {key}: {value}{text[end:]}"
    else:
        end = _line_after(text, entries[after].end_mark.index)
        line = f"{' ' * root.start_mark.column}{key}: {value}\n"
        new = text[:end] + ("" if text[:end].endswith("\n") else "\n") + line + text[end:]
    parse_job(new, path)
    return new


def _line_after(text: str, index: int) -> int:
    """Where the next line begins; a list in lines of its own ends there already."""
    if text[:index].endswith("\n"):
        return index
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1
