"""Which labels a criterion asks for."""

from __future__ import annotations

import doctest
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.judges.ocr import demands
from limner.judges.ocr.demands import LabelClaim, demand
from tests.needs import shared

DEMANDED = {
    "Is there a main block labeled 'Multiplexer'?": ["Multiplexer"],
    "Is the first law labeled “Newton’s law” above the cart?": ["Newton's law"],
    "In the eye labeled 'Normal vision,' is the cornea round?": ["Normal vision"],
    "Are there three vertices labeled 0, 1, and 2?": ["0", "1", "2"],
    "Are nucleus, membrane and vacuole labeled?": ["nucleus", "membrane", "vacuole"],
    "Are both chambers (left atrium, right atrium) clearly labeled?": ["left atrium", "right atrium"],
    "Is the neocortex labeled and correctly positioned as the outer layer?": ["neocortex"],
    "Is a winding labeled L1 and two more windings labeled L2 drawn?": ["L1"],
    "Does the diagram include a labeled reservoir with a vent?": ["reservoir"],
    "Are the curves labeled as f(x) and g(x)?": ["f(x)", "g(x)"],
}

SUFFICIENT = [
    "Are the brain and spinal cord labeled?",
    "Are the MSB and LSB clearly labeled in the diagram?",
    "Are the axes labeled as 'Consumption today' and 'Consumption tomorrow'?",
    "Are the players labeled as Joanne and Malik?",
    "Are there three stages clearly labeled as Stage 1, Stage 2, and Stage 3?",
    "Are all four parts (esophagus, stomach, pyloric sphincter, fundus) clearly labeled?",
    "Is there an annotation for 'Constant Consumption Across Life of People'?",
    "Is the pipe explicitly labeled with the text 'Constant-diameter pipe'?",
    "Is the mitochondrion present and labeled?",
    "Are the axis titles 'Price' and 'Quantity' both written?",
    "Are the coordinates '(-1,0)' and '(3,0)' both written?",
    "Is the label 'Root' present?",
    "Is the water flow rate labeled as 65 m^3/s?",
    "Are the vertices labeled A, B, C, D, and E?",
]

MORE_IS_ASKED = [
    "Is the mitochondrion located in the cytoplasm and labeled?",
    "Are the lobes correctly labeled as 'Frontal lobe' and 'Parietal lobe'?",
    "Is there an arrow labeled 'Multiplier Effect' indicating the shift?",
    "Are all four parts (esophagus, stomach, fundus) clearly labeled?",
    "Are all points (stomach, fundus) and the load clearly labeled?",
    "Are there three vertices labeled A, B, and C?",
    "Are the dimensions H and h labeled?",
    "Are the brain and spinal cord labeled in the correct order?",
    "Are there exactly two stages labeled as Growth and Decay?",
    "Is the x-axis labeled 'Employment'?",
]

SILENT = [
    "Is the curve smooth?",
    "Are there no text labels anywhere on the map?",
    "Are all labels clear and correctly placed?",
    "Are all axes, curves, and shifts clearly labeled?",
    "Are all three surfaces clearly labeled?",
    "Is the AD curve labeled (e.g., 'AD (without trade)' or similar wording)?",
    "Is there a transition from state 1 to state 3 on 'b'?",
    "Are Joanne's and Malik's payoffs visually distinguished?",
    "Does f'(x) attain its minimum value at x = 1?",
    "Is the elastic limit labeled or otherwise indicated on the graph?",
    "Are the two inlets clearly labeled (e.g., 1 and 2)?",
    "Does the x-axis range from 0 to 8?",
    "Are at least two of the regions labeled as Europe and Asia?",
    "",
    "labeled",
]


def demanded(text: str) -> list[str]:
    claim = demand(text)
    return [label.text for label in claim.labels] if claim else []


def firm(text: str) -> list[str]:
    claim = demand(text)
    return [label.text for label in claim.labels if label.firm] if claim else []


@pytest.mark.parametrize(("text", "expected"), DEMANDED.items())
def test_labels_are_extracted_from_criteria(text: str, expected: list[str]) -> None:
    assert demanded(text) == expected


@pytest.mark.parametrize("text", SUFFICIENT)
def test_some_criteria_ask_only_for_labels(text: str) -> None:
    claim = demand(text)
    assert claim is not None
    assert claim.sufficient


@pytest.mark.parametrize("text", MORE_IS_ASKED)
def test_most_criteria_ask_for_more_than_labels(text: str) -> None:
    claim = demand(text)
    assert claim is None or not claim.sufficient


@pytest.mark.parametrize("text", SILENT)
def test_criteria_without_labels_have_no_claim(text: str) -> None:
    assert demand(text) is None


def test_or_makes_labels_alternatives() -> None:
    claim = demand("Is each panel labeled 'Attraction' or 'Repulsion'?")
    assert claim is not None
    assert claim.mode == "any"


def test_criterion_with_examples_has_no_claim() -> None:
    assert demanded("Is the valve labeled 'Inlet valve' and drawn open (e.g., with a 'handle')?") == []


@pytest.mark.parametrize(
    ("text", "labels", "axes"),
    [
        ("Are the axes labeled as 'Good A' (horizontal) and 'Good B' (vertical)?", ["Good A", "Good B"], ("x", "y")),
        ("Does the image show a graph with Load (N) on the vertical axis and Extension (mm) on the horizontal axis?",
         ["Load (N)", "Extension (mm)"], ("y", "x")),
        ("Are the axes present with Year on x-axis and Unemployment rate (%) on y-axis?",
         ["Year", "Unemployment rate (%)"], ("x", "y")),
    ],
)  # fmt: skip
def test_names_of_both_axes_are_extracted(text: str, labels: list[str], axes: tuple[str, ...]) -> None:
    claim = demand(text)
    assert claim
    assert ([label.text for label in claim.labels], claim.axes, claim.sufficient) == (labels, axes, True)


def test_axis_names_do_not_suffice_if_curves_are_asked_for() -> None:
    claim = demand("Are two curves drawn with wage on the vertical axis and employment on the horizontal axis?")
    assert claim is None or not claim.sufficient


def test_brackets_give_variants_of_label() -> None:
    claim = demand("Are the soma (cell body) and the axon labeled?")
    assert claim is not None
    assert [label.variants for label in claim.labels] == [("cell body",), ()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Is the chloroplast labeled on the left?", ["chloroplast"]),
        ("Is the foundation (4) labeled near the wall?", []),
        ("Is the ultimate strain (ε_u) marked and labeled?", []),
        ("Is the maximum loss region indicated and labeled?", []),
        ("Is the stroma shown and labeled as the internal matrix?", []),
        ("Is the rectangle labeled ABCD drawn?", []),
        ("Is the angle labeled '30°'?", []),
        ("Is the area labeled as 'Producer Surplus'?", ["Producer Surplus"]),
        ("Is the note labeled 'G♯' below the staff?", []),
    ],
)
def test_only_plain_names_are_firm_labels(text: str, expected: list[str]) -> None:
    assert firm(text) == expected


@given(st.text(max_size=120))
def test_any_text_is_parsed_without_error(text: str) -> None:
    claim = demand(text)
    assert claim is None or all(label.text for label in claim.labels)


@given(
    st.lists(
        st.sampled_from(
            ["is", "are", "the", "labeled", "(", ")", ",", "'", "A", "axon", ":", "as", "on", "x-axis", "and"]
        )
    )
)
def test_any_sequence_of_grammar_words_is_parsed_without_error(words: list[str]) -> None:
    claim = demand(" ".join(words))
    assert claim is None or claim.labels


NAMES = st.lists(
    st.sampled_from(["nucleus", "cell wall", "vacuole", "ribosome", "Golgi apparatus", "cytoplasm", "lysosome"]),
    min_size=2,
    max_size=5,
    unique=True,
)


@given(NAMES, st.sampled_from(["Are the {} labeled?", "Are {} clearly labeled in the diagram?"]))
def test_every_item_of_list_becomes_label(names: list[str], sentence: str) -> None:
    phrase = ", ".join(names[:-1]) + " and " + names[-1]
    claim = demand(sentence.format(phrase))
    assert claim is not None
    assert [label.text for label in claim.labels] == names
    assert claim.sufficient


def test_docstring_examples_pass() -> None:
    assert doctest.testmod(demands).failed == 0


@pytest.mark.slow
def test_the_released_criteria_have_hundreds_of_claims() -> None:
    annotations = shared("data", "genexam", "annotations", "All_Subjects.jsonl")
    rows = [json.loads(row) for row in annotations.read_text(encoding="utf-8").splitlines()]
    texts = [point["question"] for row in rows for point in row["scoring_points"]]
    claims: list[LabelClaim] = [claim for text in texts if (claim := demand(text))]
    assert len(texts) == 7022
    assert len(claims) > 800
    assert sum(any(label.firm for label in claim.labels) for claim in claims) > 300
    assert 100 < sum(claim.sufficient for claim in claims) < 200
