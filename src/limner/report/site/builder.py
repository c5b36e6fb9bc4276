"""The builder of the site: a folder of files that opens from disk, without a server or a network."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ...core.errors import StoreError, UsageError
from ...core.evaluator import Evaluator, EvaluatorFilter, label_evaluators
from ...core.protocol import parse_reading
from ...evidence.probe import split_options
from ...scoring import evaluators_of
from ...scoring.groups import check_without, checked_on, stored_exam
from ...store import DEFAULT, Store
from ...store.markings import newest_certificates
from ...store.records import evaluator_kinds, load_setups
from ...store.schema import attempts, calls, evidence
from ...store.schema import exams as exam_table
from ...store.store import using_store
from .chunks import Chunks, make_key
from .exam_data import ExamData
from .inventory import Inventory, Terms
from .pages import PAGES, Provenance, exam_page, index_page, store_name
from .pictures import Pictures, PictureSpec
from .single_page import certificate_page

MARKER = ".limner-site.json"
"""The file that marks a folder as a Limner site, which may be overwritten."""


@dataclass(frozen=True)
class Site:
    """A finished site.

    Attributes:
        unshown: The images that cannot be shown, with the reasons.
        broken: The errors in the exams' own code.
    """

    index: Path
    exams: int
    drawings: int
    pictures: int
    unshown: Mapping[str, str]
    seconds: float
    broken: tuple[str, ...] = ()


def build(
    output: Path | str,
    exams: Sequence[str] = (),
    *,
    store: Store | str | Path = DEFAULT,
    judges: Sequence[str] = (),
    without: Sequence[str] = (),
    variant: str | None = None,
    options: Mapping[str, str] | None = None,
    wording: str | None = None,
    constants: Mapping[str, float] | None = None,
    on: str = "common",
    reading: str = "careful",
    images: bool = True,
    workers: int | None = None,
    watch: Callable[[str], None] = lambda _: None,
) -> Site:
    """Build the site; pictures of an earlier build are reused.

    Args:
        output: A new or empty folder, or an earlier site.
        exams: Names of exams in the store; all of them by default.
        store: A folder or database URL.
        judges: Judges such as ``openai/gpt-6.1-sol`` or ``openai/gpt-6.1-sol?reasoning_effort=low``; all by default.
        without: Painters to leave out.
        variant: Only marks requested in this variant.
        options: Only marks requested with these options; names of evidence choose its backend.
        wording: Only marks requested with the prompts whose hash begins with this.
        constants: Constants of the exams' scores, in place of the defaults.
        on: The questions on which painters are compared at first; the pages can show both.
        reading: How stored replies are read.
        images: Whether to include full-size pictures, or only small ones.
        workers: The number of processes that make pictures; by default one per processor, up to 8.
        watch: Called with a line of text about each stage.

    Raises:
        UsageError: The folder contains something else, or the store has no such exam, judge or painter.
    """
    clock, folder = time.perf_counter(), Path(output)
    measured, asked = split_options(options or {})
    which = EvaluatorFilter(tuple(judges), variant, asked, wording)
    terms = Terms(parse_reading(reading), checked_on(on), constants or {}, measured, without)
    with using_store(store) as opened:
        inventories = [Inventory(opened, name, terms) for name in _names(opened, exams)]
        check_without(without, {name for each in inventories for name in each.called})
        chosen = _evaluators(opened, inventories, which)
        _prepare(folder, images)
        spec = PictureSpec(opened.blobs.root, folder / "thumbs", folder / "images" if images else None)
        slugs = _slugs([inventory.name for inventory in inventories])
        made = []
        with closing(Pictures(spec, workers)) as pictures:
            pictures.make(image for inventory in inventories for image in inventory.images())
            for inventory in inventories:
                watch(f"scores of {inventory.name}")
                made.append(ExamData(inventory, folder / "exams" / slugs[inventory.name], pictures))
                made[-1].judge(chosen[inventory.name])
            pictures.finish(lambda count: watch(f"{count} pictures"))
        watch("pages")
        feet = [exam.write() for exam in made]
        write_boxes(opened, _wanted(made))
        _write(folder, made, feet, store_name(opened))
        for exam in made:
            _write_certificates(exam, opened)
    drawings = sum(len(inventory.slots) for inventory in inventories)
    seconds = time.perf_counter() - clock
    broken = tuple(error for exam in made for error in exam.broken)
    return Site(folder / "index.html", len(made), drawings, pictures.made, pictures.bad, seconds, broken)


def _names(store: Store, wanted: Sequence[str]) -> list[str]:
    if wanted:
        return list(dict.fromkeys(stored_exam(exam, store).name for exam in wanted))
    with store.reading() as connection:
        names = [row.name for row in connection.execute(sa.select(exam_table).order_by(exam_table.c.created))]
    if not names:
        raise StoreError(f"{store.url} has no exam yet; `limner run` adds one")
    return names


def _evaluators(store: Store, inventories: Sequence[Inventory], which: EvaluatorFilter) -> dict[str, list[Evaluator]]:
    """Return the chosen evaluators of each exam; labels may differ between exams, and any of them is accepted."""
    by_exam = {inventory.name: evaluators_of(store, inventory.name) for inventory in inventories}
    kinds = evaluator_kinds(store)
    everyone = label_evaluators(Evaluator(id, setup, kind=kinds[id]) for id, setup in load_setups(store).items())
    which.choose([*everyone, *(evaluator for evaluators in by_exam.values() for evaluator in evaluators)])
    return {name: which.among(evaluators) for name, evaluators in by_exam.items()}


def _slugs(names: Sequence[str]) -> dict[str, str]:
    """Return a folder name for each exam: its own name if that is safe, otherwise one with a hash."""
    slugs: dict[str, str] = {}
    for name in names:
        plain = name.replace("/", "-")
        safe = re.fullmatch(r"[a-z][a-z0-9_-]{3,40}", plain) and plain not in slugs.values()
        slugs[name] = plain if safe else make_key(name).lower()
    return slugs


def _prepare(folder: Path, images: bool) -> None:
    """Mark the folder as a site, and renew its scripts and styles."""
    if not (folder / MARKER).is_file():
        if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
            raise UsageError(f"-o {folder}: contains files that are not a Limner site; name a new folder")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARKER).touch()
    for old in (folder / "static", *([] if images else [folder / "images"])):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(Path(__file__).parent / "static", folder / "static")


def _wanted(made: Sequence[ExamData]) -> dict[str, list[tuple[Chunks, str]]]:
    """Return every image with the questions on whose pages it is shown."""
    wanted: dict[str, list[tuple[Chunks, str]]] = {}
    for exam in made:
        for image, question in exam.inventory.shown():
            wanted.setdefault(image, []).append((exam.chunks, exam.inventory.keys[question]))
    return wanted


def _write(folder: Path, made: Sequence[ExamData], feet: Sequence[Provenance], store: str) -> None:
    """Replace the old data with the new, and write the pages."""
    built = time.time()
    others = [(exam.inventory.name, exam.home.name) for exam in made]
    for exam, foot in zip(made, feet, strict=True):
        exam.chunks.flush()
        shutil.rmtree(exam.home / "data", ignore_errors=True)
        exam.chunks.folder.rename(exam.home / "data")
        for page, (file, _) in PAGES.items():
            (exam.home / file).write_text(exam_page(page, foot, others, built, store), encoding="utf-8")
    for old in {*(folder / "exams").iterdir()} - {exam.home for exam in made}:
        shutil.rmtree(old)
    index = Chunks(folder / "data")
    shutil.rmtree(index.folder, ignore_errors=True)
    index.add("site", {"exams": [_summary(exam) for exam in made]})
    index.flush()
    (folder / "index.html").write_text(index_page(feet, built, store), encoding="utf-8")


def _write_certificates(exam: ExamData, store: Store) -> None:
    """Write the judges' certificates, in place of those of an earlier build."""
    for old in exam.home.glob("certificate-*.html"):
        old.unlink()
    newest = newest_certificates(store, exam.inventory.name)
    for table in exam.judges.tables:
        if table.certificate is not None:
            page = certificate_page(newest[table.evaluator.id], store.blobs)
            (exam.home / table.certificate).write_text(page, encoding="utf-8")


def _summary(exam: ExamData) -> dict[str, Any]:
    """Return the data about an exam on the first page."""
    body = exam.body
    names = ("name", "kind", "title", "reading", "on", "counts", "scores")
    summary: dict[str, Any] = {name: body[name] for name in names} | {"slug": exam.home.name}
    shown = ("key", "row", "name", "strategy", "control")
    summary["painters"] = [{name: painter[name] for name in shown} for painter in body["painters"]]
    summary["judges"] = [{"name": way["name"], "examined": way["examined"]} for way in body["ways"]]
    return summary | {"answer": exam.answer, "times": [exam.inventory.first, exam.inventory.last]}


MAX_BOXES = 600
"""The most boxes of one kind shown on a picture."""
Wanted = Mapping[str, Sequence[tuple[Chunks, str]]]
"""Image -> the questions on whose pages it is shown, each with the writer of its data."""


def write_boxes(store: Store, wanted: Wanted) -> int:
    """Write the boxes of all pictures that have some, and return the number of these pictures.

    Boxes are in separate files, which the page loads on demand; the question's file has only their number.
    """
    seen = set()
    for image, sort, backend, boxes in _measured_boxes(store):
        if (image, sort) in seen or image not in wanted or not boxes:
            continue
        seen.add((image, sort))
        body = {"image": image, "sort": sort, "backend": backend[:200], "boxes": boxes[:MAX_BOXES], "count": len(boxes)}
        about = {"image": image, "sort": sort, "count": len(boxes)}
        for chunks, question_key in wanted[image]:
            chunks.add(f"boxes/{question_key}", body)
            chunks.add(f"q/{question_key}", {"boxes": about})
    return len({image for image, _ in seen})


def _measured_boxes(store: Store) -> Iterator[tuple[str, str, str, list[Any]]]:
    """Yield image, kind, backend and boxes of every measurement, the newest first."""
    accepted = calls.join(attempts, (attempts.c.call == calls.c.key) & (attempts.c.n == calls.c.accepted))
    query = sa.select(calls.c.target, calls.c.request, attempts.c.result).select_from(accepted)
    query = query.where(calls.c.kind == "probe").order_by(calls.c.created.desc(), calls.c.key)
    with store.reading() as connection:
        for row in connection.execution_options(yield_per=100).execute(query):
            sort, _, backend = row.target.partition("/")
            image = (row.request.get("body") or {}).get("image")
            if isinstance(image, str):
                yield image, sort, backend, boxes_in(row.result)
    rows = sa.select(evidence).order_by(evidence.c.created.desc(), evidence.c.backend)
    with store.reading() as connection:
        for row in connection.execution_options(yield_per=100).execute(rows):
            yield row.subject, row.name, row.backend, boxes_in(row.value)


def boxes_in(value: Any) -> list[Any]:
    """Return the boxes in a probe's result: ``[corners]``, with text and confidence if it has them.

    Corners are eight numbers, clockwise from top left; a box of left, top, right and bottom is converted to them.

    >>> boxes_in({"count": 1, "boxes": [[1, 2, 3, 4]]})
    [[[1.0, 2.0, 3.0, 2.0, 3.0, 4.0, 1.0, 4.0]]]
    """
    if isinstance(value, Mapping):
        inner = value.get("lines") if isinstance(value.get("lines"), list) else value.get("boxes")
        return boxes_in(inner if inner is not None else value.get("value"))
    if not isinstance(value, list):
        return []
    boxes = []
    for item in value:
        corners = _corners(item.get("box") if isinstance(item, Mapping) else item)
        if corners is None:
            continue
        if isinstance(item, Mapping):
            boxes.append([corners, str(item.get("text", ""))[:500], item.get("confidence")])
        else:
            boxes.append([corners])
    return boxes


def _corners(box: Any) -> list[float] | None:
    try:
        flat = [float(v) for point in box for v in (point if isinstance(point, list | tuple) else [point])]
    except (TypeError, ValueError):
        return None
    if len(flat) == 4:
        left, top, right, bottom = flat
        flat = [left, top, right, top, right, bottom, left, bottom]
    return [round(v, 1) for v in flat] if len(flat) == 8 else None
