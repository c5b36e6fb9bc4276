"""GenExam: exam questions with weighted scoring points."""

from pathlib import Path

from .. import Kind
from .data import ScoringPointsRubric, read, read_results, write
from .protocol import GenExam

_HERE = Path(__file__).parent

GENEXAM = Kind(
    name="genexam",
    title="GenExam: multidisciplinary exam questions with weighted scoring points",
    rubric=ScoringPointsRubric,
    protocol=GenExam(),
    read=read,
    prompts=_HERE / "prompts",
    sample=_HERE / "sample",
    presets=_HERE / "presets.toml",
    download=_HERE / "download.toml",
    read_results=read_results,
    paper=_HERE / "paper",
    studies=_HERE / "studies",
    recipe=_HERE / "recipe",
    write=write,
    statistics={"points": lambda question: len(question.rubric.scoring_points)},
)
