"""GenExam: exam questions with weighted scoring points."""

from pathlib import Path

from .. import Kind, usual_parts
from .data import ScoringPointsRubric, read, read_results, write
from .protocol import GenExam

GENEXAM = Kind(
    **usual_parts(Path(__file__).parent),
    name="genexam",
    title="GenExam: multidisciplinary exam questions with weighted scoring points",
    rubric=ScoringPointsRubric,
    protocol=GenExam(),
    read=read,
    read_results=read_results,
    write=write,
    statistics={"points": lambda question: len(question.rubric.scoring_points)},
)
