"""Prompt templates: Markdown with ``{{name}}`` fields, shipped or written by the user."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import UsageError


@dataclass(frozen=True)
class Template:
    """A text with fields at known positions, so that other braces do no harm.

    Attributes:
        text: The original text, used for hashing.
        pieces: Pieces of text alternating with field names, starting and ending with text.
    """

    text: str
    pieces: tuple[str, ...]

    def fill(self, fields: Mapping[str, str]) -> str:
        """Return the text with its fields filled in."""
        return "".join(fields[piece] if n % 2 else piece for n, piece in enumerate(self.pieces))


class Prompts:
    """A set of Markdown templates with ``{{name}}`` fields, shipped or written by the user.

    Attributes:
        released: The templates of the authors' release; if there are any, only these are used.
    """

    def __init__(self, shipped: Path, own: Path | None = None, released: Mapping[str, Template] | None = None) -> None:
        self.shipped, self.own, self.released = shipped, own, dict(released or {})
        self._read = {name: template.text for name, template in self.released.items()}
        if own is not None:
            self._check(own)

    def _check(self, own: Path) -> None:
        """Check that every file of the user's folder replaces a template; hidden files are ignored."""
        if not own.is_dir():
            raise UsageError(f"--prompts {own}: no such folder")
        names = sorted(path.name for path in self.shipped.glob("*.md"))
        files = [path.name for path in own.iterdir() if path.is_file() and not path.name.startswith(".")]
        unknown = sorted(set(files) - set(names))
        if unknown:
            raise UsageError(
                f"--prompts {own}: {unknown[0]} is not a prompt template; templates are: {', '.join(names)}"
            )

    def text(self, name: str) -> str:
        """Return the template called `name`, preferably from the user's folder; it is read once."""
        if name not in self._read:
            self._read[name] = self._load(name)
        return self._read[name]

    def _load(self, name: str) -> str:
        for folder in (self.own, self.shipped):
            if folder is not None and (path := folder / f"{name}.md").is_file():
                try:
                    return path.read_text(encoding="utf-8")
                except (OSError, UnicodeDecodeError) as error:
                    raise UsageError(f"prompt template {path}: cannot be read: {error}") from error
        raise UsageError(f"no prompt template {name}.md in {self.own or self.shipped}")

    def hash(self, *names: str) -> str:
        """Return a hash that identifies the wording of the named templates."""
        digest = hashlib.sha256()
        for name in sorted(names):
            digest.update(name.encode() + b"\0" + self.text(name).encode() + b"\0")
        return digest.hexdigest()[:12]

    def fill(self, name: str, /, *, spare: Collection[str] = (), **fields: str) -> str:
        """Return the template with its fields filled in.

        Args:
            name: The template's name.
            spare: Fields that the template may lack, because they contain only wording of our own.
            **fields: The values; a field that the template lacks is an error.
        """
        if name in self.released:
            return self.released[name].fill(fields)
        text = self.text(name)
        for field_name in fields:
            if field_name not in spare and f"{{{{{field_name}}}}}" not in text:
                raise UsageError(f"prompt template {name}.md lacks the field {{{{{field_name}}}}}")
        # One pass over the template, so that "{{…}}" inside a value is not filled.
        pieces = text.split("{{")
        out = [pieces[0]]
        for piece in pieces[1:]:
            key, end, rest = piece.partition("}}")
            out.append(fields[key] + rest if end and key in fields else "{{" + piece)
        return "".join(out)


_COMMENT = re.compile(r"^[ \t]*%.*(?:\n|\Z)|(?<!\\)((?:\\\\)*)%.*", re.MULTILINE)
_FIGURES = [f"{kind}figure{star}" for kind in ("", "wrap", "sub", "SC", "margin") for star in ("", "*")]
_PICTURE = re.compile(r"\\includegraphics\*?\s*(?:\[[^\]]{0,999}\])?\s*\{[^{}]*\}")
_CITATION = re.compile(
    r"(?<![ \t~])[ \t~]*\\(?:[cC]ite|[pP]arencite|[tT]extcite|[aA]utocite|[fF]ootcite|nocite)"
    r"(?:p|t|alp|alt|author|year|yearpar)?\*?"
    r"\s*(?:\[[^\]]{0,999}\]\s*){0,2}\{[^{}]{0,9999}\}"
)
_GAP = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


def _without_environment(text: str, name: str) -> str:
    """Return LaTeX text without an environment, in linear time: after its last end, no beginning has one."""
    begin, end = (rf"\\{word}\s*\{{{re.escape(name)}\}}" for word in ("begin", "end"))
    *_, last = [0, *(match.end() for match in re.finditer(rf"{end}[ \t]*\n?", text))]
    return re.sub(rf"{begin}.*?{end}[ \t]*\n?", "", text[:last], flags=re.DOTALL) + text[last:]


def strip_latex(text: str) -> str:
    r"""Return LaTeX text without comments, figures and citations.

    >>> strip_latex("An encoder~\\cite{a,b} maps $x$ to $z$.% see Fig. 2")
    'An encoder maps $x$ to $z$.'
    """
    text = _COMMENT.sub(lambda match: match[1] or "", text)
    for name in _FIGURES:
        text = _without_environment(text, name)
    for pattern in (_PICTURE, _CITATION):
        text = pattern.sub("", text)
    return _GAP.sub("\n\n", text).strip()
