"""MMMG: knowledge images, marked against knowledge graphs."""

import re
from pathlib import Path

from .. import Kind
from .analysis import PLOTS
from .data import GraphRubric, read, read_results, write
from .graph_view import view
from .protocol import Mmmg

_HERE = Path(__file__).parent

MMMG = Kind(
    name="mmmg",
    title="MMMG: knowledge images of ten disciplines and six levels, marked by knowledge graphs",
    rubric=GraphRubric,
    protocol=Mmmg(),
    read=read,
    prompts=_HERE / "prompts",
    sample=_HERE / "sample",
    presets=_HERE / "presets.toml",
    download=_HERE / "download.toml",
    read_results=read_results,
    paper=_HERE / "paper",
    studies=_HERE / "studies",
    plots=PLOTS,
    statistics={
        "tokens": lambda question: len(re.findall(r"\w+|[^\w\s]", question.prompt)),
        "entities": lambda question: len(question.rubric.elements),
        "dependencies": lambda question: len(question.rubric.dependencies),
    },
    view=view,
    recipe=_HERE / "recipe",
    write=write,
)
