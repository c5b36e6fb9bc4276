"""The places where exams' released data is found: at its authors, and in the folder of downloaded data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path

from pydantic import Field

from ..core.schema import StrictModel

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
