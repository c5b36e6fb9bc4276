r"""One text out of a paper's files: comments gone, ``\input`` and its kin put in place."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...core.errors import DataError
from .sources import MAX_TEXT, LatexSource

DEPTH = 20
_VERBATIM = (
    r"\\begin\{(?P<verb>verbatim\*?|lstlisting|minted|Verbatim)\}.*?\\end\{(?P=verb)\}"
    r"|\\verb\*?(?P<q>[^\w\s*]).*?(?P=q)"
)
_DROPPED = re.compile(
    rf"(?P<keep>{_VERBATIM}|\\[\\%])|\\begin\{{comment\}}.*?\\end\{{comment\}}"
    r"|(?P<line>(?:^[ \t]*)?%[^\n]*(?:\n[ \t]*|\Z))",
    re.DOTALL | re.MULTILINE,
)
_CONSTANT = re.compile(r"\\(iffalse|iftrue)(?![a-zA-Z@])")
_IF = re.compile(r"(?<!\\newif)\\((?!iff\b|ifthenelse\b)if[a-zA-Z@]*|else|fi)(?![a-zA-Z@])")
_INPUT = re.compile(
    r"\\(?P<how>input|include|subfile|subfileinclude|import|subimport|loadglsentries)(?![a-zA-Z@])\s*"
    r"(?:\{(?P<one>[^{}]*)\}(?:\s*\{(?P<two>[^{}]*)\})?|(?P<bare>[^\s{}\\%]+))"
)
_CLASS = re.compile(r"\\document(?:class|style)\b")
_BEGIN = re.compile(r"\\begin\s*\{document\}")
_END = re.compile(r"\\end\s*\{document\}|\\endinput(?![a-zA-Z@])")
_SIDE = re.compile(r"supp|rebuttal|response|appendix|cover|letter|poster|slides|template|example", re.IGNORECASE)
_USUAL = ("main", "paper", "ms", "root", "article", "arxiv", "manuscript")


@dataclass(frozen=True)
class FlatPaper:
    """A paper as one text.

    Attributes:
        preamble: What stands before the document, with the local packages it loads.
        body: The document, without comments.
        main: The file it begins with.
        missing: Files that are named and not there.
    """

    preamble: str
    body: str
    main: str
    missing: tuple[str, ...] = ()


def flatten(source: LatexSource) -> FlatPaper:
    """The paper's main file with all that it takes in.

    Raises:
        DataError: No file is a document of its own.
    """
    plain = {name: without_comments(text) for name, text in source.texts.items()}
    roots = [name for name, text in plain.items() if _CLASS.search(text) and _BEGIN.search(text)]
    if not roots:
        raise DataError("no LaTeX file with \\documentclass and \\begin{document}", file=source.path, id=source.id)
    whole = {name: _Inliner(plain).run(name) for name in roots}
    main = min(roots, key=lambda name: _rank(name, whole[name][0]))
    text, missing = whole[main]
    begin = _BEGIN.search(text)
    assert begin is not None
    end = _END.search(text, begin.end())
    preamble = _packages(text[: begin.start()], plain) + text[: begin.start()]
    return FlatPaper(preamble, text[begin.end() : end.start() if end else None].strip(), main, tuple(missing))


def without_comments(text: str) -> str:
    r"""The text without comments and what ``\iffalse`` hides; verbatim text stays as it is.

    >>> without_comments("a 5\\% b % c\nd")
    'a 5\\% b d'
    """
    return _conditions(_DROPPED.sub(_dropped, text))


def _dropped(found: re.Match[str]) -> str:
    if found["keep"] is not None:
        return found["keep"]
    # A comment takes its line's end with it, but an empty line behind it still ends the paragraph.
    tail = found["line"] is not None and found[0].startswith("%")
    return "\n" if tail and found.string[found.end() : found.end() + 1] == "\n" else ""


def _conditions(text: str) -> str:
    r"""What ``\iffalse … \else`` hides goes, what it shows stays; one without its end stays as it is."""
    start = 0
    while opening := _CONSTANT.search(text, start):
        middle, end, depth = None, None, 0
        for found in _IF.finditer(text, opening.end()):
            if found[1] == "fi" and depth == 0:
                end = found
                break
            if found[1] == "else" and depth == 0:
                middle = found
            depth += (found[1] not in ("else", "fi")) - (found[1] == "fi")
        start = opening.end()
        if end is not None:
            first = text[opening.end() : (middle or end).start()]
            second = text[middle.end() : end.start()] if middle else ""
            text = text[: opening.start()] + (first if opening[1] == "iftrue" else second) + text[end.end() :]
            start = opening.start()
    return text


def _rank(name: str, text: str) -> tuple[bool, bool, int, int]:
    stem = posixpath.basename(name).rpartition(".")[0].lower()
    return bool(_SIDE.search(stem)), stem not in _USUAL, name.count("/"), -len(text)


def _packages(preamble: str, files: Mapping[str, str]) -> str:
    """The texts of local packages and of the class, in the order they are loaded."""
    found = []
    for kind, names in re.findall(
        r"\\(usepackage|RequirePackage|documentclass)\s*(?:\[[^\]]*\])?\s*\{([^{}]*)\}", preamble
    ):
        ending = ".cls" if kind == "documentclass" else ".sty"
        found += [files[name.strip() + ending] for name in names.split(",") if name.strip() + ending in files]
    return "\n".join(found)


class _Inliner:
    """Puts files in place; each use of a file counts towards the whole length."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files, self.missing, self.size = files, list[str](), 0

    def run(self, name: str) -> tuple[str, list[str]]:
        return self._inline(name, "", ()), self.missing

    def _inline(self, name: str, base: str, above: tuple[str, ...]) -> str:
        text = self.files[name]
        self.size += len(text)
        if above:
            begin = _BEGIN.search(text)  # A subfile is a document of its own.
            text = text[begin.end() if begin else 0 :]
            end = _END.search(text)
            text = text[: end.start()] if end else text

        def put(found: re.Match[str]) -> str:
            inner, wanted = base, found["one"] if found["one"] is not None else found["bare"]
            rest = ""
            if found["how"] in ("import", "subimport"):
                inner = posixpath.join(base if found["how"] == "subimport" else "", wanted.strip())
                wanted = found["two"] or ""
            elif found["two"] is not None:
                rest = found[0][found[0].rindex("{") :]  # Braces that belong to what follows.
            file = self._find(wanted.strip().strip('"'), inner)
            if file is None:
                self.missing.append(wanted.strip())
                return rest
            if file in (*above, name) or len(above) >= DEPTH or self.size > MAX_TEXT:
                return rest
            return self._inline(file, inner, (*above, name)) + rest

        return _INPUT.sub(put, text)

    def _find(self, wanted: str, base: str) -> str | None:
        for folder in dict.fromkeys((base, "")):
            path = posixpath.normpath(posixpath.join(folder, wanted))
            for name in (path, f"{path}.tex", f"{path}.ltx"):
                if name in self.files:
                    return name
        return None
