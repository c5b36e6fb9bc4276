"""A report as one page of its own: tables, then pictures with what was said about them. No script, nothing loaded."""

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
from ...store.ratings import CertificateRow
from ..tables.analyses import item_tables
from ..tables.certificates import PICTURES, certificate_tables, proof_tables
from ..tables.model import Table
from ..tables.render.html import fragment
from .pages import text

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
SIDE = 440
"""The longer side of a picture."""
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; }
.figures { display: flex; flex-wrap: wrap; gap: 1.5em; }
figure { margin: 0; max-width: 440px; }
figure img { max-width: 100%; border: 1px solid #8888; }
figure table { border-collapse: collapse; font-size: 85%; width: 100%; }
figure td { border-top: 1px solid #8884; padding: .15em .4em; vertical-align: top; }
.wrong { color: #b3261e; font-weight: 600; }
body .limner-table td.words { white-space: normal; }
.said { color: #555; margin: .2em 0 .6em; max-width: 60em; }
"""
_REPLAYED = re.compile(r"replay/\S*/(?=[^/\s]+)")


def public_judge(name: str) -> str:
    """Return a judge's name as a page may show it: of a file of replies without the folders it lies in.

    >>> public_judge("replay//home/ann/replies.jsonl"), public_judge("openai/gpt-6-sol")
    ('replay/replies.jsonl', 'openai/gpt-6-sol')
    """
    return _REPLAYED.sub("replay/", name)


@dataclass(frozen=True)
class FigureRow:
    """What was said about one criterion: its words, what must become of it, what was given, the reason."""

    text: str
    must: str
    given: str
    wrong: bool = False
    reason: str = ""


@dataclass(frozen=True)
class PageFigure:
    """A picture with what was said about it.

    Attributes:
        image: Its content hash; None where nothing was shown.
        name: What it is, in a word.
        about: Whose it is, and what was done to it.
    """

    image: str | None
    name: str
    about: tuple[str, ...] = ()
    rows: tuple[FigureRow, ...] = ()


@dataclass(frozen=True)
class PageSection:
    """Figures that belong together; `said` stands above them."""

    title: str
    figures: tuple[PageFigure, ...]
    said: tuple[str, ...] = ()


def single_page(title: str, tables: Iterable[Table], head: str, about: str, sections: Sequence[PageSection],
                blobs: Blobs) -> str:  # fmt: skip
    """Return the whole page; `head` and `about` stand above the sections."""
    shown = "".join(fragment(table) for table in tables)
    pictures = "".join(_section(section, blobs) for section in sections)
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


def _section(section: PageSection, blobs: Blobs) -> str:
    said = "".join(f'<p class="said"><bdi>{text(line)}</bdi></p>' for line in section.said)
    figures = "".join(_figure(one, blobs) for one in section.figures)
    return f'<h3><bdi>{text(section.title)}</bdi></h3>{said}<div class="figures">{figures}</div>'


def _figure(one: PageFigure, blobs: Blobs) -> str:
    if one.image is None:
        shown = "<p>(nothing is shown)</p>"
    else:
        try:
            alt = one.about[-1] if one.about else one.name
            shown = f'<img alt="{text(alt)}" src="{prepare(blobs.get(one.image), SIDE).url}">'
        except (LostImage, BadImage) as error:
            shown = f"<p>{text(error)}</p>"
    told = " · ".join([f"<b>{text(one.name)}</b>", *(f"<bdi>{text(word)}</bdi>" for word in one.about)])
    rows = "".join(_row(row) for row in one.rows)
    return f"<figure>{shown}<figcaption>{told}</figcaption><table>{rows}</table></figure>"


def _row(row: FigureRow) -> str:
    given = text(row.given)
    mark = f'<span class="wrong">{given}</span>' if row.wrong else given
    cells = f"<td><bdi>{text(row.text)}</bdi></td><td>{text(row.must)}</td><td>{mark}</td>"
    return f'<tr title="{text(row.reason)}">{cells}</tr>'


def certificate_page(row: CertificateRow, blobs: Blobs) -> str:
    """Return the whole page."""
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


MOST_DRAWINGS = 100
"""Of so many items pictures are shown; the tables have all."""


def item_page(exam: str, found: Sequence[ItemStatistics], protocol: Protocol[Any], blobs: Blobs) -> str:
    """Return the whole page."""
    found = [replace(one, evaluator=_public(one.evaluator)) for one in found]
    everyone = [group for one in found for group in one.groups]
    flagged = [(one, row) for one in found for row in one.flagged if row.criterion is not None]
    sections = [_item_section(one, row, everyone, protocol) for one, row in flagged[:MOST_DRAWINGS]]
    left = len(flagged) - len(sections)
    about = "Of each criterion the reference, and drawings that show why it is worth a look."
    if left:
        about += f" Pictures of the first {MOST_DRAWINGS} criteria; {left} more stand in the tables."
    title = f"Items of {exam}"
    return single_page(title, item_tables(found, exam), "What is worth a look", about, sections, blobs)


def _public(evaluator: Evaluator) -> Evaluator:
    return replace(evaluator, label=public_judge(evaluator.name))


def _item_section(
    found: ItemStatistics, row: ItemRow, everyone: Sequence[Group], protocol: Protocol[Any]
) -> PageSection:
    figures = []
    entry = next((e for group in found.groups if (e := entry_of(group, row.question))), None)
    if entry is not None and entry.question.reference is not None and entry.question.reference.sha256:
        figures.append(PageFigure(entry.question.reference.sha256, "the reference"))
    for group in _telling(found, row, everyone, protocol):
        told = entry_of(group, row.question)
        if told is not None and told.drawing.image:
            rows = tuple(_rows(row, told.drawing.id, everyone if "disputed" in row.flags else [group], protocol))
            figures.append(PageFigure(told.drawing.image, group.name, (), rows))
    said = tuple(f"{flag}: {FLAGS[flag]}" for flag in row.flags)
    return PageSection(f"{row.question} · {row.text} · {found.evaluator.name}", tuple(figures), said)


def _telling(found: ItemStatistics, row: ItemRow, everyone: Sequence[Group], protocol: Protocol[Any]) -> list[Group]:
    """Two painters that show it: the best and the worst; of a disputed criterion one on which judges differ too."""
    by = {group.name: group for group in found.groups}
    order = [by[name] for name in found.painters if _given(by[name], row, protocol) is not None]
    if "negative" in row.flags:
        met = [group for group in order if (_given(group, row, protocol) or 0.0) > 0]
        missed = [group for group in order if _given(group, row, protocol) == 0]
        return [*missed[:1], *met[-1:]]
    if "disputed" in row.flags:
        for group in order:
            told = entry_of(group, row.question)
            if told is not None and len({line.given for line in _rows(row, told.drawing.id, everyone, protocol)}) > 1:
                return [group]
    return [order[0], order[-1]] if len(order) > 1 else order


def _given(group: Group, row: ItemRow, protocol: Protocol[Any]) -> float | None:
    entry = entry_of(group, row.question)
    return None if entry is None else shares(entry, protocol).get(row.criterion or "")


def _rows(row: ItemRow, drawing: str, groups: Sequence[Group], protocol: Protocol[Any]) -> Iterator[FigureRow]:
    """Yield what each judge gave this drawing for the criterion."""
    for group in groups:
        entry = entry_of(group, row.question)
        if entry is None or entry.drawing.id != drawing:
            continue
        top = {one.id: one.top for one in protocol.criteria(entry.question)}[row.criterion or ""]
        for mark in entry.marks:
            if mark.criterion == row.criterion:
                given = "undecided" if mark.value is None else f"{mark.value} of {top}"
                yield FigureRow(public_judge(group.evaluator.name), "", given, reason=mark.reason)


MOST_PICTURES = 100
"""Of so many criteria pictures are shown; the table has all."""


def proof_page(body: Mapping[str, Any], proof: RubricProof, protocol: Protocol[Any], blobs: Blobs) -> str:
    """Return the whole page."""
    body = {**body, "judge": public_judge(body["judge"])}
    by: dict[str, list[MarkedTrial]] = {}
    for one in proof.marked:
        if not one.repeat:
            by.setdefault(one.trial.question.id, []).append(one)
    # What was seen comes before what only the words say.
    ordered = sorted(proof.mend, key=lambda one: all(reason.by == WORDS for reason in one.reasons))
    sections = [_proof_section(one, by.get(one.question, []), protocol) for one in ordered[:MOST_PICTURES]]
    left = len(proof.mend) - len(sections)
    about = "Red: what makes the criterion one to mend."
    if left:
        about += f" Pictures of the first {MOST_PICTURES} criteria; {left} more stand in the table."
    title = f"Proof of the rubric of {body['exam']} by {body['judge']}"
    return single_page(title, proof_tables(body), "The criteria to mend, in pictures", about, sections, blobs)


def _proof_section(one: CriterionProof, marked: Iterable[MarkedTrial], protocol: Protocol[Any]) -> PageSection:
    wanted = [CLEAN, *(reason.picture for reason in one.reasons if reason.picture), *one.killed[:1]]
    if any(reason.kind == "guessed" for reason in one.reasons):
        wanted.append(UNSEEN)
    there = {each.trial.kind: each for each in marked}
    figures = [_proof_figure(there[kind], one, protocol) for kind in dict.fromkeys(wanted) if kind in there]
    said = tuple(f"{reason.kind}: {reason.detail}" for reason in one.reasons)
    return PageSection(f"{one.question} · {one.text}", tuple(figures), said)


def _proof_figure(marked: MarkedTrial, one: CriterionProof, protocol: Protocol[Any]) -> PageFigure:
    trial = marked.trial
    criteria = {each.id: each for each in protocol.criteria(trial.question)}
    image = None if trial.kind == UNSEEN else trial.image
    rows = (_proof_row(criteria[one.criterion], marked, one),) if one.criterion in criteria else ()
    return PageFigure(image, PICTURES.get(trial.kind, trial.kind), (trial.said,), rows)


def _proof_row(criterion: Criterion, marked: MarkedTrial, one: CriterionProof) -> FigureRow:
    kind = marked.trial.kind
    mark = next((mark for mark in marked.marks if mark.criterion == criterion.id), None)
    value = None if mark is None else mark.value
    given = "undecided" if value is None else f"{value} of {criterion.top}"
    reasons = {reason.picture for reason in one.reasons} | ({UNSEEN} if kind == UNSEEN else set())
    must = "must stand" if kind == CLEAN else "must fall" if kind in reasons or kind in one.killed else ""
    return FigureRow(criterion.text, must, given, value is not None and kind in reasons, mark.reason if mark else "")
