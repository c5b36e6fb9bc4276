"""One question with all its drawings and marks."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ... import exams
from ...core.errors import LostImage, StoreError, UsageError
from ...core.evaluator import name_and_spec, row_name
from ...core.exam import whole_tags
from ...core.images import BadImage, prepare
from ...core.plot_data import plural
from ...judges.screening import screen_drawings
from ...scoring.groups import find_groups
from ...store import Store
from ...store.records import PROMPT_CUT, describe_cut_prompt, load_drawings, load_exam
from ...store.store import using_store
from .model import Framed, FrameRows, Table, simple_table
from .text import console, escape

SMALL = 480
"""The longer side of a picture shown with its marks, in pixels."""
COLUMNS = (
    "painter", "strategy", "judge", "evaluator", "seed", "repeat", "status", "criterion", "text", "top", "weight",
    "value", "verdict", "reason",
)  # fmt: skip


def describe_question(exam: str, id: str, *, store: Any, **which: Any) -> dict[str, Any]:
    """Return everything in the store about one question, as plain JSON.

    Raises:
        UsageError: The store has no such question.
    """
    with using_store(store) as opened:
        exam = exams.stored_name(exam)
        kind, groups = find_groups(exam, store=opened, **which)
        whole = load_exam(opened, exam, kind.rubric)
        drawings = [drawing for drawing in load_drawings(opened, exam) if drawing.question_id == id]
        flags = screen_drawings(opened, drawings, {each.hash: each for each in whole.questions}, kind.protocol)
        locate = opened.blobs.path
    if which.get("painters"):
        names = {name_and_spec(word)[0] for word in which["painters"]}
        drawings = [drawing for drawing in drawings if {drawing.painter, drawing.label} & names]
    question = next((question for question in whole.questions if question.id == id), None)
    if question is None:
        some = ", ".join(question.id for question in whole.questions[:5])
        raise UsageError(f"{exam} has no question {id!r} in this store; it has {some} …")
    markings = []
    entries = [(group, entry) for group in groups for entry in group.entries if entry.question.id == id]
    for group, entry in entries:
        body: dict[str, Any] = {"painter": group.painter, "strategy": group.strategy, "judge": group.judge}
        body |= {"evaluator": group.evaluator.name, "seed": entry.drawing.seed}
        body |= {"repeat": entry.marking.repeat if entry.marking else 0, "status": entry.status}
        body |= {"detail": entry.detail, "scores": dict(entry.scores)}
        body |= {"marks": [mark.to_json() for mark in entry.marks], "evidence": dict(entry.evidence)}
        markings.append(body | {"setup": dict(group.setup)})
    shown = ("painter", "strategy", "seed", "status", "image", "width", "height", "fault", "detail", "notes", "cost")
    return {
        "exam": exam,
        "id": id,
        "prompt": question.prompt,
        "tags": dict(question.tags),
        "reference": question.reference.sha256 if question.reference else None,
        "reference_path": locate(question.reference.sha256) if question.reference else None,
        "inputs": [picture.sha256 for picture in question.inputs],
        "input_paths": [picture.sha256 and locate(picture.sha256) for picture in question.inputs],
        "criteria": [
            {"id": c.id, "text": c.text, "kind": c.kind, "top": c.top, "weight": c.weight}
            for c in kind.protocol.criteria(question)
        ],
        "drawings": [
            {key: getattr(drawing, key) for key in shown}
            | {"path": locate(drawing.image)}
            | {"flags": [flag.to_json() for flag in flags[drawing.id]] if drawing.id in flags else None}
            for drawing in drawings
        ],
        "markings": markings,
    }


def small_pictures(body: Mapping[str, Any], store: Store) -> dict[str, str]:
    """Return small data URLs of the question's pictures and drawings, by hash; unreadable ones are left out."""
    urls: dict[str, str] = {}
    hashes = [*body["inputs"], body["reference"], *(drawing["image"] for drawing in body["drawings"])]
    for sha256 in filter(None, hashes):
        with suppress(StoreError, BadImage, LostImage):
            urls[sha256] = str(prepare(store.blobs.get(sha256), SMALL, "native").url)
    return urls


def print_question(body: dict[str, Any]) -> None:
    """Print the question's description to the terminal."""
    from rich.padding import Padding

    from .text import show

    out = console()
    out.print(f"[bold]{escape(body['id'])}[/bold] · {escape(body['exam'])}")
    out.print(Padding(escape(body["prompt"]), (0, 2)))
    out.print("[dim]" + escape(" · ".join(f"{k}: {v}" for k, v in whole_tags(body["tags"]).items())) + "[/dim]")
    inputs = zip(body["inputs"], body["input_paths"], strict=True)
    pictures = [*(("input picture", *each) for each in inputs)]
    for what, sha256, path in [*pictures, ("reference image", body["reference"], body["reference_path"])]:
        out.print(f"[dim]{what}: {escape(_place(sha256, path) or 'absent')}[/dim]", soft_wrap=True)
    for drawing in body["drawings"]:
        file = _place(drawing["image"], drawing["path"])
        found = f"{drawing['width']} x {drawing['height']}, {file}" if file else "imported"
        found = f"{drawing['fault']}: {drawing['detail']}" if drawing["fault"] else found
        out.print(f"drawing by [bold]{escape(_row(drawing))}[/bold]: {escape(found)}", soft_wrap=True)
        notes = drawing.get("notes") or {}
        for flag in drawing.get("flags") or ():
            text = f"carries words addressed to the examiner ({flag['rule']}, {flag['language']}): {flag['text']}"
            out.print(Padding(f"[red]{escape(text)}[/red]", (0, 2)))
        if cut := notes.get(PROMPT_CUT):
            out.print(Padding(escape(describe_cut_prompt(cut)), (0, 2)))
        for number, step in enumerate(notes.get("steps", ()), 1):
            out.print(Padding(f"[dim]{number}.[/dim] {escape(_step_line(step))}", (0, 2)))
    for marking in body["markings"]:
        if marking["status"] != "done":
            title, text = _marked(marking), marking["detail"] or ""
            out.print(f"{escape(title)}: [red]{escape(marking['status'])}[/red] {escape(text)}")
        else:
            show([_marking_table(body, marking)])


def _place(sha256: str | None, path: str | None) -> str:
    """Return where an image is: its file, or the beginning of its hash if it is not in a local folder."""
    return path or (f"image {sha256[:12]}" if sha256 else "")


class QuestionView(Framed, dict[str, Any]):
    """One question with its drawings and marks, with the same keys as `limner show --format json`.

    Attributes:
        pictures: Small pictures as data URLs, by the images' hashes; unreadable images are left out.
    """

    def __init__(self, body: Mapping[str, Any], pictures: Mapping[str, str]) -> None:
        super().__init__(body)
        self.pictures = pictures

    def tables(self) -> list[Table]:
        """Return a table for every finished marking: its marks with their reasons."""
        return [_marking_table(self, marking) for marking in self["markings"] if marking["status"] == "done"]

    def frame_rows(self) -> FrameRows:
        """Return a row for each mark."""
        criteria = _criteria(self)
        marks = (
            {**marking, **criteria.get(mark["criterion"], {}), **mark}
            for marking in self["markings"]
            for mark in marking["marks"]
        )
        return COLUMNS, [{name: mark.get(name) for name in COLUMNS} for mark in marks]

    def to_json(self) -> dict[str, Any]:
        """Return the body of ``limner show --format json``."""
        return dict(self)

    def __repr__(self) -> str:
        """Return the question's id, and the counts of drawings and markings."""
        drawings, markings = plural(len(self["drawings"]), "drawing"), plural(len(self["markings"]), "marking")
        return f"<QuestionView: {self['exam']} {self['id']}, {drawings}, {markings}>"

    def _repr_html_(self) -> str:
        from .html import question_html

        return question_html(self, self.pictures, self.tables())


def _criteria(body: Mapping[str, Any]) -> dict[str, Any]:
    return {criterion["id"]: criterion for criterion in body["criteria"]}


def _marked(marking: Mapping[str, Any]) -> str:
    return f"{_row(marking)} marked by {marking['evaluator']}"


def _marking_table(body: Mapping[str, Any], marking: Mapping[str, Any]) -> Table:
    """Return a table of every mark with its reason: what is wrong first, then what is undecided, then the rest."""
    criteria = _criteria(body)
    wrong, undecided, right = list[list[str]](), list[list[str]](), list[list[str]]()
    for mark in marking["marks"]:
        unknown = {"text": mark["criterion"], "weight": None, "top": 1}
        criterion, value = criteria.get(mark["criterion"], unknown), mark["value"]
        weight = f" ({criterion['weight']:g})" if criterion["weight"] is not None else ""
        group = undecided if value is None else wrong if value < criterion["top"] else right
        shown = mark["verdict"] if value is None else f"{value}/{criterion['top']}"
        group.append([criterion["text"] + weight, shown, mark["reason"]])
    rows, rules = [*wrong, *undecided, *right], {len(wrong), len(wrong) + len(undecided)}
    scores = ", ".join(f"{name} {value:g}" for name, value in marking["scores"].items() if value is not None)
    title = f"{_marked(marking)}: {scores or 'no score known'}"
    heads, prose = ["criterion", "mark", "reason"], ["criterion", "reason"]
    return simple_table(title, heads, rows, prose=prose, rules=rules - {len(rows)})


def _row(body: Mapping[str, Any]) -> str:
    return row_name(body["painter"], body.get("strategy", "direct"))


def _step_line(step: dict[str, Any]) -> str:
    """Return a step of a strategy as one or a few lines."""
    forms = {"round": " {}", "seed": " (seed {})", "image": " image {:.12}", "fault": " {}"}
    text = f": {step['text']}" if step.get("text") else ""
    facts = "".join(form.format(step[name]) for name, form in forms.items() if name in step)
    return f"{step['step']}{facts}{text if len(text) < 600 else text[:600] + ' …'}"
