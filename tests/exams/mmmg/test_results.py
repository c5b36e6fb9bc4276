"""Results of the released scorer: its files of replies, its region counts, and what can be wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from limner.core.errors import DataError
from limner.exams.mmmg.data import read_regions, read_results
from limner.exams.mmmg.replies import FREE
from tests.cli.invoke import limner
from tests.exams.mmmg.cases import DEPENDENCIES, ELEMENTS, checklist

KEY = "highschool_Engineering_1"


def write(folder: Path, body: Any, key: str = KEY, judge: str = "o3") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"highschool__{key}__eval_by__{judge}.json"
    file.write_text(body if isinstance(body, str) else json.dumps(body), "utf-8")
    return file


def result(text: str, key: str = KEY, judge: str = "o3") -> dict[str, Any]:
    return {"key": key, "t2i_method": "GPT-4o", "image_path": f"gen/highschool/{key}.png", judge: text}


def counts(file: Path, body: Any) -> Path:
    file.write_text(body if isinstance(body, str) else json.dumps(body), "utf-8")
    return file


def test_reply_and_region_count_are_read(tmp_path: Path) -> None:
    file = write(tmp_path / "step1", result("boiler: yes"))
    (tmp_path / "step1" / "summary.json").write_text("{}")
    regions = counts(
        tmp_path / "r.json", {KEY: {"region_count": 83, "image_path": "x"}, "other_X_1": {"region_count": 4}}
    )
    (found,) = read_results(tmp_path / "step1", regions=regions)
    assert (found.question, found.replies, found.file) == (KEY, ((FREE, "boiler: yes"),), file)
    assert (dict(found.evidence), found.fault, found.rubric) == ({"regions": 83}, None, None)
    (found,) = read_results(tmp_path)
    assert found.evidence == {}


def test_keys_numbered_by_scorer_are_recognised(tmp_path: Path) -> None:
    write(tmp_path, result("x", f"3_{KEY}"))
    (found,) = read_results(tmp_path, counts(tmp_path / "r.json", {f"3_{KEY}": {"region_count": 7}}))
    assert (found.question, found.evidence) == (KEY, {"regions": 7})


@pytest.mark.parametrize("body", ["{", "[]", "{}", {"key": KEY, "o3": None}, {"key": KEY, "o1": "boiler: yes"}])
def test_file_without_reply_is_fault_of_its_question(tmp_path: Path, body: Any) -> None:
    write(tmp_path, body)
    (found,) = read_results(tmp_path)
    assert (found.question, found.replies) == (KEY, ())
    assert found.fault


def test_no_results_or_several_judges_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no <level>__<key>__eval_by__<judge>"):
        list(read_results(tmp_path))
    write(tmp_path, result("x"))
    write(tmp_path, result("x", judge="o1"), judge="o1")
    with pytest.raises(DataError, match=r"results of several judges \(o1, o3\)"):
        list(read_results(tmp_path))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{", "cannot be read"),
        ([1], "expected an object"),
        ({KEY: 83}, f"id {KEY}: \"region_count\" must be a whole number"),
        ({KEY: {"region_count": "83"}}, "whole number"),
        ({KEY: {"region_count": True}}, "whole number"),
        ({KEY: {}}, "whole number"),
    ],
)  # fmt: skip
def test_invalid_region_counts_are_rejected(tmp_path: Path, body: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_regions(counts(tmp_path / "r.json", body))


def test_negative_region_count_is_omitted(tmp_path: Path) -> None:
    assert read_regions(counts(tmp_path / "r.json", {KEY: {"region_count": -1}, "a_B_1": {"region_count": 0}})) == {
        "a_B_1": 0
    }


def data(folder: Path, *keys: str) -> Path:
    graph = json.dumps({"elements": ELEMENTS, "dependencies": DEPENDENCIES})
    rows = [{"key": key, "Education": "highschool", "prompt": "Draw.", "Knowledge_Graph": graph} for key in keys]
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder / "data.jsonl"


def test_import_is_scored_with_every_reading(tmp_path: Path) -> None:
    keys = [f"highschool_Engineering_{n}" for n in range(1, 5)]
    file, store, results = data(tmp_path, *keys), tmp_path / "store", tmp_path / "results"
    full = dict.fromkeys([*ELEMENTS, *DEPENDENCIES], True)
    texts = [checklist(full), checklist(full | {"turbine": False}), '"boiler": yes\n"Steam": yes', "I see nothing."]
    for key, text in zip(keys, texts, strict=True):
        write(results, result(text, key), key)
    regions = counts(
        tmp_path / "r.json",
        {keys[0]: {"region_count": 115}, keys[1]: {"region_count": 10}, keys[2]: {"region_count": 0}},
    )
    how = (
        "--data",
        file,
        "--results",
        results,
        "--regions",
        regions,
        "--painter",
        "gpt",
        "--judge",
        "o3",
        "--store",
        store,
    )
    assert limner("import", "mmmg", *how, "--format=json").json() == {"results": 4, "images": 0, "failures": {}}

    def rows(reading: str, *words: str) -> list[dict[str, Any]]:
        return limner("export", "mmmg", "--store", store, "--reading", reading, *words).lines()

    released = rows("release")
    assert [row["status"] for row in released] == ["done"] * 4
    assert [row["scores"]["fidelity_exact"] for row in released] == [1.0, 2 * 3 / 8, 0.0, 0.0]
    assert [row["scores"]["readability"] for row in released] == [0.5, 1.0, 1.0, None]
    assert [row["scores"]["mmmg_exact"] for row in released] == [0.5, 0.75, 0.0, None], "no count, no MMMG-Score"
    careful = rows("careful")
    assert [row["status"] for row in careful] == ["done", "done", "done", "unreadable"]
    assert careful[2]["scores"]["fidelity_exact"] is None
    assert [careful[2]["marks"][f"entity/{n}"] for n in (1, 2, 3)] == [1, 1, None]
    paper = rows("paper")
    assert paper[2]["scores"]["fidelity_exact"] == 2 * 2 / 7
    wide = rows("release", "-O", "n_min=5", "-O", "n_max=205")
    assert [row["scores"]["readability"] for row in wide] == [0.45, 0.975, 1.0, None]
    (standing,) = limner("scores", "mmmg", "--store", store, "--reading", "release", "--format", "json").json()
    assert standing["remarks"] == [
        "MMMG-Score is missing for 1 of 4 drawings: they have no region count",
        "10 of 20 items have no readable answer and count as no in this reading",
    ]
    assert standing["scores"]["mmmg_exact"]["n"] == 3
    assert standing["analyses"]["low_scores"]["mmmg_exact"] == {
        "drawings": 3, "low": 2, "readability": 0.5, "entity": 0.5, "dependency": 0.5,
    }  # fmt: skip
    (standing,) = limner("scores", "mmmg", "--store", store, "-O", "n_max=200", "--format", "json").json()
    assert standing["remarks"][0] == "n_max is 200 instead of 160"
    assert "no constant 'n_mid'" in limner("scores", "mmmg", "--store", store, "-O", "n_mid=3", code=2).err
    assert "takes a number" in limner("scores", "mmmg", "--store", store, "-O", "n_min=nan", code=2).err


def test_result_of_unknown_question_stops_import(tmp_path: Path) -> None:
    file = data(tmp_path, "highschool_Engineering_2")
    write(tmp_path / "results", result("boiler: yes"))
    how = (
        "--data",
        file,
        "--results",
        tmp_path / "results",
        "--painter",
        "p",
        "--judge",
        "o3",
        "--store",
        tmp_path / "s",
    )
    assert "no question with this id" in limner("import", "mmmg", *how, code=1).err


def test_failure_counts_as_zero_in_pessimistic_score(tmp_path: Path) -> None:
    keys = ["highschool_Engineering_1", "highschool_Engineering_2"]
    write(tmp_path / "results", result(checklist(dict.fromkeys([*ELEMENTS, *DEPENDENCIES], True)), keys[0]), keys[0])
    write(tmp_path / "results", "{", keys[1])
    regions = counts(tmp_path / "r.json", {keys[0]: {"region_count": 115}})
    how = ("--results", tmp_path / "results", "--regions", regions, "--painter", "p", "--judge", "o3")
    store = ("--store", tmp_path / "store")
    limner("import", "mmmg", "--data", data(tmp_path, *keys), *how, *store, code=3)
    (found,) = limner("scores", "mmmg", *store, "--format", "json").json()
    assert (found["coverage"], found["failures"]) == (0.5, {"unreadable": 1})
    assert found["scores"]["mmmg_exact"]["value"] == 0.5
    assert {name: found["pessimistic"][name] for name in ("mmmg_exact", "readability", "fidelity_exact", "u_acc")} == {
        "mmmg_exact": 0.25, "readability": 0.25, "fidelity_exact": 0.5, "u_acc": 0.5,
    }  # fmt: skip
    assert "mmmg_release" not in found["pessimistic"], "not monotone"
