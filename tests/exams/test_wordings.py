"""What a wording is called, and how it is found by that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from limner.core.evaluator import Evaluator, Which
from limner.exams.genexam import GENEXAM
from limner.exams.wordings import is_shipped, wording_names
from limner.judges import make_variant


def setup_of(variant: str | None = None, prompts: Path | None = None) -> dict[str, Any]:
    """How a judge is asked, as far as the wording goes."""
    way = make_variant(GENEXAM, variant, {}, prompts)
    templates = way.prompts.hash(*GENEXAM.protocol.templates(way))
    return {"judge": "x", "variant": way.name, "options": dict(way.options), "templates": templates}


def own_setup(folder: Path) -> dict[str, Any]:
    """The same, with a template of the user's own."""
    (folder / "shape.md").write_text("Mine. {{count}}", "utf-8")
    return setup_of(prompts=folder)


def test_the_shipped_wording_of_every_variant() -> None:
    for variant in GENEXAM.protocol.variants:
        assert wording_names(GENEXAM, setup_of(variant)) == ("shipped",)


def test_other_wordings_are_called_by_their_hash(tmp_path: Path) -> None:
    own = own_setup(tmp_path)
    assert not is_shipped(GENEXAM, own)
    assert wording_names(GENEXAM, own) == (f"own {own['templates'][:4]}",)
    gone = {"templates": "0123456789ab", "variant": "gone", "options": {}}
    assert wording_names(GENEXAM, gone) == ("own 0123",)


def test_judges_without_prose() -> None:
    assert wording_names(GENEXAM, {"judge": "ocr", "rules": "labels-1", "variant": "labels"}) == ("labels-1",)
    assert wording_names(GENEXAM, {"judge": "x", "variant": "imported", "options": {}, "origin": "import"}) == ()


def test_ways_of_asking_are_found_by_their_wording(tmp_path: Path) -> None:
    shipped, own = setup_of(), own_setup(tmp_path)
    ways = [shipped, own, {"judge": "ocr", "rules": "labels-1"}, {"judge": "x", "variant": "imported"}]
    there = [Evaluator(str(n), way, worded=wording_names(GENEXAM, way)) for n, way in enumerate(ways)]
    for word, ids in {"shipped": ["0"], own["templates"][:5]: ["1"], "labels-1": ["2"], "release": []}.items():
        assert [each.id for each in Which(wording=word).among(there)] == ids
