"""WorldGenBench: world knowledge and implicit reasoning, marked with a checklist for each prompt."""

from dataclasses import replace
from pathlib import Path

from ..rubric import load_declared
from .analysis import PLOTS
from .data import ChecklistRubric, read, write

WORLDGENBENCH = replace(
    load_declared(Path(__file__).parent / "exam.toml"),
    rubric=ChecklistRubric,
    read=read,
    plots=PLOTS,
    statistics={"items": lambda question: len(question.rubric.checklist)},
    write=write,
)
