"""The ledgers of the judges' prompts: every rule has its words, and none can go or come unseen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.ledger import LedgerSection

from limner.exams import SHIPPED, kind
from limner.exams.released import release_of
from limner.judges import make_variant
from tools import ledger

each_exam = pytest.mark.parametrize("name", SHIPPED)


def sections(name: str) -> Iterator[tuple[LedgerSection, dict[str, str]]]:
    for section in ledger.read(ledger.page(name).read_text("utf-8")):
        yield section, ledger.texts_of(kind(name), section)


@each_exam
def test_ledger_covers_every_rule_and_every_sentence_of_prompts(name: str) -> None:
    assert ledger.problems(kind(name), ledger.page(name).read_text("utf-8")) == []


@each_exam
def test_presets_and_releases_have_section_in_ledger(name: str) -> None:
    exam = kind(name)
    asked = [(body.get("variant"), body.get("options", {})) for body in exam.all_presets.values()]
    if release := release_of(exam):
        asked.append((release.variant, dict(release.options)))
    there = [make_variant(exam, one.variant, one.options) for one, _ in sections(name)]
    for variant, options in asked:
        way = make_variant(exam, variant, options)
        assert (way.name, way.options) in [(one.name, one.options) for one in there]


@each_exam
def test_no_fact_is_listed_twice_for_same_part_and_template(name: str) -> None:
    for section, _ in sections(name):
        facts = [(row.part, row.template, row.fact) for row in section.rows]
        assert len(set(facts)) == len(facts)


def test_removed_and_uncited_words_are_reported() -> None:
    release, _ = (section for section, _ in sections("genexam"))
    texts = dict(ledger.texts_of(kind("genexam"), release))
    row = next(row for row in release.rows if row.fact == "Spelling: stray spaces are no fault")
    assert not ledger.lost(release, texts)
    before = " ".join(texts[row.template].split())
    texts[row.template] = before.replace(row.words, "") + " A blue moon counts twice."
    assert row.fact in {gone.fact for gone in ledger.lost(release, texts)}
    assert any("blue moon" in words for words in ledger.uncited(release, texts))


LEDGER = """## `--variant paper -O explain=false`

### Rules

| rule | template | our words |
|---|---|---|
"""


def problems(*rows: str) -> list[str]:
    return ledger.problems(kind("worldgenbench"), LEDGER + "\n".join(rows))


def test_ledgers_exist_for_exactly_the_shipped_exams() -> None:
    assert {page.stem for page in Path(ledger.FOLDER).glob("*.md")} == set(SHIPPED)


@each_exam
def test_every_fact_of_the_sources_has_a_place(name: str) -> None:
    listed = ledger.facts(name)
    assert {row["ours"] for row in listed} <= {"yes", "no"}
    read = ledger.read(ledger.page(name).read_text("utf-8"))
    assert listed
    assert ledger.unplaced(read, listed) == []
    lost = [ledger.LedgerSection(each.variant, each.options, each.rows[5:]) for each in read]
    assert ledger.unplaced(lost, listed)
