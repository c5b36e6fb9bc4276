"""The figures of a paper, ranked by file name, caption and place before a model looks at any."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ...core.schema import StrictModel
from .macros import closing
from .plain import plain, spoken, weigh

TAKEN = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
PDF = ".pdf"
ORDER = (PDF, ".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".eps", ".ps", ".svg")
"""Endings tried where a figure is named without one, as LaTeX does."""
_FIGURE = re.compile(
    r"\\begin\s*\{(?P<env>(?:wrap|SC|margin|teaser)?figure\*?)\}(?P<body>.*?)\\end\s*\{(?P=env)\}", re.DOTALL
)
_PICTURE = re.compile(r"\\includegraphics\*?\s*(?:\[[^\]]*\])?\s*\{\s*\"?([^{}\"]+?)\"?\s*\}")
_CAPTION = re.compile(r"\\(?:caption(?:of\s*\{figure\})?)\*?\s*(?:\[[^\]]*\])?\s*(?=\{)")
_PATHS = re.compile(r"\\graphicspath\s*\{((?:\s*\{[^{}]*\}\s*)+)\}")


class FigureRules(StrictModel):
    """What a figure's file name, caption and place count for.

    Attributes:
        in_method: For standing in the method section.
        panel: For being one of several pictures in a figure.
    """

    names: dict[str, float]
    captions: dict[str, float]
    in_method: float
    panel: float


@dataclass(frozen=True)
class FigureCandidate:
    """A picture in a figure of the paper.

    Attributes:
        file: Its path inside the source, or as it is named where there is no such file.
        score: What its name, caption and place count for.
        why_not: Why it cannot be taken, where it cannot.
    """

    file: str
    caption: str
    score: float
    why_not: str | None = None


def candidates(
    document: str, method: str, names: Iterable[str], own: FigureRules, preamble: str = ""
) -> list[FigureCandidate]:
    """All pictures in the figures of a document, the likeliest method figure first."""
    known, found = set(names), dict[str, FigureCandidate]()
    folders = [
        "",
        *(path for group in _PATHS.findall(preamble + document) for path in re.findall(r"\{([^{}]*)\}", group)),
    ]
    for figure in _FIGURE.finditer(document):
        pictures = _PICTURE.findall(figure["body"])
        caption = _caption(figure["body"])
        for picture in dict.fromkeys(pictures):
            file = _find(picture, folders, known)
            score = _score(picture, caption, figure[0] in method, len(set(pictures)), own)
            one = FigureCandidate(file or picture, caption, score, _why_not(file))
            if one.file not in found or found[one.file].score < score:
                found[one.file] = one
    return sorted(found.values(), key=lambda one: -one.score)


def _score(name: str, caption: str, in_method: bool, pictures: int, own: FigureRules) -> float:
    score = weigh(spoken(name), own.names) + weigh(spoken(caption), own.captions)
    return score + own.in_method * in_method + own.panel * (pictures > 1)


def _caption(body: str) -> str:
    """The words of a figure's captions; the caption of the whole, which stands outermost, comes first."""
    found = []
    for start in _CAPTION.finditer(body):
        end = closing(body, start.end())
        if end is not None:
            outer = not re.search(r"\\begin\s*\{sub", body[: start.start()]) or not re.search(
                r"\\end\s*\{sub", body[start.start() :]
            )
            found.append((not outer, " ".join(plain(body[start.end() + 1 : end]).split())))
    return " ".join(words for _, words in sorted(found, key=lambda one: one[0]))


def _find(name: str, folders: Iterable[str], known: set[str]) -> str | None:
    for folder in folders:
        path = posixpath.normpath(posixpath.join(folder.strip(), name.strip()))
        for full in (path, *(path + ending for ending in ORDER)):
            if full in known:
                return full
    return None


def _why_not(file: str | None) -> str | None:
    if file is None:
        return "no such file in the source"
    ending = posixpath.splitext(file)[1].lower()
    if ending in TAKEN or ending == PDF:
        return None
    return f"{ending or 'no ending'}: PNG, JPEG, WebP, GIF, BMP and PDF are taken"
