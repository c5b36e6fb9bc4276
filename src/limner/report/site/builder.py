"""Builds the site: a folder of files that opens from disk, with no server and no network."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ...core.errors import StoreError, UsageError
from ...core.evaluator import Evaluator, Which, labelled
from ...core.images import BadImage, inspect
from ...core.protocol import checked_reading
from ...evidence.probe import split_options
from ...scoring import evaluators_of
from ...scoring.groups import check_without, stored_exam, which_questions
from ...store import DEFAULT, Store
from ...store.ratings import newest_certificates
from ...store.records import evaluator_kinds, load_setups
from ...store.schema import attempts, calls, evidence
from ...store.schema import exams as exam_table
from ...store.store import using_store
from .chunks import Chunks, key
from .exam_data import ExamData
from .inventory import Inventory, Terms
from .pages import PAGES, Provenance, exam_page, index_page, store_name
from .pictures import SIDE, SMALL, Pictures, PictureSpec
from .single_page import certificate_page

MARKER = ".limner-site.json"
"""Says that a folder is a site of ours and may be written over, and how its pictures were made."""


@dataclass(frozen=True)
class Site:
    """A site that was built.

    Attributes:
        unshown: Images that cannot be shown, and why.
        broken: What of the exams' own cannot be shown, and why.
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
    max_side: int | None = None,
    workers: int | None = None,
    watch: Callable[[str], None] = lambda _: None,
) -> Site:
    """Build the site; pictures that an earlier build made are taken again.

    Args:
        output: A new or empty folder, or a site built before.
        exams: Names of exams in the store; all of them by default.
        store: A folder or database URL.
        judges: Only these, such as ``openai/gpt-6-sol`` or ``openai/gpt-6-sol?reasoning_effort=low``; all by default.
        without: Not these painters.
        variant: Only marks asked for in this way.
        options: Only marks asked for with these options; evidence's names choose who measured it.
        wording: Only marks asked for in the wording whose hash begins so.
        constants: Numbers the exams' scores are computed with, in place of the usual ones.
        on: The questions that painters are compared on at first sight; the pages can show the other too.
        reading: How stored replies are read.
        images: Whether drawings can be looked at in their full size; without, there are small pictures alone.
        max_side: Full-size pictures with a longer side are scaled down to this.
        workers: Processes that make pictures; as many as there are processors, up to 8, by default.
        watch: Told what is being done.

    Raises:
        UsageError: The folder holds something else, or the store has no such exam, judge or painter.
    """
    clock, folder = time.perf_counter(), Path(output)
    measured, asked = split_options(options or {})
    which = Which(tuple(judges), variant, asked, wording)
    terms = Terms(checked_reading(reading), which_questions(on), constants or {}, measured, without)
    with using_store(store) as opened:
        inventories = [Inventory(opened, name, terms) for name in _names(opened, exams)]
        check_without(without, {name for each in inventories for name in each.called})
        chosen = _evaluators(opened, inventories, which)
        _prepare(folder, {"small": f"{SIDE} {SMALL}", "images": images, "max_side": max_side})
        spec = PictureSpec(opened.blobs.root, folder / "thumbs", folder / "images" if images else None, max_side)
        pictures = Pictures(spec, workers)
        try:
            pictures.make(image for inventory in inventories for image in inventory.images())
            slugs = _slugs([inventory.name for inventory in inventories])
            made = []
            for inventory in inventories:
                watch(f"scores of {inventory.name}")
                new = folder / "exams" / slugs[inventory.name] / ".data"
                shutil.rmtree(new, ignore_errors=True)
                made.append(ExamData(inventory, new))
                made[-1].judge(chosen[inventory.name])
            pictures.finish(lambda count: watch(f"{count} pictures"))
        finally:
            pictures.close()
        watch("pages")
        feet = [exam.write(pictures) for exam in made]
        write_boxes(opened, _wanted(made), {image for each in inventories for image in each.references})
        _write(folder, made, feet, slugs, store_name(opened))
        for exam in made:
            _write_certificates(folder / "exams" / slugs[exam.inventory.name], exam, opened)
    drawings = sum(len(inventory.slots) for inventory in inventories)
    seconds = time.perf_counter() - clock
    broken = tuple(said for exam in made for said in exam.broken)
    return Site(folder / "index.html", len(made), drawings, pictures.made, pictures.bad, seconds, broken)


def _names(store: Store, wanted: Sequence[str]) -> list[str]:
    if wanted:
        return list(dict.fromkeys(stored_exam(exam, store).name for exam in wanted))
    with store.reading() as connection:
        found = [row.name for row in connection.execute(sa.select(exam_table).order_by(exam_table.c.created))]
    if not found:
        raise StoreError(f"{store.url} has no exam yet; `limner run` adds one")
    return found


def _evaluators(store: Store, inventories: Sequence[Inventory], which: Which) -> dict[str, list[Evaluator]]:
    """Whose marks are wanted, exam by exam; labels may differ from exam to exam, and each can be asked for."""
    there = {inventory.name: evaluators_of(store, inventory.name) for inventory in inventories}
    kinds = evaluator_kinds(store)
    everyone = labelled(Evaluator(id, setup, kind=kinds[id]) for id, setup in load_setups(store).items())
    which.choose([*everyone, *(each for found in there.values() for each in found)])
    return {name: which.among(found) for name, found in there.items()}


def _slugs(names: Sequence[str]) -> dict[str, str]:
    """Folders for exams: their own names where these are fit for it, with a hash behind where they are not."""
    found: dict[str, str] = {}
    for name in names:
        plain = name.replace("/", "-")
        fit = re.fullmatch(r"[a-z][a-z0-9_-]{3,40}", plain) and plain not in found.values()
        found[name] = plain if fit else key(name).lower()
    return found


def _prepare(folder: Path, how: Mapping[str, Any]) -> None:
    """Make the folder ours, and clear away pictures that were made in another way."""
    marker = folder / MARKER
    try:
        before = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
            raise UsageError(f"-o {folder}: contains files that are not a Limner site; name a new folder") from None
        before = {}
    folder.mkdir(parents=True, exist_ok=True)
    if before and before.get("small") != how["small"]:
        shutil.rmtree(folder / "thumbs", ignore_errors=True)
    if before and any(before.get(name) != how[name] for name in ("images", "max_side")):
        shutil.rmtree(folder / "images", ignore_errors=True)
    marker.write_text(json.dumps(how) + "\n", encoding="utf-8")
    static = folder / "static"
    shutil.rmtree(static, ignore_errors=True)
    _copy(files(__package__) / "static", static)


def _copy(source: Any, target: Path) -> None:
    target.mkdir(parents=True)
    for item in source.iterdir():
        if item.is_dir():
            _copy(item, target / item.name)
        else:
            (target / item.name).write_bytes(item.read_bytes())


def _wanted(made: Sequence[ExamData]) -> dict[str, list[tuple[Chunks, str]]]:
    """Every image with the questions on whose pages it is shown."""
    found: dict[str, list[tuple[Chunks, str]]] = {}
    for exam in made:
        for image, question in exam.inventory.shown():
            found.setdefault(image, []).append((exam.chunks, exam.inventory.keys[question]))
    return found


def _write(
    folder: Path, made: Sequence[ExamData], feet: Sequence[Provenance], slugs: Mapping[str, str], store: str
) -> None:
    """Put the new data in the old one's place, and write the pages."""
    built = time.time()
    others = list(slugs.items())
    for exam, foot in zip(made, feet, strict=True):
        home = folder / "exams" / slugs[exam.inventory.name]
        exam.chunks.flush()
        shutil.rmtree(home / "data", ignore_errors=True)
        (home / ".data").rename(home / "data")
        for page, (file, _) in PAGES.items():
            (home / file).write_text(exam_page(page, foot, others, built, store), encoding="utf-8")
    for old in (folder / "exams").iterdir():
        if old.name not in slugs.values():
            shutil.rmtree(old)
    index = Chunks(folder / "data")
    shutil.rmtree(index.folder, ignore_errors=True)
    index.add("site", {"exams": [_summary(exam, slugs[exam.inventory.name]) for exam in made]})
    index.flush()
    (folder / "index.html").write_text(index_page(feet, built, store), encoding="utf-8")


def _write_certificates(home: Path, exam: ExamData, store: Store) -> None:
    """The certificates of the judges that have one, in place of those of an earlier build."""
    for old in home.glob("certificate-*.html"):
        old.unlink()
    newest = newest_certificates(store, exam.inventory.name)
    for table in exam.judges.tables:
        if table.certificate is not None:
            page = certificate_page(newest[table.evaluator.id], store.blobs)
            (home / table.certificate).write_text(page, encoding="utf-8")


def _summary(exam: ExamData, slug: str) -> dict[str, Any]:
    """Return what the first page says of an exam."""
    body = exam.body
    names = ("name", "kind", "title", "reading", "on", "counts", "scores")
    found: dict[str, Any] = {name: body[name] for name in names} | {"slug": slug}
    shown = ("key", "row", "name", "strategy", "control")
    found["painters"] = [{name: painter[name] for name in shown} for painter in body["painters"]]
    found["judges"] = [{"name": way["name"], "examined": way["examined"]} for way in body["ways"]]
    return found | {"answer": exam.answer, "times": [exam.inventory.first, exam.inventory.last]}


MOST = 600
"""So many boxes of one sort are shown on a picture."""
Wanted = Mapping[str, Sequence[tuple[Chunks, str]]]
"""Image -> the questions on whose pages it is shown, each with where its data goes."""


def write_boxes(store: Store, wanted: Wanted, unsized: Container[str] = ()) -> int:
    """Write the boxes of all pictures that have some; returns how many pictures that are.

    They go to files of their own, loaded when a reader asks for them; the question's own file says how many there are.

    Args:
        store: Where what was measured lies.
        wanted: The pictures.
        unsized: Those whose sizes no drawing tells: references. Boxes are in a picture's own pixels, and a site may
            show it scaled down.
    """
    seen = set()
    for image, sort, backend, boxes in _found(store):
        if (image, sort) in seen or image not in wanted or not boxes:
            continue
        seen.add((image, sort))
        body = {"image": image, "sort": sort, "backend": backend[:200], "boxes": boxes[:MOST], "count": len(boxes)}
        told: dict[str, Any] = {"image": image, "sort": sort, "count": len(boxes)}
        if image in unsized and (size := _size(store, image)):
            told["size"] = size
        for chunks, question_key in wanted[image]:
            chunks.add(f"boxes/{question_key}", body)
            chunks.add(f"q/{question_key}", {"boxes": told})
    return len({image for image, _ in seen})


def _size(store: Store, image: str) -> list[int] | None:
    try:
        info = inspect(store.blobs.get(image))
    except (BadImage, StoreError, OSError):
        return None  # It cannot be shown either.
    return [info.width, info.height]


def _found(store: Store) -> Iterator[tuple[str, str, str, list[Any]]]:
    """Image, sort, backend and boxes of everything measured, the newest first."""
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
    """Return the boxes in what a probe found: ``[corners]``, with words and confidence where there are some.

    Corners are eight numbers, clockwise from top left; a box of left, top, right and bottom is turned into them.

    >>> boxes_in({"count": 1, "boxes": [[1, 2, 3, 4]]})
    [[[1.0, 2.0, 3.0, 2.0, 3.0, 4.0, 1.0, 4.0]]]
    """
    if isinstance(value, Mapping):
        found = value.get("lines") if isinstance(value.get("lines"), list) else value.get("boxes")
        return boxes_in(found if found is not None else value.get("value"))
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
