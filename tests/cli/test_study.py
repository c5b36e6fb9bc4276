"""The study commands: made, looked at, closed, linked anew, exported, imported."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from limner.cli import limner
from limner.core.errors import LimnerError
from limner.store import Store
from limner.study.records import load_study
from tests.study.made import PAINTER, answer, fill, usual


@pytest.fixture
def place(tmp_path: Path) -> str:
    with Store(tmp_path / "store") as store:
        fill(store, "genexam", questions=4, judges=())
    return str(tmp_path / "store")


def run(*words: str, place: str, code: int = 0) -> str:
    found = CliRunner().invoke(limner, ["study", *words, "--store", place])
    if isinstance(found.exception, LimnerError):
        raise found.exception
    assert found.exit_code == code, found.output
    return found.output


NEW = ("new", "pilot", "--exam", "genexam", "--design", "genexam", "--painter", PAINTER)


def test_new_prints_links_as_text_and_json(place: str) -> None:
    out = run(*NEW, "--rater", "anna", "--address", "https://study.example/", place=place)
    assert re.search(r"^anna  https://study\.example/r/[\w-]{32}$", out, re.MULTILINE)
    assert re.search(r"^admin  https://study\.example/admin/[\w-]{32}$", out, re.MULTILINE)
    other = run(
        *(word if word != "pilot" else "second" for word in NEW), "--people", "3", "--format", "json", place=place
    )
    assert list(json.loads(other)["links"]) == ["r1", "r2", "r3"]


def test_status_lists_and_closes_study(place: str, tmp_path: Path) -> None:
    run(*NEW, "--rater", "anna", place=place)
    assert "0 of" in run("status", "pilot", place=place)
    found = json.loads(run("status", "pilot", "--close", "--format", "json", place=place))
    assert (found["status"], found["raters"][0]["rater"]) == ("closed", "anna")
    with Store(place) as store:
        assert load_study(store, "pilot").status == "closed"
    assert "pilot" in run("status", place=place)
    assert re.search(r"/r/[\w-]{32}", run("link", "pilot", "anna", place=place))


def test_answers_are_exported_and_imported(place: str, tmp_path: Path) -> None:
    run(*NEW, "--rater", "anna", place=place)
    with Store(place) as store:
        answer(store)
    file = str(tmp_path / "answers.csv")
    run("export", "pilot", "-o", file, place=place)
    assert run("export", "pilot", place=place) == Path(file).read_text("utf-8")
    assert "forms complete" in run("import", "elsewhere", "--file", file, place=place)
    lines = Path(file).read_text("utf-8").splitlines()
    part = [line for line in lines if ",overall," in line or ",point/1," in line or line.startswith("rater")]
    (tmp_path / "part.csv").write_text("\n".join(part), "utf-8")
    run("import", "other", "--file", str(tmp_path / "part.csv"), place=place, code=3)
    assert (
        json.loads(run("export", "pilot", "--format", "label-studio-tasks", place=place))[0]["data"]["study"] == "pilot"
    )


def test_export_names_raters_who_are_left_out(place: str) -> None:
    def careless(rater: str, place: Any, field: Any) -> Any:
        return place.check % 5 + 1 if field.kind == "check" else usual(rater, place, field)

    run(*NEW, "--rater", "anna", place=place)
    with Store(place) as store:
        answer(store, rule=careless)
    assert "left out" not in run("export", "pilot", place=place)
    run("status", "pilot", "--min-attention", "0.5", place=place)
    assert "without raters left out by attention checks: anna" in run("export", "pilot", place=place)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("new", "a b", "--exam", "genexam", "--design", "genexam"), "letters, digits"),
        (("new", "p", "--exam", "genexam", "--design", "genexam"), "choose with --painter"),
        (
            ("new", "p", "--exam", "genexam", "--design", "genexam", "--painter", "x"),
            "no finished drawing of genexam by 'x'",
        ),
        (("new", "p", "--exam", "genexam", "--design", "mmmg"), "it is a design of mmmg"),
        ((*NEW, "--each", "3"), "give --size, not --each"),
        ((*NEW, "--rater", "a", "--rater", "a"), "the same name"),
        ((*NEW, "--completion", "javascript:alert(1)"), "begins with https://"),
        (("status", "nothing"), "no study 'nothing'"),
        (("export", "nothing"), "no study 'nothing'"),
        (("link", "nothing", "x"), "no study 'nothing'"),
        (("new", "p", "--exam", "mmmg", "--design", "mmmg"), "no exam 'mmmg'"),
    ],
)
def test_invalid_arguments_are_reported(place: str, words: tuple[str, ...], message: str) -> None:
    with pytest.raises(LimnerError, match=re.escape(message)):
        run(*words, place=place)


def test_duplicate_study_name_is_refused(place: str) -> None:
    run(*NEW, place=place)
    with pytest.raises(LimnerError, match="already"):
        run(*NEW, place=place)


def test_missing_packages_are_reported_with_install_command(place: str, monkeypatch: Any) -> None:
    import sys

    run(*NEW, place=place)
    for name in [name for name in sys.modules if name.startswith("limner.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(LimnerError, match=r"pip install 'limner\[web\]'"):
        run("serve", "pilot", place=place)
