"""Reports on a single page: tables, then pictures with their marks, without scripts or external files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from ...certify.bias import CLEAN, UNSEEN
from ...certify.examine import MarkedTrial
from ...certify.proof import WORDS, CriterionProof, RubricProof
from ...core.errors import LostImage
from ...core.evaluator import Evaluator
from ...core.images import BadImage, prepare
from ...core.marks import Criterion
from ...core.protocol import Protocol
from ...scoring import Group
from ...scoring.items import FLAGS, ItemRow, ItemStatistics, entry_of
from ...scoring.numbers import shares
from ...store import Blobs
from ...store.markings import CertificateRow
from ..tables.analyses import item_tables
from ..tables.certificates import PICTURES, certificate_tables, dose_table, fact_table, proof_tables
from ..tables.html import fragment
from ..tables.model import Table
from .pages import text

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
SIDE = 440
"""The longer side of a picture, in pixels."""
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; }
.figures { display: flex; flex-wrap: wrap; gap: 1.5em; }
figure { margin: 0; max-width: 440px; }
figure img { max-width: 100%; border: 1px solid #8888; }
figure table { border-collapse: collapse; font-size: 85%; width: 100%; }
figure td { border-top: 1px solid #8884; padding: .15em .4em; vertical-align: top; }
.wrong { color: #b3261e; font-weight: 600; }
body .limner-table td.words { white-space: normal; }
summary { cursor: pointer; padding: .3em 0; }
.said { color: #555; margin: .2em 0 .6em; max-width: 60em; }
"""
EXPECTED = {"stand": "must pass", "fall": "must fail"}
"""The words for the expected results of criteria."""
_REPLAYED = re.compile(r"replay/\S*/(?=[^/\s]+)")


def public_judge(name: str) -> str:
    """Return a judge's name for public pages: the path of a file of replies is reduced to its name.

    >>> public_judge("replay//home/ann/replies.jsonl"), public_judge("openai/gpt-6.1-sol")
    ('replay/replies.jsonl', 'openai/gpt-6.1-sol')
    """
    return _REPLAYED.sub("replay/", name)


@dataclass(frozen=True)
class FigureRow:
    """One criterion of a figure: its text, the expected result, the given mark, the reason."""

    text: str
    must: str
    given: str
    wrong: bool = False
    reason: str = ""


@dataclass(frozen=True)
class PageFigure:
    """A picture with its marks.

    Attributes:
        image: Its content hash; None if nothing was shown.
        name: A short name.
        about: The question or painter, and any changes made to the picture.
    """

    image: str | None
    name: str
    about: tuple[str, ...] = ()
    rows: tuple[FigureRow, ...] = ()


@dataclass(frozen=True)
class PageSection:
    """Figures that belong together, with a text above them."""

    title: str
    figures: tuple[PageFigure, ...]
    said: tuple[str, ...] = ()


def single_page(title: str, tables: Iterable[Table], head: str, about: str, sections: Sequence[PageSection],
                blobs: Blobs, folded: Mapping[str, Table] | None = None) -> str:  # fmt: skip
    """Return the whole page; `head` and `about` introduce the sections.

    With `folded`, these tables and all sections are closed until a reader opens them.
    """
    shown = "".join(fragment(table) for table in tables)
    pictures = "".join(_section(section, blobs, folded is not None) for section in sections)
    shown += "".join(_fold(name, fragment(table)) for name, table in (folded or {}).items())
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{text(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1><bdi>{text(title)}</bdi></h1>
{shown}
<h2>{text(head)}</h2>
<p>{text(about)}</p>
{pictures}
</body>
</html>
"""


def _fold(summary: str, content: str) -> str:
    return f"<details><summary><bdi>{text(summary)}</bdi></summary>{content}</details>"


def _section(section: PageSection, blobs: Blobs, fold: bool) -> str:
    lines = "".join(f'<p class="said"><bdi>{text(line)}</bdi></p>' for line in section.said)
    figures = "".join(_figure(figure, blobs) for figure in section.figures)
    figures = f'<div class="figures">{figures}</div>'
    return (
        _fold(section.title, lines + figures) if fold else f"<h3><bdi>{text(section.title)}</bdi></h3>{lines}{figures}"
    )


def _figure(figure_data: PageFigure, blobs: Blobs) -> str:
    if figure_data.image is None:
        shown = "<p>(no picture was shown)</p>"
    else:
        try:
            alt = figure_data.about[-1] if figure_data.about else figure_data.name
            shown = f'<img alt="{text(alt)}" src="{prepare(blobs.get(figure_data.image), SIDE).url}">'
        except (LostImage, BadImage) as error:
            shown = f"<p>{text(error)}</p>"
    caption = " · ".join(
        [f"<b>{text(figure_data.name)}</b>", *(f"<bdi>{text(word)}</bdi>" for word in figure_data.about)]
    )
    rows = "".join(_row(row) for row in figure_data.rows)
    return f"<figure>{shown}<figcaption>{caption}</figcaption><table>{rows}</table></figure>"


def _row(row: FigureRow) -> str:
    given = text(row.given)
    mark = f'<span class="wrong">{given}</span>' if row.wrong else given
    cells = f"<td><bdi>{text(row.text)}</bdi></td><td>{text(row.must)}</td><td>{mark}</td>"
    return f'<tr title="{text(row.reason)}">{cells}</tr>'


def certificate_page(row: CertificateRow, blobs: Blobs) -> str:
    """Return the page of a judge's certificate."""
    body = row.body
    sections = [
        PageSection(kind, tuple(_picture(picture) for picture in some))
        for kind, some in groupby(body["pictures"], key=lambda picture: picture["kind"])
    ]
    return single_page(
        f"Certificate of {body['judge']} · {body['exam']} · {row.day}",
        [replace(certificate_tables(row)[0], title="")],
        "A picture of each fault, and the answers",
        "Red: a criterion that should have failed and passed, or the reverse.",
        sections,
        blobs,
        {"What it saw of each fault, by dose": dose_table(body), "What else was measured": fact_table(body)},
    )


def _picture(picture: Mapping[str, Any]) -> PageFigure:
    dose = f" {picture['dose']}" if picture["dose"] else ""
    rows = tuple(_answer(answer) for answer in picture["answers"] if answer["expected"] or answer["value"] is not None)
    image = None if picture["kind"] == "unseen" else picture["image"]
    return PageFigure(image, f"{picture['kind']}{dose}", (picture["question"], picture["said"]), rows)


def _answer(answer: Mapping[str, Any]) -> FigureRow:
    value, must = answer["value"], answer["expected"]
    wrong = value is not None and must is not None and (value >= answer["top"]) != (must == "stand")
    given = "undecided" if value is None else f"{value} of {answer['top']}"
    return FigureRow(answer["text"], EXPECTED[must] if must else "", given, wrong, answer["reason"])


MAX_ITEMS = 100
"""The most items with pictures; the tables have all items."""


def item_page(exam: str, statistics: Sequence[ItemStatistics], protocol: Protocol[Any], blobs: Blobs) -> str:
    """Return the page of an exam's item statistics."""
    statistics = [replace(judge, evaluator=_public(judge.evaluator)) for judge in statistics]
    everyone = [group for judge in statistics for group in judge.groups]
    flagged = [(judge, row) for judge in statistics for row in judge.flagged if row.criterion is not None]
    sections = [_item_section(judge, row, everyone, protocol) for judge, row in flagged[:MAX_ITEMS]]
    left = len(flagged) - len(sections)
    about = "For each criterion: the reference, and drawings that show why it is worth a look."
    if left:
        about += f" Pictures of the first {MAX_ITEMS} criteria; {left} more are in the tables."
    title = f"Items of {exam}"
    return single_page(title, item_tables(statistics, exam), "What is worth a look", about, sections, blobs)


def _public(evaluator: Evaluator) -> Evaluator:
    return replace(evaluator, label=public_judge(evaluator.name))


def _item_section(
    statistics: ItemStatistics, row: ItemRow, everyone: Sequence[Group], protocol: Protocol[Any]
) -> PageSection:
    figures = []
    entry = next((e for group in statistics.groups if (e := entry_of(group, row.question))), None)
    if entry is not None and entry.question.reference is not None and entry.question.reference.sha256:
        figures.append(PageFigure(entry.question.reference.sha256, "the reference"))
    for group in _telling(statistics, row, everyone, protocol):
        drawn = entry_of(group, row.question)
        if drawn is not None and drawn.drawing.image:
            rows = tuple(_rows(row, drawn.drawing.id, everyone if "disputed" in row.flags else [group], protocol))
            figures.append(PageFigure(drawn.drawing.image, group.name, (), rows))
    lines = tuple(f"{flag}: {FLAGS[flag]}" for flag in row.flags)
    return PageSection(f"{row.question} · {row.text} · {statistics.evaluator.name}", tuple(figures), lines)


def _telling(
    statistics: ItemStatistics, row: ItemRow, everyone: Sequence[Group], protocol: Protocol[Any]
) -> list[Group]:
    """Return painters that show the problem: the best and the worst, or one on whose drawing judges disagree."""
    by = {group.name: group for group in statistics.groups}
    order = [by[name] for name in statistics.painters if _given(by[name], row, protocol) is not None]
    if "negative" in row.flags:
        met = [group for group in order if (_given(group, row, protocol) or 0.0) > 0]
        missed = [group for group in order if _given(group, row, protocol) == 0]
        return [*missed[:1], *met[-1:]]
    if "disputed" in row.flags:
        for group in order:
            entry = entry_of(group, row.question)
            if entry is not None and len({line.given for line in _rows(row, entry.drawing.id, everyone, protocol)}) > 1:
                return [group]
    return [order[0], order[-1]] if len(order) > 1 else order


def _given(group: Group, row: ItemRow, protocol: Protocol[Any]) -> float | None:
    entry = entry_of(group, row.question)
    return None if entry is None else shares(entry, protocol).get(row.criterion or "")


def _rows(row: ItemRow, drawing: str, groups: Sequence[Group], protocol: Protocol[Any]) -> Iterator[FigureRow]:
    """Yield a row for each judge's mark of this drawing on the criterion."""
    for group in groups:
        entry = entry_of(group, row.question)
        if entry is None or entry.drawing.id != drawing:
            continue
        top = {criterion.id: criterion.top for criterion in protocol.criteria(entry.question)}[row.criterion or ""]
        for mark in entry.marks:
            if mark.criterion == row.criterion:
                given = "undecided" if mark.value is None else f"{mark.value} of {top}"
                yield FigureRow(public_judge(group.evaluator.name), "", given, reason=mark.reason)


MAX_CRITERIA = 100
"""The most criteria with pictures; the table has all criteria."""


def proof_page(body: Mapping[str, Any], proof: RubricProof, protocol: Protocol[Any], blobs: Blobs) -> str:
    """Return the page of a rubric's proof."""
    body = {**body, "judge": public_judge(body["judge"])}
    by: dict[str, list[MarkedTrial]] = {}
    for item in proof.marked:
        if not item.repeat:
            by.setdefault(item.trial.question.id, []).append(item)
    # Problems seen in pictures come before those only of the wording.
    ordered = sorted(proof.mend, key=lambda item: all(reason.by == WORDS for reason in item.reasons))
    sections = [_proof_section(item, by.get(item.question, []), protocol) for item in ordered[:MAX_CRITERIA]]
    left = len(proof.mend) - len(sections)
    about = "Red: the marks because of which a criterion needs fixing."
    if left:
        about += f" Pictures of the first {MAX_CRITERIA} criteria; {left} more are in the table."
    title = f"Proof of the rubric of {body['exam']} by {body['judge']}"
    return single_page(title, proof_tables(body), "The criteria to fix, in pictures", about, sections, blobs)


def _proof_section(criterion: CriterionProof, marked: Iterable[MarkedTrial], protocol: Protocol[Any]) -> PageSection:
    wanted = [CLEAN, *(reason.picture for reason in criterion.reasons if reason.picture), *criterion.killed[:1]]
    if any(reason.kind == "guessed" for reason in criterion.reasons):
        wanted.append(UNSEEN)
    by_kind = {each.trial.kind: each for each in marked}
    figures = [_proof_figure(by_kind[kind], criterion, protocol) for kind in dict.fromkeys(wanted) if kind in by_kind]
    lines = tuple(f"{reason.kind}: {reason.detail}" for reason in criterion.reasons)
    return PageSection(f"{criterion.question} · {criterion.text}", tuple(figures), lines)


def _proof_figure(marked: MarkedTrial, criterion: CriterionProof, protocol: Protocol[Any]) -> PageFigure:
    trial = marked.trial
    criteria = {each.id: each for each in protocol.criteria(trial.question)}
    image = None if trial.kind == UNSEEN else trial.image
    rows = (_proof_row(criteria[criterion.criterion], marked, criterion),) if criterion.criterion in criteria else ()
    return PageFigure(image, PICTURES.get(trial.kind, trial.kind), (trial.said,), rows)


def _proof_row(criterion: Criterion, marked: MarkedTrial, proof: CriterionProof) -> FigureRow:
    kind = marked.trial.kind
    mark = next((mark for mark in marked.marks if mark.criterion == criterion.id), None)
    value = None if mark is None else mark.value
    given = "undecided" if value is None else f"{value} of {criterion.top}"
    reasons = {reason.picture for reason in proof.reasons} | ({UNSEEN} if kind == UNSEEN else set())
    must = EXPECTED["stand"] if kind == CLEAN else EXPECTED["fall"] if kind in reasons or kind in proof.killed else ""
    return FigureRow(criterion.text, must, given, value is not None and kind in reasons, mark.reason if mark else "")
