"""Reads atom sets: one sample a line, with both its prompts; every sample is two questions, one for each prompt."""

from __future__ import annotations

from pathlib import Path

from ...core.exam import Exam, Question, Reference
from ...core.reading import Problems, find_reference, json_lines, parse_row
from .atoms import REGIMES, Atoms, Regime, Sample

SAMPLES = "samples.jsonl"


def read(folder: Path, name: str = "fepbench") -> Exam[Atoms]:
    """Read the atom sets under `folder`.

    Raises:
        DataError: With file, line, sample id and atom id of everything that is wrong.
    """
    path, problems = folder / SAMPLES, Problems()
    questions: list[Question[Atoms]] = []
    lines: dict[str, int] = {}
    for line, row in json_lines(path, problems):
        sample = parse_row(Sample, row, problems, path, line)
        if sample is None:
            continue
        if sample.id in lines:
            problems.add(f"this id stands already in line {lines[sample.id]}", path, line, sample.id)
            continue
        lines[sample.id] = line
        try:
            reference = find_reference(folder / "images", sample.image_path) if sample.image_path else None
        except ValueError as error:
            problems.add(str(error), path, line, sample.id)
            continue
        questions += [_question(sample, regime, reference) for regime in REGIMES]
    if not lines and not problems.found:
        problems.add("no sample in this file", path)
    problems.settle()
    return Exam(name, "fepbench", tuple(questions), notes=tuple(_notes(questions)))


def _question(sample: Sample, regime: Regime, reference: Reference | None) -> Question[Atoms]:
    tags = {"sample": sample.id, "regime": regime, "domain": sample.domain, "panel_type": sample.panel_type}
    tags |= {"aspect": sample.aspect, "regime_domain": f"{regime} / {sample.domain}"}
    prompt = sample.prompts.free if regime == "free" else sample.prompts.structured
    return Question(f"{sample.id}/{regime}", prompt, sample.atoms, tags, reference)


def _notes(questions: list[Question[Atoms]]) -> list[str]:
    absent = {q.tags["sample"] for q in questions if q.reference is None or q.reference.path is None}
    if not absent:
        return []
    whole = len(questions) // len(REGIMES)
    return [f"{len(absent)} of {whole} references are absent: judges do not need them, controls skip them"]
