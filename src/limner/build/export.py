"""Export of a build: an exam folder with pictures, provenance, datasheet, card and metadata."""

from __future__ import annotations

import io
import json
import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from .. import exams
from ..calls import digest
from ..core.data_rows import write_csv
from ..core.errors import UsageError
from ..core.exam import Exam
from ..core.images import decode
from ..store import Blobs, now
from .base import PART, TRAIN, BuildItem
from .engine import Builder
from .flow import StepCount
from .hub import card, croissant, question_rows, table_name
from .recipe import BuildRecipe

OPEN_LICENCES = (
    "cc0-1.0", "cc-by-4.0", "cc-by-3.0", "cc-by-2.0", "cc-by-2.5", "cc-by-sa-4.0", "cc-by-sa-3.0", "cc-by-sa-2.0",
    "cc-by-sa-2.5", "mit", "apache-2.0", "public domain", "pdm-1.0", "own work", "bsd-3-clause", "odc-by-1.0",
)  # fmt: skip
"""Licences under which a picture may be passed on with its exam; `--pass-on` names further ones."""
PROVENANCE = ("id", "item", "image", "sha256", "licence", "credit", "origin", "url", "page", "title", "recovered")


@dataclass(frozen=True)
class ExportResult:
    """The result of an export.

    Attributes:
        withheld: Pictures that may not be passed on and are in the recovery list; `texts` is the number of texts that a
            pointer to the source replaces.
        canary: A unique string by which the data can be recognised in training data.
    """

    questions: int
    pictures: int
    withheld: int
    canary: str
    exam: Exam[Any]
    texts: int = 0


def export(
    builder: Builder,
    folder: Path,
    *,
    licence: str = "CC-BY-4.0",
    version: str = "1.0.0",
    pass_on: Sequence[str] = (),
    url: str = "",
) -> ExportResult:
    """Write the exam that a build has made into an empty folder.

    Args:
        builder: The build.
        folder: The exam's folder; `limner run` takes the ``exam.toml`` in it.
        licence: The licence of questions and points.
        version: The version of the data set.
        pass_on: Further licences under which pictures may be passed on.
        url: The address at which the data set will be, for its metadata.

    Raises:
        UsageError: Nothing has passed the last step, or the folder is not empty.
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
    saving = _Pictures(
        builder.store.blobs,
        data,
        canary,
        {licence_name.casefold() for licence_name in (*OPEN_LICENCES, *pass_on)},
        mine,
    )
    texts = _Texts(builder.recipe.copied, saving)
    made = kind.write(data, [{**texts.body(item), "item": item.id} for item in mine], saving.save)
    rows = _provenance(mine, made, saving)
    write_table(folder / "provenance.csv", PROVENANCE, rows)
    if withheld := [row for row in rows if row["recovered"] == "no"]:
        write_table(folder / "recover.csv", PROVENANCE, withheld)
    quoted = json.dumps(name, ensure_ascii=False)
    toml = f'name = {quoted}\nkind = {json.dumps(kind.name)}\ndata = "data"\n'
    (folder / "exam.toml").write_text(toml, encoding="utf-8")
    exam = exams.read(exams.resolve(str(folder / "exam.toml")))
    marking = (
        f"This data set is for examining models. It must not appear in training data.\n{name} canary GUID {canary}\n"
    )
    (folder / "CANARY.txt").write_text(marking, encoding="utf-8")
    date = time.strftime("%Y-%m-%d", time.gmtime(now()))
    facts: dict[str, Any] = {"name": name, "licence": licence, "version": version, "canary": canary, "date": date}
    facts |= {"withheld": len(withheld), "texts": texts.withheld, "url": url}
    table = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in question_rows(folder, exam, rows, canary))
    (folder / table_name(exam)).write_text(table, encoding="utf-8")
    (folder / "DATASHEET.md").write_text(datasheet(builder, exam, counts, mine, rows, facts), encoding="utf-8")
    (folder / "README.md").write_text(card(builder.recipe.name, exam, facts), encoding="utf-8")
    (folder / "croissant.json").write_text(
        json.dumps(croissant(folder, exam, facts), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    return ExportResult(len(exam.questions), len(saving.kept), len(withheld), canary, exam, texts.withheld)


def check_empty(folder: Path) -> None:
    """Check that a folder is empty or does not exist.

    Raises:
        UsageError: It has files, or is not a folder.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder")


class _Pictures:
    """The pictures of the folder, without those that may not be passed on."""

    def __init__(self, blobs: Blobs, folder: Path, canary: str, allowed: set[str], items: Sequence[BuildItem]) -> None:
        self.blobs, self.folder, self.canary = blobs, folder, canary
        self.allowed = allowed
        self.withheld = {str(item.body.get("image")) for item in items if not self.allows(item)}
        self.kept: dict[str, str] = {}
        self.left: dict[str, str] = {}

    def allows(self, item: BuildItem) -> bool:
        """Return whether the licence of an item's source allows passing it on."""
        return _licence(item).casefold() in self.allowed

    def save(self, sha256: str, name: str) -> None:
        """Save a picture as PNG with the canary in it."""
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


class _Texts:
    """The texts of sources; a pointer replaces each that may not be passed on."""

    def __init__(self, copied: Mapping[str, str], pictures: _Pictures) -> None:
        self.copied, self.pictures, self.withheld = copied, pictures, 0

    def body(self, item: BuildItem) -> dict[str, Any]:
        """Return an item's fields without texts that may not be passed on."""
        if not self.copied or self.pictures.allows(item):
            return dict(item.body)
        self.withheld += 1
        source = item.body.get("source") or {}
        where = source.get("url") or source.get("page") or item.id
        pointers = {
            name: f"[Not passed on, licence {_licence(item)}. Source: {item.id}, section "
            f"“{item.body.get(place) or name}”. Get it from {where}.]"
            for name, place in self.copied.items()
        }
        return {**item.body, **pointers}


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


def write_table(file: Path, heads: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as CSV under these column names."""
    file.write_text(write_csv(heads, rows, "\r\n"), encoding="utf-8", newline="")


MAX_TAG_VALUES = 40
"""The most values of a tag for which the datasheet has a table."""


def datasheet(
    builder: Builder,
    exam: Exam[Any],
    counts: Sequence[StepCount],
    items: Sequence[BuildItem],
    rows: Sequence[Mapping[str, str]],
    facts: Mapping[str, Any],
) -> str:
    """Return a description of the exam in Markdown: its content, its sources and how it was made."""
    recipe, pictured = builder.recipe, has_pictures(items)
    lines = [f"# Datasheet of {facts['name']}", ""]
    lines += [
        f"Version {facts['version']}. Questions and points: {facts['licence']}. Canary GUID {facts['canary']}.",
        "",
    ]
    lines += ["## What is in it", ""]
    kind = exams.kind(exam.kind)
    protocol = kind.protocol
    own = {name: [value(question) for question in exam.questions] for name, value in kind.statistics.items()}
    words = [len(question.prompt.split()) for question in exam.questions]
    criteria = [len(protocol.criteria(question)) for question in exam.questions]
    lines += markdown_table(["", "number"], [
        ["questions", f"{len(exam.questions):,}"],
        *([f"questions in the subset {name}", f"{len(ids):,}"] for name, ids in sorted(exam.subsets.items())),
        ["words in a prompt", f"{min(words)}-{max(words)}, mean {fmean(words):.1f}"],
        ["criteria of a question", f"{min(criteria)}-{max(criteria)}, mean {fmean(criteria):.2f}"],
        *([f"{name} of a question", f"{min(n):g}-{max(n):g}, mean {fmean(n):.2f}"] for name, n in own.items()),
        *([["reference images that may not be passed on", f"{facts['withheld']:,}"]] if pictured else []),
        *([["texts of sources that may not be passed on", f"{facts['texts']:,}"]] if recipe.copied else []),
    ])  # fmt: skip
    for tag in dict.fromkeys((*protocol.breakdowns, *sorted({tag for q in exam.questions for tag in q.tags}))):
        values = Counter(question.tags[tag] for question in exam.questions if tag in question.tags)
        if 1 < len(values) <= MAX_TAG_VALUES:
            lines += ["", f"### {tag}", ""]
            lines += markdown_table([tag, "questions"], [[value, str(n)] for value, n in values.most_common()])
    lines += ["", "## Where it comes from", ""]
    if pictured:
        licences = Counter(row["licence"] for row in rows)
        lines += markdown_table(
            ["licence of the picture", "questions"], [[name, str(n)] for name, n in licences.most_common()]
        )
        lines += ["", "`provenance.csv` has the licence and the source of every picture."]
    else:
        lines.append("It has no pictures: prompts and criteria were written, not taken from anywhere.")
    if facts["withheld"]:
        lines.append("Pictures that may not be passed on are not in the folder: `recover.csv` says where to get them.")
    lines += ["", "## How it was made", "", f"By the recipe {recipe.name}: {recipe.title}.", ""]
    lines += step_counts(recipe, counts)
    roles = {role: word for role, word in builder.build.body.get("roles", {}).items() if "." not in role}
    lines += ["", *(f"- {role}: {word}" for role, word in sorted(roles.items()))]
    lines += ["", "Settings other than the recipe's:", ""]
    changed = builder.build.body.get("settings", {})
    settings_lines = [
        f"- {step}.{name} = {value}" for step, given in sorted(changed.items()) for name, value in sorted(given.items())
        if not _has_path(recipe, step, name)
    ]  # fmt: skip
    lines += settings_lines or ["- none"]
    reviewed = Counter(len(item.body.get("reviewers") or ()) for item in items)
    lines += ["", "## Review", ""]
    lines += markdown_table(
        ["reviewers who agreed", "items"], [[str(n), str(many)] for n, many in sorted(reviewed.items())]
    )
    if reviewed[0]:
        lines += ["", f"**{reviewed[0]:,} items were not reviewed.**"]
    lines += ["", *_practices(exam, items, rows, facts)]
    return "\n".join(lines) + "\n"


def step_counts(recipe: BuildRecipe, counts: Sequence[StepCount]) -> list[str]:
    """Return a Markdown table of the items at each step."""
    miles = {mile.after: mile.items for mile in reversed(recipe.paper) if not (mile.distinct or mile.where)}
    return markdown_table(
        ["step", "in", "out", "the paper's", "taken out"],
        [
            [count.place, f"{count.arrived:,}", f"{count.kept + count.made:,}",
             f"{miles[count.place]:,}" if count.place in miles else "",
             ", ".join(f"{n:,} {why}" for why, n in count.dropped.most_common())]
            for count in counts
        ],
    )  # fmt: skip


def _has_path(recipe: BuildRecipe, step: str, name: str) -> bool:
    """Return whether a setting has paths on this machine, which are private."""
    settings = next((place.settings for place in recipe.places if place.name == step), None)
    value = getattr(settings, name.partition(".")[0], None)
    return any(isinstance(part, Path) for part in (value if isinstance(value, tuple) else (value,)))


def _practices(
    exam: Exam[Any], items: Sequence[BuildItem], rows: Sequence[Mapping[str, str]], facts: Mapping[str, Any]
) -> list[str]:
    """Return a checklist of good practices for benchmarks; those that are met are ticked."""
    pictures = {
        "every question has a reference image": all(q.reference is not None for q in exam.questions),
        "every picture's licence is known": all(row["licence"] not in ("", "unknown") for row in rows),
        "every picture's source text was kept": all(item.body.get("source_text") for item in items),
    }
    held = (pictures if has_pictures(items) else {}) | {
        "every item was reviewed by two people or more": all(len(i.body.get("reviewers") or ()) > 1 for i in items),
        **_checked_references(items),
        "it has a small subset": bool(exam.subsets),
        "a canary marks the data": bool(facts["canary"]),
    }
    return ["## Practices", "", *(f"- [{'x' if met else ' '}] {what}" for what, met in held.items())]


def has_pictures(items: Sequence[BuildItem]) -> bool:
    """Return whether items have pictures; written prompts have none."""
    return any(item.body.get("image") for item in items)


def _checked_references(items: Sequence[BuildItem]) -> dict[str, bool]:
    denied = [item.body["denied"] for item in items if "denied" in item.body]
    held = len(denied) == len(items) and not any(denied)
    return {"every reference passes its own points under another model": held} if has_pictures(items) else {}


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [line(heads), line(["---"] * len(heads)), *map(line, rows)]
