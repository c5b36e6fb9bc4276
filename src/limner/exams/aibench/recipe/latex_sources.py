"""LaTeX sources as arXiv gives them: a tar archive, one gzipped file or a folder. Nothing is unpacked on disk."""

from __future__ import annotations

import gzip
import io
import posixpath
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ....core.errors import DataError
from ....core.images import MAX_BYTES

TEXTS = (".tex", ".ltx", ".sty", ".cls", ".bbl")
ARCHIVES = (".tar.gz", ".tgz", ".tar", ".gz")
MAX_FILES = 5_000
MAX_UNPACKED = 1_000_000_000
"""The most bytes of an unpacked archive; a larger one is not a paper."""
MAX_TEXT = 5_000_000
MAX_HEADER = 2**20
"""The most bytes of a header in an archive, such as a long file name."""
Entry = tuple[str, int, Callable[[], bytes]]
"""A file's name, its size, and a function that reads its bytes."""


@dataclass(frozen=True)
class LatexSource:
    """A paper's files.

    Attributes:
        id: The paper's id: its path under the folder of papers, without the suffix.
        texts: LaTeX files by their path inside the source.
        names: The paths of all files.
        left_out: Files that were skipped, and why.
    """

    id: str
    path: Path
    texts: Mapping[str, str]
    names: frozenset[str]
    left_out: tuple[str, ...] = ()

    def take(self, *names: str) -> dict[str, bytes]:
        """Read the bytes of these files again; those too large for an image are left out."""
        wanted, contents = set(names), dict[str, bytes]()
        for name, size, data in _entries(self.path, []):
            if name in wanted and size <= MAX_BYTES:
                contents[name] = data()
        return contents


def find_papers(folder: Path) -> list[tuple[str, Path]]:
    """Return id and path of every paper in a folder: archives, and folders with a LaTeX file.

    Raises:
        DataError: There are none, or two have the same id.
    """
    if not folder.is_dir():
        raise DataError("no such folder of papers", file=folder)
    papers: dict[str, Path] = {}
    for path in _walk(folder):
        id = path.relative_to(folder).as_posix() if path != folder else folder.name
        if path.is_file():
            id = id.removesuffix(_archive(path) or "")
        if id in papers:
            raise DataError(f"{path.name} and {papers[id].name} are both the paper {id}: keep one", file=path)
        papers[id] = path
    if not papers:
        raise DataError(f"no paper here: a LaTeX source is a folder with .tex files or one of {', '.join(ARCHIVES)}",
                        file=folder)  # fmt: skip
    return sorted(papers.items())


def read_source(path: Path, id: str) -> LatexSource:
    """Return a paper's LaTeX files, and the names of the others.

    Raises:
        DataError: It is not an archive, has no LaTeX, or is too large.
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
            texts[name] = decode_text(data())
    if not any(name.lower().endswith(TEXTS[:2]) for name in texts):
        raise DataError("no LaTeX file in it; PDF alone is not enough", file=path, id=id)
    return LatexSource(id, path, texts, frozenset(names), tuple(left_out))


def decode_text(data: bytes) -> str:
    """Return the text of a LaTeX file: UTF-8, or else Latin-1, with plain line ends."""
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
        with tarfile.open(path, "r|*", tarinfo=_Member) as archive:
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


class _Member(tarfile.TarInfo):
    """A member of an archive whose headers are limited; tarfile reads long names and the like into memory."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type not in tarfile.REGULAR_TYPES and self.size > MAX_HEADER:
            raise tarfile.HeaderError(f"a header of {self.size:,} bytes; the limit is {MAX_HEADER:,}")
        return super()._proc_member(archive)  # type: ignore[misc,no-any-return]


def _single(path: Path, fault: tarfile.ReadError) -> Entry:
    """Return the file of a paper that is a single gzipped file, not an archive."""
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
    """Return the path inside the source; None if it would lead outside."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or not path.parts:
        return None
    return path.as_posix()


MAX_DEPTH = 20
VERBATIM = ("verbatim", "verbatim*", "lstlisting", "minted", "Verbatim")
"""Environments whose text is kept as it is."""
_VERBATIM = (
    rf"\\begin\{{(?P<verb>{'|'.join(map(re.escape, VERBATIM))})\}}.*?\\end\{{(?P=verb)\}}"
    r"|\\verb\*?(?P<q>[^\w\s*])[^\n]{0,200}?(?P=q)"
)
_KEPT = rf"(?P<keep>{_VERBATIM}|\\[\\%])"
_LINE = r"(?P<line>(?:^[ \t]*)?%[^\n]*(?:\n[ \t]*|\Z))"
_DROPPED = re.compile(rf"{_KEPT}|\\begin\{{comment\}}.*?\\end\{{comment\}}|{_LINE}", re.DOTALL | re.MULTILINE)
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
        preamble: The text before the document, with the local packages it loads.
        body: The document, without comments.
        main: Its main file.
        missing: Files that are named but missing.
    """

    preamble: str
    body: str
    main: str
    missing: tuple[str, ...] = ()


def flatten(source: LatexSource) -> FlatPaper:
    """Return the paper's main file with all files that it includes.

    Raises:
        DataError: No file is a complete document.
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
    r"""Return the text without comments and text hidden by ``\iffalse``; verbatim text is unchanged.

    >>> without_comments("a 5\\% b % c\nd")
    'a 5\\% b d'
    """
    text = text.replace("\0", "")
    for name in ("comment", *VERBATIM):
        # After the last end, each beginning would be compared with all text that follows: it is hidden meanwhile.
        head, ending, tail = text.rpartition(rf"\end{{{name}}}")
        text = head + ending + tail.replace(rf"\begin{{{name}}}", f"\\begin\0{{{name}}}")
    return _resolve_conditions(_DROPPED.sub(_keep_or_drop, text).replace("\0", ""))


def _keep_or_drop(match: re.Match[str]) -> str:
    if match["keep"] is not None:
        return match["keep"]
    # A comment includes the end of its line, but an empty line after it still ends the paragraph.
    tail = match["line"] is not None and match[0].startswith("%")
    return "\n" if tail and match.string[match.end() : match.end() + 1] == "\n" else ""


def _resolve_conditions(text: str) -> str:
    r"""Drop the text that ``\iffalse … \else`` hides; a condition without an end is left unchanged."""
    open_conditions: list[tuple[re.Match[str], re.Match[str] | None]] = []
    hidden: list[tuple[int, int]] = []
    for match in _IF.finditer(text):
        if match[1] not in ("else", "fi"):
            open_conditions.append((match, None))
        elif not open_conditions:
            continue
        elif match[1] == "else":
            open_conditions[-1] = open_conditions[-1][0], match
        else:
            opening, middle = open_conditions.pop()
            between = middle or match
            if opening[1] == "iftrue":
                hidden += [opening.span(), (between.start(), match.end())]
            elif opening[1] == "iffalse":
                hidden += [(opening.start(), between.end()), match.span()]
    shown, place = [], 0
    for start, end in sorted(hidden):
        shown.append(text[place : max(place, start)])
        place = max(place, end)
    return "".join(shown) + text[place:]


def _rank(name: str, text: str) -> tuple[bool, bool, int, int]:
    stem = posixpath.basename(name).rpartition(".")[0].lower()
    return bool(_SIDE.search(stem)), stem not in _USUAL, name.count("/"), -len(text)


def _packages(preamble: str, files: Mapping[str, str]) -> str:
    """Return the texts of local packages and of the class, in the order they are loaded."""
    packages = []
    for kind, names in re.findall(
        r"\\(usepackage|RequirePackage|documentclass)\s*(?:\[[^\]]{0,999}\])?\s*\{([^{}]*)\}", preamble
    ):
        ending = ".cls" if kind == "documentclass" else ".sty"
        packages += [files[name.strip() + ending] for name in names.split(",") if name.strip() + ending in files]
    return "\n".join(packages)


class _Inliner:
    """An inliner of files; each use of a file counts towards the total length."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files, self.missing, self.size = files, list[str](), 0

    def run(self, name: str) -> tuple[str, list[str]]:
        return self._inline(name, "", ()), self.missing

    def _inline(self, name: str, base: str, above: tuple[str, ...]) -> str:
        text = self.files[name]
        self.size += len(text)
        if above:
            begin = _BEGIN.search(text)  # A subfile is a complete document.
            text = text[begin.end() if begin else 0 :]
            end = _END.search(text)
            text = text[: end.start()] if end else text

        def put(match: re.Match[str]) -> str:
            inner, wanted = base, match["one"] if match["one"] is not None else match["bare"]
            rest = ""
            if match["how"] in ("import", "subimport"):
                inner = posixpath.join(base if match["how"] == "subimport" else "", wanted.strip())
                wanted = match["two"] or ""
            elif match["two"] is not None:
                rest = match[0][match[0].rindex("{") :]  # Braces that belong to what follows.
            file = self._find(wanted.strip().strip('"'), inner)
            if file is None:
                self.missing.append(wanted.strip())
                return rest
            if file in (*above, name) or len(above) >= MAX_DEPTH or self.size > MAX_TEXT:
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
