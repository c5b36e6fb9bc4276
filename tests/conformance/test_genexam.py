"""Generated verdicts get the scores the released scorer gives them: per image, per subject and over all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from limner.core.marks import Mark
from limner.core.protocol import Row
from limner.exams.genexam import GENEXAM
from limner.exams.genexam.data import read
from limner.scoring.stats import MIN_CLUSTERS
from tests.cli.invoke import limner
from tests.conformance.verdicts import (
    SAMPLE,
    Verdict,
    by_subject,
    means,
    released_rows,
    verdicts,
    write_replay,
    write_results,
)
from tests.needs import shared
from tests.support import picture

PROTOCOL = GENEXAM.protocol


@pytest.fixture(scope="module")
def released() -> Path:
    """The real annotations."""
    return shared("data", "genexam")


@pytest.fixture
def drawings(tmp_path: Path) -> Path:
    folder = tmp_path / "drawings"
    folder.mkdir()
    return folder


def marks(verdict: Verdict) -> list[Mark]:
    points = [Mark(f"point/{n}", answer) for n, answer in enumerate(verdict.answers, 1)]
    return points + [Mark(name, value) for name, value in verdict.ratings.items()]


def check_row(row: Mapping[str, Any], verdict: Verdict) -> None:
    """A drawing's exported scores; strict and relaxed stand there in percent."""
    expected = {"strict": verdict.strict * 100, "relaxed": round(verdict.relaxed * 100, 1)}
    assert row["scores"] == {**expected, "semantic": verdict.semantic, **verdict.ratings}, row["id"]
    assert f"{row['scores']['relaxed']:.1f}" == f"{verdict.relaxed * 100:.1f}"


def check_numbers(scores: Mapping[str, Any], found: Sequence[Verdict]) -> None:
    """Means over some drawings."""
    for name, mean in means(found).items():
        assert mean.agrees(scores[name]["value"]), (name, scores[name], mean)
        if len(found) < MIN_CLUSTERS:
            assert scores[name]["low"] is scores[name]["high"] is None
        else:
            assert scores[name]["low"] <= scores[name]["value"] <= scores[name]["high"]
    for name in ("semantic", "spelling", "readability", "logic"):
        values = [one.semantic if name == "semantic" else one.ratings[name] for one in found]
        assert scores[name]["value"] == pytest.approx(sum(values) / len(values), abs=1e-9)


def check_store(exam: str, store: Path, sets: Mapping[str, Sequence[Verdict]], reading: str) -> None:
    """Every painter's rows and standings as `limner export` and `limner scores` give them."""
    expected = {(painter, one.row["id"]): one for painter, found in sets.items() for one in found}
    rows = limner("export", exam, "--store", store, "--reading", reading).lines()
    assert {(row["painter"], row["id"]) for row in rows} == set(expected)
    for row in rows:
        assert (row["status"], row["reading"]) == ("done", reading)
        check_row(row, expected[row["painter"], row["id"]])
    said = limner("scores", exam, "--store", store, "--by", "subject", "--reading", reading, "--format", "json").json()
    assert sorted(standing["painter"] for standing in said) == sorted(sets)
    for standing in said:
        found = sets[standing["painter"]]
        share = round(len(found) / standing["expected"], 4)
        assert (standing["n"], standing["coverage"], standing["failures"]) == (len(found), share, {})
        assert standing["expected"] == len(found) + standing["undrawn"]
        check_numbers(standing["scores"], found)
        subjects = by_subject(found)
        assert set(standing["by"]["subject"]) == set(subjects)
        for subject, body in standing["by"]["subject"].items():
            assert body["n"] == len(subjects[subject])
            check_numbers(body["scores"], subjects[subject])


def check_pure(folder: Path, seeds: range, share: int) -> None:
    """Marks to scores to means, without a store; each set judges every `share`-th annotation, in turn."""
    questions = {question.id: question for question in read(folder).questions}
    rows = released_rows(folder)
    for seed in seeds:
        scored: dict[str, list[Row]] = {}
        found = verdicts(rows[seed % share :: share], seed)
        for one in found:
            question, given = questions[one.row["id"]], marks(one)
            scores = PROTOCOL.scores(question, given, {})
            check_row({"id": question.id, "scores": scores}, one)
            scored.setdefault(one.row["subject"], []).append(Row(question, tuple(given), scores))
        check_means([row for part in scored.values() for row in part], found)
        for subject, part in by_subject(found).items():
            check_means(scored[subject], part)


def check_means(scored: Sequence[Row], found: Sequence[Verdict]) -> None:
    numbers = PROTOCOL.summary(scored)
    for name, mean in means(found).items():
        assert mean.agrees(numbers[name]), (name, numbers[name], mean)


def mark(exam: str, sets: Mapping[str, Sequence[Verdict]], tmp_path: Path, drawings: Path, *words: str | Path) -> Path:
    """Draw from a folder and mark from a file, for all painters; returns the store."""
    store = tmp_path / "store"
    replay = write_replay(tmp_path / "replies.jsonl", sets)
    for number, one in enumerate(next(iter(sets.values()))):
        (drawings / f"{one.row['id']}.png").write_bytes(picture(number))
    painters = [word for name in sets for word in ("--painter", f"{name}=folder/{drawings}")]
    limner("run", exam, *painters, "--judge", f"replay/{replay}", "--store", store, "--format=json", *words)
    return store


def bring_in(exam: str, sets: Mapping[str, Sequence[Verdict]], tmp_path: Path, *words: str | Path) -> Path:
    """Import every painter's results; returns the store."""
    store = tmp_path / "imported"
    for painter, found in sets.items():
        results = write_results(tmp_path / "results" / painter, found)
        to = ("--painter", painter, "--judge", "gpt-5", "--store", store, "--format=json")
        said = limner("import", exam, "--results", results, *to, *words).json()
        assert said == {"results": len(found), "images": 0, "failures": {}}
    return store


@pytest.mark.slow
def test_hundreds_of_verdict_sets_over_the_sample() -> None:
    check_pure(SAMPLE, range(400), share=1)


@pytest.mark.slow
def test_hundreds_of_verdict_sets_over_the_released_annotations(released: Path) -> None:
    check_pure(released, range(240), share=8)


@pytest.mark.slow
def test_marking_the_sample(tmp_path: Path, drawings: Path) -> None:
    sets = {f"painter-{seed}": verdicts(released_rows(SAMPLE), seed) for seed in range(20)}
    store = mark("sample/genexam", sets, tmp_path, drawings)
    for reading in ("careful", "paper", "release"):
        check_store("sample/genexam", store, sets, reading)


@pytest.mark.slow
def test_importing_into_the_sample(tmp_path: Path) -> None:
    sets = {f"painter-{seed}": verdicts(released_rows(SAMPLE), seed) for seed in range(20, 40)}
    store = bring_in("sample/genexam", sets, tmp_path)
    for reading in ("careful", "release"):
        check_store("sample/genexam", store, sets, reading)


@pytest.mark.slow
def test_marking_the_released_annotations(released: Path, tmp_path: Path, drawings: Path) -> None:
    """The Mini subset of them; a thousand drawings take their time."""
    mini = set((released / "mini_sample_ids.txt").read_text("utf-8").split())
    rows = [row for row in released_rows(released) if row["id"] in mini]
    assert len(rows) == 250
    sets = {f"painter-{seed}": verdicts(rows, seed) for seed in (105, 106)}
    how = ("--data", released, "--reference", "none", "--subset", "mini")
    store = mark("genexam", sets, tmp_path, drawings, *how)
    check_store("genexam", store, sets, "careful")


@pytest.mark.slow
def test_importing_into_the_released_annotations(released: Path, tmp_path: Path) -> None:
    sets = {f"painter-{seed}": verdicts(released_rows(released), seed) for seed in (200,)}
    store = bring_in("genexam", sets, tmp_path, "--data", released)
    check_store("genexam", store, sets, "release")


def test_an_average_over_subjects_follows_from_the_breakdown(tmp_path: Path) -> None:
    """The released scorer also averages its subjects, each with the same weight; `--by subject` holds that too."""
    found = verdicts(released_rows(SAMPLE), 3)
    store = bring_in("sample/genexam", {"one": found}, tmp_path)
    (standing,) = limner("scores", "sample/genexam", "--store", store, "--by", "subject", "--format", "json").json()
    for name in ("strict", "relaxed"):
        subjects = [[float(getattr(one, name)) for one in part] for part in by_subject(found).values()]
        expected = sum(sum(part) / len(part) for part in subjects) / len(subjects) * 100
        values = [body["scores"][name]["value"] for body in standing["by"]["subject"].values()]
        assert sum(values) / len(values) == pytest.approx(expected, abs=1e-9)
