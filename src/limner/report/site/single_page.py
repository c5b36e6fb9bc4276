"""Reports on a single page: tables, then pictures with their marks, without scripts or external files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from ...certify.bias import CLEAN, UNSEEN
from ...certify.examine import MarkedTrial
from ...certify.proof import WORDS, CriterionProof, RubricProof
from ...core.errors import LostImage
from ...core.evaluator import Evaluator
from ...core.images import BadImage, prepare
from ...core.marks import Criterion, values
from ...core.protocol import Protocol
from ...scoring import Group
from ...scoring.items import FLAGS, ItemRow, ItemStatistics, entry_of
from ...scoring.numbers import shares
from ...store import Blobs
from ...store.markings import CertificateRow
from ..tables.analyses import item_tables
from ..tables.certificates import PICTURES, certificate_tables, dose_table, fact_table, proof_tables
from ..tables.html import fragment
from .chunks import no_folders
from .pages import fill_template, text

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
SIDE = 440
"""The longer side of a picture, in pixels."""
EXPECTED = {"stand": "must pass", "fall": "must fail"}
"""The words for the expected results of criteria."""


def _single_page(title: str, tables: str, head: str, about: str, sections: Iterable[str]) -> str:
    """Return the whole page; `head` and `about` introduce the sections."""
    words = {"policy": POLICY, "title": text(title), "head": text(head), "about": text(about)}
    return fill_template("single_page.html", **words, tables=tables, pictures="".join(sections))


def _fold(summary: str, content: str) -> str:
    return f"<details><summary><bdi>{text(summary)}</bdi></summary>{content}</details>"


def _section(title: str, figures: Iterable[str], lines: Iterable[str] = ()) -> str:
    said = "".join(f'<p class="said"><bdi>{text(line)}</bdi></p>' for line in lines)
    return f"<h3><bdi>{text(title)}</bdi></h3>{said}{_figures(figures)}"


def _figures(figures: Iterable[str]) -> str:
    return f'<div class="figures">{"".join(figures)}</div>'


def _figure(blobs: Blobs, image: str | None, name: str, about: Sequence[str], rows: Iterable[str]) -> str:
    """Return a picture with its marks; None as image if nothing was shown."""
    shown = "<p>(no picture was shown)</p>"
    if image is not None:
        try:
            shown = f'<img alt="{text([name, *about][-1])}" src="{prepare(blobs.get(image), SIDE).url}">'
        except (LostImage, BadImage) as error:
            shown = f"<p>{text(error)}</p>"
    caption = " · ".join([f"<b>{text(name)}</b>", *(f"<bdi>{text(word)}</bdi>" for word in about)])
    return f"<figure>{shown}<figcaption>{caption}</figcaption><table>{''.join(rows)}</table></figure>"


def _row(criterion: str, value: float | None, top: float, reason: str, must: str = "", wrong: bool = False) -> str:
    """Return the row of one criterion: its text, the expected result and the given mark."""
    given = "undecided" if value is None else f"{value} of {top}"
    mark = f'<span class="wrong">{given}</span>' if wrong else given
    cells = f"<td><bdi>{text(criterion)}</bdi></td><td>{text(must)}</td><td>{mark}</td>"
    return f'<tr title="{text(reason)}">{cells}</tr>'


def certificate_page(row: CertificateRow, blobs: Blobs) -> str:
    """Return the page of a judge's certificate; its sections are closed until a reader opens them."""
    body = row.body
    kinds = groupby(body["pictures"], key=itemgetter("kind"))
    sections = [_fold(kind, _figures(_picture(picture, blobs) for picture in some)) for kind, some in kinds]
    folded = {"What it saw of each fault, by dose": dose_table(body), "What else was measured": fact_table(body)}
    tables = [fragment(replace(certificate_tables(row)[0], title=""))]
    tables += [_fold(name, fragment(table)) for name, table in folded.items()]
    return _single_page(
        f"Certificate of {body['judge']} · {body['exam']} · {row.day}",
        "".join(tables),
        "A picture of each fault, and the answers",
        "Red: a criterion that should have failed and passed, or the reverse.",
        sections,
    )


def _picture(picture: Mapping[str, Any], blobs: Blobs) -> str:
    dose = f" {picture['dose']}" if picture["dose"] else ""
    rows = [_answer(answer) for answer in picture["answers"] if answer["expected"] or answer["value"] is not None]
    image = None if picture["kind"] == "unseen" else picture["image"]
    return _figure(blobs, image, f"{picture['kind']}{dose}", (picture["question"], picture["said"]), rows)


def _answer(answer: Mapping[str, Any]) -> str:
    value, must = answer["value"], answer["expected"]
    wrong = value is not None and must is not None and (value >= answer["top"]) != (must == "stand")
    return _row(answer["text"], value, answer["top"], answer["reason"], EXPECTED[must] if must else "", wrong)


MAX_ITEMS = 100
"""The most items with pictures; the tables have all items."""


def item_page(exam: str, statistics: Sequence[ItemStatistics], protocol: Protocol[Any], blobs: Blobs) -> str:
    """Return the page of an exam's item statistics."""
    statistics = [replace(judge, evaluator=_public(judge.evaluator)) for judge in statistics]
    everyone = [group for judge in statistics for group in judge.groups]
    flagged = [(judge, row) for judge in statistics for row in judge.flagged if row.criterion is not None]
    sections = [_item_section(judge, row, everyone, protocol, blobs) for judge, row in flagged[:MAX_ITEMS]]
    about = "For each criterion: the reference, and drawings that show why it is worth a look."
    if len(flagged) > MAX_ITEMS:
        about += f" Pictures of the first {MAX_ITEMS} criteria; {len(flagged) - MAX_ITEMS} more are in the tables."
    tables = "".join(map(fragment, item_tables(statistics, exam)))
    return _single_page(f"Items of {exam}", tables, "What is worth a look", about, sections)


def _public(evaluator: Evaluator) -> Evaluator:
    return replace(evaluator, label=no_folders(evaluator.name))


def _item_section(
    statistics: ItemStatistics, row: ItemRow, everyone: Sequence[Group], protocol: Protocol[Any], blobs: Blobs
) -> str:
    figures = []
    entry = next((e for group in statistics.groups if (e := entry_of(group, row.question))), None)
    if entry is not None and entry.question.reference is not None and entry.question.reference.sha256:
        figures.append(_figure(blobs, entry.question.reference.sha256, "the reference", (), ()))
    for group in _telling(statistics, row, everyone, protocol):
        drawn = entry_of(group, row.question)
        if drawn is not None and drawn.drawing.image:
            rows = _rows(row, drawn.drawing.id, everyone if "disputed" in row.flags else [group], protocol)
            figures.append(_figure(blobs, drawn.drawing.image, group.name, (), rows))
    title = f"{row.question} · {row.text} · {statistics.evaluator.name}"
    return _section(title, figures, [f"{flag}: {FLAGS[flag]}" for flag in row.flags])


def _telling(
    statistics: ItemStatistics, row: ItemRow, everyone: Sequence[Group], protocol: Protocol[Any]
) -> list[Group]:
    """Return painters that show the problem: the best and the worst, or one on whose drawing judges disagree."""
    by, given = {group.name: group for group in statistics.groups}, dict[str, float]()
    for name in statistics.painters:
        entry = entry_of(by[name], row.question)
        if entry is not None and (met := shares(entry, protocol).get(row.criterion or "")) is not None:
            given[name] = met
            others = (e for group in everyone if (e := entry_of(group, row.question)))
            marks = {values(e.marks).get(row.criterion or "") for e in others if e.drawing.id == entry.drawing.id}
            if "disputed" in row.flags and "negative" not in row.flags and len(marks) > 1:
                return [by[name]]
    order = [by[name] for name in given]
    if "negative" in row.flags:
        missed, met_by = ([by[name] for name in given if (given[name] > 0) is side] for side in (False, True))
        return [*missed[:1], *met_by[-1:]]
    return [order[0], order[-1]] if len(order) > 1 else order


def _rows(row: ItemRow, drawing: str, groups: Sequence[Group], protocol: Protocol[Any]) -> Iterator[str]:
    """Yield a row for each judge's mark of this drawing on the criterion."""
    for group in groups:
        entry = entry_of(group, row.question)
        if entry is not None and entry.drawing.id == drawing:
            top = {criterion.id: criterion.top for criterion in protocol.criteria(entry.question)}[row.criterion or ""]
            for mark in entry.marks:
                if mark.criterion == row.criterion:
                    yield _row(no_folders(group.evaluator.name), mark.value, top, mark.reason)


MAX_CRITERIA = 100
"""The most criteria with pictures; the table has all criteria."""


def proof_page(body: Mapping[str, Any], proof: RubricProof, protocol: Protocol[Any], blobs: Blobs) -> str:
    """Return the page of a rubric's proof."""
    body = {**body, "judge": no_folders(body["judge"])}
    by: dict[str, dict[str, MarkedTrial]] = {}
    for item in proof.marked:
        if not item.repeat:
            by.setdefault(item.trial.question.id, {})[item.trial.kind] = item
    # Problems seen in pictures come before those only of the wording.
    ordered = sorted(proof.mend, key=lambda item: all(reason.by == WORDS for reason in item.reasons))
    sections = [_proof_section(item, by.get(item.question, {}), protocol, blobs) for item in ordered[:MAX_CRITERIA]]
    about = "Red: the marks because of which a criterion needs fixing."
    if len(ordered) > MAX_CRITERIA:
        about += f" Pictures of the first {MAX_CRITERIA} criteria; {len(ordered) - MAX_CRITERIA} more are in the table."
    title = f"Proof of the rubric of {body['exam']} by {body['judge']}"
    tables = "".join(map(fragment, proof_tables(body)))
    return _single_page(title, tables, "The criteria to fix, in pictures", about, sections)


def _proof_section(
    proof: CriterionProof, by_kind: Mapping[str, MarkedTrial], protocol: Protocol[Any], blobs: Blobs
) -> str:
    wanted = [CLEAN, *(reason.picture for reason in proof.reasons if reason.picture), *proof.killed[:1]]
    if any(reason.kind == "guessed" for reason in proof.reasons):
        wanted.append(UNSEEN)
    figures = []
    for marked in (by_kind[kind] for kind in dict.fromkeys(wanted) if kind in by_kind):
        trial = marked.trial
        rows = [
            _proof_row(each, marked, proof) for each in protocol.criteria(trial.question) if each.id == proof.criterion
        ]
        image = None if trial.kind == UNSEEN else trial.image
        figures.append(_figure(blobs, image, PICTURES.get(trial.kind, trial.kind), (trial.said,), rows))
    lines = [f"{reason.kind}: {reason.detail}" for reason in proof.reasons]
    return _section(f"{proof.question} · {proof.text}", figures, lines)


def _proof_row(criterion: Criterion, marked: MarkedTrial, proof: CriterionProof) -> str:
    kind = marked.trial.kind
    mark = next((mark for mark in marked.marks if mark.criterion == criterion.id), None)
    value = None if mark is None else mark.value
    reasons = {reason.picture for reason in proof.reasons} | ({UNSEEN} if kind == UNSEEN else set())
    must = EXPECTED["stand"] if kind == CLEAN else EXPECTED["fall"] if kind in reasons or kind in proof.killed else ""
    wrong = value is not None and kind in reasons
    return _row(criterion.text, value, criterion.top, mark.reason if mark else "", must, wrong)
