"""The judge's wording of an exam's release, read out of the user's own clone: ``--prompts release:FOLDER``.

Where it stands there says ``release.toml`` in the exam's folder of prompts: the file, the variant and options that it
belongs to, and for each template its variable (or ``Class.attribute``) with the places that are filled in: ``format``
names the fields of a text that the release fills with `str.format`, ``replace`` those that it puts in place of a mark.
"""

from __future__ import annotations

import ast
import re
import stat
import string
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ..core.asks import Variant
from ..core.errors import DataError, UsageError
from ..core.evaluator import SHORT
from ..core.prompts import Prompts, Template
from ..core.schema import read_toml

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
    """Return what is known of the exam's release; None where it has no wording of a judge."""
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
    """Return the exam's release, and the templates that its wording makes.

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
    """Return the text with the places of its fields.

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


LARGEST = 1_000_000
"""A file of more bytes is no file of prompts."""
INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""What has names of its own."""


def read_texts(folder: Path, file: str, names: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Text and line of each variable, or ``Class.attribute``, that a file in a folder sets to a text.

    Raises:
        DataError: The file cannot be taken, or what a name is set to is no plain text; says where and what to do.
    """
    path = _plain_file(folder, file)
    tree = _parsed(path)
    return {name: _text(path, tree, name) for name in names}


def _plain_file(folder: Path, file: str) -> Path:
    """Return the file, which must stand in the folder itself: a link could lead anywhere."""
    path = folder
    for part in PurePosixPath(file).parts:
        path = path / part
        if path.is_symlink():
            raise DataError("is a link, which is not followed; put the file itself there", file=path)
    try:
        found = path.lstat()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=path) from error
    if not stat.S_ISREG(found.st_mode):
        raise DataError("is no plain file; put the release's file there", file=path)
    if found.st_size > LARGEST:
        raise DataError(
            f"has {found.st_size:,} bytes, more than {LARGEST:,}; put the release's own file there", file=path
        )
    return path


def _parsed(path: Path) -> ast.Module:
    try:
        data = path.read_bytes()[: LARGEST + 1]
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=path) from error
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(f"not UTF-8 (byte {error.start}); save it as UTF-8", file=path, line=line) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        said = f"is no Python: {error.msg}; check out the release's file anew"
        raise DataError(said, file=path, line=error.lineno) from error
    except (ValueError, MemoryError, RecursionError) as error:
        said = (
            "cannot be parsed: nested too deeply, or with bytes that no source has; check out the release's file anew"
        )
        raise DataError(said, file=path) from error


def _text(path: Path, tree: ast.Module, name: str) -> tuple[str, int]:
    owner, dot, attribute = name.rpartition(".")
    body: Sequence[ast.stmt] = tree.body
    if dot:
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == owner]
        if len(classes) != 1:
            raise DataError(f"has {len(classes) or 'no'} class {owner}; one is wanted, as in the release", file=path)
        body = classes[0].body
    places = sorted(_places(body, attribute, of_self=bool(dot)), key=lambda place: place.lineno)
    if not places:
        raise DataError(f"does not set {name}; check out the release's file, or name its folder", file=path)
    if len(places) > 1:
        lines = " and ".join(str(place.lineno) for place in places[:2])
        said = f"{name} is set more than once (lines {lines}), and only running it would tell; keep one"
        raise DataError(said, file=path, line=places[-1].lineno)
    (place,) = places
    value = place.value if isinstance(place, ast.Assign | ast.AnnAssign) else None
    if value is None or any(isinstance(target, ast.Tuple | ast.List) for target in getattr(place, "targets", ())):
        raise DataError(f"{name} is not simply set to a text; write it as one", file=path, line=place.lineno)
    return "".join(_literals(path, name, value)), place.lineno


def _places(body: Sequence[ast.stmt], name: str, *, of_self: bool) -> Iterator[ast.stmt]:
    """Every statement of a module or a class that sets the name; with `of_self` the attribute too, in methods."""
    waiting: list[ast.AST] = [*body]
    for node in waiting:
        if isinstance(node, ast.stmt) and _binds(node, lambda part: isinstance(part, ast.Name) and part.id == name):
            yield node
        if isinstance(node, INNER):
            if node.name == name:
                yield node
            inner = [one for one in ast.walk(node) if isinstance(one, ast.stmt)] if of_self else []
            yield from (one for one in inner if _binds(one, lambda part: _of_self(part, name)))
        elif not isinstance(node, ast.expr):
            waiting.extend(ast.iter_child_nodes(node))


def _binds(node: ast.stmt, meant: Callable[[ast.AST], bool]) -> bool:
    """Whether a statement, not one inside it, gives what is meant a value or takes it away."""
    if isinstance(node, INNER):
        return False
    parts = (part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr | ast.withitem))
    walked = (inner for part in parts for inner in ast.walk(part))
    return any(meant(part) and not isinstance(getattr(part, "ctx", None), ast.Load) for part in walked)


def _of_self(part: ast.AST, name: str) -> bool:
    owner = part.value if isinstance(part, ast.Attribute) and part.attr == name else None
    return isinstance(owner, ast.Name) and owner.id == "self"


def _literals(path: Path, name: str, value: ast.expr) -> Iterator[str]:
    """Yield the texts that a value is made of: one, or several joined by a plus."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            waiting += [node.right, node.left]
        else:
            said = f"{name} is made with {_named(node)}, and nothing here is run; write it as a plain text"
            raise DataError(said, file=path, line=node.lineno)


def _named(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "an f-string"
    if isinstance(node, ast.Name):
        return f"the name {node.id}"
    if isinstance(node, ast.Call):
        return "a call"
    return f"what is no text ({type(node).__name__})"


SHIPPED, OWN = "shipped", "own"


def is_shipped(kind: Kind[Any], setup: Mapping[str, Any]) -> bool:
    """Return whether a judge was asked in the wording that this Limner ships."""
    variant = Variant(str(setup.get("variant")), Prompts(kind.prompts), setup.get("options") or {})
    try:
        return bool(setup.get("templates") == variant.prompts.hash(*kind.protocol.templates(variant)))
    except (UsageError, KeyError):
        return False  # A variant that the exam does not have.


def wording_names(kind: Kind[Any], setup: Mapping[str, Any]) -> tuple[str, ...]:
    """Return all that the wording of a way of asking can be called; nothing where it has none, as imported replies.

    ``own 3f2a`` is a user's, by its hash; ``release 3f2a`` or ``release`` that of a clone of the release; ``labels-1``
    the OCR examiner's rules.
    """
    if "rules" in setup:
        return (str(setup["rules"]),)
    if "templates" not in setup:
        return ()
    if is_shipped(kind, setup):
        return (SHIPPED,)
    given = setup.get("prompts")
    name = f"{given or OWN} {str(setup['templates'])[:SHORT]}"
    return (name, given) if given else (name,)
