"""Rows of a paper that a strategy or trained weights make: run, recognised, and refused under the row's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from limner import exams, run
from limner.calls import Calls
from limner.core.faults import Fault
from limner.evidence.backends import Measuring
from limner.painters import Painting, PaintRequest
from limner.painters.diffusers import DiffusersPainter
from limner.painters.diffusers.text_encoding import SEPARATOR
from limner.report.paper import build
from limner.report.reproduce import Checklist, Reproduction, make_checklist
from limner.report.reproduce.document import differences
from limner.running.setup import Asking
from limner.store import Store
from tests.support import picture

ROW = "FLUX-Reason (R1)"
SPEC = "diffusers/black-forest-labs/FLUX.1-dev"
OPTIONS = {"lora": "flux-reason.safetensors", "max_sequence_length": 2048}
PLANNER = "openrouter/deepseek/deepseek-r1"


@pytest.fixture(autouse=True)
def _painter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw without weights, and plan from a file under the name of the paper's planner."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flux-reason.safetensors").write_bytes(b"")

    async def paint(self: DiffusersPainter, request: PaintRequest, calls: Calls) -> Painting:
        if self.options.get("lora") is None:
            raise Fault("bad_request", "no weights")
        return Painting(picture(1, size=(64, 64)))

    monkeypatch.setattr(DiffusersPainter, "paint", paint)
    monkeypatch.setattr(DiffusersPainter, "check", lambda self: None)
    monkeypatch.setattr(DiffusersPainter, "token_counter", lambda self: None)


def asked(*painters: str, **more: Any) -> Reproduction:
    how = {"judges": ("ocr",), "regions": "classical", "items": ("Table 2",)}
    return Reproduction("sample/mmmg", painters=painters, **how | more)


def replies(tmp_path: Path) -> Path:
    ids = [question.id for question in exams.read(exams.resolve("sample/mmmg")).questions]
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(f'{{"id": "{id}", "reply": "Roots.\\n{SEPARATOR}\\nA tree."}}\n' for id in ids), "utf-8")
    return path


def own_rows(checklist: Checklist, store: Store) -> list[str]:
    """The strategies of the store's rows in Table 2."""
    (item,) = checklist.items
    assert item.layout is not None
    table = build(item.layout, store, checklist.choice(item), checklist.exam)
    mine = [row for sheet in table.flat for row in sheet.rows() if not row.published]
    return [row.about["strategy"].partition("[")[0] for row in mine]


def test_trained_row_needs_weights_and_is_drawn_the_whole_way(store: Store) -> None:
    (bare,) = make_checklist(asked(f"{ROW}={SPEC}"), store).steps
    assert "its weights must be trained first" in str(bare.step.cannot)
    assert "--painter-arg lora=VALUE" in str(bare.step.cannot)
    (step,) = make_checklist(asked(f"{ROW}={SPEC}", painter_args=OPTIONS), store).steps
    assert step.step.cannot is None
    for word in ("--strategy reason", "-S send=trained", "-S style=r1", f"-S planner={PLANNER}", "--preset paper-diff"):
        assert word in step.command
    assert "guidance=3.5" in step.label
    assert "lora=" in step.label


def test_trained_row_is_recognised_only_if_it_was_made_so(tmp_path: Path, store: Store) -> None:
    planner = f"replay/{replies(tmp_path)}"
    words: dict[str, Any] = {
        "painters": [f"{ROW}={SPEC}"], "painter_options": OPTIONS, "judges": ["ocr"], "store": store,
        "asking": Asking(preset="paper-diffusion"), "measuring": Measuring({"regions": "classical"}),
    }  # fmt: skip
    run("sample/mmmg", **words)
    how = {"strategy_options": {"planner": planner}}
    before = make_checklist(asked(ROW, **how), store)
    assert "must be trained first" in str(before.steps[0].step.cannot)
    assert before.groups_of(before.steps[0]) == []
    assert differences(before) == {}
    # The table leaves out what has the row's name, but was drawn from the bare prompt.
    assert before.notes == (f"left out: {ROW}: not drawn as the paper's row of this name",)
    assert own_rows(before, store) == []

    options = {"send": "trained", "style": "r1", "planner": planner}
    run("sample/mmmg", strategies=["reason"], strategy_options=options, **words)
    checklist = make_checklist(asked(ROW, **how), store)
    (step,) = checklist.steps
    assert (step.step.cannot, step.to_do) == (None, 0)
    assert own_rows(checklist, store) == ["reason"]
    assert [group.strategy.partition("[")[0] for group in checklist.groups_of(step)] == ["reason"]
    (made,) = differences(checklist).values()
    assert f"planner {planner} instead of {PLANNER}" in made
