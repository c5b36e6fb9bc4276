"""AIBench: method figures, examined by multiple-choice questions on four levels."""

from pathlib import Path

from .. import Kind
from .analysis import MODES, PLOTS
from .data import QuestionsRubric, count_questions, read, read_results, write
from .protocol import AIBench

_HERE = Path(__file__).parent

AIBENCH = Kind(
    name="aibench",
    title="AIBench: method figures of papers, examined by questions on four levels, and their aesthetics",
    rubric=QuestionsRubric,
    protocol=AIBench(),
    read=read,
    prompts=_HERE / "prompts",
    sample=_HERE / "sample",
    presets=_HERE / "presets.toml",
    download=_HERE / "download.toml",
    read_results=read_results,
    paper=_HERE / "paper",
    studies=_HERE / "studies",
    plots=PLOTS,
    modes=MODES,
    statistics={"questions": count_questions},
    recipe=_HERE / "recipe",
    write=write,
)
