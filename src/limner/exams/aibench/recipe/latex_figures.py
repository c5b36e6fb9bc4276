"""The figures of a paper, ranked by file name, caption and position before a model sees any."""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice, zip_longest
from pathlib import Path

from ....core.errors import UsageError
from ....core.images import MAX_BYTES, BadImage, encode_png
from ....core.schema import StrictModel
from ....workers import JobFailure, Recipe, WorkerDeath, WorkerUnfit, once
from .latex_text import closing_brace, has_words, latex_to_text, split_words, sum_weights

PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
PDF = ".pdf"
SUFFIX_ORDER = (PDF, ".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".eps", ".ps", ".svg")
"""The suffixes tried for a figure that is named without one, as in LaTeX."""
_FIGURE = re.compile(
    r"\\begin\s*\{(?P<env>(?:wrap|SC|margin|teaser)?figure\*?)\}(?P<body>.*?)\\end\s*\{(?P=env)\}", re.DOTALL
)
_PICTURE = re.compile(
    r"\\(?:includegraphics\*?|begin\s*\{[oO]verpic\*?\})\s*(?:\[[^\]]{0,999}\])?\s*\{\s*\"?([^{}\"]+?)\"?\s*\}"
)
_TIKZ = re.compile(r"\\begin\s*\{tikzpicture\}.*\\end\s*\{tikzpicture\}|\\input\s*\{[^{}]*\.(?:tikz|pgf)\}", re.DOTALL)
"""A figure that TeX itself draws."""
_DRAWING = re.compile(r"\\(?:usetikzlibrary|definecolor|colorlet|tikzset|tikzstyle|pgfdeclarelayer|pgfsetlayers)\b")
"""The commands of a preamble that a drawing needs."""
_ARGUMENT = re.compile(r"\s*=?\s*[\[{]")
_PAGE = r"""\documentclass{article}
\usepackage{amsmath,amssymb,tikz}
%s
\begin{document}
\setbox0\hbox{%s}
\pdfhorigin=2mm \pdfvorigin=2mm \hoffset=0pt \voffset=0pt
\pdfpagewidth=\dimexpr\wd0+4mm\relax \pdfpageheight=\dimexpr\ht0+\dp0+4mm\relax
\shipout\box0
\end{document}
"""
_CAPTION = re.compile(r"\\(?:caption(?:of\s*\{figure\})?)\*?\s*(?:\[[^\]]{0,999}\])?\s*(?=\{)")
_PATHS = re.compile(r"\\graphicspath\s*\{((?:\s*\{[^{}]*\}\s*)+)\}")


class FigureRules(StrictModel):
    """The scores of a figure's file name, caption and position.

    Attributes:
        in_method: The score of a figure in the method section.
        panel: The score of one of several pictures in a figure.
    """

    names: dict[str, float]
    captions: dict[str, float]
    in_method: float
    panel: float


@dataclass(frozen=True)
class FigureCandidate:
    """A picture in a figure of the paper.

    Attributes:
        file: Its path inside the source, or its name in the text if the file is missing.
        score: The sum of the scores of its name, caption and position.
        why_not: Why it cannot be used; None if it can.
        tikz: The LaTeX document that draws it, if it is not in a file.
    """

    file: str
    caption: str
    score: float
    why_not: str | None = None
    tikz: str = ""

    @property
    def is_pdf(self) -> bool:
        """Whether it is a PDF file, or TeX makes one of it."""
        return bool(self.tikz) or self.file.lower().endswith(PDF)


def rank_figures(
    document: str, method: str, names: Iterable[str], own: FigureRules, preamble: str = ""
) -> list[FigureCandidate]:
    """Return all pictures in a document's figures, the most likely method figure first."""
    known_files, figures = set(names), dict[str, FigureCandidate]()
    folders = [
        "",
        *(path for group in _PATHS.findall(preamble + document) for path in re.findall(r"\{([^{}]*)\}", group)),
    ]
    for figure in _FIGURE.finditer(document):
        pictures = _PICTURE.findall(figure["body"])
        caption = _caption(figure["body"])
        if not pictures and (drawing := _TIKZ.search(figure["body"])):
            name = f"TikZ figure {len(figures) + 1}"
            score = _score("", caption, figure[0] in method, 1, own)
            why = (
                None if drawing[0].startswith("\\begin") else "its TikZ file is not in the source: add it as PNG or PDF"
            )
            figures[name] = FigureCandidate(name, caption, score, why, _tikz_document(preamble, drawing[0]))
        for picture in dict.fromkeys(pictures):
            file = _find(picture, folders, known_files)
            score = _score(picture, caption, figure[0] in method, len(set(pictures)), own)
            candidate = FigureCandidate(file or picture, caption, score, _why_not(file))
            if candidate.file not in figures or figures[candidate.file].score < score:
                figures[candidate.file] = candidate
    return sorted(figures.values(), key=lambda candidate: -candidate.score)


def _tikz_document(preamble: str, drawing: str) -> str:
    """Return a document whose only page is a drawing, with the settings that it has in its paper."""
    settings = [preamble[command.start() : _end_of_arguments(preamble, command.end())]
                for command in _DRAWING.finditer(preamble)]  # fmt: skip
    return _PAGE % ("\n".join(settings), drawing)


def _end_of_arguments(text: str, at: int) -> int:
    while opening := _ARGUMENT.match(text, at):
        start = opening.end() - 1
        end = closing_brace(text, start) if text[start] == "{" else text.find("]", start)
        if end is None or end < 0:
            break
        at = end + 1
    return at


def _score(name: str, caption: str, in_method: bool, pictures: int, own: FigureRules) -> float:
    score = sum_weights(split_words(name), own.names) + sum_weights(split_words(caption), own.captions)
    return score + own.in_method * in_method + own.panel * (pictures > 1)


MAX_CAPTIONS = 50
"""The most captions of one figure that are read."""


def _caption(body: str) -> str:
    """Return the words of a figure's captions; the caption of the whole figure comes first."""
    captions = []
    for start in islice(_CAPTION.finditer(body), MAX_CAPTIONS):
        end = closing_brace(body, start.end())
        if end is not None:
            outer = not re.search(r"\\begin\s*\{sub", body[: start.start()]) or not re.search(
                r"\\end\s*\{sub", body[start.start() :]
            )
            captions.append((not outer, " ".join(latex_to_text(body[start.end() + 1 : end]).split())))
    return " ".join(words for _, words in sorted(captions, key=lambda caption: caption[0]))


def _find(name: str, folders: Iterable[str], known_files: set[str]) -> str | None:
    for folder in folders:
        path = posixpath.normpath(posixpath.join(folder.strip(), name.strip()))
        for full in (path, *(path + ending for ending in SUFFIX_ORDER)):
            if full in known_files:
                return full
    return None


def _why_not(file: str | None) -> str | None:
    if file is None:
        return "no such file in the source"
    ending = posixpath.splitext(file)[1].lower()
    if ending in PICTURE_SUFFIXES or ending == PDF:
        return None
    return f"{ending or 'no ending'}: PNG, JPEG, WebP, GIF, BMP and PDF are taken"


_HEAD = re.compile(r"\\(chapter|section)\*?\s*(?:\[[^\]]{0,999}\])?\s*(?=\{)")
_STOP = re.compile(
    r"\\appendix(?![a-zA-Z])|\\begin\s*\{(?:thebibliography|appendices)\}|\\bibliography\s*\{|\\printbibliography"
)


class MethodRules(StrictModel):
    """The headings that identify the method section.

    Attributes:
        yes: Words of its heading, with their weights.
        no: Words that its heading never has.
        before: Headings that come before it, used if no heading identifies it.
        after: Headings that come after it, used likewise.
        least_words: The fewest words of the section.
    """

    yes: dict[str, float]
    no: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    least_words: int


@dataclass(frozen=True)
class LatexSection:
    """A section with its heading; `text` begins with the LaTeX of the heading."""

    title: str
    text: str

    @property
    def words(self) -> int:
        """The number of its words, without commands."""
        return len(re.findall(r"[^\W\d_]{2,}", re.sub(r"\\[a-zA-Z]+", " ", self.text)))


def sections(document: str) -> list[LatexSection]:
    """Return the sections of a document, up to its appendix and its references."""
    stop = _STOP.search(document)
    body = document[: stop.start()] if stop else document
    heads = list(_HEAD.finditer(body))
    parts = []
    for head, after in zip_longest(heads, heads[1:]):
        end = closing_brace(body, head.end(), after.start() if after else len(body))
        if end is not None:
            title = re.sub(r"\\[a-zA-Z]+\*?|[{}$~]", " ", body[head.end() + 1 : end])
            text = body[head.start() : after.start() if after else None].strip()
            parts.append(LatexSection(" ".join(title.split()), text))
    return parts


def method_section(parts: Sequence[LatexSection], own: MethodRules) -> tuple[LatexSection, str] | None:
    """Return the method section and the rule that identified it; None if a model must decide."""
    scored = [(_section_score(section.title, own), -n) for n, section in enumerate(parts)]
    if scored and (best := max(scored))[0] > 0:
        section = parts[-best[1]]
        return (section, "its heading") if section.words >= own.least_words else None
    titles = [split_words(section.title) for section in parts]
    first = [n for n, title in enumerate(titles) if any(has_words(words, title) for words in own.before)]
    last = [n for n, title in enumerate(titles) if any(has_words(words, title) for words in own.after)]
    if not first or not last:
        return None
    # Related work may be at the end; the last introductory heading before the experiments counts.
    start = max((n for n in first if n < last[0]), default=None)
    between = [] if start is None else list(parts[start + 1 : last[0]])
    if len(between) == 1 and between[0].words >= own.least_words:
        return between[0], "its position"
    return None


def _section_score(title: str, own: MethodRules) -> float:
    words = split_words(title)
    if any(has_words(banned, words) for banned in own.no):
        return 0
    return max((weight for yes, weight in own.yes.items() if has_words(yes, words)), default=0)


SIDE = 2000
"""The longer side of a rendered page, in pixels."""
MEMORY = 4 * 2**30
SECONDS = 20
_FACTORY = f"{Path(__file__).with_name('pdf_worker.py')}:renderer"


def check_pdf() -> None:
    """Check that PDF figures can be rendered.

    Raises:
        UsageError: A package is missing; the message says what to do.
    """
    if find_spec("pypdfium2") is None:
        raise UsageError(
            "a figure is a PDF file, for which pypdfium2 is needed: pip install 'limner[build]'; "
            "or leave such figures out: --set figures.pdf=false"
        )


TEX = "pdflatex"


def compile_tikz(document: str) -> bytes:
    """Return the PDF file that a LaTeX document gives.

    Sources of papers are untrusted: TeX may run no program, reads and writes only in a folder of its own, gets no
    environment, and has limits of time, memory and size.

    Raises:
        BadImage: There is no TeX, or it cannot draw the document.
    """
    if (program := shutil.which(TEX)) is None:
        raise BadImage(f"drawn with TikZ: install {TEX} with TikZ, or add it as a PNG or PDF file")

    import resource

    def limit() -> None:
        for what, most in (
            (resource.RLIMIT_CPU, SECONDS),
            (resource.RLIMIT_AS, MEMORY),
            (resource.RLIMIT_FSIZE, MAX_BYTES),
        ):
            resource.setrlimit(what, (most, most))

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "figure.tex").write_text(document, encoding="utf-8")
        words = [program, "-interaction=batchmode", "-halt-on-error", "-no-shell-escape", "figure.tex"]
        safe = {"PATH": os.defpath, "HOME": folder, "openin_any": "p", "openout_any": "p"}
        try:
            subprocess.run(words, cwd=folder, env=safe, stdin=subprocess.DEVNULL, capture_output=True, check=True,
                           timeout=3 * SECONDS, preexec_fn=limit)  # fmt: skip
            return (path / "figure.pdf").read_bytes()
        except (subprocess.SubprocessError, OSError) as error:
            log = path / "figure.log"
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.is_file() else []
            why = next((line for line in lines if line.startswith("!")), str(error))
            raise BadImage(f"drawn with TikZ, and {TEX} cannot draw it: {why[:200]}") from None


def first_page(pdf: bytes) -> bytes:
    """Return the first page as PNG bytes.

    Raises:
        BadImage: The PDF file cannot be rendered.
    """
    from PIL import Image

    library = find_spec("pypdfium2")
    assert library is not None
    assert library.origin is not None
    args = {"library": str(Path(library.origin).parents[1]), "memory": MEMORY, "seconds": SECONDS, "side": SIDE}
    recipe = Recipe("pdf", _FACTORY, json.dumps(args), start_s=60, isolated=True, most=MAX_BYTES)
    try:
        result = once(recipe, {}, (pdf,), SECONDS * 10)
    except (WorkerDeath, JobFailure, WorkerUnfit) as error:
        raise BadImage(f"the PDF cannot be drawn: {error}") from None
    if not result.bodies:
        raise BadImage(f"the PDF cannot be drawn: {str(result.value)[:300]}")
    width, height, stride = struct.unpack_from("<3I", result.bodies[0])
    raw = result.bodies[0][struct.calcsize("<3I") :]
    return encode_png(Image.frombuffer("RGB", (width, height), raw, "raw", "RGB", stride, 1))
