"""Texts out of somebody's Python file: parsed and never executed, so only texts that stand there as such."""

from __future__ import annotations

import ast
import stat
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from ..core.errors import DataError

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
    """The file, which must stand in the folder itself: a link could lead anywhere."""
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
    """The texts that a value is made of: one, or several joined by a plus."""
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
