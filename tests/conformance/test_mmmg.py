"""MMMG: the paper's worked examples score as printed, by themselves and through `import`; its averages recombine."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import limner as package
from limner.core.exam import Question
from limner.core.protocol import Row
from limner.exams.mmmg import MMMG, graph
from limner.exams.mmmg.data import LEVELS, GraphRubric
from limner.exams.mmmg.protocol import readability, with_level_averages
from limner.scoring.stats import rank_agreement
from tests.cli.invoke import limner
from tests.exams.mmmg.cases import body, checklist, marks

PROTOCOL = MMMG.protocol
CASES: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "mmmg_worked_examples.jsonl").read_text("utf-8").splitlines()
]
PRINTED = {"one_minus_ged": "fidelity_release", "readability": "readability", "mmmg": "mmmg_release"}
TAGS = {"Preschool": "preschool", "High School": "highschool", "Undergraduate": "undergraduate"}
each_case = pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])


def key(case: Mapping[str, Any]) -> str:
    return f"{TAGS[case['level']]}_{case['discipline']}_{case['figure']}"


def question(case: Mapping[str, Any]) -> Question[GraphRubric]:
    rubric = GraphRubric(elements=tuple(case["elements"]), dependencies=tuple(case["dependencies"]))
    return Question(key(case), "Draw.", rubric, {"level": TAGS[case["level"]]})


def check(case: Mapping[str, Any], scores: Mapping[str, float | None]) -> None:
    """Everything the paper prints legibly, to two decimals as it formats them."""
    for printed, name in PRINTED.items():
        value = scores[name]
        if case[printed] is None:
            continue
        if name != "fidelity_release" and case["segments"] is None:
            assert value is None, "without a legible count there is nothing to compute it from"
            continue
        assert value is not None
        assert f"{value:.2f}" == f"{case[printed]:.2f}", name
    computed = case["computed"]
    assert scores["fidelity_release"] == pytest.approx(computed["official_one_minus_ged"], abs=1e-6)
    assert scores["fidelity_exact"] == pytest.approx(computed["exact_one_minus_ged"], abs=1e-6)


def test_there_are_fifteen_cases_and_five_are_complete() -> None:
    assert len(CASES) == 15
    assert sum(case["complete"] for case in CASES) == 5


@each_case
def test_a_worked_example(case: dict[str, Any]) -> None:
    given = marks(list(case["elements"].values()), list(case["dependencies"].values()))
    evidence = {} if case["segments"] is None else {"regions": {"value": case["segments"], "backend": "printed"}}
    check(case, PROTOCOL.scores(question(case), given, evidence))


@each_case
def test_its_graphs(case: dict[str, Any]) -> None:
    elements, dependencies, computed = case["elements"], case["dependencies"], case["computed"]
    whole = graph.build(dict.fromkeys(elements, True), dict.fromkeys(dependencies, True))
    shown = graph.build(elements, dependencies)
    assert (len(whole.nodes), len(whole.edges)) == (computed["reference_nodes"], computed["reference_edges"])
    assert (len(shown.nodes), len(shown.edges)) == (computed["generated_nodes"], computed["generated_edges"])
    assert graph.distance(whole, shown) == computed["official_ged"]
    assert whole.size - shown.size == computed["exact_ged"]


@each_case
def test_how_its_score_depends_on_the_order(case: dict[str, Any]) -> None:
    elements, dependencies, computed = case["elements"], case["dependencies"], case["computed"]
    names = list(elements)
    found, same = set(), set()
    for turn in range(len(names)):
        for order in (names[turn:] + names[:turn], (names[turn:] + names[:turn])[::-1]):
            whole = graph.build(dict.fromkeys(order, True), dict.fromkeys(dependencies, True))
            shown = graph.build({name: elements[name] for name in order}, dependencies)
            found.add(f"{graph.similarity(whole, shown):.2f}")
            reference = graph.resolve_graph(tuple(order), tuple(dependencies))
            same.add(graph.exact_similarity(reference, [elements[name] for name in order], list(dependencies.values())))
    assert found <= set(computed["official_values_over_entity_orders"])
    assert computed["order_sensitive"] or len(found) == 1
    assert len(same) == 1


def painters() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for case in CASES:
        found.setdefault(case["model"], []).append(case)
    return found


def write_data(path: Path) -> Path:
    rows: dict[str, dict[str, str]] = {}
    for case in CASES:
        parts = {"elements": list(case["elements"]), "dependencies": list(case["dependencies"])}
        row = {"key": key(case), "Education": TAGS[case["level"]], "prompt": "Draw."}
        rows.setdefault(key(case), row | {"Knowledge_Graph": json.dumps(parts), "Annotation": ""})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows.values()), "utf-8")
    return path


@pytest.mark.slow
def test_all_worked_examples_through_import(tmp_path: Path) -> None:
    """As the released scorer leaves them: one file per reply, one of region counts."""
    data, store = write_data(tmp_path / "mmmg.jsonl"), tmp_path / "store"
    for number, (painter, cases) in enumerate(painters().items()):
        results, regions = tmp_path / str(number), tmp_path / f"{number}.json"
        results.mkdir()
        for case in cases:
            text = checklist({**case["elements"], **case["dependencies"]})
            reply = {"key": key(case), "t2i_method": painter, "image_path": "x.png", "o3": text}
            (results / f"{TAGS[case['level']]}__{key(case)}__eval_by__o3.json").write_text(json.dumps(reply), "utf-8")
        counted = {key(case): {"region_count": case["segments"]} for case in cases if case["segments"] is not None}
        regions.write_text(json.dumps(counted), "utf-8")
        how = ("--results", results, "--regions", regions, "--painter", painter, "--judge", "o3", "--store", store)
        said = limner("import", "mmmg", "--data", data, *how, "--format=json").json()
        assert said == {"results": len(cases), "images": 0, "failures": {}}
    expected = {(case["model"], key(case)): case for case in CASES}
    for reading in ("careful", "paper", "release"):
        rows = limner("export", "mmmg", "--store", store, "--reading", reading).lines()
        assert {(row["painter"], row["id"]) for row in rows} == set(expected)
        for row in rows:
            check(expected[row["painter"], row["id"]], row["scores"])
    standings = limner("scores", "mmmg", "--store", store, "--by", "level", "--format", "json").json()
    assert {standing["painter"] for standing in standings} == set(painters())
    for standing in standings:
        mine = painters()[standing["painter"]]
        for level, found in standing["by"]["level"].items():
            values = [case["computed"]["official_one_minus_ged"] for case in mine if TAGS[case["level"]] == level]
            assert found["scores"]["fidelity_release"]["value"] == pytest.approx(sum(values) / len(values), abs=1e-6)


@pytest.mark.slow
def test_all_worked_examples_through_a_judge(tmp_path: Path) -> None:
    """Structured replies, marked drawing by drawing; the printed region counts come from a table."""
    from tests.support import picture

    data, drawings = write_data(tmp_path / "mmmg.jsonl"), tmp_path / "drawings"
    names = {model: f"p{number}" for number, model in enumerate(painters())}
    lines = []
    for number, case in enumerate(CASES):
        folder = drawings / names[case["model"]]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{key(case)}.png").write_bytes(picture(number))
        reply = body(list(case["elements"].values()), list(case["dependencies"].values()))
        lines.append({"id": key(case), "painter": case["model"], "reply": reply})
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    store = tmp_path / "store"
    text = (tmp_path / "replies.jsonl").read_text("utf-8")
    for model, name in names.items():
        text = text.replace(json.dumps(model), json.dumps(name))
    (tmp_path / "replies.jsonl").write_text(text, "utf-8")
    for model, cases in painters().items():
        ids = ",".join(key(case) for case in cases)
        how = (
            "--painter",
            f"{names[model]}=folder/{drawings / names[model]}",
            "--judge",
            f"replay/{tmp_path}/replies.jsonl",
        )
        limner("run", "mmmg", "--data", data, "--ids", ids, *how, "--store", store, "--format=json")
    expected = {(names[case["model"]], key(case)): case for case in CASES}
    counted = [f"{id},{name},{case['segments']}\n" for (name, id), case in expected.items() if case["segments"]]
    (tmp_path / "counts.csv").write_text("id,painter,count\n" + "".join(counted), "utf-8")
    limner("evidence", "mmmg", "--regions", f"printed={tmp_path}/counts.csv", "--store", store)
    rows = limner("export", "mmmg", "--store", store, "-O", "regions=csv:printed").lines()
    assert len(rows) == len(CASES)
    for row in rows:
        check(expected[row["painter"], row["id"]], row["scores"])


# The published tables.


def published(table: str) -> Iterable[dict[str, str]]:
    path = Path(package.__file__).parent / "exams" / "mmmg" / "paper" / "published.csv"
    with path.open(encoding="utf-8", newline="") as file:
        yield from (row for row in csv.DictReader(file) if row["table"] == table)


NAMES = dict(zip(("Preschool", "Primary", "Secondary", "High School", "Undergraduate", "PhD"), LEVELS, strict=True))
AVERAGES = [f"Table {n}" for n in (2, *range(5, 16))]


def averages(table: str) -> dict[str, tuple[dict[str, float], float]]:
    """Model -> its levels and its printed average."""
    levels: dict[str, dict[str, float]] = {}
    printed: dict[str, float] = {}
    for row in published(table):
        if "average" in row["breakdown"]:
            printed[row["model"]] = float(row["value"])
        else:
            levels.setdefault(row["model"], {})[row["category"].split(" x ")[-1].split("/")[-1]] = float(row["value"])
    return {model: (levels[model], printed[model]) for model in printed}


@pytest.mark.parametrize("table", AVERAGES)
def test_the_printed_average_is_the_plain_mean_of_the_levels(table: str) -> None:
    """And so is ours, whatever number of drawings stands behind each level."""
    found = averages(table)
    assert len(found) == 20
    off = set()
    for model, (levels, printed) in found.items():
        means = {f"mmmg_release@{level}": value for level, value in levels.items()}
        ours = with_level_averages({"mmmg_release": 0.0, **means})["mmmg_release_avg"]
        assert ours == pytest.approx(sum(levels.values()) / len(levels))
        if abs(ours - printed) > 0.0101:
            off.add((model, printed, round(ours, 2)))
    assert off == ({("JanusFlow-1.3B", 6.63, 9.97)} if table == "Table 5" else set())


def test_levels_and_their_names() -> None:
    counts = {r["category"]: int(r["value"]) for r in published("Introduction") if r["breakdown"] == "education_level"}
    assert set(counts) == set(NAMES)
    assert sum(counts.values()) == 4456
    assert len({row["category"] for row in published("Table 16")}) == len(LEVELS)


def test_our_average_weighs_levels_not_drawings() -> None:
    counts = {r["category"]: int(r["value"]) for r in published("Introduction") if r["breakdown"] == "education_level"}
    levels, printed = averages("Table 2")["GPT-4o"]
    rows = []
    for level, count in counts.items():
        asked = Question(f"{NAMES[level]}_X_1", "", GraphRubric(elements=("a",)), {"level": NAMES[level]})
        rows += [Row(asked, (), {"mmmg_release": levels[level] / 100})] * count
    found = PROTOCOL.summary(rows)
    assert found["mmmg_release_avg"] * 100 == pytest.approx(printed, abs=0.01)
    micro = sum(levels[level] * count for level, count in counts.items()) / 4456
    assert found["mmmg_release"] * 100 == pytest.approx(micro)


def test_readability_of_every_legible_pair() -> None:
    pairs = [
        (case["segments"], case["readability"]) for case in CASES if None not in (case["segments"], case["readability"])
    ]
    assert len(pairs) >= 9
    for count, printed in [*pairs, (73, 0.97), (100, 0.67), (115, 0.5), (156, 0.04), (163, 0.0)]:
        value = readability(count, 70, 160)
        assert value is not None
        assert f"{value:.2f}" == f"{printed:.2f}"


def table_17() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for row in published("Table 17"):
        found.setdefault(row["judge"], {})[row["model"]] = float(row["value"])
    return found


def test_judges_agree_on_the_order_of_painters() -> None:
    """Table 17: three judges, five painters, one order."""
    judges = table_17()
    assert sorted(judges) == ["OpenAI-o1", "OpenAI-o3", "OpenAI-o3 (high reasoning effort)"]
    found = [rank_agreement(judges[one], judges[other]) for one, other in combinations(sorted(judges), 2)]
    assert all((p["painters"], p["kendall"].value, p["spearman"].value) == (5, 1.0, 1.0) for p in found)
    assert [round(pair["shift"], 2) for pair in found] == [-2.22, -2.61, -0.38]


@pytest.mark.slow
def test_self_consistency_by_level(tmp_path: Path) -> None:
    """Table 16's two metrics come from marking the references and breaking down by level."""
    from limner.exams.mmmg.data import read

    assert MMMG.sample is not None
    lines = []
    for asked in read(MMMG.sample).questions:
        count, linked = len(asked.rubric.elements), len(asked.rubric.dependencies)
        reply = body([1] * count, [0] + [1] * (linked - 1))
        lines.append(json.dumps({"id": asked.id, "reply": reply}) + "\n")
    (tmp_path / "replies.jsonl").write_text("".join(lines), "utf-8")
    how = ("--painter", "control/reference", "--judge", f"replay/{tmp_path}/replies.jsonl", "--store", tmp_path / "s")
    limner("run", "sample/mmmg", *how, "--format=json")
    (found,) = limner("scores", "sample/mmmg", "--store", tmp_path / "s", "--by", "level", "--format", "json").json()
    assert set(found["by"]["level"]) == set(LEVELS)
    for level, broken_down in found["by"]["level"].items():
        for metric in ("fidelity_release", "u_acc"):
            assert 0.8 < broken_down["scores"][metric]["value"] < 1
            assert found["analyses"]["levels"][level][metric] == pytest.approx(broken_down["scores"][metric]["value"])
    assert list(found["analyses"]["levels"]) == list(LEVELS)
    shown = limner("scores", "sample/mmmg", "--store", tmp_path / "s", "--analyses").out
    assert "sample/mmmg · judge replay/" in shown
    assert "· levels" in shown
    assert "fidelity release" in shown.rpartition("· levels")[2]
    assert "· low scores" not in limner("scores", "sample/mmmg", "--store", tmp_path / "s").out
