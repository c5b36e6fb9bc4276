"""The judge's wording of an exam's release, read out of the user's own clone: ``--prompts release:FOLDER``.

Where it stands there says ``release.toml`` in the exam's folder of prompts: the file, the variant and options that it
belongs to, and for each template its variable (or ``Class.attribute``) with the places that are filled in: ``format``
names the fields of a text that the release fills with `str.format`, ``replace`` those that it puts in place of a mark.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError, UsageError
from ..core.prompts import Prompts, Template
from ..core.schema import read_toml
from .python_texts import read_texts

if TYPE_CHECKING:
    from . import Kind

LIST = "release.toml"
RELEASE = "release"
"""How a setup tells that the judge was asked in the release's own wording."""
PREFIX = f"{RELEASE}:"


@dataclass(frozen=True)
class ReleasedText:
    """One text of the release.

    Attributes:
        variable: Where it stands in the file.
        format: Fields that `str.format` fills, in the order of nameless ones.
        replace: Marks in the text, and the field that each stands for.
    """

    variable: str
    format: Sequence[str] = ()
    replace: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Release:
    """Where an exam's release has its wording, and how it is asked.

    Attributes:
        repository: The release's, for people to clone.
        templates: Templates by name.
    """

    repository: str
    file: str
    variant: str
    options: Mapping[str, str]
    templates: Mapping[str, ReleasedText]


def release_folder(prompts: Path | str | None) -> Path | None:
    """The clone that ``release:FOLDER`` names; None where a folder of the user's own wording is meant, or nothing."""
    word = str(prompts) if prompts is not None else ""
    if not word.startswith(PREFIX):
        return None
    if not word.removeprefix(PREFIX):
        raise UsageError("--prompts release:FOLDER: name the folder of your clone of the release")
    return Path(word.removeprefix(PREFIX)).expanduser()


def release_of(kind: Kind[Any]) -> Release | None:
    """What is known of the exam's release; None where it has no wording of a judge."""
    path = kind.prompts / LIST
    if not path.exists():
        return None
    body = read_toml(path)
    try:
        templates = {name: ReleasedText(**one) for name, one in body["templates"].items()}
        return Release(body["repository"], body["file"], body["variant"], body.get("options", {}), templates)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"does not say where the release's wording stands: {error}", file=path) from error


def read_release(kind: Kind[Any], folder: Path) -> tuple[Release, Prompts]:
    """The exam's release, and the templates that its wording makes.

    Raises:
        UsageError: The exam has no released wording, or the folder is none.
        DataError: The file in it is not as the release has it; says where and what to do.
    """
    release = release_of(kind)
    if release is None:
        said = "the authors have released no wording of their judge; --prompts DIR takes one of your own"
        raise UsageError(f"--prompts {PREFIX}{folder}: {kind.name}: {said}")
    if not folder.is_dir():
        raise UsageError(f"--prompts {PREFIX}{folder}: no such folder; clone {release.repository} there")
    texts = read_texts(folder, release.file, [one.variable for one in release.templates.values()])
    found = {}
    for name, one in release.templates.items():
        text, line = texts[one.variable]
        try:
            found[name] = _template(text, one)
        except ValueError as error:
            said = f"{one.variable}: {error}; check out the release's file anew, or write your own for --prompts DIR"
            raise DataError(said, file=folder / release.file, line=line) from error
    return release, Prompts(kind.prompts, released=found)


def _template(text: str, given: ReleasedText) -> Template:
    """The text with the places of its fields.

    Raises:
        ValueError: It is empty or cannot be sent, or a field is missing, unknown or asks for more than to be filled.
    """
    if not text.strip():
        raise ValueError("the text is empty")
    if re.search("[\ud800-\udfff]", text):
        raise ValueError("half of a surrogate pair stands in it, which cannot be sent")
    if given.format:
        pieces = _formatted(text, given.format)
    else:
        pieces = [text]
        for mark, name in given.replace.items():
            pieces = [part for n, one in enumerate(pieces) for part in ([one] if n % 2 else _cut(one, mark, name))]
    lacking = [name for name in (*given.format, *given.replace.values()) if name not in pieces[1::2]]
    if lacking:
        raise ValueError(f"nothing in the text is filled with {', '.join(lacking)}")
    return Template(text, tuple(pieces))


def _cut(piece: str, mark: str, name: str) -> list[str]:
    first, *rest = piece.split(mark)
    return [first, *(part for words in rest for part in (name, words))]


def _formatted(text: str, fields: Sequence[str]) -> list[str]:
    """Words and fields in turn, as `str.format` takes the text."""
    pieces, nameless, words = list[str](), 0, ""
    for literal, name, spec, conversion in string.Formatter().parse(text):
        words += literal
        if name is None:
            continue
        if spec or conversion:
            raise ValueError(f"the place {{{name}}} says how it is to be formatted, which is not done here")
        if not name:
            name, nameless = str(nameless), nameless + 1
        if name.isdecimal():
            name = fields[int(name)] if int(name) < len(fields) else name
        if name not in fields:
            raise ValueError(f"nothing is known to fill the place {{{name}}} with; there is: {', '.join(fields)}")
        pieces, words = [*pieces, words, name], ""
    return [*pieces, words]
