"""MMMG: knowledge images, marked against knowledge graphs."""

import re
from pathlib import Path

from .. import Kind, usual_parts
from .analysis import PLOTS
from .data import GraphRubric, read, read_results, write
from .graph_view import view
from .protocol import Mmmg

MMMG = Kind(
    **usual_parts(Path(__file__).parent),
    name="mmmg",
    title="MMMG: knowledge images of ten disciplines and six levels, marked by knowledge graphs",
    rubric=GraphRubric,
    protocol=Mmmg(),
    read=read,
    read_results=read_results,
    plots=PLOTS,
    statistics={
        "tokens": lambda question: len(re.findall(r"\w+|[^\w\s]", question.prompt)),
        "entities": lambda question: len(question.rubric.elements),
        "dependencies": lambda question: len(question.rubric.dependencies),
    },
    view=view,
    write=write,
)
