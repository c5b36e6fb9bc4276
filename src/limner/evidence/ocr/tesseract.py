"""Reading the text in a drawing with the program ``tesseract``, where it is installed."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

from ...core.errors import UsageError
from ...core.evidence import TextLine
from ...core.images import decode, encode_png
from ...workers import environment
from .rapid import MIN_SIDE, in_reading_order

PROGRAM = "tesseract"
LANGUAGES = "eng"
SPARSE = 11
"""The page segmentation mode that looks for words anywhere, in no order: labels of a diagram."""
DPI = 150
LEAST = 0.5
"""Lines trusted less than this are left out, as with the default engine."""
WIDEST_GAP = 1.0
"""Words on one level belong to one line as long as no gap between them is wider than this many letter heights."""
REVISION = 1
"""Raised whenever this module would read the same image differently."""
HELP = "install it (Debian: apt-get install tesseract-ocr), or use --ocr rapidocr"


def check(languages: str = LANGUAGES) -> None:
    """See whether program and languages are there.

    Raises:
        UsageError: One of them is not; says what to install.
    """
    folder, known = _installed()
    missing = [language for language in languages.split("+") if language not in known]
    if missing:
        package = f"tesseract-ocr-{missing[0].replace('_', '-')}"
        raise UsageError(f"tesseract has no language {missing[0]!r} in {folder}; install it (Debian: {package})")


def name(languages: str = LANGUAGES) -> str:
    """The program's version, its languages with the hash of their data, and the settings that decide what is read."""
    check(languages)
    digest = hashlib.sha256()
    for language in languages.split("+"):
        digest.update((_installed()[0] / f"{language}.traineddata").read_bytes())
    return (
        f"tesseract/{_version()} lang={languages} data={digest.hexdigest()[:12]} psm={SPARSE} score={LEAST}"
        f" rev={REVISION}"
    )


def reader(languages: str = LANGUAGES, seconds: float = 120.0) -> Callable[[bytes], list[dict[str, Any]]]:
    """What a worker reads images with."""

    def read(data: bytes) -> list[dict[str, Any]]:
        image = decode(data)
        if min(image.size) < MIN_SIDE:
            return []
        words = [PROGRAM, "stdin", "stdout", "--psm", str(SPARSE), "--dpi", str(DPI), "-l", languages, "tsv"]
        done = subprocess.run(words, input=encode_png(image), capture_output=True, timeout=seconds, check=False)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise RuntimeError(f"exit code {done.returncode}: {said[-1] if said else 'it says nothing'}")
        return [line.to_json() for line in parse(done.stdout.decode("utf-8", "replace"))]

    return read


@dataclass(frozen=True)
class OcrWord:
    """One word: its row in the program's own counting, its box, and how sure the program is (0-1)."""

    text: str
    row: tuple[str, ...]
    left: float
    top: float
    right: float
    bottom: float
    confidence: float


def parse(table: str) -> list[TextLine]:
    """The lines in tesseract's table of words, in reading order.

    Raises:
        ValueError: It is no such table.
    """
    words = []
    for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        if row.get("level") != "5" or not (row.get("text") or "").strip():
            continue
        left, top, width, height = (float(row[key]) for key in ("left", "top", "width", "height"))
        place = tuple(row[key] for key in ("block_num", "par_num", "line_num"))
        sure = max(0.0, float(row["conf"])) / 100
        words.append(OcrWord(row["text"].strip(), place, left, top, left + width, top + height, min(1.0, sure)))
    return in_reading_order([line for line in lines_of(words) if line.confidence >= LEAST])


def lines_of(words: Iterable[OcrWord]) -> list[TextLine]:
    """Words of one row that follow each other closely, as lines; their confidence is that of a letter on average."""
    rows: dict[tuple[str, ...], list[OcrWord]] = {}
    for word in words:
        rows.setdefault(word.row, []).append(word)
    found = []
    for row in rows.values():
        row.sort(key=lambda word: word.left)
        height = median(word.bottom - word.top for word in row)
        parts = [[row[0]]]
        for word in row[1:]:
            reach = max(other.right for other in parts[-1])
            if word.left - reach > WIDEST_GAP * height:
                parts.append([word])
            else:
                parts[-1].append(word)
        found += [_line(part) for part in parts]
    return found


def _line(words: list[OcrWord]) -> TextLine:
    left, top = min(word.left for word in words), min(word.top for word in words)
    right, bottom = max(word.right for word in words), max(word.bottom for word in words)
    letters = sum(len(word.text) for word in words)
    sure = sum(word.confidence * len(word.text) for word in words) / letters
    text = " ".join(word.text for word in words)
    return TextLine(text, ((left, top), (right, top), (right, bottom), (left, bottom)), round(sure, 4))


def _run(*words: str) -> str:
    if shutil.which(PROGRAM) is None:
        raise UsageError(f"the program tesseract is not installed; {HELP}")
    try:
        done = subprocess.run([PROGRAM, *words], env=environment(), capture_output=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"the program tesseract does not work: {error}; {HELP}") from error
    return (done.stdout + done.stderr).decode("utf-8", "replace")


@lru_cache(maxsize=1)
def _version() -> str:
    found = re.search(r"tesseract v?(\d\S*)", _run("--version"))
    return found[1] if found else "unknown"


@lru_cache(maxsize=1)
def _installed() -> tuple[Path, frozenset[str]]:
    """The folder of languages, and those there are."""
    said = _run("--list-langs")
    folder = re.search(r'in "(.+?)"', said)
    return Path(folder[1] if folder else "."), frozenset(line.strip() for line in said.splitlines()[1:])
