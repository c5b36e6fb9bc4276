r"""Expansion of the macros that a paper defines, with ``\newcommand``, ``\def`` and similar commands.

Anything that only TeX itself can evaluate (conditions, catcodes, counters) is left unchanged.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ....core.asks import Unreadable
from ..protocol import strip_latex
from .latex_sources import FlatPaper

MAX_STEPS = 50_000
MAX_LENGTH = 5_000_000
MAX_BODY = 20_000
MAX_GROUP = 200_000
"""The most characters of a group in braces."""
MAX_UNCLOSED = 100
"""The most groups without an end that are looked for."""
_NAME = re.compile(r"\\([a-zA-Z@]+\*?|.)", re.DOTALL)
_WORD_END = re.compile(r"\\[a-zA-Z@]+\Z")
_BLANK = re.compile(r"\s*")
_DEFINING = frozenset({"newcommand", "renewcommand", "providecommand", "DeclareRobustCommand", "def", "gdef", "edef",
                       "xdef", "DeclareMathOperator", "let"})  # fmt: skip
_BEYOND = re.compile(r"@|\\(?:if|else|fi|csname|expandafter|futurelet|catcode|def|let|begingroup|stepcounter|value)\b")
"""Commands in a macro's body that only TeX itself can evaluate."""
_STRUCTURE = "section subsection subsubsection paragraph chapter begin end item label caption title author maketitle"
_LINKS = "cite citep citet ref eqref footnote input include includegraphics bibliography url href"
_LOOKS = "textbf textit emph texttt textsc mathbf mathrm frac sum left right"
_KEPT = frozenset(f"{_STRUCTURE} {_LINKS} {_LOOKS}".split())
"""Commands that later steps rely on; if a paper redefines them, it only changes their looks."""


@dataclass(frozen=True)
class LatexMacro:
    """A macro that the paper defines.

    Attributes:
        default: The default of the first argument; None if no argument is optional.
    """

    arguments: int
    body: str
    default: str | None = None


def expand_macros(paper: FlatPaper) -> tuple[str, tuple[str, ...]]:
    """Return the document with its own macros expanded, and notes on those that could not be."""
    expander = _Expander()
    expander.run(paper.preamble)
    text = expander.run(paper.body)
    return text, tuple(dict.fromkeys(expander.notes))


class _Expander:
    """A single pass over a text; definitions are valid from their position on."""

    def __init__(self) -> None:
        self.macros: dict[str, LatexMacro] = {}
        self.notes: list[str] = []
        self.steps = self.length = self.unclosed = 0
        self.text, self.at, self.rest = "", 0, list[tuple[str, int]]()

    def run(self, text: str) -> str:
        out: list[str] = []
        self.text, self.at, self.rest = text, 0, []
        while True:
            start = self.text.find("\\", self.at)
            if start < 0:
                out.append(self.text[self.at :])
                if not self.rest:
                    return "".join(out)
                self.text, self.at = self.rest.pop()
                continue
            out.append(self.text[self.at : start])
            self.at = start
            out.append(self._command())

    def _command(self) -> str:
        """Return the final text of the command here; text to be processed again is put in front of the rest."""
        match = _NAME.match(self.text, self.at)
        if match is None:
            self.at += 1
            return "\\"
        name = match[1].rstrip("*")
        if name in _DEFINING:
            start, self.at = self.at, match.end()
            if self._define(name):
                return ""
            written, self.at = self.text[start : match.end()], match.end()
            return written
        macro = self.macros.get(match[1]) or self.macros.get(name)
        if macro is None or self.steps >= MAX_STEPS or self.length >= MAX_LENGTH:
            self.at = match.end()
            if macro is not None:
                self.notes.append("macros that expand without end are left unexpanded")
            return match[0]
        self.at = match.end() if match[1] in self.macros else match.end() - match[1].count("*")
        self._apply(macro, name)
        return ""

    def _apply(self, macro: LatexMacro, name: str) -> None:
        values = []
        for number in range(macro.arguments):
            optional = number == 0 and macro.default is not None
            value = self._optional() if optional else self._argument()
            values.append((macro.default or "") if optional and value is None else value or "")
        body = re.sub(r"#([1-9])", lambda spot: values[int(spot[1]) - 1] if int(spot[1]) <= len(values) else "",
                      macro.body)  # fmt: skip
        if name.isalpha() and macro.arguments == 0:
            # TeX skips blanks after a command; \xspace restores one if a word follows.
            gap = _BLANK.match(self.text, self.at)
            after = gap.end() if gap and "\n\n" not in gap[0] else self.at
            if body.rstrip().endswith("\\xspace"):
                body = body.rstrip().removesuffix("\\xspace")
                following = self.text[after : after + 1]
                body += " " if after > self.at and (following.isalnum() or following in "\\$(") and following else ""
            elif self.text[after : after + 2] == "{}":
                after += 2
            self.at = after
        if self.at < len(self.text):
            self.rest.append((self.text, self.at))
        following = self.rest[-1][0][self.rest[-1][1]] if self.rest else ""
        if _WORD_END.search(body) and following.isalpha():
            body += " "  # The command at its end must not merge with the next word.
        self.steps += 1
        self.length += len(body)
        self.text, self.at = body, 0

    def _read_on(self) -> None:
        """Append a part of the text that follows."""
        text, at = self.rest.pop()
        self.text += text[at : at + MAX_GROUP]
        if at + MAX_GROUP < len(text):
            self.rest.append((text, at + MAX_GROUP))

    def _define(self, how: str) -> bool:
        if self.text[self.at : self.at + 1] == "*":
            self.at += 1
        name = self._defined_name()
        if name is None:
            return False
        count, default = 0, None
        if how == "let":
            self._let(name)
            return True
        if how in ("def", "gdef", "edef", "xdef"):
            parameters = re.compile(r"((?:#[1-9])*)\s*(?=\{)").match(self.text, self.at)
            if parameters is None:
                return False
            count, self.at = len(parameters[1]) // 2, parameters.end()
        elif how != "DeclareMathOperator":
            size = self._optional()
            count = int(size) if size and size.strip().isdigit() else 0
            default = self._optional() if size else None
        body = self._argument()
        if body is None:
            return False
        if how == "DeclareMathOperator":
            body = rf"\operatorname{{{body}}}"
        self._keep(how, name, LatexMacro(count, body, default))
        return True

    def _keep(self, how: str, name: str, macro: LatexMacro) -> None:
        if how == "providecommand" and name in self.macros:
            return
        if name in _KEPT or _BEYOND.search(macro.body) or len(macro.body) > MAX_BODY or macro.arguments > 9:
            self.macros.pop(name, None)
            return
        self.macros[name] = macro

    def _let(self, name: str) -> None:
        match = re.compile(r"\s*=?\s*\\([a-zA-Z@]+|.)").match(self.text, self.at)
        if match is None:
            return
        self.at = match.end()
        self._keep("let", name, self.macros.get(match[1]) or LatexMacro(0, "\\" + match[1]))

    def _defined_name(self) -> str | None:
        match = re.compile(r"\s*(?:\{\s*\\([a-zA-Z@]+|.)\s*\}|\\([a-zA-Z@]+|.))").match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match[1] or match[2]

    def _optional(self) -> str | None:
        self._ahead()
        if self.text[self.at : self.at + 1] != "[":
            return None
        depth = 0
        for place in range(self.at + 1, min(self.at + 999, len(self.text))):
            letter = self.text[place]
            depth += (letter == "{") - (letter == "}")
            if letter == "]" and depth == 0:
                value, self.at = self.text[self.at + 1 : place], place + 1
                return value
        return None

    def _argument(self) -> str | None:
        """Return a group without its braces, a command, or one letter."""
        self._ahead()
        first = self.text[self.at : self.at + 1]
        if first != "{":
            match = _NAME.match(self.text, self.at)
            value = match[0] if match else first
            self.at += len(value)
            return value or None
        while self.unclosed < MAX_UNCLOSED:
            if (end := closing_brace(self.text, self.at, self.at + MAX_GROUP)) is not None:
                value, self.at = self.text[self.at + 1 : end], end + 1
                self.length += len(value)
                return value
            if not self.rest or len(self.text) - self.at > MAX_GROUP:
                self.unclosed += 1
                return None
            self._read_on()
        return None

    def _ahead(self) -> None:
        """Skip blanks; at the end of the text, continue with the text that follows."""
        while True:
            gap = _BLANK.match(self.text, self.at)
            assert gap is not None
            if gap.end() < len(self.text) or not self.rest:
                self.at = gap.end()
                return
            self._read_on()


_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


def closing_brace(text: str, opening: int, end: int = sys.maxsize) -> int | None:
    r"""Return the position of the brace before `end` that closes the one at `opening`.

    >>> closing_brace(r"{a{b}\\}}c", 0)
    7
    """
    depth = 0
    for brace in _BRACE.finditer(text, opening, end):
        depth += (brace[0] == "{") - (brace[0] == "}")
        if depth == 0:
            return brace.start()
    return None


MAX_LISTED_TERMS = 12
"""The most terms that are listed for the model."""
_COMMAND = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}|\\[a-zA-Z]+\*?|\\.")
_ASIDE = re.compile(r"^(.+?)\s*[(\[]([^()\[\]]+)[)\]]\s*$")
_NUMBERED = re.compile(r"^(?:phase|step|stage|part)\s+(?:\d+|[ivx]+)\s*[:.–—-]\s*", re.IGNORECASE)
_GREEK_NAMES = """
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega
"""
_GREEK = dict(zip("αβγδεζηθικλμνξπρστυφχψω", _GREEK_NAMES.split(), strict=True))


@lru_cache(maxsize=64)
def latex_to_text(latex: str) -> str:
    """Return the text as a reader sees it, without figures and citations."""
    from pylatexenc.latex2text import LatexNodes2Text

    text = strip_latex(latex)
    try:
        return str(LatexNodes2Text(math_mode="text").latex_to_text(text))
    except Exception:  # LaTeX in papers can break the parser in any way.
        return re.sub(r"[{}$~]", " ", _COMMAND.sub(" ", text))


@lru_cache(maxsize=4096)
def fold_text(text: str) -> str:
    """Return the words and numbers in lower case, with variant spellings unified.

    >>> fold_text("Pre-Training of the encoder $E_\\\\theta$ (ours)")
    'pre training of the encoder e theta ours'
    """
    text = unicodedata.normalize("NFKC", _COMMAND.sub(lambda command: f" {command[0].strip(chr(92))} ", text))
    text = "".join(_GREEK.get(letter, letter) for letter in text.casefold())
    text = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return " ".join(re.findall(r"[^\W_]+", text))


def occurs(term: str, latex: str) -> bool:
    """Return whether a term occurs in a LaTeX text, as read or as written.

    A name with an aside, such as ``Teacher Model (DAM)``, occurs if both parts do; ``Step 1: Encoding`` occurs if
    ``Encoding`` does.
    """
    return all(_occurs_in(part, latex) for part in _parts(term))


def absent_terms(terms: Iterable[str], latex: str) -> list[str]:
    """Return the terms that do not occur in the text, each once."""
    return [term for term in dict.fromkeys(terms) if not occurs(term, latex)]


def require_terms(terms: Iterable[str], latex: str) -> None:
    """Check that all terms of a reply occur in the text.

    Raises:
        Unreadable: Some do not; the message lists them.
    """
    if absent := absent_terms(terms, latex):
        raise Unreadable(f"these terms do not occur in the text: {'; '.join(absent[:MAX_LISTED_TERMS])}")


def _parts(term: str) -> list[str]:
    term = _NUMBERED.sub("", term.strip()) or term
    aside = _ASIDE.match(term)
    return [aside[1], aside[2]] if aside else [term]


def _occurs_in(term: str, latex: str) -> bool:
    # A term may be given as LaTeX itself, such as $h_g$.
    wanted = {fold_text(term), fold_text(latex_to_text(term))} - {""}
    texts = (fold_text(latex_to_text(latex)), fold_text(strip_latex(latex)))
    # The text may have the plural of a name.
    return any(f" {words}{end} " in f" {text} " for words in wanted for end in ("", "s") for text in texts)


def split_words(text: str) -> str:
    """Return the words of a heading, a caption or a file name, in lower case, separated by single blanks.

    >>> split_words("figs/OurMethod_v2-Overview.pdf")
    'figs our method v 2 overview pdf'
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", " ", text)
    return " ".join(re.findall(r"[^\W_]+", apart.casefold()))


def has_words(words: str, text: str) -> bool:
    """Return whether these words occur in a text; both must be results of `split_words`."""
    return f" {words} " in f" {text} "


def sum_weights(text: str, weights: Mapping[str, float]) -> float:
    """Return the sum of the weights of the words in a text, which is a result of `split_words`."""
    return sum(weight for words, weight in weights.items() if has_words(words, text))
