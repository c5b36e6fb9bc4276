"""Export of a build: an exam folder with pictures, provenance, datasheet, card and metadata."""

from __future__ import annotations

import json
import time
import uuid
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from .. import exams
from ..calls import digest
from ..core.asks import Prompts
from ..core.data_rows import write_csv
from ..core.errors import UsageError
from ..core.exam import Exam
from ..core.images import decode
from ..store import now
from .base import PART, TRAIN, BuildItem
from .engine import Builder
from .flow import StepCount
from .hub import TEMPLATES, card, croissant, question_rows, table_name
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
    passed = _PassedOn(builder, data, canary, mine, {each.casefold() for each in (*OPEN_LICENCES, *pass_on)})
    made = kind.write(data, [{**passed.body(item), "item": item.id} for item in mine], passed.save)
    rows = _provenance(mine, made, passed)
    write_table(folder / "provenance.csv", PROVENANCE, rows)
    if withheld := [row for row in rows if row["recovered"] == "no"]:
        write_table(folder / "recover.csv", PROVENANCE, withheld)
    toml = f'name = {json.dumps(name, ensure_ascii=False)}\nkind = {json.dumps(kind.name)}\ndata = "data"\n'
    (folder / "exam.toml").write_text(toml, encoding="utf-8")
    exam = exams.read(exams.resolve(str(folder / "exam.toml")))
    date = time.strftime("%Y-%m-%d", time.gmtime(now()))
    facts = {"name": name, "licence": licence, "version": version, "canary": canary, "date": date, "url": url}
    table = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in question_rows(folder, exam, rows, canary))
    (folder / table_name(exam)).write_text(table, encoding="utf-8")
    result = ExportResult(len(exam.questions), len(passed.kept), len(withheld), canary, exam, passed.pointers)
    texts = {
        "CANARY.txt": f"This data set is for examining models. It must not appear in training data.\n"
        f"{name} canary GUID {canary}\n",
        "DATASHEET.md": datasheet(builder, result, counts, mine, rows, facts),
        "README.md": card(builder.recipe.name, exam, facts),
        "croissant.json": json.dumps(croissant(folder, exam, facts), indent=2, ensure_ascii=False) + "\n",
    }
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")
    return result


def check_empty(folder: Path) -> None:
    """Check that a folder is empty or does not exist.

    Raises:
        UsageError: It has files, or is not a folder.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder")


class _PassedOn:
    """The pictures and texts of sources that leave the build; a pointer replaces each text that may not."""

    def __init__(
        self, builder: Builder, folder: Path, canary: str, items: Sequence[BuildItem], licences: Collection[str]
    ) -> None:
        self.blobs, self.copied = builder.store.blobs, builder.recipe.copied
        self.folder, self.canary, self.licences = folder, canary, licences
        self.withheld = {str(item.body.get("image")) for item in items if not self._allows(item)}
        self.kept: dict[str, str] = {}
        self.left: dict[str, str] = {}
        self.pointers = 0

    def _allows(self, item: BuildItem) -> bool:
        return _licence(item).casefold() in self.licences

    def save(self, sha256: str, name: str) -> None:
        """Save a picture as PNG with the canary in it."""
        if sha256 in self.withheld:
            self.left[sha256] = name
            return
        from PIL.PngImagePlugin import PngInfo

        marks = PngInfo()
        marks.add_text("canary", self.canary)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        decode(self.blobs.get(sha256)).save(path, format="PNG", pnginfo=marks)
        self.kept[sha256] = name

    def body(self, item: BuildItem) -> dict[str, Any]:
        """Return an item's fields without texts that may not be passed on."""
        if not self.copied or self._allows(item):
            return dict(item.body)
        self.pointers += 1
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
    items: Sequence[BuildItem], made: Mapping[str, Sequence[str]], passed: _PassedOn
) -> list[dict[str, str]]:
    rows = []
    for item in items:
        sha256, source = str(item.body.get("image") or ""), item.body.get("source") or {}
        row = {name: str(source.get(name, "")) for name in ("credit", "origin", "url", "page", "title")}
        row |= {"item": item.id, "sha256": sha256, "licence": _licence(item)}
        row["image"] = passed.kept.get(sha256) or passed.left.get(sha256, "")
        row["recovered"] = "no" if sha256 in passed.left else "yes"
        rows += [{**row, "id": id} for id in made.get(item.id, ())]
    return rows


def write_table(file: Path, heads: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as CSV under these column names."""
    file.write_text(write_csv(heads, rows, "\r\n"), encoding="utf-8", newline="")


MAX_TAG_VALUES = 40
"""The most values of a tag for which the datasheet has a table."""


def datasheet(
    builder: Builder,
    result: ExportResult,
    counts: Sequence[StepCount],
    items: Sequence[BuildItem],
    rows: Sequence[Mapping[str, str]],
    facts: Mapping[str, str],
) -> str:
    """Return a description of the exam in Markdown: its content, its sources and how it was made."""
    recipe, build = builder.recipe, builder.build.body
    roles = {role: word for role, word in build.get("roles", {}).items() if "." not in role}
    settings = [
        f"- {step}.{name} = {value}"
        for step, given in sorted(build.get("settings", {}).items())
        for name, value in sorted(given.items())
        if not _has_path(recipe, step, name)
    ]
    reviewers = Counter(len(item.body.get("reviewers") or ()) for item in items)
    reviews = markdown_table(
        ["reviewers who agreed", "items"], [[str(n), str(m)] for n, m in sorted(reviewers.items())]
    )
    if reviewers[0]:
        reviews += f"\n\n**{reviewers[0]:,} items were not reviewed.**"
    return Prompts(TEMPLATES).fill(
        "datasheet",
        **{name: facts[name] for name in ("name", "version", "licence", "canary")},
        contents=_contents(result, recipe, has_pictures(items)),
        sources=_sources(result, rows, has_pictures(items)),
        recipe=recipe.name,
        title=recipe.title,
        steps=step_counts(recipe, counts),
        roles="\n".join(f"- {role}: {word}" for role, word in sorted(roles.items())),
        settings="\n".join(settings) or "- none",
        reviews=reviews,
        practices="\n".join(
            f"- [{'x' if met else ' '}] {what}" for what, met in _practices(result, items, rows).items()
        ),
    )


def _contents(result: ExportResult, recipe: BuildRecipe, pictured: bool) -> str:
    exam, kind = result.exam, exams.kind(result.exam.kind)
    criteria = [len(kind.protocol.criteria(question)) for question in exam.questions]
    sizes = {"criteria": criteria} | {n: [value(q) for q in exam.questions] for n, value in kind.statistics.items()}
    words = [len(question.prompt.split()) for question in exam.questions]
    numbers = [
        ["questions", f"{len(exam.questions):,}"],
        *([f"questions in the subset {name}", f"{len(ids):,}"] for name, ids in sorted(exam.subsets.items())),
        ["words in a prompt", f"{min(words)}-{max(words)}, mean {fmean(words):.1f}"],
        *([f"{name} of a question", f"{min(n):g}-{max(n):g}, mean {fmean(n):.2f}"] for name, n in sizes.items()),
    ]
    if pictured:
        numbers.append(["reference images that may not be passed on", f"{result.withheld:,}"])
    if recipe.copied:
        numbers.append(["texts of sources that may not be passed on", f"{result.texts:,}"])
    parts = [markdown_table(["", "number"], numbers)]
    for tag in dict.fromkeys((*kind.protocol.breakdowns, *sorted({tag for q in exam.questions for tag in q.tags}))):
        values = Counter(question.tags[tag] for question in exam.questions if tag in question.tags)
        if 1 < len(values) <= MAX_TAG_VALUES:
            parts += [f"### {tag}", _counted(tag, values)]
    return "\n\n".join(parts)


def _sources(result: ExportResult, rows: Sequence[Mapping[str, str]], pictured: bool) -> str:
    if not pictured:
        return "It has no pictures: prompts and criteria were written, not taken from anywhere."
    licences = _counted("licence of the picture", Counter(row["licence"] for row in rows))
    parts = [f"{licences}\n\n`provenance.csv` has the licence and the source of every picture."]
    if result.withheld:
        parts.append("Pictures that may not be passed on are not in the folder: `recover.csv` says where to get them.")
    return "\n".join(parts)


def _counted(head: str, values: Counter[str]) -> str:
    return markdown_table([head, "questions"], [[value, str(n)] for value, n in values.most_common()])


def step_counts(recipe: BuildRecipe, counts: Sequence[StepCount]) -> str:
    """Return a Markdown table of the items at each step."""
    miles = {mile.after: f"{mile.items:,}" for mile in reversed(recipe.paper) if not (mile.distinct or mile.where)}
    rows = []
    for count in counts:
        dropped = ", ".join(f"{n:,} {why}" for why, n in count.dropped.most_common())
        kept = f"{count.kept + count.made:,}"
        rows.append([count.place, f"{count.arrived:,}", kept, miles.get(count.place, ""), dropped])
    return markdown_table(["step", "in", "out", "the paper's", "taken out"], rows)


def _has_path(recipe: BuildRecipe, step: str, name: str) -> bool:
    """Return whether a setting has paths on this machine, which are private."""
    settings = next((place.settings for place in recipe.places if place.name == step), None)
    value = getattr(settings, name.partition(".")[0], None)
    return any(isinstance(part, Path) for part in (value if isinstance(value, tuple) else (value,)))


def _practices(result: ExportResult, items: Sequence[BuildItem], rows: Sequence[Mapping[str, str]]) -> dict[str, bool]:
    """Return good practices for benchmarks, and whether each is met."""
    pictures = {
        "every question has a reference image": all(q.reference is not None for q in result.exam.questions),
        "every picture's licence is known": all(row["licence"] not in ("", "unknown") for row in rows),
        "every picture's source text was kept": all(item.body.get("source_text") for item in items),
        "every reference passes its own points under another model": all(i.body.get("denied") == [] for i in items),
    }
    return (pictures if has_pictures(items) else {}) | {
        "every item was reviewed by two people or more": all(len(i.body.get("reviewers") or ()) > 1 for i in items),
        "it has a small subset": bool(result.exam.subsets),
        "a canary marks the data": True,
    }


def has_pictures(items: Sequence[BuildItem]) -> bool:
    """Return whether items have pictures; written prompts have none."""
    return any(item.body.get("image") for item in items)


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
