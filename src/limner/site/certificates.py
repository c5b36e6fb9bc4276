"""A judge's certificate as a page of its own, with a picture of each fault and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from ..report.tables.certificates import certificate_tables
from ..store import Blobs
from ..store.ratings import CertificateRow
from .single_page import FigureRow, PageFigure, PageSection, single_page


def certificate_page(row: CertificateRow, blobs: Blobs) -> str:
    """The whole page."""
    body = row.body
    sections = [
        PageSection(kind, tuple(_picture(one) for one in some))
        for kind, some in groupby(body["pictures"], key=lambda one: one["kind"])
    ]
    return single_page(
        f"Certificate of {body['judge']} · {body['exam']} · {row.day}",
        certificate_tables(row),
        "A picture of each fault, and the answers",
        "Red: a criterion that must fall and did not, or one that must stand and fell.",
        sections,
        blobs,
    )


def _picture(one: Mapping[str, Any]) -> PageFigure:
    dose = f" {one['dose']}" if one["dose"] else ""
    rows = tuple(_answer(answer) for answer in one["answers"] if answer["expected"] or answer["value"] is not None)
    image = None if one["kind"] == "unseen" else one["image"]
    return PageFigure(image, f"{one['kind']}{dose}", (one["question"], one["said"]), rows)


def _answer(answer: Mapping[str, Any]) -> FigureRow:
    value, must = answer["value"], answer["expected"]
    wrong = value is not None and must is not None and (value >= answer["top"]) != (must == "stand")
    given = "undecided" if value is None else f"{value} of {answer['top']}"
    return FigureRow(answer["text"], f"must {must}" if must else "", given, wrong, answer["reason"])
