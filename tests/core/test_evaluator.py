"""Evaluators: the shortest labels that tell them apart, and words that choose among them."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.errors import UsageError
from limner.core.evaluator import Evaluator, EvaluatorFilter, label_evaluators

PLAIN: dict[str, Any] = {"judge": "openai/gpt-5", "model": "gpt-5", "args": {}, "variant": "release"}
PLAIN |= {"options": {"reference": "image"}, "templates": "3f2a9c"}


def made(*setups: dict[str, Any]) -> list[Evaluator]:
    return label_evaluators(Evaluator(f"{n:064d}", setup) for n, setup in enumerate(setups))


def labels(*setups: dict[str, Any]) -> list[str]:
    return [each.label for each in made(*setups)]


def test_label_includes_provider_when_models_are_equal() -> None:
    other = {**PLAIN, "judge": "azure/gpt-5"}
    assert labels(PLAIN, other) == ["openai/gpt-5", "azure/gpt-5"]


def test_labels_show_only_differing_settings() -> None:
    low = {**PLAIN, "args": {"reasoning_effort": "low", "verbosity": "medium"}}
    high = {**PLAIN, "args": {"reasoning_effort": "high", "verbosity": "medium"}}
    blind = {**PLAIN, "options": {"reference": "none"}}
    worded = {**PLAIN, "templates": "aaaabbbb"}
    assert labels(low, high) == ["gpt-5 · reasoning_effort=low", "gpt-5 · reasoning_effort=high"]
    assert labels(PLAIN, blind)[1] == "gpt-5 · reference=none"
    assert labels(PLAIN, worded)[1] == "gpt-5 · wording aaaa"


def test_judges_without_model_keep_full_name() -> None:
    assert labels({"judge": "ocr/mentions", "rules": "3"}, {"judge": "ocr", "rules": "3"}) == ["ocr/mentions", "ocr"]


values = st.sampled_from(["a", "b", None])
setups = st.builds(
    lambda args, variant, options, templates: {
        **PLAIN,
        "args": {k: v for k, v in args.items() if v is not None},
        "variant": variant,
        "options": {k: v for k, v in options.items() if v is not None},
        "templates": templates,
    },
    st.dictionaries(st.sampled_from("xyz"), values, max_size=3),
    st.sampled_from(["one", "two"]),
    st.dictionaries(st.sampled_from("pq"), values, max_size=2),
    st.sampled_from(["aaaa1", "aaaa2", "b"]),
)


@given(st.lists(setups, max_size=6, unique_by=repr))
def test_labels_are_unique_and_independent_of_order(some: list[dict[str, Any]]) -> None:
    whole = [Evaluator(sha256(repr(setup).encode()).hexdigest(), setup) for setup in some]
    found = {each.id: each.label for each in label_evaluators(whole)}
    assert len(set(found.values())) == len(some)
    assert found == {each.id: each.label for each in label_evaluators(reversed(whole))}
    for each in label_evaluators(whole):
        assert [one.id for one in EvaluatorFilter((each.label,)).choose(label_evaluators(whole))] == [each.id]


def test_filter_selects_evaluators_by_label_and_options() -> None:
    low, high = ({**PLAIN, "args": {"reasoning_effort": word}} for word in ("low", "high"))
    blind = {**PLAIN, "options": {"reference": "none"}}
    there = made(PLAIN, low, high, blind)

    def ids(**which: Any) -> list[int]:
        return [int(each.id) for each in EvaluatorFilter(**which).choose(there)]

    assert ids() == [0, 1, 2, 3]
    assert ids(judges=("openai/gpt-5",)) == ids(judges=("gpt-5?",)) == [0, 1, 2, 3]
    assert ids(judges=("openai/gpt-5?reasoning_effort=low",)) == [1]
    assert ids(judges=("gpt-5?reasoning_effort=low", "gpt-5?reasoning_effort=high")) == [1, 2]
    assert ids(judges=("openai/gpt-5?reasoning_effort=",), options={"reference": "image"}) == [0]
    assert ids(judges=("openai/gpt-5?reference=none",)) == ids(options={"reference": "none"}) == [3]
    assert ids(variant="release", wording="3f2") == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("which", "there"),
    [
        (EvaluatorFilter(("gpt-6",)), "gpt-5"),
        (EvaluatorFilter(("openai/gpt-5?reasoning_effort=no",)), "gpt-5"),
        (EvaluatorFilter(variant="x"), "release"),
        (EvaluatorFilter(wording="fff"), "3f2a9c"),
    ],
)
def test_unmatched_filter_lists_available_evaluators(which: EvaluatorFilter, there: str) -> None:
    with pytest.raises(UsageError, match=f"it has: {there}"):
        which.choose(made(PLAIN))
