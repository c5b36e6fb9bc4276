"""AIBench's printed figures recombine by our formula, and replies are read as its release reads them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import limner
from limner.core.asks import Unreadable
from limner.core.protocol import Row
from limner.exams.aibench import AIBENCH
from limner.exams.aibench.protocol import read_choice, read_release_choice
from tests.exams.aibench.rows import item, question, replies

PROTOCOL = AIBENCH.protocol
FOLDER = Path(limner.__file__).parent / "exams"
NAMES = ("Component", "Topology", "Phase", "Semantics", "Aesthetics")
ROUNDING = 0.005
"""A figure printed with two decimals lies at most this far from what was printed."""
OPTIONS = {"A": "The first part", "B": "The second part", "C": "The third part", "D": "The fourth part"}


def figures() -> dict[tuple[str, str, str], dict[str, float]]:
    """Table, group and model -> dimension (or ``Overall``) -> figure, for the tables that have all of them."""
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    with (FOLDER / "aibench" / "paper" / "published.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["table"] in ("Table 3", "Table 4", "Table A1") and row["breakdown"] != "model":
                key = (row["table"], row["model_group"], row["model"])
                found.setdefault(key, {})[row["category"]] = float(row["value"])
    return found


FIGURES = figures()


def test_all_of_table_3_is_there() -> None:
    assert sum(table == "Table 3" for table, _, _ in FIGURES) == 15
    assert all(set(row) == {*NAMES, "Overall"} for row in FIGURES.values())


@pytest.mark.parametrize("key", sorted(FIGURES), ids=lambda key: f"{key[0]} {key[2]}")
def test_overall_is_the_mean_of_the_five(key: tuple[str, str, str]) -> None:
    """Rounding moves the mean of five figures by at most one rounding, and the printed overall by another."""
    row = FIGURES[key]
    ours = PROTOCOL.derive({name.lower(): row[name] for name in NAMES})["overall"]
    assert abs(ours - row["Overall"]) <= 2 * ROUNDING + 1e-9


def test_without_aesthetics_the_four_are_averaged() -> None:
    row = FIGURES["Table 3", "closed-source", "Nano Banana Pro"]
    four = {name.lower(): row[name] for name in NAMES[:4]}
    assert PROTOCOL.derive(four)["overall"] == pytest.approx(sum(four.values()) / 4)


def test_levels_are_micro_averages() -> None:
    """Two drawings with one and three questions of a level: the average runs over four questions, not two drawings."""
    others = [item("topology", 8), item("phase", 8), item("semantics", 8)]
    small = [item("component", 1), *others]
    large = [*(item("component", n) for n in (1, 2, 3)), *others]
    rows = []
    for id, checklist, said in (("V/1", small, "A" + "BBB"), ("V/2", large, "BBB" + "BBB")):
        asked = question(checklist, id)
        marks = PROTOCOL.marks(asked, replies(*said, checklist=checklist), "release")
        rows.append(Row(asked, tuple(marks), {}, {"aesthetics": {"value": 50.0, "backend": "test"}}))
    assert PROTOCOL.summary(rows) == pytest.approx(
        {"component": 75, "topology": 100, "phase": 100, "semantics": 100, "aesthetics": 50, "overall": 85}
    )


SAME = "same"
FORMS: dict[str, tuple[str | None, str | None]] = {
    # The letter alone: both readers agree.
    "{0}": (SAME, SAME),
    "{0}.": (SAME, SAME),
    " {0} \n": (SAME, SAME),
    "{0}\n": (SAME, SAME),
    "{0})": (SAME, SAME),
    "{0}. The second part of it": (SAME, SAME),
    "{0}: the picture shows it": (SAME, SAME),
    "{0}, because the arrow leads there": (SAME, SAME),
    "{0} because the arrow leads there": (SAME, SAME),
    "{0}\n\nThe arrow leads there.": (SAME, SAME),
    "<think>Perhaps A, perhaps D.</think>{0}": (SAME, SAME),
    "<think>\nB\n</think>\n\n{0}.": (SAME, SAME),
    "<think>x</think> {0} <think>y</think>": (SAME, SAME),
    # The letter at the end: the release takes it unless the reply starts with A to D.
    "The answer is {0}": (SAME, SAME),
    "The answer is {0}.": (SAME, SAME),
    "The correct answer is {0}.": (SAME, SAME),
    "The answer is {0}..": (SAME, SAME),
    "The correct option is {0}.": (SAME, SAME),
    "答案：{0}": (SAME, SAME),
    "I choose {0}.": (SAME, SAME),
    "Looking at the picture, the answer is {0}": (SAME, SAME),
    "Option {0}": (SAME, SAME),
    "option {0}.": (SAME, SAME),
    "So {0}.": (SAME, SAME),
    "The arrow leads there.\n{0}": (SAME, SAME),
    # The first character decides in the release, whatever it belongs to.
    "Based on the picture, the answer is {0}.": ("B", SAME),
    "Based on the given image, option {0} is correct.": ("B", SAME),
    "Answer: {0}": ("A", SAME),
    "answer: {0}": ("A", SAME),
    "Answer: Option {0} - as the arrow shows": ("A", SAME),
    "Clearly, the answer is {0}.": ("C", SAME),
    "Definitely, I choose {0}.": ("D", SAME),
    "Considering all of it, the correct option is, I think, unclear ({0} or none)": ("C", None),
    "Choice {0}": ("C", SAME),
    "correct answer: {0}": ("C", SAME),
    "Based on the picture it cannot be told": ("B", None),
    "Because of the arrow": ("B", None),
    "Both": ("B", None),
    "A transformer block": ("A", None),
    "An encoder": ("A", None),
    "Certainly": ("C", None),
    "Diagram": ("D", None),
    "Cannot be determined": ("C", None),
    # The last character decides in the release, whatever it belongs to.
    "It is band d": ("D", None),
    "The diagram shows a schema": ("A", None),
    "I would say it is a web": ("B", None),
    # The release finds nothing; the careful reader looks under the ornament.
    "({0})": (None, SAME),
    "**{0}**": (None, SAME),
    "`{0}`": (None, SAME),
    '"{0}"': (None, SAME),
    "[{0}]": (None, SAME),
    "**{0}.** It fits": (None, SAME),
    "$\\boxed{{{0}}}$": (None, SAME),
    "<answer>{0}</answer>": (None, SAME),
    '{{"answer": "{0}"}}': (None, SAME),
    "The answer is **{0}**": (None, SAME),
    "The answer is ({0}).": (None, SAME),
    "Option {0} is correct": (None, SAME),
    "The letter is: {0}!": (None, None),
    # Neither finds an answer.
    "": (None, None),
    "   ": (None, None),
    "?": (None, None),
    "I do not know": (None, None),
    "Unclear": (None, None),
    "E": (None, None),
    "42": (None, None),
    "<think>{0}</think>": (None, None),
    # Two letters: the release takes the first or the last, the careful reader neither.
    "{0} or {1}": (SAME, None),
    "{0}, {1}": (SAME, None),
    "{0}/{1}": (SAME, None),
    "{0} and {1}": (SAME, None),
    "The answer is {1} or {0}": (SAME, None),
    "The answer is {1}. No: the answer is {0}": (SAME, None),
}  # fmt: skip
"""Reply, by what the release takes it for, and by what a careful reader does; ``same`` is the letter put in."""


def cases() -> Iterator[tuple[str, str | None, str | None]]:
    for form, (by_release, by_care) in FORMS.items():
        for letter in "ABCD":
            other = "ABCD"["ABCD".index(letter) - 1]
            text = form.format(letter, other)
            yield text, letter if by_release == SAME else by_release, letter if by_care == SAME else by_care


CASES = sorted(set(cases()), key=str)


@pytest.mark.parametrize(("text", "by_release", "by_care"), CASES)
def test_both_readers(text: str, by_release: str | None, by_care: str | None) -> None:
    assert read_release_choice(text) == by_release
    if by_care is None:
        with pytest.raises(Unreadable):
            read_choice(text, OPTIONS)
    else:
        assert read_choice(text, OPTIONS) == by_care


def told(text: str) -> str | None:
    """The release's rule in other words: no thinking, no dots at both ends; the first character, else the last."""
    plain: str = "".join(re.split(r"<think>[\s\S]*?</think>", text)).strip()
    plain = re.sub(r"\A\.+|\.+\Z", "", plain).upper()
    ends: list[str] = [plain[:1], plain[-1:]]
    return next((end for end in ends if re.fullmatch("[A-D]", end)), None)


@given(st.text(alphabet="ABCDEabde .\n<>/think", max_size=24) | st.text(max_size=24))
def test_the_release_rule_on_any_text(text: str) -> None:
    assert read_release_choice(text) == told(text)
