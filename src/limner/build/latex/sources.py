"""LaTeX sources as arXiv gives them: a tar archive, one gzipped file or a folder. Nothing is unpacked on disk."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ...core.errors import DataError
from ...core.images import MAX_BYTES

TEXTS = (".tex", ".ltx", ".sty", ".cls", ".bbl")
ARCHIVES = (".tar.gz", ".tgz", ".tar", ".gz")
MAX_FILES = 5_000
MAX_UNPACKED = 1_000_000_000
"""Bytes of a whole archive once unpacked; what is larger is no paper."""
MAX_TEXT = 5_000_000
Entry = tuple[str, int, Callable[[], bytes]]
"""A file's name, its size, and how its bytes are had."""


@dataclass(frozen=True)
class LatexSource:
    """A paper's files.

    Attributes:
        id: The paper's: its path under the folder of papers, without the ending.
        texts: LaTeX files by their path inside the source.
        names: The paths of all files.
        left_out: What was passed over, and why.
    """

    id: str
    path: Path
    texts: Mapping[str, str]
    names: frozenset[str]
    left_out: tuple[str, ...] = ()

    def take(self, *names: str) -> dict[str, bytes]:
        """The bytes of these files, read anew; those too large for an image are left out."""
        wanted, found = set(names), dict[str, bytes]()
        for name, size, data in _entries(self.path, []):
            if name in wanted and size <= MAX_BYTES:
                found[name] = data()
        return found


def find_papers(folder: Path) -> list[tuple[str, Path]]:
    """Id and path of every paper under a folder: archives, and folders that hold a LaTeX file.

    Raises:
        DataError: There is none, or two have one id.
    """
    if not folder.is_dir():
        raise DataError("no such folder of papers", file=folder)
    found: dict[str, Path] = {}
    for path in _walk(folder):
        id = path.relative_to(folder).as_posix() if path != folder else folder.name
        if path.is_file():
            id = id.removesuffix(_archive(path) or "")
        if id in found:
            raise DataError(f"{path.name} and {found[id].name} are both the paper {id}: keep one", file=path)
        found[id] = path
    if not found:
        raise DataError(f"no paper here: a LaTeX source is a folder with .tex files or one of {', '.join(ARCHIVES)}",
                        file=folder)  # fmt: skip
    return sorted(found.items())


def read_source(path: Path, id: str) -> LatexSource:
    """A paper's LaTeX files, and the names of the others.

    Raises:
        DataError: It is no archive, holds no LaTeX, or is too large.
    """
    left_out: list[str] = []
    texts: dict[str, str] = {}
    names: set[str] = set()
    for name, size, data in _entries(path, left_out):
        names.add(name)
        if len(names) > MAX_FILES:
            raise DataError(f"more than {MAX_FILES:,} files", file=path, id=id)
        if name.lower().endswith(TEXTS):
            if size > MAX_TEXT:
                left_out.append(f"{name}: {size:,} bytes of text")
                continue
            texts[name] = decoded(data())
    if not any(name.lower().endswith(TEXTS[:2]) for name in texts):
        raise DataError("no LaTeX file in it; PDF alone is not taken", file=path, id=id)
    return LatexSource(id, path, texts, frozenset(names), tuple(left_out))


def decoded(data: bytes) -> str:
    """The text of a LaTeX file: UTF-8, or else Latin-1, with plain line ends."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _archive(path: Path) -> str | None:
    return next((ending for ending in ARCHIVES if path.name.lower().endswith(ending)), None)


def _walk(folder: Path) -> Iterator[Path]:
    here = sorted(path for path in folder.iterdir() if not path.name.startswith(".") and not path.is_symlink())
    if any(path.is_file() and path.suffix.lower() in TEXTS[:2] for path in here):
        yield folder
        return
    for path in here:
        if path.is_dir():
            yield from _walk(path)
        elif _archive(path):
            yield path


def _entries(path: Path, left_out: list[str]) -> Iterator[Entry]:
    if path.is_dir():
        return _in_folder(path, left_out)
    return _in_archive(path, left_out)


def _in_folder(folder: Path, left_out: list[str]) -> Iterator[Entry]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if any(part.is_symlink() for part in (path, *path.parents) if part.is_relative_to(folder) and part != folder):
            left_out.append(f"{name}: a link")
        elif path.is_file():
            yield name, path.stat().st_size, path.read_bytes


def _in_archive(path: Path, left_out: list[str]) -> Iterator[Entry]:
    try:
        with tarfile.open(path, "r|*") as archive:
            whole = 0
            for member in archive:
                whole += max(0, member.size)
                if whole > MAX_UNPACKED:
                    raise DataError(f"more than {MAX_UNPACKED:,} bytes unpacked", file=path)
                if member.isdir():
                    continue
                name = _inside(member.name)
                if name is None or not member.isreg():
                    left_out.append(f"{member.name}: {'no plain file' if name else 'leads out of the archive'}")
                    continue
                yield name, member.size, lambda member=member: _bytes(archive, member)  # type: ignore[misc]
    except tarfile.ReadError as error:
        yield _single(path, error)
    except (EOFError, OSError, zlib.error, tarfile.TarError) as error:
        raise DataError(f"cannot be unpacked: {error}", file=path) from error


def _single(path: Path, fault: tarfile.ReadError) -> Entry:
    """A paper of one file is gzipped without an archive around it."""
    try:
        with gzip.open(path) as stream:
            data = stream.read(MAX_TEXT + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"no archive that can be unpacked: {fault}", file=path) from error
    if len(data) > MAX_TEXT or b"\\documentclass" not in data:
        raise DataError("no archive, and no LaTeX file either", file=path)
    return "main.tex", len(data), io.BytesIO(data).read


def _bytes(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member)
    return b"" if stream is None else stream.read()


def _inside(name: str) -> str | None:
    """The path inside the source; None where it would lead out of it."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or not path.parts:
        return None
    return path.as_posix()
