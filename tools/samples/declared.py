"""Draws the pictures of the declared exams' samples and their keys: ``python -m tools.samples.declared [FOLDER]``.

The drawings are those of the other samples. What an editing question starts from lacks one part of the right
result, and the label of this part.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from limner.exams import ExamSource, kind, read
from limner.exams.key import BLANK, PAINTERS, key_folder
from limner.painters.controls.painter import partners
from tools.samples.genexam import nature, plots, science, structures
from tools.samples.genexam.canvas import Canvas, Damage, damaged
from tools.samples.mmmg.nature import butterfly
from tools.samples.variants import encode
from tools.samples.worldgenbench import festivals, landscapes
from tools.samples.worldgenbench import science as experiments

Drawing = Callable[[], Canvas]
WHOLE: dict[str, dict[str, Drawing]] = {
    "wise": {
        "images/1.png": festivals.altar,
        "images/401.png": festivals.blossom_picnic,
        "images/521.png": landscapes.polder,
        "images/641.png": experiments.bean,
        "images/761.png": experiments.prism,
        "images/881.png": experiments.electrolysis,
    },
    "corebench": {
        "images/C-MI-001.png": landscapes.acropolis,
        "images/C-MA-001.png": landscapes.red_rock,
        "images/C-MR-001.png": science.lamp_circuit,
        "images/C-TR-001.png": plots.timeline,
        "images/R-LR-001.png": structures.search_tree,
        "images/R-PR-001.png": butterfly,
    },
}
"""Exam -> file -> the drawing."""
EDITS: dict[str, dict[str, tuple[str, Drawing, str]]] = {
    "krisbench": {
        "part_completion/1.png": ("1_gt.png", landscapes.acropolis, "columns"),
        "physics/1.png": ("1_gt.png", science.lamp_circuit, "wires of the voltmeter"),
        "chemistry/1.png": ("1_gt.png", science.ethanoic_acid, "bond to the fourth hydrogen atom"),
        "geography/1.png": ("1_gt.png", experiments.volcano, "magma chamber"),
        "biology/1.png": ("1_gt.png", nature.flower, "sepals"),
        "rule-based_reasoning/1.png": ("1_gt.png", structures.search_tree, "edge from 20 to 31"),
    },
    "risebench": {
        "temporal_reasoning_images/1.png": ("1_ref.png", experiments.volcano, "ash cloud"),
        "causal_reasoning_images/1.png": ("1_ref.png", experiments.electrolysis, "bubbles"),
        "causal_reasoning_images/2.png": ("2_ref.png", nature.water_cycle, "arrows of evaporation"),
        "spatial_reasoning_images/1.png": ("1_ref.png", experiments.lunar_eclipse, "Moon"),
        "logical_reasoning_images/1.png": ("1_ref.png", structures.search_tree, "edge from 31 to 27"),
        "logical_reasoning_images/2.png": ("2_ref.png", structures.process_states, "arrow 'Dispatch'"),
    },
    "grade": {
        "images/physics_1.png": ("physics_1_gt.png", science.beam, "load"),
        "images/chemistry_1.png": ("chemistry_1_gt.png", science.ethanoic_acid, "bond to the fourth hydrogen atom"),
        "images/biology_1.png": ("biology_1_gt.png", nature.flower, "sepals"),
        "images/eco_1.png": ("eco_1_gt.png", plots.market, "double arrow"),
        "images/math_1.png": ("math_1_gt.png", plots.parabola, "axis of symmetry"),
        "images/ComputerScience_1.png": ("ComputerScience_1_gt.png", structures.process_states, "arrow 'Exit'"),
    },
}
"""Exam -> input -> the file of the right result beside it, the drawing, and the part that the input lacks."""
LOOKS = {"quality", "plausibility", "legible"}
"""Criteria that ask only how a picture looks."""
KEPT = {"consistency", "kept", "unchanged"}
"""Criteria that ask only what has stayed as it was."""
REFERENCE, OTHER, EMPTY, INPUT = PAINTERS[0], PAINTERS[5], PAINTERS[6], "unchanged"


def pictures(exam: str) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of every picture of a sample."""
    for path, drawing in WHOLE.get(exam, {}).items():
        yield path, encode(drawing().finish())
    for path, (right, drawing, part) in EDITS.get(exam, {}).items():
        yield path, encode(start(drawing, part).finish())
        yield f"{path.rpartition('/')[0]}/{right}", encode(drawing().finish())


def start(drawing: Drawing, part: str) -> Canvas:
    """Return a drawing without one of its parts and without the label of this part, which would give it away."""
    with damaged(Damage(missing=part, unlabelled=True)):
        canvas = drawing()
    assert canvas.missing == part, (part, canvas.parts)
    return canvas


def key_lines(exam: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of a sample's key: right results, those of other questions, blank sheets and unchanged inputs."""
    sample, protocol = read(ExamSource(f"sample/{exam}", exam, kind(exam).sample)), kind(exam).protocol
    others = partners(sample)
    for question in sample.questions:
        other = sample.find(others[question.id])
        assert question.reference
        assert other
        assert other.reference
        worst = {each.id: each.low for each in protocol.criteria(question)}
        content = {id: low for id, low in worst.items() if id not in LOOKS}
        undone = {id: low for id, low in content.items() if id not in KEPT}
        for painter, image, what, faults in (
            (REFERENCE, question.reference.sha256, "nothing is wrong", {}),
            (OTHER, other.reference.sha256, f"drawn for {other.id}", content),
            (EMPTY, BLANK, "nothing is drawn", worst),
            *((INPUT, picture.sha256, "nothing has changed", undone) for picture in question.inputs),
        ):
            marks = {id: (low, what) for id, low in faults.items()}
            yield {"id": question.id, "painter": painter, "image": image, "what": what, "faults": marks}


def main() -> None:
    """Draw into the exams' samples, or into a folder, and write the keys."""
    for exam in (*WHOLE, *EDITS):
        sample, key = kind(exam).sample, key_folder(kind(exam))
        assert sample is not None
        assert key is not None
        target = Path(sys.argv[1]) / exam if sys.argv[1:] else sample
        for path, data in pictures(exam):
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_bytes(data)
        if not sys.argv[1:]:
            lines = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in key_lines(exam)]
            key.mkdir(exist_ok=True)
            (key / "key.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
