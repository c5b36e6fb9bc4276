"""MMMG's scores, averages, error analysis and remarks."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.asks import Ask, Picture, Reply, Text
from limner.core.errors import UsageError
from limner.core.exam import Question
from limner.core.marks import Mark
from limner.core.protocol import Row
from limner.exams.mmmg import MMMG
from limner.exams.mmmg.analysis import failures
from limner.exams.mmmg.data import GraphRubric
from limner.exams.mmmg.protocol import readability
from limner.exams.mmmg.replies import SCHEMA
from limner.judges import make_variant
from limner.scoring.stats import bootstrap
from tests.cli.invoke import limner
from tests.exams.mmmg.cases import DEPENDENCIES, body, graphs, marks, question, structured
from tests.fakes import ChatServer
from tests.support import JUDGE, write_settings

PROTOCOL = MMMG.protocol
NAMES = (
    "mmmg_release", "mmmg_exact", "fidelity_release", "fidelity_exact", "readability", "u_acc", "entity_recall",
    "dependency_accuracy",
)  # fmt: skip


def regions(count: object, backend: str = "imported") -> dict[str, Any]:
    return {"regions": {"value": count, "backend": backend}}


def row(asked: Question[GraphRubric], given: list[Mark], count: object = 10) -> Row:
    return Row(asked, tuple(given), PROTOCOL.scores(asked, given, regions(count)), regions(count))


def test_exactly_declared_scores_are_returned() -> None:
    found = PROTOCOL.scores(question(), marks([1, 1, 1], [1, 1]), regions(0))
    assert set(found) == set(NAMES)
    assert found == dict.fromkeys(NAMES, 1.0)
    summary_only = {"mmmg_release_avg", "mmmg_exact_avg"}
    assert {score.name for score in PROTOCOL.scored} == set(NAMES) | summary_only
    assert {score.name for score in PROTOCOL.scored if not score.monotone} == {
        "mmmg_release", "mmmg_release_avg", "fidelity_release",
    }  # fmt: skip


def test_scores_match_manual_calculation() -> None:
    found = PROTOCOL.scores(question(), marks([1, 1, 0], [1, 1]), regions(100))
    assert (found["entity_recall"], found["dependency_accuracy"], found["u_acc"]) == (2 / 3, 1.0, 0.8)
    assert found["fidelity_exact"] == 2 * 3 / (3 + 5), "two nodes and one edge; the turbine's needs the turbine"
    assert found["readability"] == 60 / 90
    assert found["mmmg_exact"] == 60 / 90 * 0.75
    assert found["fidelity_release"] == 1 - 4 / 8, "the first value overshoots here"


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, 1), (70, 1), (73, 0.97), (80, 0.89), (87, 0.81), (100, 0.67), (115, 0.5), (135, 0.28), (138, 0.24),
     (156, 0.04), (160, 0), (163, 0), (10**9, 0)],
)  # fmt: skip
def test_readability_falls_between_thresholds(count: int, expected: float) -> None:
    found = readability(count, 70, 160)
    assert found is not None
    assert f"{found:.2f}" == f"{expected:.2f}"


@pytest.mark.parametrize("count", [None, -1, "83", True, math.nan, [83]])
def test_mmmg_score_needs_region_count(count: object) -> None:
    found = PROTOCOL.scores(question(), marks([1, 1, 1], [1, 1]), regions(count))
    assert found["readability"] is found["mmmg_release"] is found["mmmg_exact"] is None
    assert found["fidelity_release"] == found["fidelity_exact"] == 1
    assert PROTOCOL.scores(question(), marks([1, 1, 1], [1, 1]), {})["mmmg_exact"] is None


def test_thresholds_are_configurable() -> None:
    other = PROTOCOL.tuned({"n_min": 0, "n_max": 200})
    given = marks([1, 1, 1], [1, 1])
    assert other.scores(question(), given, regions(50))["readability"] == 0.75
    assert PROTOCOL.scores(question(), given, regions(50))["readability"] == 1
    assert other.remarks([]) == ["n_min is 0 instead of 70", "n_max is 200 instead of 160"]
    assert PROTOCOL.tuned({}) is PROTOCOL
    same = PROTOCOL.tuned({"n_max": 70})
    assert [same.scores(question(), given, regions(n))["readability"] for n in (70, 71)] == [1, 0]
    with pytest.raises(UsageError, match="no constant 'n_mid'; they have: n_min, n_max"):
        PROTOCOL.tuned({"n_mid": 3})


def test_unanswered_items_leave_scores_undecided() -> None:
    given = [*marks([1, 1]), Mark.unread("entity/3", "not answered"), *marks([], [1, 1])]
    found = PROTOCOL.scores(question(), given, regions(10))
    assert found["dependency_accuracy"] == 1
    assert {name for name, value in found.items() if value is None} == set(NAMES) - {
        "dependency_accuracy",
        "readability",
    }
    assert PROTOCOL.scores(question(["a"], []), marks([1]), regions(10))["dependency_accuracy"] is None


def test_question_stopping_released_scorer_has_no_release_score() -> None:
    asked = question(dependencies=["Causes(boiler,steam)", DEPENDENCIES[1]])
    given = marks([1, 1, 1], [1, 0])
    found = PROTOCOL.scores(asked, given, regions(10))
    assert found["fidelity_release"] is found["mmmg_release"] is None
    assert found["fidelity_exact"] == found["mmmg_exact"] == 2 * 4 / (4 + 5)
    rows = [row(asked, given)] * 2 + [
        row(question(id=f"PhD_Math_{n}", dependencies=["X(a)"]), marks([1, 1, 1], [1])) for n in range(4)
    ]
    first, *_, last = PROTOCOL.remarks(rows)
    assert first.startswith(
        "highschool_Engineering_1: no fidelity_release, because the released scorer stops with an error: "
    )
    assert last == "… and 2 more questions without fidelity_release"
    assert "fidelity_release" not in PROTOCOL.summary(rows)


@given(graphs(loops=True), st.integers(0, 200), st.data())
def test_scores_stay_on_scale_and_monotone_ones_rise(
    case: tuple[dict[str, bool], dict[str, bool]], count: int, data: st.DataObject
) -> None:
    elements, dependencies = case
    asked = question(list(elements), list(dependencies))
    given = marks(list(elements.values()), list(dependencies.values()))
    before = PROTOCOL.scores(asked, given, regions(count))
    assert all(value is None or 0 <= value <= 1 for value in before.values())
    at = data.draw(st.integers(0, len(given) - 1))
    after = PROTOCOL.scores(asked, [*given[:at], Mark(given[at].criterion, 1), *given[at + 1 :]], regions(count))
    for score in PROTOCOL.scored:
        if score.monotone and (low := before.get(score.name)) is not None:
            assert (after[score.name] or 0) >= low


def rows_of(values: Mapping[str, list[float]]) -> list[Row]:
    """Drawings by level with the MMMG-Scores given."""
    found = []
    for level, scores in values.items():
        for n, score in enumerate(scores):
            named = {"mmmg_release": score, "fidelity_release": score / 2}
            found.append(Row(question(id=f"{level}_Math_{n}"), (), named))
    return found


def test_averages_over_levels_and_over_drawings_are_computed() -> None:
    rows = rows_of({"preschool": [0.9, 0.7, 0.8, 0.8], "PhD": [0.2]})
    found = PROTOCOL.summary(rows)
    assert found["mmmg_release"] == pytest.approx(3.4 / 5)
    assert found["mmmg_release_avg"] == pytest.approx((0.8 + 0.2) / 2)
    assert found["fidelity_release_avg"] == pytest.approx(0.25)
    assert set(found) == {"mmmg_release", "mmmg_release_avg", "fidelity_release", "fidelity_release_avg"}


def test_resamples_missing_level_average_remaining_levels() -> None:
    rows = rows_of({"preschool": [0.8] * 3, "PhD": [0.2] * 3})
    parts = {name: (np.zeros(6), np.zeros(6)) for r in rows for name in PROTOCOL.parts(r)}
    for place, each in enumerate(rows):
        for name, (top, bottom) in PROTOCOL.parts(each).items():
            parts[name][0][place] += top
            parts[name][1][place] += bottom
    found = bootstrap(parts, PROTOCOL.derive)["mmmg_release_avg"]
    assert [found.value, found.low, found.high] == pytest.approx([0.5, 0.2, 0.8])


def test_error_analysis_counts_low_scores() -> None:
    def one(mmmg: float | None, readable: float, recall: float | None, accuracy: float | None) -> Row:
        scores = {
            "mmmg_release": mmmg,
            "readability": readable,
            "entity_recall": recall,
            "dependency_accuracy": accuracy,
        }
        return Row(question(), (), scores)

    rows = [
        one(0.5, 0.5, 0.3, 0.4),
        one(0.2, 0.51, 0.31, 0.41),
        one(0.1, 1.0, 0.2, None),
        one(0.4, 0.1, 0.9, 0.1),
        one(0.51, 0.1, 0.1, 0.1),
        one(None, 0.1, 0.1, 0.1),
    ]
    assert failures(rows, "mmmg_release") == {
        "drawings": 5, "low": 4, "readability": 0.5, "entity": 0.5, "dependency": 0.5,
    }  # fmt: skip
    empty = {"drawings": 0, "low": 0, "readability": None, "entity": None, "dependency": None}
    assert PROTOCOL.analyses([]) == {"low_scores": {"mmmg_release": empty, "mmmg_exact": empty}, "levels": {}}


def test_unread_items_are_counted() -> None:
    text = structured([1, 1], [1])
    for reading, ending in (("careful", "and stay undecided"), ("paper", "and count as no in this reading")):
        given = PROTOCOL.marks(question(), [Reply("mark", text)], reading)  # type: ignore[arg-type]
        assert PROTOCOL.remarks([row(question(), given)]) == [f"2 of 5 items have no readable answer {ending}"]


def test_remarks_name_region_counter() -> None:
    given = marks([1, 1, 1], [1, 1])

    def told(*backends: str) -> list[str]:
        rows = [row(question(), given) for _ in backends]
        return PROTOCOL.remarks(
            [replace(one, evidence=regions(10, name)) for one, name in zip(rows, backends, strict=True)]
        )

    classical, paper = (
        "classical/close=7 rev=1 lines=rapidocr/3#ab",
        "sam2.1-large/0123456789ab/release/float32 lines=x",
    )
    assert told("imported") == []
    assert told(classical) == ["regions counted by classical: not the paper's readability, which uses SAM 2.1 large"]
    (said,) = told(paper, "imported")
    assert said.startswith("regions counted by sam2.1-large on 1 of 2 drawings: the paper's model and settings, but")
    assert "not the paper's readability" in told("sam2.1-large/0123456789ab/points=16 layers=0/float32 lines=x")[0]
    (half,) = told(paper.replace("float32", "bfloat16"))
    assert half.endswith(
        "not the paper's readability, which uses SAM 2.1 large in float32, with the release's settings"
    )


def test_missing_or_extra_replies_are_unread() -> None:
    for replies in ([], [Reply("mark", "{}"), Reply("checklist", "")], [Reply("ocr", "x")], [Reply("mark", "nothing")]):
        given = PROTOCOL.marks(question(), replies, "release")
        assert [mark.verdict for mark in given] == ["unread"] * 5


DRAWING = "1" * 64
VARIANTS = ("structured", "free-text")
TEMPLATES = ("corrected", "as-published")
each = pytest.mark.parametrize(("variant", "template"), [(v, t) for v in VARIANTS for t in TEMPLATES])


def ask(variant: str, template: str) -> Ask:
    (found,) = MMMG.protocol.asks(question(), DRAWING, {}, make_variant(MMMG, variant, {"template": template}))
    return found


def sections(found: Ask) -> dict[str, str]:
    first = found.shown[0]
    assert isinstance(first, Text)
    assert "{{" not in first.text
    parts = re.split(r"^## (.+)$", "## Opening\n" + first.text, flags=re.M)[1:]
    return {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}


@pytest.mark.parametrize("variant", VARIANTS)
def test_templates_differ_only_in_contains_and_defines(variant: str) -> None:
    corrected, published = (sections(ask(variant, template)) for template in TEMPLATES)
    place = "What the relations look like"
    assert "Contains: the first visibly holds the second" in corrected[place]
    assert "Contains: the first visibly is a part of the second or lies within it" in published[place]
    assert "Defines: the second visibly gives the meaning of the first" in corrected[place]
    assert "Defines: the first visibly defines or illustrates the second" in published[place]
    assert {name for name in corrected if corrected[name] != published[name]} == {place}


@each
def test_text_precedes_unscaled_drawing(variant: str, template: str) -> None:
    found = ask(variant, template)
    assert isinstance(found.shown[0], Text)
    assert found.shown[1:] == (Picture(DRAWING, max_side=None, detail=None),)
    assert [criterion.id for criterion in found.criteria] == [c.id for c in MMMG.protocol.criteria(question())]


def test_structured_and_free_text_forms_differ() -> None:
    structured, free = ask("structured", "corrected"), ask("free-text", "corrected")
    assert (structured.name, structured.contract.schema) == ("mark", SCHEMA)
    assert (free.name, free.contract.schema) == ("checklist", None)
    assert sections(structured)["Entities"] == "1. boiler 2. Steam 3. turbine"
    assert sections(free)["Entities"] == "- boiler - Steam - turbine"
    assert "one JSON object and nothing else" in sections(structured)["Reply"]
    assert "exactly as it stands above, a colon, then yes or no" in sections(free)["Reply"]
    assert re.search(r'\{ "description": .* "entities": .* "dependencies": ', sections(structured)["Reply"])
    assert sections(free)["Reply"].startswith("First write the description. Then write one line for each entity")


def test_prompt_states_missing_dependencies_and_explanation() -> None:
    bare = question(["a"], [], annotation="")
    (found,) = MMMG.protocol.asks(bare, DRAWING, {}, make_variant(MMMG, None, {}))
    assert sections(found)["Dependencies"] == "(There is none.)"
    assert sections(found)["What the items mean"].endswith("(There is no explanation.)")


@pytest.mark.slow
def test_service_is_asked_and_reply_is_read(tmp_path: Path, chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = write_settings(tmp_path, chat.base_url)
    settings.write_text(
        settings.read_text("utf-8").replace("timeout_s", 'structured = "json_schema"\ntimeout_s'), "utf-8"
    )
    chat.configure(reply=json.dumps(body([1, 1, 1, 1, 1], [1, 1, 1, 0])))
    how = ("--ids", "secondaryschool_Literature_1", "--judge", JUDGE, "--painter", "control/reference")
    limner("run", "sample/mmmg", *how, "--format=json")
    (sent,) = [record["body"] for record in chat.records(10)]
    assert sent["response_format"]["json_schema"] == {"name": "reply", "schema": SCHEMA, "strict": True}
    (row,) = limner("export", "sample/mmmg").lines()
    assert row["scores"]["fidelity_exact"] == pytest.approx(2 * 8 / (8 + 9))
    assert row["scores"]["mmmg_exact"] == row["scores"]["fidelity_exact"], "few regions: all of it is readable"
    assert row["evidence"]["regions_backend"].startswith("classical/")
    out = limner(
        "scores", "sample/mmmg", "--by", "level", "--by", "discipline", "--by", "level_discipline", "--notes"
    ).out
    assert "options template=corrected" in out
    assert "regions counted by classical: not the paper's readability" in out
    shown = limner("show", "sample/mmmg", "secondaryschool_Literature_1").out
    assert "TemporalOrder(falling action, resolution)" in shown
