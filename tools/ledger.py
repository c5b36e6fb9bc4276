"""Check the ledgers of the judges' prompts, ``tests/exams/ledgers/EXAM.md``: ``python -m tools.ledger`` lists problems.

A ledger has a section for each way of asking that a paper prints or a release has, headed by its options in backticks
(``## `--variant release -O reference=image` ``), and in it two tables of three columns: a fact, the template that
carries it, and the words there that do, in backticks. Under ``### Rules`` the facts are rules of the authors' prompt,
under ``### Ours`` what stands in our templates beyond that. The words are a line of the template or a part of one. No
two rows share a word, and every word of the templates belongs to a row, so a rule cannot go, nor come, unseen.

``facts.csv`` beside them lists the rules that the sources have, whether ours has each (yes or no), and the rule of the
ledger that carries it, or the reason why none does.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limner.exams import SHIPPED, Kind, kind
from limner.judges import make_variant
from tools.size import PACKAGE

FOLDER = PACKAGE.parents[1] / "tests" / "exams" / "ledgers"
PARTS = ("Rules", "Ours")
_WAY = re.compile(r"^## `(?P<way>.*)`$")
_PART = re.compile(r"^### (?P<part>.+)$")
_ROW = re.compile(r"^\| (?P<fact>.+?) \| `(?P<template>[\w-]+)` \| `(?P<words>.+)` \|$")
_FRAME = re.compile(r"^#+ .*$|\{\{\w+\}\}|^\s*(?:-|\d+\.)\s|[\s{}\[\],]", re.MULTILINE)
"""What of a template says nothing: headings, fields, bullets and numbers, the brackets of a reply's shape."""


@dataclass(frozen=True)
class LedgerRow:
    """One fact, and the words that carry it; `line` is where it stands in the ledger."""

    fact: str
    template: str
    words: str
    part: str
    line: int


@dataclass(frozen=True)
class LedgerSection:
    """The rows of one way of asking."""

    variant: str | None
    options: Mapping[str, str]
    rows: tuple[LedgerRow, ...]

    @property
    def rules(self) -> tuple[LedgerRow, ...]:
        """The rows of the authors' rules."""
        return tuple(row for row in self.rows if row.part == PARTS[0])


def read(text: str) -> list[LedgerSection]:
    """The sections of a ledger."""
    found: list[LedgerSection] = []
    part = ""
    for number, line in enumerate(text.splitlines(), 1):
        if way := _WAY.match(line):
            found.append(LedgerSection(*_options(way["way"]), ()))
            part = ""
        elif head := _PART.match(line):
            part = head["part"]
        elif found and part in PARTS and (row := _ROW.match(line)):
            words = row["words"].replace(r"\|", "|")
            one = LedgerRow(row["fact"], row["template"], words, part, number)
            found[-1] = LedgerSection(found[-1].variant, found[-1].options, (*found[-1].rows, one))
        elif found and line.startswith("| ") and part in PARTS and not line.startswith(("| rule |", "| what |")):
            raise ValueError(f"line {number} is no row: | fact | `template` | `words` |")
    return found


def _options(way: str) -> tuple[str | None, dict[str, str]]:
    words = way.split()
    pairs = dict(zip(words[::2], words[1::2], strict=True))
    options = [value for name, value in zip(words[::2], words[1::2], strict=True) if name == "-O"]
    return pairs.get("--variant"), dict(option.split("=", 1) for option in options)


def texts_of(exam: Kind[Any], section: LedgerSection) -> dict[str, str]:
    """The templates that are asked in a section's way."""
    way = make_variant(exam, section.variant, section.options)
    return {name: way.prompts.text(name) for name in exam.protocol.templates(way)}


def lost(section: LedgerSection, texts: Mapping[str, str]) -> list[LedgerRow]:
    """The rows whose words do not stand in the templates, or stand there more than once."""
    return [row for row in section.rows if texts.get(row.template, "").count(row.words) != 1]


def shared(section: LedgerSection, texts: Mapping[str, str]) -> list[LedgerRow]:
    """The rows whose words are those of a row before, wholly or in part, or are none."""
    found, taken = [], set[tuple[str, int]]()
    for row in section.rows:
        at = texts.get(row.template, "").find(row.words)
        places = {(row.template, at + n) for n in range(len(row.words))}
        if places & taken or not re.search(r"\w", row.words):
            found.append(row)
        taken |= places
    return found


def uncited(section: LedgerSection, texts: Mapping[str, str]) -> Iterator[str]:
    """What stands in the templates and in no row."""
    for name, text in texts.items():
        rest = text
        for words in sorted((row.words for row in section.rows if row.template == name), key=len, reverse=True):
            rest = rest.replace(words, "", 1)
        for line in _FRAME.sub(" ", rest).splitlines():
            if re.search(r"\w", line):
                yield f"{name}: {' '.join(line.split())}"


def facts(name: str) -> list[dict[str, str]]:
    """Return the facts that the sources have of an exam's prompt."""
    with (FOLDER / "facts.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["exam"] == name]


def unplaced(sections: list[LedgerSection], listed: list[dict[str, str]]) -> list[str]:
    """Return the facts that no rule of the ledger carries, and those left out without a reason."""
    rules = {row.fact for section in sections for row in section.rules}
    placed = {"yes": lambda where: where in rules, "no": bool}
    return [row["fact"] for row in listed if not placed[row["ours"]](row["rule or reason"])]


def problems(exam: Kind[Any], text: str) -> list[str]:
    """All that is wrong with an exam's ledger."""
    sections, found = read(text), list[str]()
    if not any(section.rules for section in sections):
        return [f"{exam.name}: no rules"]
    found += [f"{exam.name}: {fact!r} has no place in the prompt" for fact in unplaced(sections, facts(exam.name))]
    for section in sections:
        texts = texts_of(exam, section)
        said = {"is lost": lost, "stands behind another's words": shared}
        found += [f"{exam.name}: {row.fact!r} {what}" for what, test in said.items() for row in test(section, texts)]
        found += [f"{exam.name}: in no row: {words}" for words in uncited(section, texts)]
    return found


def page(name: str) -> Path:
    """Where an exam's ledger stands."""
    return FOLDER / f"{name}.md"


if __name__ == "__main__":
    wrong = [said for name in SHIPPED for said in problems(kind(name), page(name).read_text("utf-8"))]
    print("\n".join(wrong) or "every rule has its words, and all words their row")
    sys.exit(bool(wrong))
