"""WorldGenBench: world knowledge and implicit reasoning, marked with a checklist for each prompt."""

from pathlib import Path

from .. import Kind
from .analysis import PLOTS
from .data import ChecklistRubric, read, write
from .protocol import WorldGenBench

_HERE = Path(__file__).parent

WORLDGENBENCH = Kind(
    name="worldgenbench",
    title="WorldGenBench: world knowledge and implicit reasoning, by a checklist per prompt",
    rubric=ChecklistRubric,
    protocol=WorldGenBench(),
    read=read,
    prompts=_HERE / "prompts",
    sample=_HERE / "sample",
    presets=_HERE / "presets.toml",
    download=_HERE / "download.toml",
    paper=_HERE / "paper",
    plots=PLOTS,
    statistics={"items": lambda question: len(question.rubric.checklist)},
    recipe=_HERE / "recipe",
    write=write,
)
