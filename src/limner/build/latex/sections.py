"""The method section of a paper: by its heading, by where it stands, else by asking a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ...core.schema import StrictModel
from .macros import closing
from .plain import has, spoken

_HEAD = re.compile(r"\\(chapter|section)\*?\s*(?:\[[^\]]*\])?\s*(?=\{)")
_STOP = re.compile(
    r"\\appendix(?![a-zA-Z])|\\begin\s*\{(?:thebibliography|appendices)\}|\\bibliography\s*\{|\\printbibliography"
)


class MethodRules(StrictModel):
    """Which headings make a section the method section.

    Attributes:
        yes: Words of its heading, with their weights.
        no: Words that its heading never has.
        before: Headings that stand before it, where its own tells nothing.
        after: Headings that stand after it.
        least_words: A shorter one is not taken.
    """

    yes: dict[str, float]
    no: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    least_words: int


@dataclass(frozen=True)
class LatexSection:
    """A section with its heading; `text` begins with the heading as it is written."""

    title: str
    text: str

    @property
    def words(self) -> int:
        """How many words it has, commands not counted."""
        return len(re.findall(r"[^\W\d_]{2,}", re.sub(r"\\[a-zA-Z]+", " ", self.text)))


def sections(document: str) -> list[LatexSection]:
    """The sections of a document, up to its appendix and its references."""
    stop = _STOP.search(document)
    body = document[: stop.start()] if stop else document
    heads = list(_HEAD.finditer(body))
    found = []
    for head, after in zip_longest(heads, heads[1:]):
        end = closing(body, head.end())
        if end is not None:
            title = re.sub(r"\\[a-zA-Z]+\*?|[{}$~]", " ", body[head.end() + 1 : end])
            text = body[head.start() : after.start() if after else None].strip()
            found.append(LatexSection(" ".join(title.split()), text))
    return found


def method_section(found: Sequence[LatexSection], own: MethodRules) -> tuple[LatexSection, str] | None:
    """The method section and by which rule it was found; None where a model must say."""
    scored = [(_score(section.title, own), -n) for n, section in enumerate(found)]
    if scored and (best := max(scored))[0] > 0:
        section = found[-best[1]]
        return (section, "its heading") if section.words >= own.least_words else None
    titles = [spoken(section.title) for section in found]
    first = [n for n, title in enumerate(titles) if any(has(words, title) for words in own.before)]
    last = [n for n, title in enumerate(titles) if any(has(words, title) for words in own.after)]
    if not first or not last:
        return None
    # Related work may stand at the end; the last heading of the beginning that comes before the experiments counts.
    start = max((n for n in first if n < last[0]), default=None)
    between = [] if start is None else list(found[start + 1 : last[0]])
    if len(between) == 1 and between[0].words >= own.least_words:
        return between[0], "where it stands"
    return None


def _score(title: str, own: MethodRules) -> float:
    words = spoken(title)
    if any(has(banned, words) for banned in own.no):
        return 0
    return max((weight for yes, weight in own.yes.items() if has(yes, words)), default=0)
