"""Export of a build: an exam folder with pictures, provenance, datasheet, card and metadata."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from .. import exams
from ..calls import digest
from ..core.asks import Prompts
from ..core.data_files import write_json_lines
from ..core.data_rows import write_csv
from ..core.errors import UsageError
from ..core.exam import Exam
from ..core.images import decode
from ..core.schema import read_toml
from ..store import now
from .base import PART, TRAIN, BuildItem
from .engine import Builder
from .recipe import BuildRecipe
from .records import StepCount

TEMPLATES = Path(__file__).parent / "templates"
OPEN_LICENCES = (
    "cc0-1.0", "cc-by-4.0", "cc-by-3.0", "cc-by-2.0", "cc-by-2.5", "cc-by-sa-4.0", "cc-by-sa-3.0", "cc-by-sa-2.0",
    "cc-by-sa-2.5", "mit", "apache-2.0", "public domain", "pdm-1.0", "own work", "bsd-3-clause", "odc-by-1.0",
)  # fmt: skip
"""Licences under which a picture may be passed on with its exam; `--pass-on` names further ones."""
UNKNOWN = "unknown"
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
    passed = _PassedOn(builder, data, canary, mine, open_licences(pass_on))
    try:
        made = kind.write(data, [{**passed.body(item), "item": item.id} for item in mine], passed.save)
    except KeyError as error:
        shutil.rmtree(data)
        lacking = [item.id for item in mine if error.args[0] not in item.body]
        raise UsageError(
            f"item {', '.join(lacking[:3])}: the field {error} is missing: add it at its source, or reject the item"
        ) from error
    rows = _provenance(mine, made, passed)
    write_table(folder / "provenance.csv", PROVENANCE, rows)
    if withheld := [row for row in rows if row["recovered"] == "no"]:
        write_table(folder / "recover.csv", PROVENANCE, withheld)
    toml = f'name = {json.dumps(name, ensure_ascii=False)}\nkind = {json.dumps(kind.name)}\ndata = "data"\n'
    (folder / "exam.toml").write_text(toml, encoding="utf-8")
    exam = exams.read(exams.resolve(str(folder / "exam.toml")))
    date = time.strftime("%Y-%m-%d", time.gmtime(now()))
    facts = {"name": name, "licence": licence, "version": version, "canary": canary, "date": date, "url": url}
    write_json_lines(folder / table_name(exam), question_rows(folder, exam, rows, canary))
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


def open_licences(pass_on: Sequence[str] = ()) -> set[str]:
    """Return the licences that allow passing on, in lower case; an unknown licence never does."""
    return {each.casefold() for each in (*OPEN_LICENCES, *pass_on)} - {UNKNOWN}


def licence_of(item: BuildItem) -> str:
    """Return the licence of an item's picture, or of its source."""
    return str(item.body.get("licence") or UNKNOWN)


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
        return licence_of(item).casefold() in self.licences

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
            name: f"[Not passed on, licence {licence_of(item)}. Source: {item.id}, section "
            f"“{item.body.get(place) or name}”. Get it from {where}.]"
            for name, place in self.copied.items()
        }
        return {**item.body, **pointers}


def _provenance(
    items: Sequence[BuildItem], made: Mapping[str, Sequence[str]], passed: _PassedOn
) -> list[dict[str, str]]:
    rows = []
    for item in items:
        sha256, source = str(item.body.get("image") or ""), item.body.get("source") or {}
        row = {name: str(source.get(name, "")) for name in ("credit", "origin", "url", "page", "title")}
        row |= {"item": item.id, "sha256": sha256, "licence": licence_of(item)}
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


PICTURED, PLAIN = "metadata.jsonl", "questions.jsonl"
"""The file with all questions: `datasets` joins the pictures to the first, which has the column ``file_name``."""


def table_name(exam: Exam[Any]) -> str:
    """Return the name of the file with all questions."""
    references = [question.reference for question in exam.questions]
    return PICTURED if any(reference and reference.path for reference in references) else PLAIN


def question_rows(
    folder: Path, exam: Exam[Any], rows: Sequence[Mapping[str, str]], canary: str
) -> Iterator[dict[str, Any]]:
    """Yield a row for every question; every exam has the same columns, rubric and tags are objects."""
    by_id = {row["id"]: row for row in rows}
    tags = sorted({tag for question in exam.questions for tag in question.tags})
    rubrics = {question.id: question.rubric.model_dump(mode="json") for question in exam.questions}
    texts = {path for path, (_, kind) in _leaves(rubrics.values()).items() if kind == "sc:Text"}
    pictured = table_name(exam) == PICTURED
    for question in exam.questions:
        source, reference = by_id.get(question.id, {}), question.reference
        path = reference.path if reference is not None else None
        picture = {"file_name": path.relative_to(folder).as_posix() if path is not None else None} if pictured else {}
        yield {
            "id": question.id, "prompt": question.prompt, "rubric": _as_text(rubrics[question.id], texts),
            "tags": {tag: question.tags.get(tag) for tag in tags}, **picture,
            **{name: source.get(name, "") for name in ("licence", "origin", "url")},
            "subsets": sorted(name for name, ids in exam.subsets.items() if question.id in ids), "canary": canary,
        }  # fmt: skip


def _as_text(value: Any, paths: Collection[tuple[str, ...]], path: tuple[str, ...] = ()) -> Any:
    """Return an object with the numbers at these paths as texts, since loaders take one type for each column."""
    if isinstance(value, dict):
        return {name: _as_text(part, paths, (*path, name)) for name, part in value.items()}
    if isinstance(value, list):
        return [_as_text(part, paths, path) for part in value]
    return str(value) if path in paths and type(value) in (int, float) else value


def card(recipe: str, exam: Exam[Any], facts: Mapping[str, str]) -> str:
    """Return the card of an exam for data set hubs."""
    table, size = table_name(exam), len(exam.questions)
    fields = {"name": facts["name"], "licence": facts["licence"], "canary": facts["canary"]}
    fields |= {"size": str(size), "kind": exam.kind, "recipe": recipe}
    files = [table]
    if table == PICTURED:
        files.append("data/images/**")
        fields |= {"held": "criteria and a reference image", "painter": "reference"}
        fields |= {"loaded": '"imagefolder", data_dir="."', "owned": " Each picture has its own, in `provenance.csv`."}
    else:
        fields |= {"held": "criteria", "painter": "text", "loaded": f'"json", data_files="{table}"', "owned": ""}
    heading = card_heading(facts, size, ["benchmark", "text-to-image", "limner"], files)
    return heading + Prompts(TEMPLATES).fill("card", **fields)


def card_heading(facts: Mapping[str, str], size: int, tags: Sequence[str], files: Sequence[str]) -> str:
    """Return the beginning of a data set's card, with its metadata and title."""
    bucket = next(word for most, word in ((1000, "n<1K"), (10_000, "1K<n<10K"), (10**9, "10K<n<100K")) if size < most)
    fields = {"name": facts["name"], "licence": facts["licence"].lower(), "size": bucket}
    return Prompts(TEMPLATES).fill("card-heading", **fields, tags=", ".join(tags), files=json.dumps(files))


def croissant(folder: Path, exam: Exam[Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of an exam folder, in Croissant 1.0 with its RAI part.

    Args:
        folder: The exam's folder, with the table of questions and the pictures.
        exam: The exam as read from that folder.
        facts: ``name``, ``licence``, ``version``, ``canary`` and, if the data set has an address, ``url``.
    """
    table = folder / table_name(exam)
    rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    files = [_file("cr:FileObject", table.name, "application/jsonlines", "one line for each question")]
    files[0] |= {"contentUrl": table.name, "sha256": hashlib.sha256(table.read_bytes()).hexdigest()}
    records = [_record_set("questions", "the questions of the exam", "id", list(_question_fields(table.name, rows)))]
    if pictures := sorted(name for row in rows if (name := row.get("file_name"))):
        files.append(_file("cr:FileSet", "image-files", "image/png", "the reference images") | {"includes": pictures})
        fields = [
            {**_field("images/file_name", "the image's path, as in questions/file_name"), **_image_source("fullpath")},
            {**_field("images/content", "the image", "sc:ImageObject"), **_image_source("content")},
        ]
        records.append(_record_set("images", "the reference images", "file_name", fields))
    static: dict[str, Any] = json.loads((TEMPLATES / "croissant.json").read_text(encoding="utf-8"))
    return static | {
        "name": facts["name"],
        "description": f"{len(exam.questions)} questions for text-to-image models, with criteria and reference images, "
        f"in the layout of the exam {exam.kind}; made with Limner.",
        "license": _licence_url(facts["licence"]),
        "version": facts["version"],
        **({"url": facts["url"]} if facts["url"] else {}),
        "citeAs": f"{facts['name']}, version {facts['version']}",
        "datePublished": facts["date"],
        "distribution": files,
        "recordSet": records,
    }


def _file(kind: str, name: str, form: str, about: str) -> dict[str, Any]:
    return {"@type": kind, "@id": name, "name": name, "encodingFormat": form, "description": about}


def _image_source(part: str) -> dict[str, Any]:
    return {"source": {"fileSet": {"@id": "image-files"}, "extract": {"fileProperty": part}}}


def _record_set(name: str, about: str, key: str, fields: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "key": {"@id": f"{name}/{key}"}, "description": about,
            "field": fields}  # fmt: skip


def _field(id: str, about: str, kind: str = "sc:Text") -> dict[str, Any]:
    name = id.rpartition("/")[2]
    return {"@type": "cr:Field", "@id": id, "name": name, "description": about, "dataType": kind}


def _question_fields(table: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the fields of the questions; tags and rubric have their texts and numbers as parts."""
    for name, about in read_toml(TEMPLATES / "question-fields.toml").items():
        if name not in rows[0]:
            continue
        id, source = f"questions/{name}", {"fileObject": {"@id": table}, "extract": {"column": name}}
        if not isinstance(rows[0][name], dict):
            repeated = {"repeated": True} if isinstance(rows[0][name], list) else {}
            yield {**_field(id, about), **repeated, "source": source}
            continue
        parts = [
            {**_field("/".join((id, *path)), " ".join(path), kind), **({"repeated": True} if repeated else {}),
             "source": {**source, "transform": [{"jsonPath": f"$.'{part}'"} for part in path]}}
            for path, (repeated, kind) in _leaves(row[name] for row in rows).items()
        ]  # fmt: skip
        yield {"@type": "cr:Field", "@id": id, "name": name, "description": about, "subField": parts}


Leaf = tuple[tuple[str, ...], tuple[bool, str]]
"""A path in an object to texts or numbers; whether it leads through a list, and their type."""


def _leaves(objects: Iterable[Any]) -> dict[tuple[str, ...], tuple[bool, str]]:
    """Return the leaves of all objects; where some have a text and others a number, the type is text."""
    leaves: dict[tuple[str, ...], tuple[bool, str]] = {}
    for path, kind in (leaf for each in objects for leaf in _walk(each, (), False)):
        leaves[path] = max(leaves.get(path, kind), kind)
    return leaves


def _walk(value: Any, path: tuple[str, ...], repeated: bool) -> Iterator[Leaf]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _walk(part, (*path, name), repeated)
    elif isinstance(value, list):
        for part in value:
            yield from _walk(part, path, True)
    elif value is not None:
        yield path, (repeated, "sc:Float" if type(value) in (int, float) else "sc:Text")


def _licence_url(name: str) -> str:
    """Return a licence for the metadata: the address of a Creative Commons licence, or the name of another.

    >>> _licence_url("CC-BY-SA-4.0")
    'https://creativecommons.org/licenses/by-sa/4.0/'
    """
    word = name.casefold()
    if word == "cc0-1.0":
        return "https://creativecommons.org/publicdomain/zero/1.0/"
    if word.startswith("cc-by"):
        terms, _, number = word.removeprefix("cc-").rpartition("-")
        return f"https://creativecommons.org/licenses/{terms}/{number}/"
    return f"https://spdx.org/licenses/{name}.html"
