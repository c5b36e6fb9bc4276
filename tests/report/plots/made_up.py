"""Made-up people and metrics beside a made-up exam, for plots of both."""

from __future__ import annotations

import random
from collections.abc import Sequence

from limner.evidence.imported import metric_setup
from limner.store import Store
from limner.store.markings import (
    PainterMetric,
    PairChoice,
    Rating,
    save_ratings,
)
from limner.store.records import Drawing, load_drawings, save_setup
from tests.report.tables import synthetic
from tests.scoring.people import STUDY, person

PEOPLE = ("anna", "ben", "cleo")
SCALES = ("clarity", "correctness", "accuracy", "faithfulness")


def skills(painters: int | Sequence[synthetic.Pretended]) -> dict[str, float]:
    there = synthetic.cast(painters) if isinstance(painters, int) else painters
    return {each.name: each.skill for each in there}


def metric(store: Store, name: str) -> str:
    id, body = metric_setup(name)
    save_setup(store, id, body, "metric")
    return id


def done(store: Store, exam: str) -> list[Drawing]:
    return sorted((d for d in load_drawings(store, exam) if d.status == "done"), key=lambda d: d.id)


def rated(store: Store, painters: int | Sequence[synthetic.Pretended] = 8, questions: int = 48) -> None:
    """MMMG with people's four scales, WIScore, looks and FID."""
    skill = skills(painters)
    synthetic.fill(store, "mmmg", painters=painters, questions=questions, images=False)
    dice, raters = random.Random(1), [person(store, name) for name in PEOPLE]
    wiscore, looks, fid = metric(store, "wiscore:openai/o3"), metric(store, "aesthetic-siglip"), metric(store, "fid")
    rows, there = [], done(store, "mmmg")
    for drawing in there:
        good = skill[drawing.painter]
        rows += [
            Rating(drawing.id, rater, scale, min(10, max(0, round(10 * good + dice.gauss(0, 1.5)))), STUDY)
            for rater in raters
            for scale in SCALES
        ]
        rows.append(Rating(drawing.id, wiscore, "wiscore", min(1, max(0, 0.4 + 0.3 * good + dice.gauss(0, 0.25)))))
        rows.append(Rating(drawing.id, looks, "aesthetic-siglip", 4 + dice.gauss(0, 1)))
    save_ratings(store, rows).result()
    numbers = [
        PainterMetric("mmmg", painter, fid, 200 - 120 * skill[painter] + dice.gauss(0, 15))
        for painter in sorted({drawing.painter for drawing in there})
    ]
    save_ratings(store, numbers).result()


def compared(store: Store, painters: int | Sequence[synthetic.Pretended] = 6, questions: int = 24) -> None:
    """AIBench with people's choices, a direct score and an arena."""
    skill = skills(painters)
    judges = ("dashscope/qwen3-vl-235b", "openai/gpt-5.1")
    synthetic.fill(store, "aibench", painters=painters, questions=questions, images=False, judges=judges)
    dice, raters = random.Random(2), [person(store, name) for name in PEOPLE]
    score, arena = (metric(store, f"vlm-{name}:gemini/gemini-3-flash") for name in ("score", "arena"))
    there, rows = done(store, "aibench"), []
    for at, one in enumerate(there):
        for other in there[at + 1 :]:
            if one.question_id != other.question_id:
                continue
            for setup, noise in [*((rater, 0.15) for rater in raters), (arena, 0.6)]:
                gap = skill[one.painter] - skill[other.painter] + dice.gauss(0, noise)
                choice = "first" if gap > 0.05 else "second" if gap < -0.05 else "tie"
                scale, study = ("arena", None) if setup == arena else ("logic", STUDY)
                shown = dice.choice(["first", "second"])
                rows.append(
                    PairChoice("aibench", one.question_id, one.id, other.id, setup, scale, choice, shown, study)
                )
    save_ratings(store, rows).result()
    numbers = {d.id: min(10, max(0, 6 + 2 * skill[d.painter] + dice.gauss(0, 3))) for d in there}
    save_ratings(store, [Rating(id, score, "vlm-score", value) for id, value in numbers.items()]).result()
