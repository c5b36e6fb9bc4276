"""Writes what a build has made: an exam folder with pictures, provenance, datasheet, card and metadata."""

from __future__ import annotations

import csv
import io
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import exams
from ..calls import digest
from ..core.errors import UsageError
from ..core.exam import Exam
from ..core.images import decode
from ..store import Blobs, now
from .base import PART, TRAIN, BuildItem
from .croissant import croissant
from .datasheet import card, datasheet
from .engine import Builder

OPEN = (
    "cc0-1.0", "cc-by-4.0", "cc-by-3.0", "cc-by-2.0", "cc-by-2.5", "cc-by-sa-4.0", "cc-by-sa-3.0", "cc-by-sa-2.0",
    "cc-by-sa-2.5", "mit", "apache-2.0", "public domain", "pdm-1.0", "own work", "bsd-3-clause", "odc-by-1.0",
)  # fmt: skip
"""Licences under which a picture may be passed on with its exam; `--pass-on` names further ones."""
PROVENANCE = ("id", "item", "image", "sha256", "licence", "credit", "origin", "url", "page", "title", "recovered")


@dataclass(frozen=True)
class Made:
    """What an export has written.

    Attributes:
        withheld: Pictures that may not be passed on, and stand in the recovery list.
        canary: What marks the data, so that it can be found in training data.
    """

    questions: int
    pictures: int
    withheld: int
    canary: str
    exam: Exam[Any]


def export(
    builder: Builder, folder: Path, *, licence: str = "CC-BY-4.0", version: str = "1.0.0", pass_on: Sequence[str] = ()
) -> Made:
    """Write the exam that a build has made into an empty folder.

    Args:
        builder: The build.
        folder: Where it goes; ``exam.toml`` in it is what `limner run` takes.
        licence: Of questions and points.
        version: Of the data set.
        pass_on: Further licences under which pictures may be passed on.

    Raises:
        UsageError: Nothing has passed the last step, or the folder has something in it.
    """
    kind = exams.kind(builder.recipe.exam)
    if kind.write is None:
        raise UsageError(f"the exam {kind.name} cannot be written")
    counts, items = builder.look()
    sort = builder.recipe.places[-1].step.takes
    mine = [item for item in items.values() if item.sort == sort and item.body.get(PART) != TRAIN]
    if not mine:
        raise UsageError(f"no item of {builder.build.name} has passed its last step; see `limner build status`")
    check_empty(folder)
    data = folder / "data"
    data.mkdir(parents=True)
    name = builder.build.name
    canary = str(uuid.uuid5(uuid.NAMESPACE_URL, digest("canary", name, [[item.id, item.body] for item in mine])))
    saving = _Pictures(builder.store.blobs, data, canary, {one.casefold() for one in (*OPEN, *pass_on)}, mine)
    made = kind.write(data, [{**item.body, "item": item.id} for item in mine], saving.save)
    rows = _provenance(mine, made, saving)
    _csv(folder / "provenance.csv", PROVENANCE, rows)
    if withheld := [row for row in rows if row["recovered"] == "no"]:
        _csv(folder / "recover.csv", PROVENANCE, withheld)
    quoted = json.dumps(name, ensure_ascii=False)
    told = f'name = {quoted}\nkind = {json.dumps(kind.name)}\ndata = "data"\n'
    (folder / "exam.toml").write_text(told, encoding="utf-8")
    exam = exams.read(exams.resolve(str(folder / "exam.toml")))
    marking = (
        f"This data set is for examining models. It must not appear in training data.\n{name} canary GUID {canary}\n"
    )
    (folder / "CANARY.txt").write_text(marking, encoding="utf-8")
    facts: dict[str, Any] = {
        "name": name,
        "licence": licence,
        "version": version,
        "canary": canary,
        "withheld": len(withheld),
    }
    facts["date"] = time.strftime("%Y-%m-%d", time.gmtime(now()))
    _questions(folder / "questions.jsonl", exam, rows, canary)
    (folder / "DATASHEET.md").write_text(datasheet(builder, exam, counts, mine, rows, facts), encoding="utf-8")
    (folder / "README.md").write_text(card(builder, exam, facts), encoding="utf-8")
    (folder / "croissant.json").write_text(
        json.dumps(croissant(folder, exam, facts), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    return Made(len(exam.questions), len(saving.kept), len(withheld), canary, exam)


def check_empty(folder: Path) -> None:
    """Raise where a folder has something in it.

    Raises:
        UsageError: It has.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder")


class _Pictures:
    """Puts pictures into the folder, or leaves them out where their licence says so."""

    def __init__(self, blobs: Blobs, folder: Path, canary: str, allowed: set[str], items: Sequence[BuildItem]) -> None:
        self.blobs, self.folder, self.canary = blobs, folder, canary
        self.withheld = {str(item.body.get("image")) for item in items if _licence(item).casefold() not in allowed}
        self.kept: dict[str, str] = {}
        self.left: dict[str, str] = {}

    def save(self, sha256: str, name: str) -> None:
        """Put one picture in, as PNG with the canary in it."""
        if sha256 in self.withheld:
            self.left[sha256] = name
            return
        from PIL.PngImagePlugin import PngInfo

        marks = PngInfo()
        marks.add_text("canary", self.canary)
        buffer = io.BytesIO()
        decode(self.blobs.get(sha256)).save(buffer, format="PNG", pnginfo=marks)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(buffer.getvalue())
        self.kept[sha256] = name


def _licence(item: BuildItem) -> str:
    return str(item.body.get("licence") or "unknown")


def _provenance(
    items: Sequence[BuildItem], made: Mapping[str, Sequence[str]], saved: _Pictures
) -> list[dict[str, str]]:
    rows = []
    for item in items:
        sha256, source = str(item.body.get("image") or ""), item.body.get("source") or {}
        for id in made.get(item.id, ()):
            row = dict.fromkeys(PROVENANCE, "") | {name: str(source.get(name, "")) for name in PROVENANCE[5:10]}
            row |= {"id": id, "item": item.id, "sha256": sha256, "licence": _licence(item)}
            row["image"] = saved.kept.get(sha256) or saved.left.get(sha256, "")
            row["recovered"] = "no" if sha256 in saved.left else "yes"
            rows.append(row)
    return rows


def _csv(file: Path, heads: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, heads)
        writer.writeheader()
        writer.writerows(rows)


def _questions(file: Path, exam: Exam[Any], rows: Sequence[Mapping[str, str]], canary: str) -> None:
    """One flat table of all questions, which `datasets` loads: the same for every exam."""
    by_id = {row["id"]: row for row in rows}
    lines = []
    for question in exam.questions:
        about = by_id.get(question.id, {})
        reference = question.reference
        there = reference is not None and reference.path is not None
        image = str(reference.path.relative_to(file.parent)) if there else ""  # type: ignore[union-attr]
        rubric = json.dumps(question.rubric.model_dump(mode="json"))
        row = {"id": question.id, "prompt": question.prompt, "rubric": rubric}
        row |= {"tags": json.dumps(dict(question.tags)), "image": image, "licence": about.get("licence", "")}
        row |= {"origin": about.get("origin", ""), "url": about.get("url", ""), "canary": canary}
        row["subsets"] = ",".join(sorted(name for name, ids in exam.subsets.items() if question.id in ids))
        lines.append(json.dumps(row, ensure_ascii=False))
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
