"""Asks every reporting command about one exam's store in the working folder."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from tests.cli.invoke import Said, limner

from tools.recordings.people import STUDY
from tools.recordings.store import BRUSH, JUDGE, QUILL, SECOND, best_of_2

TAGS = {
    "genexam": ("difficulty", "subject", "dimension"),
    "mmmg": ("level", "discipline", "dimension"),
    "worldgenbench": ("domain", "discipline"),
    "fepbench": ("regime", "domain", "panel_type", "dimension"),
    "aibench": ("venue", "dimension"),
}
"""Exam -> the tags to group by, of which the first is the smallest."""


def take_outputs(exam: str) -> Iterator[tuple[str, Any]]:
    """Yield the name and the content of every output."""
    for name, words in _commands(exam):
        said = limner(*words, code=None)
        content = _content(said, words)
        yield name, content if said.code == 0 else {"code": said.code, "said": content}


def _commands(exam: str) -> Iterator[tuple[str, list[str]]]:
    sample = f"sample/{exam}"
    tags = [word for tag in TAGS[exam] for word in ("--by", tag)]
    for form in ("json", "csv"):
        yield f"scores.{form}", ["scores", sample, "--format", form]
        yield f"compare.{form}", ["compare", sample, "--format", form]
    yield "scores-by.json", ["scores", sample, *tags, "--format=json"]
    yield "scores-all.json", ["scores", sample, "--on", "all", "--analyses", "--format=json"]
    for reading in ("paper", "release"):
        yield f"scores-{reading}.json", ["scores", sample, "--reading", reading, "--format=json"]
    yield "scores-study.json", ["scores", sample, "--study", STUDY, "--format=json"]
    yield "compare-by.json", ["compare", sample, *tags[:2], "--judge", JUDGE, "--format=json"]
    yield "compare-gap.json", ["compare", sample, "--gap", "3", "--judge", JUDGE, "--format=json"]
    both = ["--judge", JUDGE, "--judge", SECOND]
    yield "agree.json", ["agree", sample, "--format=json"]
    yield "agree.csv", ["agree", sample, *both, "--format", "csv"]
    yield "agree-by.json", ["agree", sample, *both, *tags[:2], "--format=json"]
    yield "agree-study.json", ["agree", sample, "--study", STUDY, "--format=json"]
    yield from _tables(exam)
    yield from _estimates(sample)
    for form in ("jsonl", "csv"):
        yield f"export.{form}", ["export", sample, "--format", form]
    yield "spend.json", ["spend", "--by", "kind", "--format=json"]
    yield "study.json", ["study", "status", STUDY, "--format=json"]
    yield "study.csv", ["study", "export", STUDY, "--format", "csv"]


def _tables(exam: str) -> Iterator[tuple[str, list[str]]]:
    names = [line.split()[0] for line in limner("table").out.splitlines() if line.startswith(f"{exam}:")]
    for name in names:
        short, words = name.replace(":", "-"), ["table", name, "--exam", f"sample/{exam}", "--format", "csv"]
        yield f"table-{short}.csv", [*words, "--judge", JUDGE, "--no-published"]
        yield f"table-{short}-all.csv", [*words, "--study", STUDY, "--no-published"]
    yield "table-published.csv", ["table", names[0], "--exam", f"sample/{exam}", "--judge", JUDGE, "--format", "csv"]


def _estimates(sample: str) -> Iterator[tuple[str, list[str]]]:
    run = ["estimate", sample, "--judge", JUDGE, "--format=json"]
    yield "estimate-mark.json", [*run, "--retry-failed"]
    yield "estimate-seeds.json", [*run, "--painter", QUILL, "--painter", BRUSH, "--seeds", "3"]
    yield "estimate-best.json", [*run, "--painter", BRUSH, *best_of_2(), "--seeds", "2", "--repeats", "2"]


def _content(said: Said, words: list[str]) -> Any:
    if said.code not in (0, 3):
        return said.err
    if words[0] == "export" and "jsonl" in words:
        return said.lines()
    if "csv" in words:
        return list(csv.reader(io.StringIO(said.out)))
    return json.loads(said.out)
