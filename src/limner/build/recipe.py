"""Recipes: chains of named steps in an exam's folder, with roles, settings and the paper's counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from .. import exams
from ..core.errors import UsageError
from ..core.prompts import Prompts
from ..core.schema import StrictModel, first_error, read_model
from .base import STEPS, BuildStep

FILE = "recipe.toml"
"""The recipe's file in its exam's folder; the folder also has ``prompts/`` and the files that its steps read."""


class PaperCount(StrictModel):
    """A count printed in the paper: the items left after a step.

    Attributes:
        distinct: A field whose different values are counted instead of items.
        where: Field values that an item must have to be counted.
    """

    after: str
    items: int
    said: str
    distinct: str = ""
    where: dict[str, str] = Field(default_factory=dict)


class StepEntry(StrictModel):
    """A step of the chain as in the file.

    Attributes:
        name: Its name in this recipe.
        step: The registered step, if its name differs.
        roles: The step's name of a role -> the build's, if they differ.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    step: str = ""
    roles: dict[str, str] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)


class RecipeFile(StrictModel):
    """The contents of a ``recipe.toml``."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str
    roles: dict[str, str] = Field(default_factory=dict)
    paper: list[PaperCount] = Field(default_factory=list)
    steps: list[StepEntry] = Field(min_length=1)


@dataclass(frozen=True)
class RecipeStep:
    """A step of a recipe, with checked settings and roles.

    Attributes:
        name: Its name in the recipe.
        roles: The step's name of a role -> the build's.
    """

    name: str
    step: BuildStep
    settings: StrictModel
    roles: Mapping[str, str]


@dataclass(frozen=True)
class BuildRecipe:
    """An opened recipe.

    Attributes:
        exam: The kind of exam it makes.
        folder: The folder it is in.
        roles: Role -> a line that describes it.
        paper: The paper's counts.
    """

    name: str
    title: str
    exam: str
    folder: Path
    roles: Mapping[str, str]
    paper: tuple[PaperCount, ...]
    entries: tuple[StepEntry, ...]

    @cached_property
    def places(self) -> tuple[RecipeStep, ...]:
        """The chain of steps.

        Raises:
            UsageError: A step does not exist, or a setting is not valid.
        """
        return tuple(self._place(entry) for entry in self.entries)

    def _place(self, entry: StepEntry) -> RecipeStep:
        step = STEPS.get(entry.step or entry.name)
        try:
            settings = step.settings.model_validate(entry.settings)
        except ValidationError as error:
            names = ", ".join(step.settings.model_fields) or "none"
            raise UsageError(
                f"recipe {self.name}, step {entry.name}: {first_error(error)}; its settings are: {names}"
            ) from error
        return RecipeStep(entry.name, step, settings, {role: entry.roles.get(role, role) for role in step.roles})

    def prompts(self, own: Path | None = None) -> Prompts:
        """Return the recipe's templates, with the user's own wording on top."""
        return Prompts(self.folder / "prompts", own)

    def with_settings(self, given: Mapping[str, Mapping[str, Any]]) -> BuildRecipe:
        """Return the recipe with other settings: step -> setting -> value.

        Raises:
            UsageError: There is no such step.
        """
        names = [entry.name for entry in self.entries]
        if unknown := sorted(given.keys() - set(names)):
            raise UsageError(f"recipe {self.name} has no step {unknown[0]!r}; its steps are: {', '.join(names)}")
        entries = (
            entry.model_copy(update={"settings": {**entry.settings, **given.get(entry.name, {})}})
            for entry in self.entries
        )
        return replace(self, entries=tuple(entries))

    def asked_roles(self) -> list[str]:
        """Return the roles that steps use, in order."""
        return list(dict.fromkeys(role for place in self.places for role in place.roles.values()))

    def drawing_roles(self) -> set[str]:
        """Return the roles that draw."""
        return {place.roles[word] for place in self.places for word in place.step.painters}


def parse_settings(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Parse ``STEP.SETTING=VALUE`` words; values that are valid JSON are read as JSON.

    Raises:
        UsageError: A word is not of this form.
    """
    from ..core.settings import parse_value

    settings: dict[str, dict[str, Any]] = {}
    for word in words:
        key, sep, value = word.partition("=")
        step, dot, setting = key.partition(".")
        if not (sep and dot and step and setting):
            raise UsageError(f"--set takes STEP.SETTING=VALUE, not {word!r}")
        settings.setdefault(step, {})[setting] = parse_value(value)
    return settings


def read_recipe(folder: Path, exam: str) -> BuildRecipe:
    """Return the recipe in a folder.

    Raises:
        DataError: It cannot be read, or something in it is not valid.
        UsageError: Two of its steps have the same name, or a count of the paper names an unknown step.
    """
    file = read_model(folder / FILE, RecipeFile)
    names = [entry.name for entry in file.steps]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{folder / FILE}: two steps are called {twice[0]!r}")
    if lost := [mile.after for mile in file.paper if mile.after not in names]:
        raise UsageError(f"{folder / FILE}: paper: no step is called {lost[0]!r}")
    return BuildRecipe(file.name, file.title, exam, folder, file.roles, tuple(file.paper), tuple(file.steps))


def recipes() -> Iterator[BuildRecipe]:
    """Yield the recipes of all installed exams."""
    for kind in exams.each():
        if kind.recipe is not None:
            yield read_recipe(kind.recipe, kind.name)


def open_recipe(name: str) -> BuildRecipe:
    """Return the recipe of this name, or the one in a user's folder, written ``EXAM=FOLDER``.

    Raises:
        UsageError: There is none.
    """
    installed = list(recipes())
    for recipe in installed:
        if recipe.name == name:
            return recipe
    exam, sep, folder = name.partition("=")
    if sep and (Path(folder) / FILE).is_file():
        return read_recipe(Path(folder).resolve(), exams.kind(exam).name)
    raise UsageError(
        f"no recipe {name!r}; the recipes are: {', '.join(recipe.name for recipe in installed) or 'none'}. "
        f"Your own recipe is EXAM=FOLDER, with {FILE} in the folder"
    )
