"""WorldGenBench: published figures recombine as far as they do; worked cases and generated replies score right."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest

import limner
from limner.core.asks import Reply, Unreadable
from limner.core.protocol import READINGS, Row
from limner.exams.worldgenbench import WORLDGENBENCH
from limner.exams.worldgenbench.data import CONTINENTS, DISCIPLINES
from limner.judges import make_variant
from tests.exams.worldgenbench.replies import FORMS, WRONG, plain, question

PROTOCOL = WORLDGENBENCH.protocol
FOLDER = Path(limner.__file__).parent / "exams"
HUMANITIES = dict(zip(CONTINENTS.values(), (163, 12, 171, 152, 120, 71, 43), strict=True))
NATURE = dict(zip(DISCIPLINES.values(), (41, 49, 59, 73, 68, 50), strict=True))
"""The paper prints no counts per category: these are whole numbers of prompts that fit its averages best."""
EXCEPTIONS = {"FLUX.1-dev", "Emu3", "JanusFlow-1.3B", "Harmon-1.5B", "SimpleAR(SFT)"}
"""Their Nature averages fit no weights that fit the others."""


def table(name: str) -> dict[str, dict[str, float]]:
    """Model -> category (or domain) -> figure."""
    found: dict[str, dict[str, float]] = {}
    with (FOLDER / "worldgenbench" / "paper" / "published.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["table"] == name:
                found.setdefault(row["model"], {})[row["category"]] = float(row["value"])
    return found


TABLES = {"Humanities": (table("Table 1"), HUMANITIES), "Nature": (table("Table 2"), NATURE)}


def averages(row: dict[str, float], counts: dict[str, int]) -> dict[str, float]:
    """Our averages over as many prompts as the counts say, each with the printed score of its category."""
    tag, names = ("continent", CONTINENTS) if "Africa" in counts else ("discipline", DISCIPLINES)
    rows = [
        Row(question(1, domain="any", **{tag: short}), (), {"checklist": row[name]})
        for short, name in names.items()
        for _ in range(counts[name])
    ]
    return PROTOCOL.summary(rows)


def off(domain: str) -> dict[str, float]:
    """How far each model's printed average lies from the mean over prompts."""
    models, counts = TABLES[domain]
    return {model: abs(averages(row, counts)["checklist"] - row[domain]) for model, row in models.items()}


def test_all_of_both_tables_is_there() -> None:
    for domain, (models, counts) in TABLES.items():
        assert len(models) == 22
        assert all(set(row) == {*counts, domain} for row in models.values())
        assert all(0 <= value <= 100 for row in models.values() for value in row.values())
    assert set(TABLES["Humanities"][0]) == set(TABLES["Nature"][0])


def test_the_numbers_of_prompts() -> None:
    assert sum(HUMANITIES.values()) == 244 * 3 == 732
    assert sum(NATURE.values()) == 340
    assert sum(HUMANITIES.values()) + sum(NATURE.values()) == 1072


def test_humanities_averages_are_means_over_prompts() -> None:
    assert max(off("Humanities").values()) <= 0.0125


def test_nature_averages_are_means_over_prompts_but_for_five() -> None:
    found = off("Nature")
    assert {model for model, distance in found.items() if distance > 0.03} == EXCEPTIONS
    assert all(0.05 <= found[model] <= 0.17 for model in EXCEPTIONS)
    assert max(distance for model, distance in found.items() if model not in EXCEPTIONS) <= 0.026


@pytest.mark.slow
@pytest.mark.parametrize(("domain", "least"), [("Humanities", 1.3), ("Nature", 0.37)])
def test_the_paper_does_not_average_over_categories(domain: str, least: float) -> None:
    """That mean is another score of ours, under a name of its own."""
    models, counts = TABLES[domain]
    macro = {model: averages(row, counts)["checklist_macro"] for model, row in models.items()}
    for model, row in models.items():
        assert macro[model] == pytest.approx(sum(row[name] for name in counts) / len(counts))
    assert max(abs(macro[model] - row[domain]) for model, row in models.items()) >= least


def test_no_whole_prompts_fit_the_exceptions_with_the_rest() -> None:
    """Moving any few prompts from one discipline to another leaves some average far from what is printed."""
    models, _ = TABLES["Nature"]
    for source in NATURE:
        for target in NATURE:
            for step in (1, 3, 6):
                counts = {**NATURE, source: NATURE[source] - step}
                counts[target] += step
                worst = max(
                    abs(sum(row[name] * counts[name] for name in counts) / 340 - row["Nature"])
                    for row in models.values()
                )
                assert worst > 0.08


@pytest.mark.parametrize(
    ("items", "printed"),
    [(10, (0.7, 0.4, 0.0)), (10, (0.3, 0.3, 0.2)), (10, (0.6,))],
    ids=["titration", "monastery", "honey gatherer"],
)
def test_worked_cases(items: int, printed: tuple[float, ...]) -> None:
    for score in printed:
        met = round(score * items)
        asked = question(items)
        marks = PROTOCOL.marks(asked, [Reply("mark", plain([1] * met + [0] * (items - met)))], "paper")
        assert PROTOCOL.scores(asked, marks, {}) == {"checklist": pytest.approx(100 * score)}


@pytest.mark.slow
def test_generated_replies_count_or_do_not() -> None:
    """Several hundred replies in every wrapping, right and wrong: all right ones score as told, no wrong one scores."""
    generator = random.Random(20_250_502)
    counted = {"right": 0, "wrong": 0}
    for forms, kind in ((FORMS, "right"), (WRONG, "wrong")):
        for form in forms.values():
            for _ in range(24):
                truth = [generator.randint(0, 1) for _ in range(generator.randint(2, 15))]
                asked, text = question(len(truth)), form(truth)
                (ask,) = PROTOCOL.asks(asked, "0" * 64, {}, make_variant(WORLDGENBENCH, None, {}))
                readings = [PROTOCOL.marks(asked, [Reply("mark", text)], reading) for reading in READINGS]
                if kind == "right":
                    assert [mark.value for mark in ask.contract.parse(text)] == truth
                    assert all([mark.value for mark in marks] == truth for marks in readings)
                    score = PROTOCOL.scores(asked, readings[0], {})["checklist"]
                    assert score == pytest.approx(100 * sum(truth) / len(truth))
                else:
                    with pytest.raises(Unreadable):
                        ask.contract.parse(text)
                    assert all(mark.verdict == "unread" and mark.value is None for marks in readings for mark in marks)
                    assert PROTOCOL.scores(asked, readings[0], {}) == {"checklist": None}
                counted[kind] += 1
    assert min(counted.values()) >= 250
