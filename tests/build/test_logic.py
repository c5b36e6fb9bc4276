"""The rules of graphs, logs and the four question sets: what is good passes, every planted fault is told."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import limner
from limner.build.base import BuildItem
from limner.build.recipe import open_recipe
from limner.core.asks import Unreadable
from limner.exams.aibench.recipe import steps
from limner.exams.aibench.recipe.graph_svg import to_svg
from limner.exams.aibench.recipe.latex_text import occurs
from limner.exams.aibench.recipe.level_questions import DraftQuestion, SetSize, _pattern, banned, parse_set
from limner.exams.aibench.recipe.logic_graph import Level, LogicGraph, parse_graph, parse_log
from limner.exams.aibench.recipe.steps import NOT_ENOUGH, NOTE, as_released, read_rules
from limner.strategies.svg.clean import clean_with_notes
from tests.build.papers import METHOD, THEMES, TIDE, Theme
from tests.needs import shared

RULES = read_rules(Path(str(limner.__file__)).parent / "exams" / "aibench" / "recipe")
SIZES: dict[Level, tuple[int, int]] = {"component": (6, 7), "topology": (5, 6), "phase": (4, 5), "semantics": (5, 6)}
NAMES: tuple[Level, ...] = ("component", "topology", "phase", "semantics")
Change = Callable[[list[dict[str, Any]]], Any]


def text_of(theme: Theme) -> str:
    words = METHOD.replace("\\method", theme.title).replace("\\part", "\\emph")
    words = words.replace("\\code{a}", "$h_a$").replace("\\code{b}", "$h_b$")
    return words % {name: getattr(theme, name) for name in theme.__dataclass_fields__}


def read(level: Level, rows: Any, absent: int = 3, theme: Theme = TIDE) -> int:
    graph = LogicGraph.model_validate(theme.graph)
    told = json.dumps({"questions": rows})
    least, most = SIZES[level]
    size = SetSize(least, most, absent)
    return len(parse_set(told, level, graph, text_of(theme), size, RULES.questions))


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.title)
def test_valid_question_sets_are_accepted(theme: Theme) -> None:
    assert parse_graph(json.dumps(theme.graph), text_of(theme)).title == theme.title
    assert parse_log(json.dumps(theme.log), text_of(theme), RULES.log).text().startswith(f"Step 1: {theme.left_model}")
    assert [read(level, theme.questions(level), theme=theme) for level in NAMES] == [7, 5, 4, 5]


def first(**change: Any) -> Change:
    return lambda rows: [rows[0] | change, *rows[1:]]


FAULTS: dict[str, tuple[Level, Change, str]] = {
    "too few": ("component", lambda rows: rows[:3] + rows[4:6], "6 to 7 are wanted"),
    "no absent part": ("component", lambda rows: [*rows[:4], *(first(question=row["question"] + " ")([row])[0]
                       for row in rows[:3])], "absent; 3 are wanted"),
    "absent part that is there": ("component", lambda rows: [*rows[:6], rows[6] | {
        "part": "Water Level", "question": "Is the 'Water Level' (word splitter) there?"}], "it is not absent"),
    "present and no": ("component", first(correct_option="B"), "Yes is right"),
    "all of track B": ("component", lambda rows: [row | {"track": "B"} for row in rows[:4]] + rows[4:], "of track B"),
    "synonym not named": ("component", first(synonyms=["Sluice"]), 'must name "Sluice"'),
    "unknown node": ("component", first(nodes=["zz"]), "zz, which the graph does not have"),
    "reference named": ("topology", first(question="In the reference image, what comes next?"), "(reference)"),
    "colour": ("topology", first(question="What receives the output of the blue box?"), "(colours)"),
    "wrong by the graph": ("topology", first(correct_option="B"), "is not next to"),
    "two right": ("topology", lambda rows: [rows[0], rows[1], rows[2] | {"nodes": ["f"], "options": {
        "A": "Gauge Encoder", "B": "Radar Encoder", "C": "Forecast Head", "D": "Water Level"}}, *rows[3:]],
        "right, too"),
    "far away": ("topology", lambda rows: [rows[0] | {"options": {**rows[0]["options"], "D": "Water Level"}},
                 *rows[1:]], "is not a plausible neighbour"),
    "path that is not there": ("topology", lambda rows: [*rows[:4], rows[4] | {"correct_option": "B"}],
                               "not the graph's"),
    "numbered phase": ("phase", first(question="During Phase 1, are the encoders side by side?"), "(phases)"),
    "no such pattern": ("phase", first(about="spiral"), "about is one of"),
    "answer against pattern": ("phase", first(correct_option="B"), "opposite of holds"),
    "all yes": ("phase", lambda rows: [rows[0], rows[1], *(rows[0] | {"question": f"Once more, {n}: side by side?"}
                for n in "ab")], "as many yes as no"),
    "one pattern": ("phase", lambda rows: [rows[0] | {"question": f"Once more, {n}: side by side?"} for n in "abcd"],
                    "at least two"),
    "dataset": ("semantics", first(question="Is it trained on ImageNet or another?"), "(datasets)"),
    "aspect left out": ("semantics", lambda rows: [row | {"about": "task"} for row in rows], "no question on modality"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_every_planted_fault_is_reported(fault: str) -> None:
    level, change, message = FAULTS[fault]
    with pytest.raises(Unreadable) as raised:
        read(level, change(TIDE.questions(level)))
    assert message in str(raised.value)


GRAPH_FAULTS: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "invented node": (lambda g: g | {"nodes": [g["nodes"][0] | {"label": "Challenger Model"}, *g["nodes"][1:]]},
                      "Challenger Model"),
    "invented phase": (lambda g: g | {"phases": [{"id": "p1", "label": "Warmup"}, g["phases"][1]]}, "Warmup"),
    "edge to nowhere": (lambda g: g | {"edges": [*g["edges"], {"source": "l", "target": "zz"}]}, "not there"),
    "lone node": (lambda g: g | {"edges": g["edges"][:-1]}, "no edge leads"),
    "twice one id": (lambda g: g | {"nodes": [*g["nodes"], g["nodes"][0]]}, "have the id"),
}  # fmt: skip


@pytest.mark.parametrize("fault", GRAPH_FAULTS)
def test_inconsistent_graphs_are_reported(fault: str) -> None:
    change, message = GRAPH_FAULTS[fault]
    with pytest.raises(Unreadable, match=message):
        parse_graph(json.dumps(change(TIDE.graph)), text_of(TIDE))


@pytest.mark.parametrize(
    ("change", "message"),
    [({"name": "Challenger Model"}, "do not occur"), ({"action": "It outperforms all others"}, "outperforms"),
     ({"next_logic": "goes to PyTorch"}, "pytorch"), ({"input": ["invented data"]}, "invented data"),
     ({"action": ""}, "does not fit")],
)  # fmt: skip
def test_logs_that_depart_from_text_are_refused(change: dict[str, Any], message: str) -> None:
    log = TIDE.log
    log["steps"][0] |= change
    with pytest.raises(Unreadable, match=message):
        parse_log(json.dumps(log), text_of(TIDE), RULES.log)


LABEL = st.text(alphabet="abc <&>\"'é", min_size=1, max_size=40).filter(str.strip)


@given(st.data())
def test_any_graph_is_drawn_completely(data: st.DataObject) -> None:
    count = data.draw(st.integers(3, 9))
    ids = [f"n{n}" for n in range(count)]
    phases = [{"id": f"p{n}", "label": data.draw(LABEL)} for n in range(data.draw(st.integers(1, 3)))]
    nodes = [
        {"id": id, "label": data.draw(LABEL), "phase_id": data.draw(st.sampled_from(phases))["id"],
         "type": data.draw(st.sampled_from(["model", "data", "process", "decision"]))}
        for id in ids
    ]  # fmt: skip
    pairs = [(ids[n], ids[(n + 1) % count]) for n in range(count)]
    pairs += data.draw(st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids)), max_size=5))
    edges = [{"source": a, "target": b, "label": data.draw(st.one_of(st.just(""), LABEL))} for a, b in pairs]
    way = data.draw(st.sampled_from(["Left-to-Right", "Top-to-Bottom"]))
    graph = LogicGraph.model_validate(
        {"title": data.draw(LABEL), "layout_direction": way, "phases": phases, "nodes": nodes, "edges": edges}
    )
    svg = to_svg(graph)
    found = clean_with_notes(svg)
    assert not math.isnan(found.width)
    assert svg.count('class="edge"') == len(edges)
    assert svg.count('class="data"') + svg.count('class="module"') == count
    assert svg.count('class="data"') == sum(node["type"] == "data" for node in nodes)


PRINTED: tuple[tuple[Level, str, tuple[str, ...]], ...] = (
    ("component", "Is the 'Mesh Renderer' component present, by name or as what renders meshes?", ("No", "Yes")),
    ("topology", "In this architecture, which component directly receives the output of the 'Encoder'?",
     ("Depth Map", "Original Image", "White-Box Model", "Recall Memory")),
    ("phase", "During the distillation stage, does the diagram structure two nodes as parallel branches?",
     ("No, as a sequential pipeline", "Yes, as concurrent paths", "No, merged into a single block",
      "No, they belong to completely different stages")),
    ("semantics", "Looking at the entry points, what primary data modality does this system process?",
     ("Text Description", "2D Image", "Audio Waveform", "3D Point Cloud")),
    ("semantics", "What is the core representation used in this architecture?",
     ("Triplane Representation", "Standard CNN Feature Map", "Point Cloud Voxelization", "1D Sequence Embedding")),
    ("semantics", "What is the primary task of the overall pipeline?",
     ("3D Object Reconstruction", "Object Detection", "Image Classification", "Semantic Segmentation")),
)  # fmt: skip
"""Questions in the manner of those that the paper prints, with its options."""


def wordings(level: Level, question: str, options: tuple[str, ...]) -> list[str]:
    letters = dict(zip("ABCD", options, strict=False))
    body = {"question": question, "options": letters, "correct_option": "A", "rationale": "r"}
    draft = DraftQuestion.model_validate(body)
    return list(banned(draft, level, LogicGraph.model_validate(TIDE.graph), RULES.questions))


@pytest.mark.parametrize(("level", "question", "options"), PRINTED, ids=lambda value: str(value)[:24])
def test_printed_questions_pass_the_bans(level: Level, question: str, options: tuple[str, ...]) -> None:
    assert wordings(level, question, options) == []


def test_every_question_that_the_paper_prints_passes_the_bans() -> None:
    text = " ".join(shared("papers", "aibench.txt").read_text("utf-8").split())
    printed = re.findall(r'"question": "([^"]{4,})", "options": \[?\{([^}]*)\}', text)
    assert len(printed) == 6
    for question, options in printed:
        level: Level = "component" if "Yes" in options and "present" in question else "semantics"
        level = "phase" if "stage" in question or "gateway" in question else level
        assert wordings(level, question, tuple(re.findall(r'"[A-D]": "([^"]*)"', options))) == []


@pytest.mark.parametrize(
    ("level", "words"),
    [("topology", "In the reference image, what follows the encoder?"),
     ("topology", "Which part of the original figure is it?"),
     ("phase", "Is the blue block before the encoder?"), ("semantics", "Which mAP does the system reach in the end?"),
     ("semantics", "How high is the recall rate of the system?"),
     ("semantics", "Which accuracy does the system reach?")],
)  # fmt: skip
def test_banned_words_are_still_found(level: Level, words: str) -> None:
    assert wordings(level, words, ("One", "Two", "Three", "Four"))


def graph_of(edges: list[tuple[int, int]], size: int) -> LogicGraph:
    nodes = [{"id": str(n), "label": f"Node {n}", "phase_id": "p", "type": "model"} for n in range(size)]
    pairs = [{"source": str(a), "target": str(b)} for a, b in edges]
    return LogicGraph.model_validate(
        {"title": "G", "phases": [{"id": "p", "label": "P"}], "nodes": nodes, "edges": pairs}
    )


def test_patterns_agree_with_networkx_on_random_graphs() -> None:
    """Feedback closes a loop and goes back; parallel nodes are incomparable in the order of the flow."""
    chance, loops = random.Random(11), 0
    for _ in range(200):
        size = chance.randint(3, 9)
        edges = sorted({(chance.randrange(size), chance.randrange(size)) for _ in range(chance.randint(2, 2 * size))})
        whole = networkx.DiGraph(edges)
        if set(whole) != set(range(size)):
            continue
        graph = graph_of(edges, size)
        back = [
            (a, b)
            for a, b in edges
            if _pattern("feedback", [str(a), str(b)], graph) and graph.leads_back(str(a), str(b))
        ]
        parts = {node: n for n, part in enumerate(networkx.strongly_connected_components(whole)) for node in part}
        assert all(parts[a] == parts[b] for a, b in back)
        forward = whole.copy()
        forward.remove_edges_from(back)
        assert networkx.is_directed_acyclic_graph(forward), "every loop has an edge that leads back"
        loops += bool(back)
        for part in networkx.strongly_connected_components(whole):
            inner = [edge for edge in edges if set(edge) <= part and edge[0] != edge[1]]
            assert not inner or set(inner) - set(back), "not every edge of a loop leads back"
        for a, b in itertools.combinations(range(size), 2):
            apart = not networkx.has_path(whole, a, b) and not networkx.has_path(whole, b, a)
            assert _pattern("parallel", [str(a), str(b)], graph) == apart
    assert loops > 50


def test_forward_edge_of_a_loop_is_no_feedback_and_a_series_not_parallel() -> None:
    graph = graph_of([(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)], 5)
    assert _pattern("feedback", ["3", "1"], graph)
    assert not _pattern("feedback", ["1", "2"], graph)
    assert not _pattern("parallel", ["0", "4"], graph), "they follow each other, though no edge joins them"


def test_plural_in_the_text_is_the_same_term() -> None:
    assert occurs("SAR Image", r"We take \emph{SAR Images} of the coast.")
    assert not occurs("SAR Image", "We take optical images of the coast.")


def test_questions_have_the_released_form() -> None:
    row = {"level": "Level 4: Global Semantics", "question": "What is it for?", "correct_option": "D",
           "options": dict(zip("ABCD", ("w", "x", "y", "z"), strict=True))}  # fmt: skip
    made = as_released(row)
    assert made["options"] == {"A": "w", "B": "x", "C": NOT_ENOUGH, "D": "z"}
    assert made["question"] == "What is it for? Only what the picture shows counts."
    two = {"level": "Level 1: Component Existence", "question": "Is it there?", "options": {"A": "Yes", "B": "No"}}
    assert as_released({**two, "correct_option": "A"})["options"] == two["options"]


def test_second_screen_does_not_say_that_only_the_picture_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"id": 1, "level": "Level 4: Global Semantics", "question": "What is the task of this method?",
           "options": dict(zip("ABCD", ("w", "x", "y", "z"), strict=True)), "correct_option": "D"}  # fmt: skip
    body = {"checklist": [as_released(row)], "method": "A text.", "image": "0" * 64}
    sent = list[str]()

    async def answers(item: BuildItem, context: Any, role: str, question: Any, intro: str = "") -> dict[str, bool]:
        sent.extend(each.question for each in question.rubric.checklist)
        return {each.key: True for each in question.rubric.checklist}

    monkeypatch.setattr(steps, "_answers", answers)
    (key,) = (each.key for each in steps._question(BuildItem("p", body), body["checklist"]).rubric.checklist)  # type: ignore[arg-type]
    context: Any = SimpleNamespace(
        settings=steps.TextScreenSettings(), prompts=SimpleNamespace(fill=lambda *_, **fields: fields["method"])
    )
    made = asyncio.run(steps.text_screen(BuildItem("p", {**body, "wrong": [key]}), context))
    assert sent == ["What is the task of this method?"]
    assert made.body["checklist"][0]["question"].endswith(NOTE), "the exam keeps the note"


def test_generators_reason_before_the_json_and_ask_for_no_absent_part() -> None:
    recipe = open_recipe("questions")
    values = {place.name: getattr(place.settings, "values", {}) for place in recipe.places}
    assert values["component"]["absent"] == 0, "the paper has few"
    for level in NAMES:
        prompt = recipe.prompts().text(f"{level}-questions")
        assert prompt.index("First reason step by step") < prompt.index('{"questions"'), level
    reasoned = "The encoders stand side by side, {so} both are asked about.\n\n"
    graph, size = LogicGraph.model_validate(TIDE.graph), SetSize(*SIZES["component"], 3)
    reply = reasoned + json.dumps({"questions": TIDE.questions("component")})
    assert len(parse_set(reply, "component", graph, text_of(TIDE), size, RULES.questions)) == 7


def test_second_screen_goes_by_picture_and_text_alike() -> None:
    prompts = open_recipe("questions").folder / "prompts" / "screen"
    for name in ("solve", "solve-all"):
        text = (prompts / f"{name}.md").read_text("utf-8")
        assert "the picture and the method text above" in text
        assert "alone" not in text
