"""The ledgers of the judges' prompts: every rule has its words, and none can go or come unseen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.ledger import LedgerRow, LedgerSection

from limner.core.prompts import Prompts
from limner.exams import SHIPPED, kind
from limner.exams.released import release_of
from limner.judges import make_variant
from tools import ledger

each_exam = pytest.mark.parametrize("name", SHIPPED)


def sections(name: str) -> Iterator[tuple[LedgerSection, dict[str, str]]]:
    for section in ledger.read(ledger.page(name).read_text("utf-8")):
        yield section, ledger.texts_of(kind(name), section)


def without_words(texts: dict[str, str], row: LedgerRow) -> dict[str, str]:
    return {**texts, row.template: texts[row.template].replace(row.words, "", 1)}


def without_line(texts: dict[str, str], row: LedgerRow) -> tuple[dict[str, str], str]:
    lines = texts[row.template].split("\n")
    (line,) = (line for line in lines if row.words in line)
    return {**texts, row.template: "\n".join(other for other in lines if other != line)}, line


@each_exam
def test_every_rule_has_its_words_and_every_word_its_row(name: str) -> None:
    assert ledger.problems(kind(name), ledger.page(name).read_text("utf-8")) == []


@each_exam
def test_words_that_go_lose_exactly_their_rule(name: str) -> None:
    for section, texts in sections(name):
        assert len(section.rules) >= 5
        for row in section.rows:
            assert ledger.lost(section, without_words(texts, row)) == [row]


@each_exam
def test_a_line_that_goes_loses_its_rules_and_no_other(name: str) -> None:
    for section, texts in sections(name):
        for row in section.rows:
            cut, line = without_line(texts, row)
            on_it = [one for one in section.rows if one.template == row.template and one.words in line]
            assert row in on_it
            assert ledger.lost(section, cut) == on_it


@each_exam
def test_a_sentence_that_comes_is_found(name: str) -> None:
    for section, texts in sections(name):
        for template, text in texts.items():
            more = {**texts, template: text.rstrip("\n") + "\n- Unless the point asks for one.\n"}
            assert [*ledger.uncited(section, more)] == [f"{template}: Unless the point asks for one."]
            assert ledger.lost(section, more) == []


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


def test_words_that_are_gone_and_words_that_no_rule_has() -> None:
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


def test_two_rules_cannot_stand_behind_the_same_words() -> None:
    rows = ["| One | `mark` | `Infer nothing.` |", "| Two | `mark` | `Infer nothing` |"]
    assert "worldgenbench: 'Two' stands behind another's words" in problems(*rows)
    assert not any("stands behind" in said for said in problems(rows[0]))


def test_no_rule_stands_behind_a_whole_file_or_more_than_a_line() -> None:
    text = Prompts(kind("worldgenbench").prompts).text("mark")
    for words in (text, "Infer nothing. A related word", text.split("\n\n")[0]):
        said = problems(f"| One | `mark` | `{' '.join(words.split())}` |")
        assert ("worldgenbench: 'One' is lost" in said) == (" ".join(words.split()) not in text)
    with pytest.raises(ValueError, match=r"line 7 is no row"):
        problems(f"| One | `mark` | `{text}` |")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("| One | `mark` | `Infer everything.` |", "'One' is lost"),
        ("| One | `other` | `Infer nothing.` |", "'One' is lost"),
        ("| One | `mark` | `the` |", "'One' is lost"),
        ("| One | `mark` | `.` |", "'One' stands behind another's words"),
    ],
)
def test_words_that_are_not_there_or_are_no_words(row: str, said: str) -> None:
    assert any(said in one for one in problems(row))


def test_a_ledger_without_rules_or_with_a_broken_row() -> None:
    assert ledger.problems(kind("worldgenbench"), "# Nothing\n") == ["worldgenbench: no rules"]
    with pytest.raises(ValueError, match="line 7 is no row"):
        problems("| One | mark | Infer nothing. |")


def test_every_shipped_exam_has_a_ledger_and_no_other() -> None:
    assert {page.stem for page in Path(ledger.FOLDER).glob("*.md")} == set(SHIPPED)
