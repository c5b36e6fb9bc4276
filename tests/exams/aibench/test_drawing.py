"""AIBench's drawing prompts in other words, the least size of drawings, and the tries of the solver."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner import exams, run
from limner.core.errors import DataError, UsageError
from limner.core.exam import Selection
from limner.exams import kind
from limner.exams.released import drawing_prompts
from limner.judges import make_variant
from limner.running.setup import Asking
from limner.store import Store
from limner.store.records import load_drawings
from tests.exams import clones
from tests.exams.aibench.rows import question

PAINTER = """from PIL import Image

def small(prompt, seed):
    return Image.new("RGB", (1024, 1000), "white")

def large(prompt, seed):
    return Image.new("RGB", (1024, 1024), "white")
"""
ONE = Selection(limit=1)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "drawn_here.py").write_text(PAINTER, "utf-8")


def sent(store: Store) -> dict[str, str | None]:
    return {drawing.label: drawing.prompt_sent for drawing in load_drawings(store, "sample/aibench")}


def test_own_drawing_template_is_sent_and_named(tmp_path: Path, store: Store) -> None:
    folder = tmp_path / "words"
    folder.mkdir()
    (folder / "draw-closed.md").write_text("Draw me this: {{method}}", "utf-8")
    painters = ["mine=python/drawn_here:large"]
    run("sample/aibench", painters=painters, store=store, selection=ONE)
    run("sample/aibench", painters=painters, store=store, selection=ONE, asking=Asking(prompts=folder))
    prompts = sent(store)
    (own,) = (label for label in prompts if label.startswith("mine?prompts=own "))
    assert str(prompts[own]).startswith("Draw me this: ")
    assert str(prompts["mine"]).startswith("Draw the framework figure")


def test_drawing_template_of_release_is_sent(tmp_path: Path, store: Store) -> None:
    folder = clones.clone(tmp_path, "aibench")
    asking = Asking(prompts=f"release:{folder}")
    run("sample/aibench", painters=["mine=python/drawn_here:large"], store=store, selection=ONE, asking=asking)
    ((label, prompt),) = sent(store).items()
    assert label.startswith("mine?prompts=release ")
    method = exams.read(exams.resolve("sample/aibench")).questions[0].prompt.strip()
    assert prompt == f'Picture the "method" below.\n {method}'
    assert drawing_prompts(kind("genexam"), f"release:{clones.clone(tmp_path, 'genexam')}").released == {}


@pytest.mark.parametrize("text", ["data:\n", "text_prompt_template: |\n  Draw.\n", "text_prompt_template: 5\n"])
def test_changed_release_file_is_refused(text: str, tmp_path: Path) -> None:
    folder = clones.clone(tmp_path, "aibench")
    (folder / "infer" / "configs" / "example.yaml").write_text(text, "utf-8")
    with pytest.raises(DataError, match="text_prompt_template"):
        drawing_prompts(kind("aibench"), f"release:{folder}")


def test_unknown_file_among_own_prompts_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "words"
    folder.mkdir()
    (folder / "draw-close.md").write_text("{{method}}", "utf-8")
    with pytest.raises(UsageError, match=r"draw-close\.md is not a prompt template; templates are: draw-closed\.md"):
        make_variant(kind("aibench"), None, {}, folder)


def test_drawing_below_the_least_size_of_the_preset_is_a_fault(store: Store) -> None:
    painters = ["small=python/drawn_here:small", "large=python/drawn_here:large", "control/blank"]
    paper = Asking(preset="paper", judges=("ocr",))
    run("sample/aibench", painters=painters, store=store, selection=ONE, asking=paper)
    drawn = {drawing.painter: drawing for drawing in load_drawings(store, "sample/aibench")}
    assert (drawn["small"].status, drawn["small"].fault) == ("failed", "image")
    assert drawn["small"].detail == "the drawing has 1024 x 1000 pixels; the least size is 1024 x 1024"
    assert drawn["large"].status == drawn["control/blank"].status == "done"


def test_presets_ask_up_to_fifty_times() -> None:
    exam = kind("aibench")
    for name in ("paper", "release"):
        variant = make_variant(exam, None, exam.preset(name)["options"])
        assert {ask.contract.tries for ask in exam.protocol.asks(question(), "0" * 64, {}, variant)} == {50}
    usual = exam.protocol.asks(question(), "0" * 64, {}, make_variant(exam, None, {}))
    assert {ask.contract.tries for ask in usual} == {3}
