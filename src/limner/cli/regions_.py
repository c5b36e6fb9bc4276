"""`limner regions`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options

if TYPE_CHECKING:
    from PIL.Image import Image

    from ..evidence.regions import RegionCounter

BACKEND_HELP = "classical, sam2-tiny[:FOLDER], sam2.1-large, or sam2.1:FOLDER; options as in sam2-tiny?points=32."


@click.group("regions")
def command() -> None:
    """Count the regions of images, for MMMG's readability; compare counters and see what they count."""


@command.command("compare")
@click.argument("images", nargs=-1, required=True, type=options.FOLDER, metavar="IMAGES_OR_FOLDER...")
@click.option(
    "--backend", "backends", multiple=True, default=("classical", "sam2-tiny"), show_default=True, metavar="WORD",
    help=f"{BACKEND_HELP} Repeatable.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def compare(images: tuple[Path, ...], backends: tuple[str, ...], as_json: bool) -> None:
    """Count with several backends: every image's regions, and how far apart the backends are."""
    from ..evidence.ocr import RapidOcr
    from ..evidence.regions.compare import MOVED
    from ..evidence.regions.compare import compare as compared

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
    if as_json:
        for row in rows:
            row["regions"] = {
                word: {"count": found.count, "masks": found.masks, "lines": found.lines}
                for word, found in row["regions"].items()
            }
        names = {word: {"name": counter.name, "paper": counter.paper} for word, counter in counters.items()}
        body = {"backends": names, "images": rows, "pairs": [pair.to_json() for pair in pairs], "moved_by": MOVED}
        click.echo(json.dumps(body, indent=2))
    else:
        _print(rows, list(counters), pairs)
    if any(row["failed"] for row in rows):
        sys.exit(3)


@command.command("show")
@click.argument("image", type=options.FOLDER)
@click.option("--backend", default="classical", show_default=True, metavar="WORD", help=BACKEND_HELP)
@click.option("-o", "--output", type=options.FOLDER, required=True, metavar="FILE.png", help="Where the picture goes.")
def show(image: Path, backend: str, output: Path) -> None:
    """Write a picture of what is counted: masks in blue boxes, lines of text in dashed vermilion ones."""
    from ..errors import DataError, UsageError
    from ..evidence.ocr import RapidOcr
    from ..evidence.regions.overlay import overlay
    from ..images import BadImage

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
    click.echo(f"{said}; readability {_readability(found.count):.2f}")
    click.echo(f"counted by {counter.name}")
    click.echo(f"drawn in {output}")


def _opened(word: str) -> RegionCounter:
    from ..evidence.backends import parted
    from ..evidence.regions import open_counter

    name, given = parted(word)
    counter = open_counter(name, **given)
    counter.check()
    return counter


def _files(places: tuple[Path, ...]) -> list[Path]:
    """Images named, and all images of folders named, at any depth."""
    from ..errors import UsageError
    from ..images import SUFFIXES

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
    from ..images import decode, inspect

    inspect(file)
    return decode(file.read_bytes())


def _readability(count: int) -> float:
    from ..evidence.names import REGIONS
    from ..exams import each

    scores = (kind.protocol.from_evidence({REGIONS: {"value": count}}) for kind in each())
    return next(found["readability"] for found in scores if "readability" in found)


def _print(rows: list[dict[str, Any]], words: list[str], pairs: list[Any]) -> None:
    from rich.table import Table

    from ..report.console import console, escape

    table = Table()
    table.add_column("image")
    for word in words:
        table.add_column(escape(word), justify="right")
    for row in rows:
        cells = [
            f"{row['regions'][word].count} ({row['regions'][word].masks} + {row['regions'][word].lines})"
            if word in row["regions"]
            else "failed"
            for word in words
        ]
        table.add_row(escape(Path(row["image"]).name), *cells)
    console().print(table)
    click.echo("regions (masks + lines of text)")
    for pair in pairs:
        if pair.difference is not None:
            click.echo(
                f"{pair.second} against {pair.first}: {pair.difference:+.1f} regions on average; "
                f"readability moves by more than 0.1 for {pair.moved:.0%} of {pair.images} images"
            )
    for row in rows:
        for word, reason in row["failed"].items():
            click.echo(f"{row['image']}: {word}: {reason}", err=True)
