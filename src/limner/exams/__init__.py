"""Exams: one package per benchmark, found by name through entry points in the group ``limner.exams``."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Generic, TypedDict

from pydantic import Field

from ..core.asks import Prompts
from ..core.data_files import Columns
from ..core.errors import DataError, UsageError
from ..core.exam import Exam, Question, R, know_exam, own_exam
from ..core.plot_data import DRAW_NAMES, Plot
from ..core.protocol import FailureModes, Protocol
from ..core.registry import Registry
from ..core.schema import FrozenModel, StrictModel, read_model, read_toml

FOLDER_VARIABLE = "LIMNER_DATA"
"""The environment variable that names the folder of downloaded data."""


COLUMNS: ContextVar[Mapping[str, str]] = ContextVar("columns", default={})  # noqa: B039
"""Our name of a column -> its name in the data that a command reads, as its option ``--columns`` says."""


class DataSource(StrictModel):
    """The place where the authors offer an exam's data.

    Attributes:
        page: The page to read about it.
        licence: The data's licence, if the authors state one.
        questions: The number of questions.
        calls: A judge's calls for one drawing per question, if the sample's questions do not tell.
        hub: The dataset's name at Hugging Face.
        url: The address of the folder with the files, if they are not at Hugging Face.
        files: The names of the files; with a `hub`, patterns. Empty if the data is not released.
        layout: What the data folder must contain.
    """

    page: str
    licence: str | None = None
    questions: int = Field(gt=0)
    calls: int | None = Field(default=None, gt=0)
    hub: str | None = None
    url: str | None = None
    files: tuple[str, ...] = ()
    layout: str


def data_folder(exam: str) -> Path:
    """Return the folder for an exam's downloaded data."""
    own = os.environ.get(FOLDER_VARIABLE)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(own) if own else cache / "limner") / exam


def downloaded_data(exam: str) -> Path | None:
    """Return the folder of an exam's downloaded data; None if it has not been downloaded."""
    folder = data_folder(exam)
    return folder if folder.is_dir() else None


def how_to_get(exam: str, source: DataSource | None) -> str:
    """Return what to do if an exam's data is not there."""
    sample = f"or try sample/{exam}"
    if source is None:
        return f"name the data folder with --data, {sample}"
    if not source.files:
        return f"its authors have not released it yet ({source.page}); name your own with --data, {sample}"
    return f"get it with `limner exam get {exam}`, or name the data folder with --data, {sample}"


SAMPLE = "sample/"
PAPER = "paper"
"""The prefix of the names of presets with the paper's settings."""
SHIPPED = ("genexam", "mmmg", "worldgenbench", "fepbench", "aibench")
"""The exams that Limner ships; the first is used in examples."""


@dataclass(frozen=True)
class ImportedReply:
    """One result imported from another scorer.

    Attributes:
        question: The question's id.
        replies: Ask name and text of each of the judge's replies.
        file: The file with the result.
        rubric: The rubric used for the result, if the file has it.
        fault: The reason why there is no reply.
        evidence: Measurements of the drawing, by name.
        unmeasured: Evidence that the other scorer failed to measure -> the reason.
        notes: Remarks on the file.
        misfit: Returns how a question contradicts this result; used if the result lacks a complete rubric.
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

    def __post_init__(self) -> None:
        # UTF-8 cannot encode half of a surrogate pair.
        clean = tuple((ask, text.encode("utf-8", "replace").decode()) for ask, text in self.replies)
        object.__setattr__(self, "replies", clean)


ExamWriter = Callable[[Path, Sequence[Mapping[str, Any]], Callable[[str, str], None]], Mapping[str, Sequence[str]]]
"""A function that writes the items of a build into a folder, in the layout of the benchmark's release.

Its arguments are the folder, the items (their fields, with the id as ``item``), and a function that saves a picture by
content hash and path inside the folder. It returns the ids of the questions made from each item.
"""


class UsualParts(TypedDict):
    """The parts of a `Kind` that are files and folders with usual names in its folder; None for one that is missing."""

    prompts: Path
    sample: Path | None
    presets: Path | None
    download: Path | None
    paper: Path | None
    studies: Path | None
    recipe: Path | None


def usual_parts(folder: Path, prompts: str = "prompts") -> UsualParts:
    """Return the parts of an exam that are in its folder; `prompts` is the name of the folder of its prompts."""
    names = ("sample", "presets.toml", "download.toml", "paper", "studies", "recipe")
    sample, presets, download, paper, studies, recipe = (
        folder / name if (folder / name).exists() else None for name in names
    )
    return {
        "prompts": folder / prompts,
        "sample": sample,
        "presets": presets,
        "download": download,
        "paper": paper,
        "studies": studies,
        "recipe": recipe,
    }


@dataclass(frozen=True)
class Kind(Generic[R]):
    """The definition of one benchmark.

    Attributes:
        read: Reads an exam of the given name from a folder in the release's layout; the third argument has other names
            of columns, see `limner.core.data_files.read_questions`.
        prompts: The folder of shipped prompt templates.
        sample: A bundled data folder, if there is one.
        presets: Named settings: judge, arguments, variant, reading; a TOML file, or the settings themselves.
        download: A TOML file that says where the authors offer the data; see `DataSource`.
        read_results: Reads results written by the release's own scorer, from a folder or file; further files, such as
            ``regions``, are passed by name.
        paper: A folder with the figures of its paper: ``published.csv``, ``tables.toml`` and ``rules.toml``, see
            `limner.exams.paper`; and ``reproduce.toml``, see `limner.report.reproduce.request`.
        plots: The exam's own plots, by name. One with the name of a general plot replaces it for this exam and is drawn
            in the same way.
        statistics: Name for ``measure`` in ``tables.toml`` -> a function that computes a number from a question;
            further words there are passed as further arguments.
        modes: The classification of failures by a chat model, if the exam has one.
        view: Returns additions to a question's page on the site: a ``graph``, see `limner.exams.views`.
        studies: A folder with designs of human studies, one ``NAME.toml`` each; see `limner.study.design`.
        recipe: A folder with the steps for building such an exam; see `limner.build.recipe`.
        write: The counterpart of `read`: writes the items of a build into a folder; see `ExamWriter`.
        licence: The licence of the data, if `download` does not tell it.
        files: The definition and prompts of a user's own exam, which stores keep; see `limner.exams.rubric`.
    """

    name: str
    title: str
    rubric: type[R]
    protocol: Protocol[R]
    read: Callable[..., Exam[R]]
    prompts: Path
    sample: Path | None = None
    presets: Path | Mapping[str, Mapping[str, Any]] | None = None
    download: Path | None = None
    read_results: Callable[..., Iterable[ImportedReply]] | None = None
    paper: Path | None = None
    plots: Mapping[str, Plot] = field(default_factory=dict)
    statistics: Mapping[str, Callable[..., float]] = field(default_factory=dict)
    view: Callable[[Question[R]], Mapping[str, Any]] | None = None
    modes: FailureModes[R] | None = None
    studies: Path | None = None
    recipe: Path | None = None
    write: ExamWriter | None = None
    licence: str = ""
    files: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        for name, plot in self.plots.items():
            if plot.draw not in DRAW_NAMES:
                raise ValueError(f"the plot {name!r} is drawn as {plot.draw!r}; choose from: {', '.join(DRAW_NAMES)}")

    @property
    def about(self) -> str:
        """A one-line description."""
        return self.title

    def load_prompts(self, own: Path | None = None) -> Prompts:
        """Return the shipped templates, overridden by the user's wording."""
        return Prompts(self.prompts, own)

    @cached_property
    def all_presets(self) -> Mapping[str, Mapping[str, Any]]:
        """The settings of all presets, by name; read once."""
        return read_toml(self.presets) if isinstance(self.presets, Path) else self.presets or {}

    @property
    def paper_presets(self) -> list[Mapping[str, Any]]:
        """The presets with the paper's settings."""
        return [preset for name, preset in self.all_presets.items() if name.startswith(PAPER)]

    @cached_property
    def data_source(self) -> DataSource | None:
        """The place where the authors offer the data; None if unknown."""
        return read_model(self.download, DataSource) if self.download else None

    def preset(self, name: str | None) -> dict[str, Any]:
        """Return the settings of the preset called `name`; empty if it is None."""
        if not name:
            return {}
        if name not in self.all_presets:
            raise UsageError(f"{self.name} has no preset {name!r}; choose from: {', '.join(self.all_presets)}")
        return dict(self.all_presets[name])


def preset_painter_args(preset: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return a preset's options of painters, with those for the painter that has one of these names or specs."""
    own = (options for name, options in preset.get("painters", {}).items() if name in names)
    return {**preset.get("painter_args", {}), **next(own, {})}


EXAMS: Registry[Kind[Any]] = Registry("limner.exams", "exam", Kind, hint="A file exam.toml works too")


def exam_names() -> list[str]:
    """Return the names of all installed exams."""
    return EXAMS.names()


def kind(name: str) -> Kind[Any]:
    """Return the exam called `name`: an installed one, or the user's own that was read last."""
    # A store may come from others, so the files in it never replace an installed exam.
    if (files := own_exam(name)) is None or name in exam_names():
        return EXAMS.get(name)
    from .rubric import open_stored

    return open_stored(files)


def each() -> Iterator[Kind[Any]]:
    """Yield every installed exam that is not broken; Limner's own come first and so take precedence."""
    own = EXAMS.own()
    for name in sorted(exam_names(), key=lambda name: (name not in own, name not in SHIPPED, name)):
        try:
            yield kind(name)
        except UsageError:
            continue  # `limner exams` shows what is wrong with it.


@dataclass(frozen=True)
class ExamSource:
    """The exam meant by EXAM on the command line; `columns` are other names of columns in its data."""

    name: str
    kind: str
    data: Path | None
    columns: Columns = field(default_factory=dict)


class OwnData(FrozenModel):
    """An exam.toml that names the user's own data for an installed exam's kind, with other names of columns."""

    name: str
    kind: str
    data: str
    columns: dict[str, str] = Field(default_factory=dict)


def resolve(word: str, data: Path | None = None) -> ExamSource:
    """Return the exam meant by EXAM: the name of an installed exam, ``sample/NAME``, or the path of an exam.toml."""
    if word.endswith(".toml"):
        return _read_exam_toml(Path(word), data)
    if word.startswith(SAMPLE):
        exam = kind(word.removeprefix(SAMPLE))
        if exam.sample is None:
            raise UsageError(f"the exam {exam.name} has no bundled sample")
        return ExamSource(word, exam.name, data or exam.sample)
    return ExamSource(word, kind(word).name, data or downloaded_data(word))


def stored_name(word: str) -> str:
    """Return the name under which EXAM is stored."""
    return resolve(word).name if word.endswith(".toml") else word


def _read_exam_toml(path: Path, data: Path | None) -> ExamSource:
    body = read_toml(path)
    if "kind" not in body and "criteria" in body:
        return _read_definition(path, data)
    own = read_model(path, OwnData)
    return ExamSource(own.name, kind(own.kind).name, data or path.parent / own.data, own.columns)


def _read_definition(path: Path, data: Path | None) -> ExamSource:
    from .rubric import data_path, load_own

    own = load_own(path)
    if own.name in exam_names():
        raise DataError(f"an installed exam is called {own.name}; give this one another name", file=path)
    know_exam(own.name, own.files)
    return ExamSource(own.name, own.name, data or data_path(path, own))


def read(named: ExamSource) -> Exam[Any]:
    """Read the exam's data.

    Raises:
        UsageError: There is no data folder.
        DataError: The data is wrong; the message says where and how.
    """
    if named.data is None:
        raise UsageError(f"{named.name}: no data; {how_to_get(named.name, kind(named.kind).data_source)}")
    if not named.data.exists():
        raise UsageError(f"{named.name}: no such data folder: {named.data}; correct the path, or use --data")
    exam_kind = kind(named.kind)
    columns = {**named.columns, **COLUMNS.get()}
    return replace(exam_kind.read(named.data, named.name, columns), kind=named.kind, files=exam_kind.files)


RUBRIC = "rubric"
STARTER = Path(__file__).parent / "rubric" / "starter"
"""The exam to start from if it is to be declared, not read by code."""
PACKAGES = ("limner", "pydantic", "pydantic-core", "pillow")
"""The packages that reading replies depends on."""


@cache
def marks_reader_id(protocol: type[Protocol[Any]]) -> str | None:
    """Return a short hash of the code that reads replies for a protocol, stored with the marks that were read.

    It covers the folders of the protocol, the exams and the core, and the packages they depend on. None for protocols
    of other packages, because it is unknown which code they use.
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
    """Copy an exam's sample into `folder`, write an exam.toml there, and return the path of that file.

    Like ``rubric`` is a small exam that is declared in its exam.toml, with comments.

    Raises:
        UsageError: The folder is not empty, or the exam has no sample to start from.
    """
    sample = STARTER if like == RUBRIC else kind(like).sample
    if sample is None:
        raise UsageError(f"the exam {like} has no sample to start from")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty")
    path = folder / "exam.toml"
    name = folder.resolve().name
    if like == RUBRIC:
        shutil.copytree(sample, folder, dirs_exist_ok=True)
        own = re.sub(r"\W+", "-", name).strip("-") or "mine"
        text = path.read_text(encoding="utf-8").replace('name = "mine"  ', f'name = "{own}"  ', 1)
        path.write_text(text, encoding="utf-8")
        return path
    shutil.copytree(sample, folder / "data", dirs_exist_ok=True)
    # JSON and TOML write basic strings in the same way.
    lines = [f"name = {json.dumps(name, ensure_ascii=False)}", f"kind = {json.dumps(like)}", 'data = "data"']
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
