"""What a reader of data has looked at: enough to tell later, without reading it again, whether all is as it was.

Contents decide, never the times of files: every file that was read counts with its hash, every folder that was searched
with the names that were found, and what was looked for in vain with its absence.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

RECENT = 256
"""So much is kept of what was worked out a moment ago."""
K = TypeVar("K")
V = TypeVar("V")
_now: ContextVar[Ledger | None] = ContextVar("ledger", default=None)


class Recent(Generic[K, V]):
    """What was worked out a moment ago."""

    def __init__(self) -> None:
        self._known: dict[K, V] = {}

    def get(self, key: K, make: Callable[[], V]) -> V:
        """What is known under this key, or else is made now."""
        if key not in self._known:
            if len(self._known) >= RECENT:
                self._known.clear()
            self._known[key] = make()
        return self._known[key]


class Ledger:
    """What was looked at under one data folder (or file), by whom it was read, and the questions that came of it.

    Attributes:
        by: Identifies the reader: another one may read something else from the same files.
        questions: What the reader made of it, once it is done.
        recent: Reference images that were looked at a moment ago, by folder and name: questions may share one.
    """

    def __init__(self, root: Path, by: str) -> None:
        self.root, self.by = str(root), by
        self.questions: Sequence[Any] | None = None
        self._begun, self._files = set[str](), dict[str, str]()
        self._lists: dict[tuple[str, tuple[str, ...]], str] = {}
        self._absent, self._torn = PackedNames(), False
        self.recent = Recent[tuple[str, str], Any]()

    def begin(self, file: Path) -> None:
        """A file is being read."""
        self._begun.add(str(file))

    def read(self, file: Path, sha256: str) -> None:
        """A file was read to its end."""
        self._begun.add(str(file))
        self._torn |= self._files.setdefault(str(file), sha256) != sha256

    def searched(self, folder: Path, patterns: tuple[str, ...], found: Iterable[Path]) -> None:
        """These files of a folder were found by their names."""
        self._lists[str(folder), patterns] = _names_hash(folder, found)

    def lacks(self, file: Path) -> None:
        """There is no such file."""
        self._absent.add(within(self.root, str(file)))

    @property
    def clear(self) -> bool:
        """Whether it tells all: no file was read in part, or was another one when it was read again."""
        return not self._torn and self._begun == self._files.keys()

    def to_json(self) -> dict[str, Any]:
        """As it is kept; `unchanged` takes it."""
        lists = [[within(self.root, folder), patterns, names] for (folder, patterns), names in self._lists.items()]
        files = {within(self.root, file): sha256 for file, sha256 in self._files.items()}
        return {"by": self.by, "files": files, "lists": lists, "absent": self._absent.packed()}


def unchanged(told: Mapping[str, Any], root: Path, by: str) -> bool:
    """Whether the same reader would find everything under `root` as `Ledger.to_json` has it."""
    try:
        return bool(
            told["by"] == by
            and all(file_hash(under(str(root), file)) == sha256 for file, sha256 in told["files"].items())
            and all(_same_names(under(str(root), folder), found, names) for folder, found, names in told["lists"])
            and not any(os.path.exists(under(str(root), name)) for name in UnpackedNames(told["absent"]))
        )
    except OSError:
        return False


@contextmanager
def kept(ledger: Ledger) -> Iterator[None]:
    """What is read within goes into this ledger."""
    before = _now.set(ledger)
    try:
        yield
    finally:
        _now.reset(before)


def ledger() -> Ledger | None:
    """Where it is to be written what is looked at now, if anywhere."""
    return _now.get()


def file_hash(file: str | Path) -> str:
    """The hash of a file's content."""
    with open(file, "rb", buffering=0) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def within(root: str, path: str) -> str:
    """A path as it stands below `root`; `under` leads back."""
    return path[len(root) + 1 :] if path.startswith(f"{root}{os.sep}") else os.path.relpath(path, root)


def under(root: str, name: str) -> str:
    """The path of a name below `root`."""
    return root if name == "." else os.path.normpath(f"{root}/{name}") if name.startswith("..") else f"{root}/{name}"


class PackedNames:
    """Many names in little room, one after the other."""

    def __init__(self) -> None:
        self._pack, self._done = zlib.compressobj(1), bytearray()

    def add(self, name: str) -> None:
        """Put one at the end."""
        self._done += self._pack.compress(os.fsencode(name) + b"\0")

    def packed(self) -> str:
        """All of them as a text."""
        return b64encode(bytes(self._done) + self._pack.copy().flush()).decode()


class UnpackedNames(Sequence[str]):
    """The names behind `PackedNames.packed`, each made when it is asked for."""

    def __init__(self, text: str) -> None:
        self._names, self._starts = zlib.decompress(b64decode(text)), array("Q", [0])
        while (end := self._names.find(b"\0", self._starts[-1])) >= 0:
            self._starts.append(end + 1)

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        """One name, or some of them."""
        if isinstance(at, slice):
            return [self[one] for one in range(len(self))[at]]
        return os.fsdecode(self._names[self._starts[at] : self._starts[at + 1] - 1])


def _names_hash(folder: str | Path, found: Iterable[Path]) -> str:
    names = [os.fsencode(within(str(folder), str(file))) for file in found]
    return hashlib.sha256(b"\0".join(names)).hexdigest()


def _same_names(folder: str, patterns: Sequence[str], names: str) -> bool:
    return _names_hash(folder, names_under(Path(folder), *patterns)) == names


def names_under(path: Path, *patterns: str) -> list[Path]:
    """The file `path` itself, or all files of these names under the folder `path`, in order."""
    return sorted(file for pattern in patterns for file in path.rglob(pattern)) if path.is_dir() else [path]
