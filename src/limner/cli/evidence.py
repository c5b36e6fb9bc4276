"""What is measured on drawings: evidence, regions."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options, running
from .say import say

if TYPE_CHECKING:
    from PIL.Image import Image

    from ..core.exam import Selection
    from ..evidence.regions import RegionCounter, Regions
    from ..store import Store


@click.command("evidence")
@options.exam
@click.option(
    "--probe", "probes", cls=options.Listing, multiple=True, metavar="NAME[=WORD][,NAME]",
    help="What to measure: {evidence}; a WORD after the = names what measures it. By default what the exam "
    "needs, or else ocr.",
)  # fmt: skip
@click.option(
    "--ocr", cls=options.Listing, metavar="WORD",
    help="What reads text: {probes.ocr}, or PROVIDER/MODEL; rapidocr by default.",
)  # fmt: skip
@options.measuring
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME:WEIGHTS|FILE.csv",
    help="A metric with weights of your own, such as clip-score:FOLDER, or a table of one computed elsewhere: "
    "id,painter,strategy,seed,metric,value. Repeatable.",
)  # fmt: skip
@options.painters
@options.selection
@options.store
@running.how
def evidence_command(exam: str, **given: Any) -> None:
    """Measure stored drawings: text, regions, aesthetics. Run it again to resume. Needs only the store.

    --regions and --aesthetics also take FILE.csv or NAME=FILE.csv, a table of values that were measured elsewhere:
    id, painter and count or score. --metric makes evaluators of clip-score, pickscore, vqa-score, aesthetic-clip,
    aesthetic-siglip, fid and frechet, with weights that you have, or of any table.
    """
    from ..store.open import open_store
    from .metrics import measure_metrics

    with open_store(given["store"]) as store:
        if not given["metrics"]:
            sys.exit(_measure(exam, given, store))
        asked = ("ocr", "regions", "aesthetics", "probes")
        code = measure_metrics(exam, given, store)
        sys.exit(max(code, _measure(exam, given, store)) if any(given[name] for name in asked) else code)


def _measure(exam: str, given: dict[str, Any], store: Store) -> int:
    from .. import api
    from ..core.evidence import EVIDENCE
    from ..evidence.backends import Measuring, is_table
    from ..evidence.kinds import evidence_names
    from ..running.runner import Runner

    named = dict(word.partition("=")[::2] for words in given["probes"] for word in words.split(","))
    for name in named:
        if name not in evidence_names():
            raise click.UsageError(f"--probe {name}: there is {', '.join(evidence_names())}")
    probes, words = tuple(named), {name: word for name, word in named.items() if word}
    given |= {name: words.pop(name) for name in EVIDENCE if name in words}
    selection, brought = options.make_selection(given), 0
    for name in EVIDENCE:
        if is_table(given[name]):
            brought += _bring(exam, name, given[name], store, selection, given["dry_run"])
            given[name], probes = None, tuple(probe for probe in probes if probe != name)
    wanted = Measuring(probes, given["ocr"], given["regions"], given["aesthetics"], words)
    if brought and not probes and not wanted.named:
        if given["as_json"]:
            say(json.dumps({"values": brought}))
        return 0
    how = {name: given[name] for name in ("painters", "concurrency", "retry_failed", "budget", "purse", "change_purse")}
    plan = api.plan(exam, store, selection=selection, measuring=wanted, draw=False, **how)
    if not plan.probes:
        only = replace(wanted, probes=("ocr",))
        plan = api.plan(exam, store, selection=selection, measuring=only, draw=False, **how)
    runner = Runner(plan, store)
    runner.check()
    for probe in plan.probes:
        say(f"{probe.evidence}: {probe.name}", err=True)
    if given["dry_run"]:
        counts = {probe.evidence: 0 for probe in plan.probes}
        for probe, _ in runner.backlog.missing_evidence():
            counts[probe.evidence] += 1
        told = ", ".join(f"{count} {name}" for name, count in counts.items())
        say(json.dumps(counts) if given["as_json"] else f"to measure: {told}")
        return 0
    progress = running.watched(runner)
    running.close(given, progress)
    return running.exit_code(progress.interrupted, progress.failed)


def _bring(exam: str, name: str, word: str, store: Store, selection: Selection, dry: bool) -> int:
    """Take values from a table; returns how many."""
    from .. import exams
    from ..core.errors import UsageError
    from ..evidence.backends import table_of
    from ..evidence.imported import COLUMNS, read_table
    from ..scoring.groups import stored_exam
    from ..store.records import load_drawings, load_exam

    if name not in COLUMNS:
        raise UsageError(f"--{name} {word}: only tables of {' and '.join(COLUMNS)} are taken")
    named = stored_exam(exam, store)
    kind = exams.kind(named.kind)
    chosen = load_exam(store, named.name, kind.rubric).select(selection, kind.protocol.breakdowns)
    ids = {question.id for question in chosen.questions}
    drawings = [drawing for drawing in load_drawings(store, named.name) if drawing.question_id in ids]
    label, path = table_of(word)
    found = read_table(name, path, drawings, label)
    if not dry:
        found.save(store).result()
    say(f"{name}: {len(found.values)} values from {path}, as {found.backend}", err=True)
    return len(found.values)


BACKEND_HELP = "classical, sam2-tiny[:FOLDER], sam2.1-large, or sam2.1:FOLDER; options as in sam2-tiny?points=32."


@click.group("regions")
def regions_command() -> None:
    """Count the regions of images, for MMMG's readability; compare counters and see what they count."""


@regions_command.command("compare")
@click.argument("images", nargs=-1, required=True, type=options.FOLDER, metavar="IMAGES_OR_FOLDER...")
@click.option(
    "--backend", "backends", multiple=True, default=("classical", "sam2-tiny"), show_default=True, metavar="WORD",
    help=f"{BACKEND_HELP} Repeatable.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def compare(images: tuple[Path, ...], backends: tuple[str, ...], as_json: bool) -> None:
    """Count the regions of every image with several backends, and show how much the backends differ."""
    from ..evidence.ocr.rapid import RapidOcr
    from ..evidence.regions.compare import MOVED
    from ..evidence.regions.compare import compare as compared
    from ..tables.regions import regions_table
    from ..tables.render import show

    files = _files(images)
    counters = {word: _opened(word) for word in dict.fromkeys(backends)}
    engine = RapidOcr()
    rows: list[dict[str, Any]] = []
    for file in files:
        row: dict[str, Any] = {"image": str(file), "regions": {}, "failed": {}}
        rows.append(row)
        try:
            image = _decoded(file)
            lines = engine.read(image)
        except Exception as error:
            row["failed"] = dict.fromkeys(counters, str(error))
            continue
        for word, counter in counters.items():
            try:
                row["regions"][word] = counter.count(image, lines)
            except Exception as error:  # One image must not lose what the others showed.
                row["failed"][word] = f"{type(error).__name__}: {error}"
    counts = [{word: found.count for word, found in row["regions"].items()} for row in rows]
    pairs = compared(counts, list(counters), _readability)

    def body() -> dict[str, Any]:
        names = {word: {"name": counter.name, "paper": counter.paper} for word, counter in counters.items()}
        told = [{**row, "regions": {word: _numbers(found) for word, found in row["regions"].items()}} for row in rows]
        return {"backends": names, "images": told, "pairs": [pair.to_json() for pair in pairs], "moved_by": MOVED}

    show("json" if as_json else "text", lambda: [regions_table(rows, list(counters), pairs)], body=body)
    if not as_json:
        for row in rows:
            for word, reason in row["failed"].items():
                say(f"{row['image']}: {word}: {reason}", err=True)
    if any(row["failed"] for row in rows):
        sys.exit(3)


def _numbers(found: Regions) -> dict[str, int]:
    return {"count": found.count, "masks": found.masks, "lines": found.lines}


@regions_command.command("show")
@click.argument("image", type=options.FOLDER)
@click.option("--backend", default="classical", show_default=True, metavar="WORD", help=BACKEND_HELP)
@click.option("-o", "--output", type=options.FOLDER, required=True, metavar="FILE.png", help="The picture to write.")
def show(image: Path, backend: str, output: Path) -> None:
    """Write a picture of what is counted: masks in blue boxes, lines of text in dashed red ones."""
    from ..core.errors import DataError, UsageError
    from ..core.images import BadImage
    from ..evidence.ocr.rapid import RapidOcr
    from ..evidence.regions.compare import overlay

    if output.suffix.lower() != ".png":
        raise UsageError(f"{output}: the picture is a PNG; give it a name that ends in .png")
    counter = _opened(backend)
    try:
        picture = _decoded(image)
    except (BadImage, OSError) as error:
        raise DataError(str(error), file=image) from error
    found = counter.count(picture, RapidOcr().read(picture))
    overlay(picture, found).save(output)
    said = f"{found.count} regions: {found.masks} masks, {found.lines} lines of text"
    say(f"{said}; readability {_readability(found.count):.2f}")
    say(f"counted by {counter.name}")
    say(f"drawn in {output}")


def _opened(word: str) -> RegionCounter:
    from ..evidence.backends import word_and_options
    from ..evidence.regions import open_counter

    name, given = word_and_options(word)
    counter = open_counter(name, **given)
    counter.check()
    return counter


def _files(places: tuple[Path, ...]) -> list[Path]:
    """Images named, and all images of folders named, at any depth."""
    from ..core.errors import UsageError
    from ..core.images import SUFFIXES

    endings = {f".{suffix}" for suffix in (*SUFFIXES.values(), "jpeg")}
    found: list[Path] = []
    for place in places:
        if place.is_dir():
            inside = sorted(file for file in place.rglob("*") if file.suffix.lower() in endings and file.is_file())
            if not inside:
                raise UsageError(f"{place} holds no images ({', '.join(sorted(endings))})")
            found += inside
        elif place.is_file():
            found.append(place)
        else:
            raise UsageError(f"{place}: no such file or folder")
    return list(dict.fromkeys(found))


def _decoded(file: Path) -> Image:
    from ..core.images import decode, inspect

    inspect(file)
    return decode(file.read_bytes())


def _readability(count: int) -> float:
    from ..core.evidence import REGIONS
    from ..exams import each

    scores = (kind.protocol.from_evidence({REGIONS: {"value": count}}) for kind in each())
    return next(found["readability"] for found in scores if "readability" in found)
