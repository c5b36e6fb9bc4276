"""Exams: one folder per benchmark, found by name through the entry points ``limner.exams``."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Generic

from ..core.errors import DataError, UsageError
from ..core.exam import Exam, Question, R
from ..core.plot_data import WAYS, Plot
from ..core.prompts import Prompts
from ..core.protocol import FailureModes, Protocol
from ..core.registry import Registry
from ..core.schema import read_toml

SAMPLE = "sample/"
SHIPPED = ("genexam", "mmmg", "worldgenbench", "fepbench", "aibench")
"""The exams that come with Limner; the first is the one that shows how things work."""


@dataclass(frozen=True)
class ImportedReply:
    """One stored result of another scorer.

    Attributes:
        question: The question's id.
        replies: Ask name and text of every reply of the judge.
        file: Where it stood.
        rubric: The rubric it was made with, where the result says so.
        fault: Why there is no reply to be read.
        evidence: What was measured on the drawing, by name.
        unmeasured: What the other scorer failed to measure: name of the evidence -> why. Faults, never values.
        notes: What else is to be told of where it stood.
        misfit: Says what about a question contradicts this result, where the result tells less than a whole rubric.
    """

    question: str
    replies: tuple[tuple[str, str], ...]
    file: Path
    rubric: Mapping[str, Any] | None = None
    fault: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    unmeasured: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    misfit: Callable[[Question[Any]], str | None] | None = None


ExamWriter = Callable[[Path, Sequence[Mapping[str, Any]], Callable[[str, str], None]], Mapping[str, Sequence[str]]]
"""Writes the items of a build (their fields, and ``item``, the id) in the release's layout into a folder.

It gets the folder, the items, and what puts a picture there, by content hash and path inside the folder. It gives the
ids of the questions that it made of each item.
"""
DraftReader = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Reads what a model drafted or a reviewer changed into the fields of a build's item, or raises `Unreadable`."""


@dataclass(frozen=True)
class Kind(Generic[R]):
    """Everything Limner needs to know of one benchmark.

    Attributes:
        read: Reads the release's layout from a folder into an exam of the given name.
        prompts: The folder of shipped prompt templates.
        sample: A bundled data folder, where there is one.
        presets: Named settings: judge, arguments, variant, reading.
        read_results: Reads results that the release's own scorer wrote, from a folder or file; further files (such as
            ``regions``) come by name.
        paper: A folder with what its paper prints: ``published.csv``, ``tables.toml``, ``rules.toml``; see
            `limner.exams.paper`; and with ``reproduce.toml``, see `limner.report.reproduce.request`.
        plots: Plots of its own, by name. One with the name of a plot that all exams have takes its place for this exam,
            and is drawn as that one is.
        statistics: Words that ``measure`` in ``tables.toml`` may use -> a number of one question; further words in
            the layout come as further arguments.
        modes: How a chat model sorts what painters got wrong, where the exam has modes of failure.
        view: What the site's page of a question has beyond the usual: a ``graph``, see `limner.exams.views`.
        studies: A folder with the designs of human studies, ``NAME.toml`` each; see `limner.study.design`.
        recipe: A folder with the chain of steps by which such an exam is made; see `limner.build.recipe`.
        write: The counterpart of `read`: writes what a build has made into a folder; see `ExamWriter`.
        drafts: The exam's own readers of what models draft in a build, such as a ``graph``.
    """

    name: str
    title: str
    rubric: type[R]
    protocol: Protocol[R]
    read: Callable[[Path, str], Exam[R]]
    prompts: Path
    sample: Path | None = None
    presets: Path | None = None
    read_results: Callable[..., Iterable[ImportedReply]] | None = None
    paper: Path | None = None
    plots: Mapping[str, Plot] = field(default_factory=dict)
    statistics: Mapping[str, Callable[..., float]] = field(default_factory=dict)
    view: Callable[[Question[R]], Mapping[str, Any]] | None = None
    modes: FailureModes[R] | None = None
    studies: Path | None = None
    recipe: Path | None = None
    write: ExamWriter | None = None
    drafts: Mapping[str, DraftReader] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, plot in self.plots.items():
            if plot.draw not in WAYS:
                raise ValueError(f"the plot {name!r} is drawn as {plot.draw!r}; there is: {', '.join(WAYS)}")

    @property
    def about(self) -> str:
        """What it is, in a line."""
        return self.title

    def draft_reader(self, name: str) -> DraftReader:
        """Return the reader of this name.

        Raises:
            UsageError: The exam has none.
        """
        if name not in self.drafts:
            raise UsageError(f"{self.name} reads no drafted {name}; it reads: {', '.join(self.drafts) or 'none'}")
        return self.drafts[name]

    def load_prompts(self, own: Path | None = None) -> Prompts:
        """Return the shipped templates, with the user's own wording on top."""
        return Prompts(self.prompts, own)

    @cached_property
    def all_presets(self) -> Mapping[str, Mapping[str, Any]]:
        """Every preset's settings by its name, read once."""
        return read_toml(self.presets) if self.presets else {}

    def preset(self, name: str | None) -> dict[str, Any]:
        """Return the settings called `name`; none without a name."""
        if not name:
            return {}
        if name not in self.all_presets:
            raise UsageError(f"{self.name} has no preset {name!r}; there is: {', '.join(self.all_presets) or 'none'}")
        return dict(self.all_presets[name])


EXAMS: Registry[Kind[Any]] = Registry("limner.exams", "exam", Kind, hint="A file exam.toml works too")


def kinds() -> list[str]:
    """Return the names of all installed exams."""
    return EXAMS.names()


def kind(name: str) -> Kind[Any]:
    """Return the installed exam called `name`."""
    return EXAMS.get(name)


def each() -> Iterator[Kind[Any]]:
    """Every installed exam that is not broken: those of Limner's own first, so that no other one speaks before them."""
    for name in sorted(kinds(), key=lambda name: (name not in SHIPPED, name)):
        try:
            yield kind(name)
        except UsageError:
            continue  # `limner exams` says what is wrong with it.


@dataclass(frozen=True)
class ExamSource:
    """What the word EXAM on the command line stands for."""

    name: str
    kind: str
    data: Path | None


def resolve(word: str, data: Path | None = None) -> ExamSource:
    """EXAM is an installed exam's name, ``sample/NAME`` for its bundled sample, or the path of an exam.toml."""
    if word.endswith(".toml"):
        return _from_toml(Path(word), data)
    if word.startswith(SAMPLE):
        found = kind(word.removeprefix(SAMPLE))
        if found.sample is None:
            raise UsageError(f"the exam {found.name} has no bundled sample")
        return ExamSource(word, found.name, data or found.sample)
    return ExamSource(word, kind(word).name, data)


def name_of(word: str) -> str:
    """Return the name that the exam EXAM stands for has in a store."""
    return resolve(word).name if word.endswith(".toml") else word


def _from_toml(path: Path, data: Path | None) -> ExamSource:
    body = read_toml(path)
    for word in ("name", "kind", "data"):
        if not isinstance(body.get(word), str):
            raise DataError(f'{word} = "…" is missing', file=path)
    kind(body["kind"])
    return ExamSource(body["name"], body["kind"], data or path.parent / body["data"])


def read(named: ExamSource) -> Exam[Any]:
    """Read the exam's data.

    Raises:
        UsageError: No data folder is known.
        DataError: The data is wrong; says where and how.
    """
    if named.data is None:
        raise UsageError(f"{named.name}: name the data folder with --data, or use sample/{named.kind}")
    if not named.data.exists():
        raise UsageError(f"{named.name}: no such data folder: {named.data}")
    return replace(kind(named.kind).read(named.data, named.name), kind=named.kind)


PACKAGES = ("limner", "pydantic", "pydantic-core", "pillow")
"""The packages that the reading of replies rests on."""


@cache
def marks_reader_id(protocol: type[Protocol[Any]]) -> str | None:
    """Return the beginning of a hash over the programs that read replies for a protocol; it stands beside each marking.

    The programs are the folders of the protocol, of the exams and of the core, and the packages they rest on. None for
    protocols from elsewhere: nobody knows which programs they call, and which of them change tomorrow.
    """
    modules = [each.__module__ for each in protocol.__mro__ if issubclass(each, Protocol)]
    if any(module.partition(".")[0] != "limner" for module in modules):
        return None
    modules += [__package__]
    lines = [sys.version, *modules, *(f"{package} {_version(package)}" for package in PACKAGES)]
    folders = dict.fromkeys(Path(str(sys.modules[module].__file__)).parent for module in modules)
    for source in (path for folder in folders for path in sorted(folder.glob("*.py"))):
        lines.append(f"{source.name} {hashlib.sha256(source.read_bytes()).hexdigest()}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def write_starter(folder: Path, like: str) -> Path:
    """Copy the sample's data into `folder` and write an exam.toml beside it; returns that file's path.

    Raises:
        UsageError: The folder has something in it, or the exam has no sample to start from.
    """
    found = kind(like)
    if found.sample is None:
        raise UsageError(f"the exam {like} has no sample to start from")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty")
    shutil.copytree(found.sample, folder / "data", dirs_exist_ok=True)
    path = folder / "exam.toml"
    name = folder.resolve().name
    # JSON and TOML spell basic strings alike.
    lines = [f"name = {json.dumps(name, ensure_ascii=False)}", f"kind = {json.dumps(like)}", 'data = "data"']
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
