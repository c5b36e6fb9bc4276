"""How many hostile pictures are flagged? Texts are written onto drawings, read by OCR and screened.

    python -m benchmarks.screen_recall [--count 300] [--seed 1] [--show DIR]

The texts are those of the rules' own examples and of `tests/judges/screening/screen`: `widened` ones have shaped the
rules, `unseen` ones have not. Only languages that the built-in OCR reads take part. Each picture is a sample's
reference with one text in a random way, font, size and place.
"""

from __future__ import annotations

import argparse
import random
import textwrap
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from limner.evidence.ocr import RapidOcr
from limner.judges.screening import screen
from limner.judges.screening_rules import is_wide, rules

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ROOT / "tests" / "judges" / "screening" / "screen"
DEJAVU = Path("/usr/share/fonts/truetype/dejavu")
LATIN = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSerif.ttf", "DejaVuSerif-Italic.ttf", "DejaVuSansMono.ttf")
CJK = Path("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc")
UNREAD = ("ru",)
"""Languages of the rules that the built-in OCR does not read."""
WAYS = ("one line", "lines", "column", "beside", "spaced", "capitals", "figures for letters", "upright")
SIZES = (14, 18, 24, 32)
FIGURES = str.maketrans("oieas", "01345")


@dataclass(frozen=True)
class Picture:
    """One text on one drawing."""

    source: str
    language: str
    text: str
    way: str
    size: int
    image: Image.Image


def texts() -> dict[str, list[tuple[str, str]]]:
    """Where a text comes from -> language and text."""
    found: dict[str, list[tuple[str, str]]] = {
        "examples": [(rule.language, text) for rule in rules() for text in rule.hostile if rule.language not in UNREAD]
    }
    for name in ("widened", "unseen"):
        table = tomllib.loads((TEXTS / f"{name}.toml").read_text("utf-8"))
        found[name] = [(language, text) for language, group in table.items() for text in group]
    return found


def font_for(text: str, size: int, chance: random.Random) -> ImageFont.FreeTypeFont:
    """A font that has the text's letters."""
    if any(is_wide(letter) for letter in text):
        return ImageFont.truetype(CJK, size)
    return ImageFont.truetype(DEJAVU / chance.choice(LATIN), size)


def lines_of(text: str, way: str) -> list[str]:
    """The text as it is set."""
    wide = any(is_wide(letter) for letter in text)
    if way == "spaced":
        return [" ".join(part) for part in textwrap.wrap(text, 24)]
    if way == "capitals":
        return textwrap.wrap(text.upper(), 40)
    if way == "figures for letters":
        return textwrap.wrap(text.lower().translate(FIGURES), 40)
    if way in ("lines", "column", "beside"):
        width = 6 if wide else 18
        return [text[n : n + width] for n in range(0, len(text), width)] if wide else textwrap.wrap(text, width)
    return [text]


def write_on(drawing: Image.Image, text: str, way: str, size: int, chance: random.Random) -> Image.Image:
    """The drawing with the text below, above, or in a box on it."""
    font = font_for(text, size, chance)
    pen = ImageDraw.Draw(Image.new("RGB", (1, 1)))
    rows = lines_of(text, way)
    step = round(size * 1.35)
    width = max(int(pen.textlength(row, font)) for row in rows) + 2 * size
    label = Image.new("RGB", (width, step * len(rows) + size), "white")
    pen = ImageDraw.Draw(label)
    ink = chance.choice(((0, 0, 0), (60, 60, 60), (150, 0, 0), (0, 0, 140)))
    for number, row in enumerate(rows):
        pen.text((size, size // 2 + step * number), row, ink, font)
    if way == "upright":
        label = label.rotate(90, expand=True)
    if way == "beside":
        # Another column of plain words stands on the same rows.
        other = ImageFont.truetype(DEJAVU / LATIN[0], size)
        plain = ["stem and leaf", "root and soil", "water flows up", "sun and wind"]
        side = Image.new("RGB", (size * 9, label.height), "white")
        for number in range(len(rows)):
            ImageDraw.Draw(side).text((size, size // 2 + step * number), plain[number % 4], ink, other)
        both = Image.new("RGB", (label.width + side.width, label.height), "white")
        both.paste(side, (0, 0))
        both.paste(label, (side.width, 0))
        label = both
    place = chance.choice(("below", "above", "inside"))
    if place == "inside" and label.width <= drawing.width and label.height <= drawing.height // 2:
        picture = drawing.copy()
        picture.paste(
            label,
            (chance.randint(0, drawing.width - label.width), chance.randint(0, drawing.height - label.height)),
        )
        return picture
    picture = Image.new("RGB", (max(drawing.width, label.width), drawing.height + label.height), "white")
    top = label.height if place == "above" else 0
    picture.paste(drawing, (0, top))
    picture.paste(label, (chance.randint(0, picture.width - label.width), 0 if top else drawing.height))
    return picture


def pictures(count: int, seed: int) -> list[Picture]:
    """Random pictures; sources and ways come in turn."""
    chance = random.Random(seed)
    drawings = sorted((ROOT / "src" / "limner" / "exams").glob("*/sample/images/**/*.png"))
    known = texts()
    made = []
    for number in range(count):
        source = list(known)[number % len(known)]
        language, text = chance.choice(known[source])
        way = WAYS[number // len(known) % len(WAYS)]
        size = chance.choice(SIZES)
        with Image.open(chance.choice(drawings)) as drawing:
            image = write_on(drawing.convert("RGB"), text, way, size, chance)
        made.append(Picture(source, language, text, way, size, image))
    return made


def main() -> None:
    """Print the share that is flagged, by where the text comes from, way, size and language."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=Path, help="write missed pictures here")
    args = parser.parse_args()
    ocr = RapidOcr()
    tallies: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for number, picture in enumerate(pictures(args.count, args.seed)):
        lines = ocr.read(picture.image)
        caught = bool(screen(lines))
        keys = [f"{picture.source}, any way", f"way: {picture.way}", f"size: {picture.size} px"]
        for key in [*keys, f"language: {picture.language}", f"{picture.source}, way: {picture.way}", "all"]:
            tallies[key][0] += caught
            tallies[key][1] += 1
        if not caught:
            print("missed", picture.source, picture.way, picture.size, repr(picture.text), flush=True)
            if args.show:
                args.show.mkdir(parents=True, exist_ok=True)
                picture.image.save(args.show / f"{number}.png")
                words = "\n".join(line.text for line in lines)
                (args.show / f"{number}.txt").write_text(words, "utf-8")
    for key, (caught_count, total) in sorted(tallies.items()):
        print(f"{key:45} {caught_count:4} of {total:4}  {caught_count / total:.0%}")


if __name__ == "__main__":
    main()
