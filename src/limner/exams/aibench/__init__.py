"""AIBench: method figures, examined by multiple-choice questions on four levels."""

from pathlib import Path

from .. import Kind, usual_parts
from .analysis import MODES, PLOTS
from .data import QuestionsRubric, count_questions, read, read_results, write
from .protocol import AIBench

AIBENCH = Kind(
    **usual_parts(Path(__file__).parent),
    name="aibench",
    title="AIBench: method figures of papers, examined by questions on four levels, and their aesthetics",
    rubric=QuestionsRubric,
    protocol=AIBench(),
    read=read,
    read_results=read_results,
    plots=PLOTS,
    modes=MODES,
    statistics={"questions": count_questions},
    write=write,
)
