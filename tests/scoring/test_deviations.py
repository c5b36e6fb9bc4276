"""Every difference from the paper's settings is named, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from limner import exams
from limner.core.evaluator import Evaluator
from limner.judges import make_variant
from limner.scoring import Entry, Group
from limner.scoring.deviations import deviations, of_drawings, of_marks, of_number
from limner.store.records import Drawing
from tests.report.tables import synthetic

OURS = "prompts in Limner's wording"
ARGS = {"reasoning_effort": "low", "verbosity": "medium", "max_completion_tokens": 16384}
GENEXAM = {"judge": "openai/gpt-5-2025-08-07", "variant": "paper", "options": {"reference": "image"}, "args": ARGS}
OPEN = {"steps": 50, "guidance": 5.0}


def wording(kind: str, variant: str, options: dict[str, str]) -> str:
    """The hash of the shipped wording."""
    found = make_variant(exams.kind(kind), variant, options, None)
    return found.prompts.hash(*exams.kind(kind).protocol.templates(found))


def asked(setup: dict[str, Any]) -> Evaluator:
    return Evaluator("id", setup)


def drawn(kind: str, spec: str, size: tuple[int, int] | None = None, **how: Any) -> Group:
    """A painter's drawings of the sample's questions, all scored."""
    entries = []
    for question in synthetic.exam(kind).questions:
        slot = Drawing(
            question.id, kind, question.id, question.hash, "mine", spec, "direct", how.get("seed", 42), "done"
        )
        slot = replace(slot, options=how.get("options", {}), origin=how.get("origin", "run"))
        if size:
            slot = replace(slot, width=size[0], height=size[1])
        entries.append(Entry(question, slot, None, status="done"))
    return Group("mine", "direct", asked({"judge": "a"}), tuple(entries))


def test_settings_of_paper_differ_only_in_wording() -> None:
    setup = {**GENEXAM, "templates": wording("genexam", "paper", {"reference": "image"})}
    assert of_marks(exams.kind("genexam"), asked(setup), "paper") == [OURS]


def test_release_wording_is_named_with_file() -> None:
    setup = {**GENEXAM, "templates": "0123456789ab", "prompts": "release"}
    listed = of_marks(exams.kind("genexam"), asked(setup), "paper")
    assert listed == ["prompts in the release's own wording (eval_prompt.py, 0123)"]


def test_each_difference_of_marks_is_listed() -> None:
    setup = {**GENEXAM, "options": {"reference": "none"}}
    setup["args"] = {"reasoning_effort": "high", "verbosity": "medium", "x": 1}
    assert of_marks(exams.kind("genexam"), asked(setup), "release") == [
        "reading release instead of paper",
        "reference=none instead of image",
        "no max_completion_tokens=16384",
        "reasoning_effort=high instead of low",
        "x=1 added",
    ]
    other = of_marks(exams.kind("genexam"), asked({"judge": "human"}), "paper")
    assert other == ["judge human instead of openai/gpt-5-2025-08-07"]


def test_imported_marks_list_unknown_settings() -> None:
    setup = {"judge": "gpt-5", "variant": "imported", "options": {}, "origin": "import"}
    assert of_marks(exams.kind("genexam"), asked(setup), "paper") == [
        "judge gpt-5 instead of openai/gpt-5-2025-08-07",
        "imported: how the judge was asked is not known",
    ]


def test_closest_of_two_paper_judges_is_used() -> None:
    qwen = {"judge": "local/Qwen3.5-397B-A17B", "variant": "paper", "options": {}, "args": {}}
    assert of_marks(exams.kind("fepbench"), asked(qwen), "paper") == []
    other = of_marks(exams.kind("fepbench"), asked({**qwen, "judge": "x"}), "paper")
    assert "judge x instead of openai/gpt-5.4" in other or "judge x instead of local/Qwen3.5-397B-A17B" in other


def test_seed_deviations_are_listed() -> None:
    mmmg = exams.kind("mmmg")
    assert of_drawings(mmmg, [drawn("mmmg", "openai/x")]) == []
    assert of_drawings(mmmg, [drawn("mmmg", "openai/x", seed=0)]) == ["seed 0 instead of 42"]
    first, second = drawn("mmmg", "openai/x", seed=0), drawn("mmmg", "openai/x", seed=4)
    several = replace(first, entries=first.entries + second.entries)
    assert of_drawings(mmmg, [several]) == ["seeds 0 to 4 instead of 42"]
    # GenExam's paper names none.
    assert of_drawings(exams.kind("genexam"), [drawn("genexam", "openai/x", seed=7)]) == []


def test_sampler_and_size_deviations_are_listed() -> None:
    kind = exams.kind("fepbench")
    assert of_drawings(kind, [drawn("fepbench", "diffusers/x", options={"steps": 28})]) == [
        "no guidance=5.0",
        "steps=28 instead of 50",
    ]
    # The same by the names that services have for them.
    named = {"num_inference_steps": 50, "guidance_scale": 5.0}
    for options in (OPEN, named):
        assert of_drawings(kind, [drawn("fepbench", "diffusers/x", options=options)]) == []
    small = of_drawings(kind, [drawn("fepbench", "diffusers/x", (512, 512), options=OPEN)])
    assert len(small) == 1
    assert small[0].startswith("size 512x512 instead of 1080x1920")
    # A service keeps its own settings in the paper, too; what is set beside them is told.
    assert of_drawings(kind, [drawn("fepbench", "openai/x", (1024, 1024))]) == []
    assert of_drawings(kind, [drawn("fepbench", "openai/x", options={"quality": "high"})]) == ["quality=high added"]


@pytest.mark.parametrize(("spec", "origin"), [("folder/./out", "run"), ("import", "import")])
def test_drawings_made_elsewhere_list_unknown_settings(spec: str, origin: str) -> None:
    group = drawn("mmmg", spec, origin=origin)
    assert of_drawings(exams.kind("mmmg"), [group]) == ["drawn elsewhere: seed not known"]
    assert of_drawings(exams.kind("genexam"), [drawn("genexam", spec, origin=origin)]) == []


def test_deviation_shared_by_painters_is_listed_once() -> None:
    groups = [drawn("mmmg", "openai/x", seed=0), drawn("mmmg", "openai/y", seed=0), drawn("mmmg", "folder/z")]
    assert of_drawings(exams.kind("mmmg"), groups) == ["seed 0 instead of 42", "drawn elsewhere: seed not known"]


def test_question_count_deviation_is_listed() -> None:
    assert of_number(1000, 1000) == []
    assert of_number(1, 1000) == ["1 question where the paper has 1000"]
    assert of_number(320, 1000) == ["320 questions where the paper has 1000"]
    assert of_number(39, 250, "drawing") == ["39 drawings where the paper has 250"]
    assert of_number(0, 1000) == of_number(5, None) == []


def test_all_deviations_are_listed_together() -> None:
    group = drawn("mmmg", "openai/x", seed=0)
    listed = deviations(exams.kind("mmmg"), group, "paper", 4456)
    assert listed == [
        "judge a instead of openai/o3", "seed 0 instead of 42",
        f"{len(group.entries)} questions where the paper has 4456",
    ]  # fmt: skip
