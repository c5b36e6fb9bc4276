"""The wording of prompts in an exam's release, read from a user's clone: ``--prompts release:FOLDER``.

``release.toml`` in the exam's prompts folder names the file, the variant and options, and for each template the
variable (or ``Class.attribute``, or the key in a YAML file) and its fields: ``format`` names those that the release
fills with `str.format`, ``replace`` those that it substitutes for a marker, ``places`` the expressions of an f-string
inside a ``function``. ``templates`` are those of the judge, ``drawing`` those of painters.
"""

from __future__ import annotations

import ast
import re
import stat
import string
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast

from pydantic import Field

from ..core.asks import Prompts, Template, Variant
from ..core.errors import DataError, UsageError
from ..core.evaluator import HASH_LETTERS
from ..core.json_text import parse_json
from ..core.schema import StrictModel, read_model

if TYPE_CHECKING:
    from . import Kind

RELEASE_FILE = "release.toml"
RELEASE = "release"
"""The value in the setup of a judge that is asked in the release's own wording."""
PREFIX = f"{RELEASE}:"


class ReleasedText(StrictModel):
    """One text of the release.

    Attributes:
        variable: The variable that holds it in the file; empty if there is only what `then` adds.
        format: The fields filled by `str.format`, unnamed ones in order; or placeholder -> field.
        replace: Marker in the text -> the field that replaces it.
        file: The file, if it is not the release's usual one.
        function: The function with the text, which is an f-string there; without `variable`, the only one that has all
            `places`.
        places: Expression in the f-string -> the field that replaces it.
        then: What the release's code adds to the text; then `format` is about this.
    """

    variable: str = ""
    format: tuple[str, ...] | dict[str, str] = ()
    replace: dict[str, str] = Field(default_factory=dict)
    file: str | None = None
    function: str = ""
    places: dict[str, str] = Field(default_factory=dict)
    then: str = ""

    @property
    def fields(self) -> Mapping[str, str]:
        """Placeholder of `format` -> field."""
        return self.format if isinstance(self.format, Mapping) else {name: name for name in self.format}


class Release(StrictModel):
    """The location of the wording in an exam's release, and the variant and options that go with it.

    Attributes:
        repository: The release's repository, which users clone.
        templates: The release's texts for the judge, by name of our template.
        drawing: Those for painters.
    """

    repository: str
    file: str
    variant: str
    options: dict[str, str] = Field(default_factory=dict)
    templates: dict[str, ReleasedText]
    drawing: dict[str, ReleasedText] = Field(default_factory=dict)


def release_folder(prompts: Path | str | None) -> Path | None:
    """Return the folder of ``release:FOLDER``; None for anything else."""
    word = str(prompts) if prompts is not None else ""
    if not word.startswith(PREFIX):
        return None
    if not word.removeprefix(PREFIX):
        raise UsageError("--prompts release:FOLDER: give the folder of your clone of the release")
    return Path(word.removeprefix(PREFIX)).expanduser()


def release_of(kind: Kind[Any]) -> Release | None:
    """Return the exam's release; None if that has no wording for a judge."""
    path = kind.prompts / RELEASE_FILE
    return read_model(path, Release) if path.exists() else None


def read_release(kind: Kind[Any], folder: Path, *, drawing: bool = False) -> tuple[Release, Prompts]:
    """Return the exam's release, and the templates of the judge, or of painters, made from its wording.

    Raises:
        UsageError: The exam has no released wording, or there is no such folder.
        DataError: The file there differs from the release's; the message says where and what to do.
    """
    release = release_of(kind)
    if release is None:
        message = "the authors have not released their judge's wording; use --prompts DIR with your own"
        raise UsageError(f"--prompts {PREFIX}{folder}: {kind.name}: {message}")
    if not folder.is_dir():
        raise UsageError(f"--prompts {PREFIX}{folder}: no such folder; clone {release.repository} there")
    templates = {}
    for name, released_text in (release.drawing if drawing else release.templates).items():
        file, name_there = released_text.file or release.file, released_text.variable
        if released_text.function:
            templates[name] = _read_f_string(folder, file, released_text)
            continue
        text, line = read_texts(folder, file, [name_there])[name_there] if name_there else ("", 1)
        try:
            templates[name] = _template(text, released_text)
        except ValueError as error:
            advice = "check out the release's file again, or write your own for --prompts DIR"
            message = f"{released_text.variable}: {error}; {advice}"
            raise DataError(message, file=folder / file, line=line) from error
    return release, Prompts(kind.prompts, released=templates)


def drawing_prompts(kind: Kind[Any], prompts: Path | str | None) -> Prompts:
    """Return the templates of the prompts for painters: the user's, the release's, or the shipped ones."""
    if (clone := release_folder(prompts)) is not None:
        return read_release(kind, clone, drawing=True)[1]
    return Prompts(kind.prompts, Path(prompts) if prompts is not None else None)


def _template(text: str, given: ReleasedText) -> Template:
    """Return the text as a template.

    Raises:
        ValueError: The text is empty or cannot be sent, or a field is missing, unknown or has a format.
    """
    if not (text + given.then).strip():
        raise ValueError("the text is empty")
    if re.search("[\ud800-\udfff]", text):
        raise ValueError("it contains half of a surrogate pair, which cannot be sent")
    if given.then:
        first, *others = _split_format(given.then, given.fields)
        pieces = [text + first, *others]
    elif given.format or isinstance(given.format, Mapping):
        pieces = _split_format(text, given.fields)
    else:
        pieces = [text]
        for mark, name in given.replace.items():
            split = ([piece] if n % 2 else _split_at_mark(piece, mark, name) for n, piece in enumerate(pieces))
            pieces = [part for parts in split for part in parts]
    lacking = [name for name in (*given.fields.values(), *given.replace.values()) if name not in pieces[1::2]]
    if lacking:
        raise ValueError(f"the text has no place for {', '.join(lacking)}")
    return Template(text + given.then, tuple(pieces))


def _read_f_string(folder: Path, file: str, given: ReleasedText) -> Template:
    """Return the template made from an f-string inside a function; nothing in it is run.

    Raises:
        DataError: There is not exactly one such text, or it has other expressions.
    """
    path = _plain_file(folder, file)
    functions = [
        node for node in ast.walk(_parse_source(path)) if isinstance(node, SCOPES) and node.name == given.function
    ]
    texts = [node for function in functions for node in _f_strings(function, given.variable)]
    fitting = [node for node in texts if set(_expressions(node)) == set(given.places)]
    if len(fitting) != 1:
        places = f" with the places {', '.join(given.places)}" if given.places else ""
        message = f"has {len(fitting) or 'no'} text{places} in {given.function}; check out the release's file again"
        raise DataError(message, file=path)
    pieces = [""]
    for part in fitting[0].values:
        if isinstance(part, ast.FormattedValue):
            pieces += [given.places[ast.unparse(part.value)], ""]
        else:
            pieces[-1] += str(cast(ast.Constant, part).value)
    return Template("".join(f"{{{piece}}}" if n % 2 else piece for n, piece in enumerate(pieces)), tuple(pieces))


def _f_strings(function: ast.AST, variable: str) -> Iterator[ast.JoinedStr]:
    """Yield the f-strings in a function, or those to which a variable is set."""
    for node in ast.walk(function):
        if isinstance(node, ast.JoinedStr) and not variable:
            yield node
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.JoinedStr)
            and variable in map(ast.unparse, node.targets)
        ):
            yield node.value


def _expressions(text: ast.JoinedStr) -> Iterator[str]:
    for part in text.values:
        if isinstance(part, ast.FormattedValue):
            plain = part.conversion == -1 and part.format_spec is None
            yield ast.unparse(part.value) if plain else f"{ast.unparse(part.value)} with a format"


def _split_at_mark(piece: str, mark: str, name: str) -> list[str]:
    first, *rest = piece.split(mark)
    return [first, *(part for words in rest for part in (name, words))]


def _split_format(text: str, fields: Mapping[str, str]) -> list[str]:
    """Return text and field names alternately, as `str.format` splits the text."""
    order = list(fields)
    pieces, nameless, words = list[str](), 0, ""
    for literal, name, spec, conversion in string.Formatter().parse(text):
        words += literal
        if name is None:
            continue
        if spec or conversion:
            raise ValueError(f"the place {{{name}}} has a format, which is not supported")
        if not name:
            name, nameless = str(nameless), nameless + 1
        if name.isdecimal():
            name = order[int(name)] if int(name) < len(order) else name
        if name not in fields:
            raise ValueError(f"the place {{{name}}} cannot be filled; choose from: {', '.join(fields)}")
        pieces, words = [*pieces, words, fields[name]], ""
    return [*pieces, words]


MAX_FILE_BYTES = 1_000_000
"""The maximum size of a file of prompts, in bytes."""
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""Statements that open a new scope."""


def read_texts(folder: Path, file: str, names: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Return the text and line of each of these variables, or ``Class.attribute``, in a file.

    Raises:
        DataError: The file cannot be used, or a name is not set to plain text; the message says where and what to do.
    """
    path = _plain_file(folder, file)
    if path.suffix == ".yaml":
        return {name: _yaml_text(path, name) for name in names}
    tree = _parse_source(path)
    return {name: _literal_text(path, tree, name) for name in names}


def _plain_file(folder: Path, file: str) -> Path:
    """Return the path of the file, which must not be reached through a link, as that could lead anywhere."""
    path = folder
    for part in PurePosixPath(file).parts:
        path = path / part
        if path.is_symlink():
            raise DataError("is a link, which is not followed; copy the file itself there", file=path)
    try:
        status = path.lstat()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=path) from error
    if not stat.S_ISREG(status.st_mode):
        raise DataError("is not a regular file; copy the release's file there", file=path)
    if status.st_size > MAX_FILE_BYTES:
        raise DataError(
            f"has {status.st_size:,} bytes, more than {MAX_FILE_BYTES:,}; copy the release's own file there", file=path
        )
    return path


def _yaml_text(path: Path, name: str) -> tuple[str, int]:
    """Return the text and line of the only key of this name, which must be in double quotes on one line."""
    source = _read_source(path)
    text = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
    places = list(re.finditer(rf"^[ \t]*{name}:\s*({text})\s*$", source, re.MULTILINE))
    if len(places) != 1:
        message = f"sets {name} to a text in double quotes on one line {len(places)} times; it must do so once"
        raise DataError(f"{message}; check out the release's file again", file=path)
    return str(parse_json(places[0][1])), source.count("\n", 0, places[0].start(1)) + 1


def _read_source(path: Path) -> str:
    try:
        data = path.read_bytes()[: MAX_FILE_BYTES + 1]
        return data.decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=path) from error
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(f"not UTF-8 (byte {error.start}); save it as UTF-8", file=path, line=line) from error


def _parse_source(path: Path) -> ast.Module:
    text = _read_source(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        message = f"is not Python: {error.msg}; check out the release's file again"
        raise DataError(message, file=path, line=error.lineno) from error
    except (ValueError, MemoryError, RecursionError) as error:
        message = "cannot be parsed: it is nested too deeply or has invalid bytes; check out the release's file again"
        raise DataError(message, file=path) from error


def _literal_text(path: Path, tree: ast.Module, name: str) -> tuple[str, int]:
    owner, dot, attribute = name.rpartition(".")
    body: Sequence[ast.stmt] = tree.body
    if dot:
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == owner]
        if len(classes) != 1:
            raise DataError(f"has {len(classes) or 'no'} class {owner}; it must have one, as in the release", file=path)
        body = classes[0].body
    places = sorted(_assignments(body, attribute, of_self=bool(dot)), key=lambda place: place.lineno)
    if not places:
        raise DataError(f"does not set {name}; check out the release's file, or name its folder", file=path)
    if len(places) > 1:
        lines = " and ".join(str(place.lineno) for place in places[:2])
        message = f"{name} is set more than once (lines {lines}), and the value depends on running it; keep one"
        raise DataError(message, file=path, line=places[-1].lineno)
    (place,) = places
    value = place.value if isinstance(place, ast.Assign | ast.AnnAssign) else None
    if value is None or any(isinstance(target, ast.Tuple | ast.List) for target in getattr(place, "targets", ())):
        raise DataError(f"{name} is not simply set to a text; write it as one", file=path, line=place.lineno)
    return "".join(_literals(path, name, value)), place.lineno


def _assignments(body: Iterable[ast.AST], name: str, *, of_self: bool) -> Iterator[ast.stmt]:
    """Yield all statements of a module or class that set the name; with `of_self`, also those in methods."""
    for node in body:
        if isinstance(node, SCOPES):
            if node.name == name:
                yield node
            if of_self:
                yield from _assignments(node.body, f"self.{name}", of_self=False)
        elif isinstance(node, ast.stmt):
            targets = [*getattr(node, "targets", ()), *filter(None, [getattr(node, "target", None)])]
            if any(ast.unparse(part) == name for target in targets for part in ast.walk(target)):
                yield node
            yield from _assignments(ast.iter_child_nodes(node), name, of_self=of_self)


def _literals(path: Path, name: str, value: ast.expr) -> Iterator[str]:
    """Yield the literals that make up a text: one, or several joined by plus signs."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            waiting += [node.right, node.left]
        else:
            message = f"{name} is made with {ast.unparse(node)[:60]}, and no code is run; write it as a plain text"
            raise DataError(message, file=path, line=node.lineno)


SHIPPED, OWN = "shipped", "own"


def is_shipped(kind: Kind[Any], setup: Mapping[str, Any]) -> bool:
    """Return whether a judge was asked in the wording that this Limner ships."""
    variant = Variant(str(setup.get("variant")), Prompts(kind.prompts), setup.get("options") or {})
    try:
        return bool(setup.get("templates") == variant.prompts.hash(*kind.protocol.templates(variant)))
    except (UsageError, KeyError):
        return False  # The exam does not have this variant.


def wording_names(kind: Kind[Any], setup: Mapping[str, Any]) -> tuple[str, ...]:
    """Return all names of a setup's wording; empty if it has none, as for imported replies.

    For example, ``own 3f2a`` is a user's wording with this hash, ``release 3f2a`` or ``release`` that of a clone of the
    release, and ``labels-1`` the rules of the OCR examiner.
    """
    if "rules" in setup:
        return (str(setup["rules"]),)
    if "templates" not in setup:
        return ()
    if is_shipped(kind, setup):
        return (SHIPPED,)
    given = setup.get("prompts")
    name = f"{given or OWN} {str(setup['templates'])[:HASH_LETTERS]}"
    return (name, given) if given else (name,)
