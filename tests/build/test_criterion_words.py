from __future__ import annotations

import json
from collections import Counter

import pytest
from benchmarks.rubric_proof import HALVES, planted, rows_of

from limner import exams
from limner.build.criterion_words import KINDS, always_true, criterion_faults, invisible
from tests.needs import released


@pytest.mark.parametrize(("half", "least"), [("tune", 40), ("report", 36)])
def test_bad_criteria_are_found_by_their_words(half: str, least: int) -> None:
    bad = planted(HALVES.index(half))
    assert tuple(sorted(bad)) == tuple(sorted(KINDS))
    found = {
        kind: sum(bool(criterion_faults(text.format(label="Anode", other="Cathode"))) for text in texts)
        for kind, texts in bad.items()
    }
    print(f"{half}: {sum(found.values())} of {sum(map(len, bad.values()))}", found)
    assert sum(found.values()) >= least


@pytest.mark.parametrize("kind", exams.SHIPPED)
def test_criteria_of_the_samples_are_neither_always_true_nor_invisible(kind: str) -> None:
    source = exams.resolve(f"sample/{kind}", None)
    protocol = exams.kind(source.kind).protocol
    texts = {one.text for question in exams.read(source).questions for one in protocol.criteria(question)}
    assert not [text for text in texts if always_true(text) or invisible(text)]


def test_few_criteria_of_the_release_are_accused() -> None:
    points = [point["question"] for row in rows_of(released("genexam"), 1) for point in row["scoring_points"]]
    found = Counter(kind for text in points for kind, _ in criterion_faults(text))
    print(f"of {len(points)}:", json.dumps(found))
    assert found["always-true"] == 0
    assert found["invisible"] <= 0.003 * len(points)
    assert found["general"] <= 0.022 * len(points)
    assert found["compound"] <= 0.12 * len(points)
