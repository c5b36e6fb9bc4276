from __future__ import annotations

import pytest

from limner.certify.certification import self_preference

QUESTIONS = [f"q{n}" for n in range(30)]


def test_what_is_left_of_its_makers_painters_beyond_a_general_mildness() -> None:
    others = {(painter, q): 0.5 for painter in ("own", "foreign") for q in QUESTIONS}
    mild = dict.fromkeys(others, 0.6)
    assert self_preference(mild, others, {"own": True, "foreign": False}).value == pytest.approx(0.0)  # type: ignore[union-attr]
    partial = {key: 0.8 if key[0] == "own" else 0.6 for key in others}
    found = self_preference(partial, others, {"own": True, "foreign": False})
    assert found is not None
    assert found.value == pytest.approx(0.2)
    assert found.clusters == len(QUESTIONS)


def test_without_both_sorts_of_painters_nothing_is_said() -> None:
    scored = {("own", "q"): 1.0}
    assert self_preference(scored, scored, {"own": True}) is None
