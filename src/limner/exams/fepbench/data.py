"""Reads atom sets: one sample a line, with both its prompts; every sample is two questions, one for each prompt."""

from __future__ import annotations

from pathlib import Path

from ...core.data_files import absent_references, find_reference, read_questions
from ...core.exam import Exam, Question
from .atoms import REGIMES, Atoms, Sample

SAMPLES = "samples.jsonl"


def read(folder: Path, name: str = "fepbench") -> Exam[Atoms]:
    """Read the atom sets under `folder`.

    Raises:
        DataError: With file, line, sample id and atom id of everything that is wrong.
    """
    questions = read_questions(folder / SAMPLES, Sample, _questions, nothing="no sample in this file")
    return Exam(name, "fepbench", tuple(questions), notes=tuple(_notes(questions)))


def _questions(sample: Sample, file: Path) -> list[Question[Atoms]]:
    found, reference = [], find_reference(file.parent / "images", sample.image_path) if sample.image_path else None
    for regime in REGIMES:
        tags = {"sample": sample.id, "regime": regime, "domain": sample.domain, "panel_type": sample.panel_type}
        tags |= {"aspect": sample.aspect, "regime_domain": f"{regime} / {sample.domain}"}
        prompt = sample.prompts.free if regime == "free" else sample.prompts.structured
        found.append(Question(f"{sample.id}/{regime}", prompt, sample.atoms, tags, reference))
    return found


def _notes(questions: list[Question[Atoms]]) -> list[str]:
    absent, whole = (count // len(REGIMES) for count in (absent_references(questions), len(questions)))
    return [f"{absent} of {whole} references are absent: judges do not need them, controls skip them"] if absent else []
