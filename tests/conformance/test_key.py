"""Scores of the answer keys' marks, computed by short scripts of their own, equal those by `paper` and `release`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import networkx
import pytest

from limner import api
from limner.evidence.backends import Measuring
from limner.exams import SHIPPED, kind
from limner.exams.key import PAINTERS
from limner.report.tables.status import demo_sentences

Line = dict[str, Any]
EXAMS = Path(api.__file__).parent / "exams"


def rows(path: str) -> list[Line]:
    return [json.loads(line) for line in (EXAMS / path).read_text("utf-8").splitlines()]


def genexam(lines: list[Line]) -> dict[str, float]:
    data = {row["id"]: row["scoring_points"] for row in rows("genexam/sample/annotations/All_Subjects.jsonl")}
    strict, relaxed = [], []
    for line in lines:
        points = sum(p["score"] for n, p in enumerate(data[line["id"]], 1) if f"point/{n}" not in line["faults"])
        ratings = [line["faults"].get(name, [2])[0] for name in ("spelling", "readability", "logic")]
        strict.append(0 if line["faults"] else 100)
        relaxed.append(100 * round(0.7 * points + sum(ratings) / 20, 3))
    return {"strict": mean(strict), "relaxed": mean(relaxed)}


def mmmg(lines: list[Line]) -> dict[str, float]:
    data = {row["key"]: json.loads(row["Knowledge_Graph"]) for row in rows("mmmg/sample/mmmg.jsonl")}
    fidelity = []
    for line in lines:
        whole, graphs = data[line["id"]], []
        for faults in (Line(), line["faults"]):
            nodes = [name.lower() for n, name in enumerate(whole["elements"], 1) if f"entity/{n}" not in faults]
            given = [text for n, text in enumerate(whole["dependencies"], 1) if f"dependency/{n}" not in faults]
            ends = [
                text.lower().replace("change(", "").replace(")", "").replace("(", ", ").split(", ") for text in given
            ]
            pairs = [(b, a) if relation == "requires" else (a, b) for relation, a, b in ends]
            graphs.append(networkx.DiGraph([pair for pair in pairs if {*pair} <= {*nodes}]))
            graphs[-1] = _in_order(graphs[-1], nodes)
        sizes = sum(len(graph.nodes) + len(graph.edges) for graph in graphs)
        fidelity.append(1 - next(networkx.optimize_graph_edit_distance(*graphs)) / sizes)
    assert all(line["regions"] <= 70 for line in lines)  # Then readability is 1.
    return {"mmmg_release": mean(fidelity)}


def _in_order(graph: Any, nodes: list[str]) -> Any:
    ordered = networkx.DiGraph()
    ordered.add_nodes_from(nodes)
    ordered.add_edges_from(sorted(graph.edges))
    return ordered


def worldgenbench(lines: list[Line]) -> dict[str, float]:
    files = rows("worldgenbench/sample/humanities.jsonl") + rows("worldgenbench/sample/nature.jsonl")
    counts = {row["id"]: len(row["checklist"]) for row in files}
    return {"checklist": mean(100 * (1 - len(line["faults"]) / counts[line["id"]]) for line in lines)}


def fepbench(lines: list[Line]) -> dict[str, float]:
    data = {row["id"]: row["atoms"] for row in rows("fepbench/sample/samples.jsonl")}
    flags = {
        "visual": "present count location",
        "text": "exact readable attached",
        "relation": "satisfied type direction",
    }
    totals: dict[str, list[float]] = {"if": [], "re": []}
    for line in lines:
        atoms, faults = data[line["id"].partition("/")[0]], line["faults"]
        for score, role in (("if", "instruction"), ("re", "reasoning")):
            parts = []
            for modality, names in flags.items():
                met = [[f"{modality}/{atom['id']}/{name}" not in faults for name in names.split()]
                       for atom in atoms[modality] if atom["role"] == role]  # fmt: skip
                parts.append(mean(gate * (first + second) / 2 for gate, first, second in met))
            layout = [f"layout/{name}" not in faults for name in atoms["layout"]]
            totals[score].append(mean([*parts, mean(layout)] if score == "if" else parts))
    return {score: mean(values) for score, values in totals.items()}


def aibench(lines: list[Line]) -> dict[str, float]:
    levels = {"component": "1", "topology": "2", "phase": "3", "semantics": "4"}
    data = {row["id"]: row["checklist"] for row in rows("aibench/sample/AIBench.jsonl")}
    shares = {}
    for level, number in levels.items():
        keys = [(line["faults"], f"{level}/{item['id']}") for line in lines for item in data[line["id"]]
                if item["level"].startswith(f"Level {number}")]  # fmt: skip
        shares[level] = mean(100 * (key not in faults) for faults, key in keys)
    return shares | {"overall": mean(shares.values())}


SCRIPTS: dict[str, Callable[[list[Line]], dict[str, float]]] = {
    "genexam": genexam, "mmmg": mmmg, "worldgenbench": worldgenbench, "fepbench": fepbench, "aibench": aibench,
}  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's drawings of all samples, marked by their keys."""
    folder = tmp_path_factory.mktemp("key") / "store"
    painters = [f"{name}=sample/{name.replace(' ', '-')}" for name in PAINTERS]
    for name in SHIPPED:
        measuring = Measuring({"regions": "key"}) if kind(name).protocol.needs else None
        done = api.run(f"sample/{name}", painters=painters, judges=["key"], store=folder, measuring=measuring)
        assert not done.failed
    return folder


@pytest.mark.parametrize("reading", ["paper", "release"])
@pytest.mark.parametrize("name", SHIPPED)
def test_key_marks_score_as_by_script(store: Path, name: str, reading: str) -> None:
    lines = rows(f"{name}/key/key.jsonl")
    standings = {row.painter: row for row in api.scores(f"sample/{name}", store=store, reading=reading)}
    assert standings.keys() == {*PAINTERS}
    for painter, row in standings.items():
        expected = SCRIPTS[name]([line for line in lines if line["painter"] == painter])
        for score, value in expected.items():
            assert row.numbers.value(score) == pytest.approx(value, abs=1e-6), painter


@pytest.mark.parametrize("name", SHIPPED)
def test_exams_rank_painters_from_best_to_worst(store: Path, name: str) -> None:
    standings = {row.painter: row for row in api.scores(f"sample/{name}", store=store)}
    for score in kind(name).protocol.scored[:1]:
        values = [standings[painter].numbers.scores[score.name].value for painter in PAINTERS]
        best, second, *_ = numbers = [value for value in values if value is not None]
        assert values == sorted(numbers, reverse=True)
        assert best == score.top > second


def test_demo_says_where_a_worse_drawing_is_higher(store: Path) -> None:
    standings = api.scores("sample/mmmg", store=store)
    (order, *_) = demo_sentences({"mmmg": standings})
    assert order.startswith("Every exam ranks the painters as anyone would")
    other = {"reference": "labels erased", "labels erased": "reference"}
    exchanged = [replace(row, painter=other.get(row.painter, row.painter)) for row in standings]
    (order, *_) = demo_sentences({"mmmg": exchanged})
    assert order == "Some worse drawings score above better ones in: mmmg release."
