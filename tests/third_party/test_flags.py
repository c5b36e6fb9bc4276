"""An exam from another package, with its own rubric and protocol, goes through every command."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import picture
from tests.third_party.drive import drive

COLOURS = {
    "europe/italy": ["green", "white", "red"],
    "europe/sweden": ["blue", "yellow"],
    "asia/japan": ["white", "red"],
}
WRONG = {("europe/italy", "white"), ("asia/japan", "red")}
"""The colours that the judge does not find."""


def answer(flag: str, colour: str) -> str:
    return "No." if (flag, colour) in WRONG else "yes"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Drawings, replies and results of the exam's three flags."""
    lines = []
    for number, (flag, colours) in enumerate(COLOURS.items()):
        path = tmp_path / "drawings" / f"{flag}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(number))
        lines += [json.dumps({"id": flag, "ask": colour, "reply": answer(flag, colour)}) for colour in colours]
    (tmp_path / "replies.jsonl").write_text("\n".join(lines), "utf-8")
    (tmp_path / "results").mkdir()
    with (tmp_path / "results" / "results.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["flag", "colour", "reply"])
        table.writerows([flag, colour, "yes"] for flag, colours in COLOURS.items() for colour in colours)
    return tmp_path


def values(standing: dict[str, Any]) -> dict[str, float]:
    return {name: round(interval["value"], 4) for name, interval in standing["scores"].items()}


@pytest.mark.slow
def test_third_party_exam_works_with_all_commands(folder: Path) -> None:
    drawn = ["--painter", "mine=folder/drawings"]
    judged = ["--judge", "replay/replies.jsonl"]
    commands = {
        "exams": ["exams", "flags"],
        "exam check": ["exam", "check", "sample/flags"],
        "exam new": ["exam", "new", "own", "--like", "flags"],
        "dry run": ["run", "sample/flags", *drawn, *judged, "--dry-run", "--format=json"],
        "draw": ["draw", "sample/flags", *drawn, "--format=json"],
        "mark": ["mark", "sample/flags", *judged, "--format=json"],
        "run": ["run", "sample/flags", *drawn, *judged],
        "import": ["import", "sample/flags", "--results", "results", "--painter", "perfect", "--judge", "human"],
        "scores": ["scores", "sample/flags", "--by", "continent", "--format", "json"],
        "table": ["scores", "sample/flags", "--by", "continent"],
        "show": ["show", "sample/flags", "europe/italy", "--painter", "mine", "--format=json"],
        "export": ["export", "sample/flags", "--judge", "replay/replies.jsonl", "--images", "images"],
        "own": ["run", "own/exam.toml", *drawn, *judged, "--where", "continent=Asia", "--format=json"],
        "ocr": ["run", "sample/flags", *drawn, "--judge", "ocr"],
        "dimension": ["scores", "sample/flags", "--by", "dimension"],
    }
    results = dict(zip(commands, drive(folder, *commands.values()), strict=True))
    wrong = {"ocr": 2, "dimension": 2}
    assert {name: code for name, (code, _, _) in results.items()} == {name: wrong.get(name, 0) for name in commands}

    assert "flags: Flags and their colours" in results["exams"][1]
    assert "whole (0-100): percent of flags" in results["exams"][1]
    assert "sample/flags: 3 questions, all well-formed" in results["exam check"][1]
    assert "continent: Europe 2, Asia 1" in results["exam check"][1]
    assert json.loads(results["dry run"][1]) == {"drawings": 3, "markings": 3, "questions": 3}
    assert json.loads(results["draw"][1])["done"] == 3
    assert json.loads(results["mark"][1])["done"] == 3
    assert "6 from store" in results["run"][2]
    assert "3 results imported" in results["import"][1]
    assert json.loads(results["own"][1])["done"] == 2
    assert "the OCR examiner cannot mark flags" in results["ocr"][2]
    assert "--by dimension: no such tag; available: continent" in results["dimension"][2]

    perfect, mine = json.loads(results["scores"][1])
    assert (perfect["painter"], values(perfect)) == ("perfect", {"whole": 100, "colours": 100})
    assert (mine["painter"], values(mine)) == ("mine", {"whole": round(100 / 3, 4), "colours": round(500 / 7, 4)})
    assert values(mine["by"]["continent"]["Europe"]) == {"whole": 50, "colours": 80}
    assert values(mine["by"]["continent"]["Asia"]) == {"whole": 0, "colours": 50}
    assert "whole by continent" in results["table"][1]

    shown = json.loads(results["show"][1])
    assert [mark["value"] for mark in shown["markings"][0]["marks"]] == [1, 0, 1]
    rows = [json.loads(line) for line in results["export"][1].splitlines()]
    assert {row["id"]: row["scores"]["whole"] for row in rows} == {
        "europe/italy": 0.0,
        "europe/sweden": 100.0,
        "asia/japan": 0.0,
    }
    assert sorted(path.relative_to(folder / "images").as_posix() for path in (folder / "images").rglob("*.png")) == [
        "mine/asia/japan.png",
        "mine/europe/italy.png",
        "mine/europe/sweden.png",
    ]


def test_invalid_data_of_third_party_exam_is_reported(folder: Path) -> None:
    (folder / "flags.jsonl").write_text('{"id": "a/b", "continent": "c", "colours": []}\n{"id": "a\\nb"}\n', "utf-8")
    ((code, _, err),) = drive(folder, ["exam", "check", "flags", "--data", "."])
    assert code == 1
    assert "flags.jsonl:1: id a/b: colours: " in err
    assert "flags.jsonl:2: " in err
