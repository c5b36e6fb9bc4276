"""Panels as judges: members mark independently, no member is asked twice, and the panel's marking is derived."""

from __future__ import annotations

from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limner import exams
from limner.core.exam import Exam
from limner.core.marks import PanelMark, values
from limner.evidence.probe import OcrProbe
from limner.judges import setup_id
from limner.judges.base import JudgeInputs
from limner.judges.ocr.judge import OcrJudge
from limner.judges.panel import split_arguments
from limner.running.setup import certified_right, panel_weights
from limner.scoring import load_groups
from limner.store import Store
from limner.store.markings import CERTIFICATE, DRIFT, save_certificate
from limner.store.records import add_exam, evaluator_kinds, load_exam, load_setups, save_setup
from limner.study.records import save_person
from tests.cli.invoke import limner
from tests.conformance.verdicts import verdicts, write_replay
from tests.fakes import ChatServer
from tests.rehearsal import Rehearsal
from tests.support import JUDGE, write_exam, write_settings

EXAM = "genexam"


pytestmark = pytest.mark.slow


@pytest.fixture
def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[str]]:
    """An exam of five questions and a panel of three judges that replay their replies."""
    small = write_exam(tmp_path, 5)
    judges = [f"replay/{write_replay(tmp_path / f'{n}.jsonl', {'one': verdicts(small.rows, n)})}" for n in range(3)]
    (tmp_path / "limner.toml").write_text(f"[panels.jury]\nmembers = {judges!r}\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    limner(
        "run", EXAM, "--data", small.data, "--painter", f"one=folder/{small.drawings}", "--judge", "panel/jury",
        "--store", "store",
    )  # fmt: skip
    return tmp_path, judges


def test_panel_marks_are_majority_of_members(three: tuple[Path, list[str]]) -> None:
    folder, judges = three
    with Store(folder / "store") as store:
        groups = {group.judge: group for group in load_groups(store, EXAM)}
        kinds, setups = evaluator_kinds(store), load_setups(store)
    assert set(groups) == {*judges, "panel/jury"}
    jury = groups["panel/jury"].evaluator
    assert kinds[jury.id] == jury.kind == "panel"
    assert jury.setup["members"] == [groups[judge].evaluator.id for judge in judges]
    assert jury.setup["rule"] == "majority"
    assert all(kinds[id] == "judge" for id in jury.setup["members"])
    assert set(setups) >= {jury.id, *jury.setup["members"]}
    for entry in groups["panel/jury"].scored:
        given = [
            values(other.marks)
            for judge in judges
            for other in groups[judge].scored
            if other.drawing.id == entry.drawing.id
        ]
        for mark in entry.marks:
            votes = [marks[mark.criterion] for marks in given]
            best = [value for value in set(votes) if votes.count(value) > 1]
            assert mark.value == (best[0] if best else None)
            assert isinstance(mark, PanelMark)
            assert mark.votes == dict(zip(judges, votes, strict=True))


def test_panel_is_shown_with_votes_of_members(three: tuple[Path, list[str]]) -> None:
    folder, judges = three
    text = limner("scores", EXAM, "--store", folder / "store", "--judge", "panel/jury").out
    assert "its members differ on" in text
    body = limner(
        "show", EXAM, "Biology_0", "--store", folder / "store", "--judge", "panel/jury", "--format=json"
    ).json()
    assert all(judges[0] in mark["reason"] for mark in body["markings"][0]["marks"])
    pairs = limner("agree", EXAM, "--store", folder / "store", "--format", "json").json()["pairs"]
    assert {"panel/jury"} <= {name for pair in pairs for name in (pair["first"], pair["second"])}


def test_panel_reuses_stored_markings_of_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that has marked already is not asked again; a panel with arguments for one member asks it once."""
    small = write_exam(tmp_path, 3)
    with ChatServer() as server:
        write_settings(tmp_path, server.base_url)
        with (tmp_path / "limner.toml").open("a", encoding="utf-8") as file:
            file.write(f'\n[panels.two]\nmembers = ["{JUDGE}", "{JUDGE}?seed=7"]\nrule = "median"\n')
        monkeypatch.chdir(tmp_path)
        more = ("--data", small.data, "--painter", f"one=folder/{small.drawings}", "--store", "store")
        limner("run", EXAM, *more, "--judge", JUDGE)
        first = len(server.requests())
        limner("run", EXAM, *more, "--judge", "panel/two")
        second = len(server.requests())
        limner("run", EXAM, *more, "--judge", "panel/two", "--judge", JUDGE)
        assert (first, second, len(server.requests())) == (3, 6, 6)
    rows = limner("scores", EXAM, "--store", "store", "--format", "json").json()
    assert len(rows) == 3
    spent = {row["judge"]: row["cost"] for row in rows}
    assert spent["panel/two"] == pytest.approx(sum(row["cost"] for row in rows if row["judge"] == JUDGE))


def test_undefined_or_invalid_panel_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = limner("run", "sample/genexam", "--painter", "control/blank", "--judge", "panel/jury", "--dry-run", code=2)
    assert "no panel 'jury'; limner.toml has: none: add [panels.jury] to limner.toml" in result.err
    (tmp_path / "limner.toml").write_text('[panels.jury]\nmembers = ["ocr"]\n', "utf-8")
    result = limner(
        "run", "sample/genexam", "--painter", "control/blank", "--judge", "panel/jury", "--dry-run", code=None
    )
    assert result.code
    assert "limner.toml" in result.err
    assert "panels.jury.members" in result.err


def test_arguments_of_member_are_parsed() -> None:
    assert split_arguments("ocr") == ("ocr", {})
    assert split_arguments("a/b?temperature=0.5&mode=x") == ("a/b", {"temperature": 0.5, "mode": "x"})


def test_weights_are_computed_from_study(three: tuple[Path, list[str]]) -> None:
    """People always agree with the first member: it gets the weight of 99 %, the others that of their agreement."""
    folder, judges = three
    with Store(folder / "store") as store:
        groups = {group.judge: group for group in load_groups(store, EXAM)}
        made = Rehearsal(store, load_exam(store, EXAM, exams.kind(EXAM).rubric), np.random.default_rng(1))
        for entry in groups[judges[0]].scored:
            made.of[entry.drawing.id] = entry.drawing
            made.truth[entry.drawing.id] = values(entry.marks)
        made.study(dict.fromkeys(made.of, 1.0))
        made.mark(save_person(store, "anna", "pilot"), list(made.of), lambda truth, _best: truth)
    body = f'[panels.jury]\nmembers = {judges!r}\nrule = "weights"\nweights = "study:pilot"\n'
    (folder / "limner.toml").write_text(body, "utf-8")
    limner("mark", EXAM, "--judge", "panel/jury", "--store", "store")
    with Store(folder / "store") as store:
        juries = {g.evaluator.id: g for g in load_groups(store, EXAM) if g.judge == "panel/jury"}
    weighted = next(group for group in juries.values() if group.setup["rule"] == "weights")
    weights = weighted.setup["weights"]
    assert weights[0] == pytest.approx(4.595, abs=0.001)
    truth = {entry.drawing.id: values(entry.marks) for entry in groups[judges[0]].scored}
    for judge, weight in zip(judges[1:], weights[1:], strict=True):
        given = [(values(entry.marks), truth[entry.drawing.id]) for entry in groups[judge].scored]
        same = [mine[name] == theirs[name] for mine, theirs in given for name in theirs]
        share = min(max(sum(same) / len(same), 0.51), 0.99)
        assert weight == pytest.approx(log(share / (1 - share)), abs=0.001)
    (folder / "limner.toml").write_text(body.replace("members = [", "members = ['ocr', "), "utf-8")
    result = limner("mark", EXAM, "--judge", "panel/jury", "--store", "store", code=2)
    assert "ocr has marked none of the drawings of the study pilot" in result.err
    (folder / "limner.toml").write_text(body.replace("pilot", "other"), "utf-8")
    result = limner("mark", EXAM, "--judge", "panel/jury", "--store", "store", code=2)
    assert "nobody has marked criteria of genexam in the study other" in result.err
    (folder / "limner.toml").write_text(body.replace("study:pilot", "certificate"), "utf-8")
    result = limner("mark", EXAM, "--judge", "panel/jury", "--store", "store", code=2)
    assert "cannot be weighted: it has no certificate for genexam" in result.err


def test_weights_are_computed_from_certificate(store: Store) -> None:
    """Fifteen of a hundred answers are wrong; a later check for drift is no certificate."""
    tests = [{"name": "sight", "value": 0.7}, {"name": "errors", "value": 0.15}]
    assert certified_right({"tests": tests}) == pytest.approx(0.85)
    assert certified_right({"tests": [{"name": "errors", "value": None}]}) == 0.5
    nothing: Any = None
    given = JudgeInputs("ocr", {}, exams.kind(EXAM), nothing, nothing, nothing, store.blobs, OcrProbe())
    member = OcrJudge(given)
    add_exam(store, Exam(EXAM, EXAM, ()))
    save_setup(store, setup_id(member.setup), member.setup)
    for body in ({"kind": CERTIFICATE, "tests": tests}, {"kind": DRIFT, "moved": False}):
        save_certificate(store, setup_id(member.setup), EXAM, body)
    assert panel_weights("certificate", [member], store, EXAM, exams.kind(EXAM)) == [pytest.approx(1.735)]
