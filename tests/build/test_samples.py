"""What every recipe makes is an exam that is drawn, marked and shown to people."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path

import pytest
from click.testing import CliRunner

from limner import exams
from limner.build.engine import Spending, new_build, with_models
from limner.build.export import export
from limner.build.recipe import recipes
from limner.cli import limner as command_line
from limner.core import settings
from limner.store.store import open_store
from tests.build.samples import SAMPLES
from tests.build.scripted import scripted, write_provider

pytestmark = pytest.mark.slow
ELSEWHERE = {"graph"}
"""`test_graph` does the same with a build that needs a painter and reviewers."""
DESIGN = """
title = "Every criterion of some drawings"
unit = "drawing"
raters = 1
instructions = "Answer by what you see."
[sample]
of = "drawings"
size = 2
[[form]]
kind = "criteria"
criteria = ["*"]
"""


def limner(*words: str) -> str:
    done = CliRunner().invoke(command_line, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize("recipe", [one.name for one in recipes() if one.name not in ELSEWHERE])
def test_sample_build_is_marked_and_served(recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("starlette", reason="servers come with limner[web]")
    monkeypatch.chdir(tmp_path)
    sample = SAMPLES[recipe]
    with scripted(*sample.routes()) as llm, open_store("limner-store", create=True) as store:
        write_provider(tmp_path, llm)
        roles = dict.fromkeys(sample.roles, "fake/llm")
        new = new_build(store, "mine", recipe, settings=sample.prepare(tmp_path), roles=roles)
        builder = with_models(new, settings.load())
        assert builder.run(Spending(budget=5.0)).failed == 0
        assert llm.refused == []
        asked = llm.total
        assert builder.run(Spending(budget=5.0)).spent == 0
        assert llm.total == asked, "nothing is asked twice"
        made = export(builder, tmp_path / "out")
        assert made.questions > 0
    assert "all well-formed" in limner("exam", "check", "out/exam.toml")
    ran = json.loads(limner("run", "out/exam.toml", "--painter", sample.painter, "--judge", "ocr", "--format=json"))
    assert (ran["failed"], ran["not_applicable"], ran["done"]) == (0, 0, 2 * made.questions), "each drawn and marked"
    scores = json.loads(limner("scores", "out/exam.toml", "--format", "json"))
    assert [(row["painter"], row["n"]) for row in scores] == [(sample.painter, made.questions)]
    assert scores[0]["coverage"] == 1.0
    (tmp_path / "all.toml").write_text(DESIGN, "utf-8")
    output = limner("study", "new", "pilot", "--exam", "out/exam.toml", "--design", "all.toml", "--painter",
                  sample.painter, "--rater", "anna")  # fmt: skip
    from tests.study.page.visiting import agree, visitor

    token = re.search(r"^anna\s+\S+/r/([\w-]+)$", output, re.MULTILINE)
    assert token, output
    protocol = exams.kind(made.exam.kind).protocol
    asked_for = {escape(one.text) for question in made.exam.questions for one in protocol.criteria(question)}
    with open_store("limner-store") as store, visitor(store) as client:
        agree(client, token[1])
        page = client.get(f"/r/{token[1]}/1")
        assert page.status_code == 200
        assert any(words in page.text for words in asked_for)
        picture = re.search(r'<img[^>]* src="(/[^"]*)"', page.text)
        assert picture, page.text[:2000]
        assert client.get(picture[1]).headers["content-type"].startswith("image/")
