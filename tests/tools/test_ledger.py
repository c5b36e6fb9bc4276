"""The ledgers of the judges' prompts: every rule has its words, and none can go or come unseen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.ledger import LedgerSection

from limner.core.prompts import Prompts
from limner.exams import SHIPPED, kind
from limner.exams.released import release_of
from limner.exams.wordings import wordings
from limner.judges import make_variant
from tools import ledger

each_exam = pytest.mark.parametrize("name", SHIPPED)


def sections(name: str) -> Iterator[tuple[LedgerSection, dict[str, str]]]:
    for section in ledger.read(ledger.page(name).read_text("utf-8")):
        yield section, ledger.texts_of(kind(name), section)


@each_exam
def test_every_rule_has_its_words_and_every_word_its_row(name: str) -> None:
    assert ledger.problems(kind(name), ledger.page(name).read_text("utf-8")) == []


@each_exam
def test_the_ways_of_papers_and_releases_have_a_section(name: str) -> None:
    exam = kind(name)
    asked = [(body.get("variant"), body.get("options", {})) for body in exam.all_presets.values()]
    if release := release_of(exam):
        asked.append((release.variant, dict(release.options)))
    there = [make_variant(exam, one.variant, one.options) for one, _ in sections(name)]
    for variant, options in asked:
        way = make_variant(exam, variant, options)
        assert (way.name, way.options) in [(one.name, one.options) for one in there]


@each_exam
def test_no_fact_of_a_part_stands_there_twice_over_the_same_template(name: str) -> None:
    for section, _ in sections(name):
        facts = [(row.part, row.template, row.fact) for row in section.rows]
        assert len(set(facts)) == len(facts)


def test_what_genexams_first_wording_had_lost_and_added() -> None:
    """The rules that move marks, and the exception that no release has."""
    first, _ = wordings(kind("genexam"))
    release, paper = (section for section, _ in sections("genexam"))
    texts = {name: Prompts(first.folder).text(name) for name in ("mark-release", "reference-image", "shape")}
    gone = {row.fact for row in ledger.lost(release, texts)}
    assert gone >= {
        "A label alone proves nothing; the geometry must agree",
        "It is not excused where key information cannot be made out",
        "Logic: the correctness of all marks, text, musical notes and the like is checked",
        "Spelling: stray spaces are no fault",
    }
    assert any("unless the point asks for one" in words for words in ledger.uncited(release, texts))
    assert not any("unless the point asks" in text for text in ledger.texts_of(kind("genexam"), release).values())
    texts["mark-paper"] = Prompts(first.folder).text("mark-paper")
    gone = {row.fact for row in ledger.lost(paper, texts)}
    assert "Logic: the correctness of all marks, text, musical notes and the like is checked" in gone


def test_what_mmmgs_first_wording_had_lost() -> None:
    first, _ = wordings(kind("mmmg"))
    ((section, now),) = sections("mmmg")
    gone = ledger.lost(section, {name: Prompts(first.folder).text(name) for name in now})
    told = [row.fact.partition(":")[0] for row in gone]
    assert "Abstract concepts" in told
    assert "The cue for a relation is clear, strong and prominent" in told


LEDGER = """## `--variant paper -O explain=false`

### Rules

| rule | template | our words |
|---|---|---|
"""


def problems(*rows: str) -> list[str]:
    return ledger.problems(kind("worldgenbench"), LEDGER + "\n".join(rows))


def test_every_shipped_exam_has_a_ledger_and_no_other() -> None:
    assert {page.stem for page in Path(ledger.FOLDER).glob("*.md")} == set(SHIPPED)
