"""WorldGenBench: world knowledge and implicit reasoning, marked with a checklist for each prompt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...core.errors import UsageError
from ...core.marks import values
from ...core.plot_data import Gallery, Plot, PlotSource, Tile
from ..rubric import load_declared
from .data import ChecklistRubric, read, write

SIGNS = {1: "met", 0: "missed"}


def checklist(source: PlotSource) -> Gallery:
    """Return one question's drawings, with a line for each item of the checklist.

    Raises:
        UsageError: The question has no score.
    """
    questions = {row.question.id: row.question for rows in source.rows for row in rows}
    wanted = source.wanted or next(iter(questions))
    if wanted not in questions:
        raise UsageError(f"--question {wanted}: {source.exam} has no such question with scores")
    images, tiles = source.pictures([wanted]), []
    items = source.protocol.criteria(questions[wanted])
    for n, rows in enumerate(source.rows, 1):
        marks = values(next((row.marks for row in rows if row.question.id == wanted), ()))
        words = tuple(f"{SIGNS.get(marks.get(item.id, -1), 'not marked')}: {item.text}" for item in items)
        tiles.append(Tile(images[n].get(wanted), words))
    return Gallery(("",), source.names, (tuple(tiles),), wanted, source.caption)


WORLDGENBENCH = replace(
    load_declared(Path(__file__).parent / "exam.toml"),
    rubric=ChecklistRubric,
    read=read,
    plots={"checklist": Plot("a drawing with the items of its checklist that it met and missed", checklist, "gallery")},
    statistics={"items": lambda question: len(question.rubric.checklist)},
    write=write,
)
