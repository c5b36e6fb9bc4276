"""The changes of what version 0.1 printed that are meant, from ``v1/intended.toml``.

    [[change]]
    golden = "scores/*.json"       # the files below goldens, their folder by name
    path = "[*].coverage"          # where; see below
    change = "changed"             # "added", "changed" or "removed"
    why = "Failed drawings count." # a sentence

    [[renamed]]
    golden = "agree/*"
    fields = ["first"]             # where such names stand
    old = "studio/"                # what they began with
    new = ""                       # what they begin with now
    why = "Labels are short now."

What is renamed is compared under its new name.

In a path ``*`` stands for one key or item, ``[*]`` for one item of a list, ``**`` for any number of either, none too;
within a key or an item ``*`` stands for any letters: ``[painter=control/*,judge=ocr]``, ``**.mmmg_*``. A key with a dot
in it stands in double quotes. A difference is named by its outermost place: where a whole record is added, one entry
for the record is enough, and entries for what is in it are not used.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.compat.compare import Change, Difference

SHOWN = 200
"""How much of a value a message shows."""
MESSAGES = 20


def folder_of(golden: str) -> str:
    """The folder of the goldens that are meant, which must be one."""
    folder = golden.partition("/")[0]
    assert not set(folder) & set("*?["), f"{golden}: name the folder in `golden`, such as scores/*.json"
    return folder


@dataclass(frozen=True)
class Renamed:
    """Names that begin with other words than they did, in some fields of some goldens."""

    golden: str
    fields: Sequence[str]
    old: str
    new: str
    why: str

    def __post_init__(self) -> None:
        folder_of(self.golden)
        assert len(self.why.split()) > 2, f"{self}: say in `why` why this is meant"

    def apply(self, value: Any, field: str = "") -> Any:
        """What was kept, with the new names."""
        if isinstance(value, dict):
            return {key: self.apply(item, key) for key, item in value.items()}
        if isinstance(value, list):
            return [self.apply(item, field) for item in value]
        if field in self.fields and isinstance(value, str) and value.startswith(self.old):
            return self.new + value.removeprefix(self.old)
        return value


@dataclass(frozen=True)
class Entry:
    """One change that is meant."""

    golden: str
    path: str
    change: str
    why: str

    def __post_init__(self) -> None:
        folder_of(self.golden)
        assert self.change in get_args(Change), f"{self}: `change` is one of {', '.join(get_args(Change))}"
        assert len(self.why.split()) > 2, f"{self}: say in `why` why this is meant"

    @property
    def folder(self) -> str:
        return folder_of(self.golden)

    def covers(self, golden: str, difference: Difference) -> bool:
        """Whether this is the difference that is meant."""
        fits = fnmatchcase(golden, self.golden) and self.change == difference.change
        return fits and matches(parts(self.path), difference.path)

    def __str__(self) -> str:
        return f"golden = {self.golden!r}, path = {self.path!r}, change = {self.change!r}"


def load(file: Path) -> list[Entry]:
    """Every entry of the list."""
    return [Entry(**entry) for entry in tomllib.loads(file.read_text("utf-8")).get("change", [])]


def renamed(file: Path, golden: str, kept: Any) -> Any:
    """A golden as it was kept, but with the names that are meant to be other ones.

    Raises:
        AssertionError: Something of the list is not there to be renamed.
    """
    for each in tomllib.loads(file.read_text("utf-8")).get("renamed", []):
        one = Renamed(**each)
        if fnmatchcase(golden, one.golden):
            now = one.apply(kept)
            assert now != kept, f"{golden}: nothing is renamed by {one}"
            kept = now
    return kept


def parts(path: str) -> list[str]:
    """A path's keys and items.

    >>> parts('[judge=a.b].**."c.d"[*]')
    ['[judge=a.b]', '**', 'c.d', '[*]']
    """
    found = re.findall(r'\[(?:[^\[\]]|\[[^\]]*\])*\]|"(?:[^"\\]|\\.)*"|[^.\[\]"]+', path)
    return [json.loads(part) if part.startswith('"') else part for part in found]


def matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Whether a pattern fits the whole of a path."""
    if not pattern:
        return not path
    first, rest = pattern[0], pattern[1:]
    if first == "**":
        return any(matches(rest, path[n:]) for n in range(len(path) + 1))
    if not path or (first.startswith("[") and not path[0].startswith("[")):
        return False
    letters = "".join(".*" if letter == "*" else re.escape(letter) for letter in first)
    return re.fullmatch(letters, path[0], re.DOTALL) is not None and matches(rest, path[1:])


def complaints(found: Iterable[tuple[str, Difference]], entries: Sequence[Entry], *, stale: bool = True) -> list[str]:
    """What is wrong: differences that no entry covers and, with `stale`, entries that cover none."""
    said, used = [], set[Entry]()
    for golden, difference in found:
        covering = [entry for entry in entries if entry.covers(golden, difference)]
        used.update(covering)
        if not covering:
            said.append(_unmeant(golden, difference))
    if stale:
        said += [
            f"{entry}\n  is not seen any more: take it out of intended.toml" for entry in entries if entry not in used
        ]
    return said


def check(found: Iterable[tuple[str, Difference]], entries: Sequence[Entry], *, stale: bool = True) -> None:
    """Fail with all that is wrong, a message each; see `complaints`."""
    said = complaints(found, entries, stale=stale)
    if said:
        more = [f"… and {len(said) - MESSAGES} more"] if len(said) > MESSAGES else []
        pytest.fail("\n\n".join([f"{len(said)} complaints", *said[:MESSAGES], *more]), pytrace=False)


def _unmeant(golden: str, difference: Difference) -> str:
    lines = [f"goldens/{golden}: {difference.place or '(the whole of it)'} is {difference.change}"]
    if difference.change != "added":
        lines.append(f"  old: {_shown(difference.old)}")
    if difference.change != "removed":
        lines.append(f"  new: {_shown(difference.new)}")
    entry = {"golden": golden, "path": difference.place or "**", "change": difference.change, "why": "…"}
    lines.append("  if this is meant, add to tests/compat/v1/intended.toml, with * for what it holds for alike:")
    lines += ["    [[change]]", *(f"    {key} = {_quoted(value)}" for key, value in entry.items())]
    return "\n".join(lines)


def _quoted(value: str) -> str:
    return f"'{value}'" if '"' in value and "'" not in value else json.dumps(value, ensure_ascii=False)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
