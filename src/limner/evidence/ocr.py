"""Readers of text in drawings: RapidOCR, and the program tesseract if it is installed."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

from PIL import Image

from ..core.errors import UsageError
from ..core.evidence import Position, TextLine
from ..core.images import decode, encode_png, flatten
from ..workers import environment

DETECTION_MODEL = "PP-OCRv6-small"
RECOGNITION_MODEL = "PP-OCRv6-small"
ORIENTATION_MODEL = "PP-OCRv4-mobile"
"""The model that distinguishes upright from upside-down text, needed for sideways labels."""
TEXT_SCORE = 0.5
"""The minimum confidence of the recogniser; lines below it are dropped."""
REVISION = 1
"""Increased whenever this module would read the same image differently."""
MIN_SIDE = 8
"""The minimum side of an image in pixels; smaller images cannot contain readable text."""
MAX_ASPECT = 4
"""The maximum ratio of sides; longer strips are padded with white, as enlarging their short side needs huge buffers."""
SECOND_SCALE = 1.5
"""The factor by which the scales of the first and second reading differ."""
SHORTEST, LONGEST = 736, 2000
"""The engine reduces the longer side to at most LONGEST pixels, then enlarges the shorter one to at least SHORTEST."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES, MAPPED_BYTES = 256 << 20, 32 << 20
"""Settings of glibc: freed bytes to keep, and the size from which blocks are mapped separately (its maximum)."""
MAX_SKEW = math.radians(15)
"""The maximum skew of a page; lines at a greater angle are slanted labels."""


class RapidOcr:
    """A reader of text lines; safe to call from several threads, each with its own engine.

    Every engine uses one core, so that two threads on two cores read twice as fast; engines that use all cores would
    slow each other down.
    """

    name = "rapidocr"

    def __init__(self) -> None:
        self._local = threading.local()

    @property
    def version(self) -> str:
        """The package version, model names and settings that affect the reading."""
        return (
            f"{metadata.version('rapidocr')} det={DETECTION_MODEL} rec={RECOGNITION_MODEL} cls={ORIENTATION_MODEL}"
            f" score={TEXT_SCORE} rev={REVISION}"
        )

    @property
    def second(self) -> str:
        """The version of readings at another scale."""
        return f"{self.version} again={SECOND_SCALE}"

    def read(self, image: Image.Image, again: bool = False) -> list[TextLine]:
        """Return the lines of text in an image, top to bottom and left to right.

        Args:
            image: Any mode; transparent parts count as white.
            again: Whether to read at another scale, which often finds text that the first reading misses.

        Returns:
            Lines with corners in the image's own pixels; none for blank or tiny images.
        """
        if min(image.size) < MIN_SIDE:
            return []
        import numpy as np

        flat = flatten(image)
        pixels = np.asarray(flat)
        if (pixels == pixels[0, 0]).all():
            return []
        ground = _padded(flat)
        factor = other_scale(ground.size) if again else 1.0
        bgr = np.ascontiguousarray(np.asarray(_scaled(ground, factor) if again else ground)[:, :, ::-1])
        reading = self._engine()(bgr)
        if reading.txts is None:
            return []
        lines = [
            TextLine(str(text), _corners(box, factor), float(score))
            for text, box, score in zip(reading.txts, reading.boxes, reading.scores, strict=True)
        ]
        return in_reading_order(lines)

    def regions(self, image: Image.Image) -> list[list[float]]:
        """Return left, top, right and bottom of all text, also in scripts that the models cannot read."""
        if min(image.size) < MIN_SIDE:
            return []
        import numpy as np

        boxes = self._engine().text_det(np.ascontiguousarray(np.asarray(_padded(flatten(image)))[:, :, ::-1])).boxes
        corners = [] if boxes is None else [_corners(box, 1.0) for box in boxes]
        return [[*map(min, zip(*each, strict=True)), *map(max, zip(*each, strict=True))] for each in corners]

    def _engine(self) -> Any:
        engine = getattr(self._local, "engine", None)
        if engine is None:
            engine = self._local.engine = _make_engine()
        return engine


def rapidocr_reader() -> Callable[..., list[Any]]:
    """Return the function with which a worker reads images; the engine is loaded immediately."""
    _keep_memory()
    engine = RapidOcr()
    engine._engine()

    def read(data: bytes, again: bool = False, regions: bool = False) -> list[Any]:
        if regions:
            return engine.regions(decode(data))
        return [line.to_json() for line in engine.read(decode(data), again)]

    return read


def _keep_memory() -> None:
    """Let this process keep up to `KEPT_BYTES` of freed memory between layers of the network, if it uses glibc.

    By default, each layer requests new pages from the kernel for a large picture, which takes time. onnxruntime's own
    arena never returns memory, and would need twice as much for pictures of several sizes.
    """
    import ctypes

    setting = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if setting is not None:
        setting(M_TRIM_THRESHOLD, KEPT_BYTES)
        setting(M_MMAP_THRESHOLD, MAPPED_BYTES)


def _make_engine() -> Any:
    """Return a RapidOCR engine with pinned models, independent of the package's defaults."""
    from rapidocr import ModelType, OCRVersion, RapidOCR

    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.text_score": TEXT_SCORE,
            "Det.ocr_version": OCRVersion.PPOCRV6,
            "Det.model_type": ModelType.SMALL,
            "Rec.ocr_version": OCRVersion.PPOCRV6,
            "Rec.model_type": ModelType.SMALL,
            "Cls.ocr_version": OCRVersion.PPOCRV4,
            "Cls.model_type": ModelType.MOBILE,
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def _padded(image: Image.Image) -> Image.Image:
    """Add white at the right or below until neither side exceeds `MAX_ASPECT` times the other."""
    short = -(-max(image.size) // MAX_ASPECT)
    if min(image.size) >= short:
        return image
    ground = Image.new("RGB", (max(image.width, short), max(image.height, short)), "white")
    ground.paste(image)
    return ground


def other_scale(size: tuple[int, int]) -> float:
    """Return the scale of a second reading: the engine gets the picture larger, or smaller if it is already large.

    >>> other_scale((736, 900)), other_scale((1800, 1800))
    (1.5, 0.6666666666666666)
    """
    short, long = sorted(size)
    seen = max(min(1.0, LONGEST / long), SHORTEST / short)
    return seen * SECOND_SCALE if long * seen * SECOND_SCALE <= LONGEST else seen / SECOND_SCALE


def _scaled(image: Image.Image, factor: float) -> Image.Image:
    """Return the image resized, with white added at the right or below if the engine would otherwise enlarge it."""
    width, height = (max(1, round(side * factor)) for side in image.size)
    ground = Image.new("RGB", (max(width, SHORTEST), max(height, SHORTEST)), "white")
    ground.paste(image.resize((width, height), Image.Resampling.LANCZOS))
    return ground


def _corners(box: Sequence[Sequence[float]], factor: float) -> tuple[Position, Position, Position, Position]:
    a, b, c, d = ((float(x) / factor, float(y) / factor) for x, y in box)
    return a, b, c, d


def in_reading_order(lines: Sequence[TextLine]) -> list[TextLine]:
    """Sort lines into rows from top to bottom, each from left to right, corrected for the page's skew."""
    if not lines:
        return []
    skew = _skew(lines)
    cos, sin = math.cos(skew), math.sin(skew)
    placed = []
    for line in lines:
        left, top, right, bottom = line.bounds
        x, y = (left + right) / 2, (top + bottom) / 2
        placed.append((y * cos - x * sin, x * cos + y * sin, _height(line), line))
    placed.sort(key=lambda item: item[:2])
    rows: list[list[tuple[float, float, float, TextLine]]] = []
    for item in placed:
        # A row is compared by its first member, so that a staircase of labels does not become one row.
        if rows and item[0] - rows[-1][0][0] < 0.5 * min(item[2], rows[-1][0][2]):
            rows[-1].append(item)
        else:
            rows.append([item])
    return [item[3] for row in rows for item in sorted(row, key=lambda item: item[1])]


def _skew(lines: Sequence[TextLine]) -> float:
    """Return the angle that most lines share, in radians; 0 if too few are long and nearly level."""
    angles = []
    for line in lines:
        (ax, ay), (bx, by) = line.box[0], line.box[1]
        if math.hypot(bx - ax, by - ay) >= 3 * _height(line):
            angle = math.atan2(by - ay, bx - ax)
            if abs(angle) <= MAX_SKEW:
                angles.append(angle)
    return median(angles) if len(angles) >= 3 else 0.0


def _height(line: TextLine) -> float:
    """Return the height of letters: the shorter side of the box."""
    (ax, ay), (bx, by), (cx, cy) = line.box[:3]
    return min(math.hypot(bx - ax, by - ay), math.hypot(cx - bx, cy - by))


PROGRAM = "tesseract"
LANGUAGES = "eng"
SPARSE = 11
"""The page segmentation mode that finds words anywhere and in any order, such as labels of a diagram."""
DPI = 150
MIN_CONFIDENCE = 0.5
"""The minimum confidence; lines below it are dropped, as with the default engine."""
WIDEST_GAP = 1.0
"""The widest gap between words of one line, in letter heights."""
HELP = "install it (Debian: apt-get install tesseract-ocr), or use --ocr rapidocr"


def check_tesseract(languages: str = LANGUAGES) -> None:
    """Check that the program and its languages are installed.

    Raises:
        UsageError: One of them is missing; the message says what to install.
    """
    folder, installed = _installed_languages()
    missing = [language for language in languages.split("+") if language not in installed]
    if missing:
        package = f"tesseract-ocr-{missing[0].replace('_', '-')}"
        raise UsageError(f"tesseract has no language {missing[0]!r} in {folder}; install it (Debian: {package})")


def name(languages: str = LANGUAGES) -> str:
    """Return the backend's name: version, languages with the hash of their data, and settings."""
    check_tesseract(languages)
    digest = hashlib.sha256()
    for language in languages.split("+"):
        digest.update((_installed_languages()[0] / f"{language}.traineddata").read_bytes())
    return (
        f"tesseract/{_version()} lang={languages} data={digest.hexdigest()[:12]} psm={SPARSE} score={MIN_CONFIDENCE}"
        f" rev={REVISION}"
    )


def tesseract_reader(languages: str = LANGUAGES, seconds: float = 120.0) -> Callable[[bytes], list[dict[str, Any]]]:
    """Return the function with which a worker reads images."""

    def read(data: bytes) -> list[dict[str, Any]]:
        image = decode(data)
        if min(image.size) < MIN_SIDE:
            return []
        words = [PROGRAM, "stdin", "stdout", "--psm", str(SPARSE), "--dpi", str(DPI), "-l", languages, "tsv"]
        done = subprocess.run(words, input=encode_png(image), capture_output=True, timeout=seconds, check=False)
        if done.returncode:
            messages = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise RuntimeError(f"exit code {done.returncode}: {messages[-1] if messages else 'no message'}")
        return [line.to_json() for line in parse_tesseract(done.stdout.decode("utf-8", "replace"))]

    return read


@dataclass(frozen=True)
class OcrWord:
    """A word: its text, tesseract's number of its row, its box, and the confidence (0 to 1)."""

    text: str
    row: tuple[str, ...]
    left: float
    top: float
    right: float
    bottom: float
    confidence: float


def parse_tesseract(table: str) -> list[TextLine]:
    """Return the lines in tesseract's table of words, in reading order.

    Raises:
        ValueError: It is not such a table.
    """
    words = []
    for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        if row.get("level") != "5" or not (row.get("text") or "").strip():
            continue
        left, top, width, height = (float(row[key]) for key in ("left", "top", "width", "height"))
        place = tuple(row[key] for key in ("block_num", "par_num", "line_num"))
        sure = max(0.0, float(row["conf"])) / 100
        words.append(OcrWord(row["text"].strip(), place, left, top, left + width, top + height, min(1.0, sure)))
    return in_reading_order([line for line in join_words(words) if line.confidence >= MIN_CONFIDENCE])


def join_words(words: Iterable[OcrWord]) -> list[TextLine]:
    """Join neighbouring words of each row into lines; confidence is averaged over letters."""
    rows: dict[tuple[str, ...], list[OcrWord]] = {}
    for word in words:
        rows.setdefault(word.row, []).append(word)
    lines = []
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
        lines += [_line(part) for part in parts]
    return lines


def _line(words: list[OcrWord]) -> TextLine:
    left, top = min(word.left for word in words), min(word.top for word in words)
    right, bottom = max(word.right for word in words), max(word.bottom for word in words)
    letters = sum(len(word.text) for word in words)
    sure = sum(word.confidence * len(word.text) for word in words) / letters
    text = " ".join(word.text for word in words)
    return TextLine(text, ((left, top), (right, top), (right, bottom), (left, bottom)), round(sure, 4))


def _run_tesseract(*words: str) -> str:
    if shutil.which(PROGRAM) is None:
        raise UsageError(f"the program tesseract is not installed; {HELP}")
    try:
        done = subprocess.run([PROGRAM, *words], env=environment(), capture_output=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"the program tesseract does not work: {error}; {HELP}") from error
    return (done.stdout + done.stderr).decode("utf-8", "replace")


@lru_cache(maxsize=1)
def _version() -> str:
    match = re.search(r"tesseract v?(\d\S*)", _run_tesseract("--version"))
    return match[1] if match else "unknown"


@lru_cache(maxsize=1)
def _installed_languages() -> tuple[Path, frozenset[str]]:
    """Return the folder of languages, and the installed languages."""
    listing = _run_tesseract("--list-langs")
    folder = re.search(r'in "(.+?)"', listing)
    return Path(folder[1] if folder else "."), frozenset(line.strip() for line in listing.splitlines()[1:])
