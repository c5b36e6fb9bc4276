"""Recipes: chains of declared steps in an exam's folder or a user's file, with roles and the paper's counts."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError

from .. import exams
from ..core.asks import FIELD, Prompts
from ..core.data_rows import Problems
from ..core.errors import LimnerError, UsageError
from ..core.schema import StrictModel, add_problems, first_error, line_of, read_model
from .ask import ASK, AskSettings
from .base import BuildStep, Code, GenericSettings
from .reviews import REVIEW, ReviewSettings
from .sources import SOURCE, SourceSettings
from .steps import STEPS as OTHER_STEPS

FILE = "recipe.toml"
"""The recipe's file in its exam's folder; the folder also has ``prompts/`` and the files that its steps read."""
STEPS: dict[str, BuildStep] = {SOURCE.name: SOURCE, ASK.name: ASK, REVIEW.name: REVIEW, **OTHER_STEPS}
"""The generic steps by name."""


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
    """A step of the chain as in the file; keys other than these are its settings.

    Attributes:
        name: Its name in this recipe.
        step: The generic step, or the one of the recipe's own code, if its name differs.
        about: A line that says what it does here.
        off: Whether the step is left out unless ``--set NAME.off=false`` is given.
    """

    model_config = ConfigDict(extra="allow")

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    step: str = ""
    about: str = ""
    off: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the step."""
        return dict(self.model_extra or {})


class RecipeFile(StrictModel):
    """The contents of a ``recipe.toml``.

    Attributes:
        exam: The kind of exam that it makes; an installed recipe makes that of its folder.
        code: The module with the recipe's own steps and readers; only installed exams may have one.
        copied: The fields with text of a source, which leave the build only if its licence allows it; the value is the
            field that says where in the source the text is.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str
    exam: str = ""
    code: str = ""
    copied: dict[str, str] = Field(default_factory=dict)
    roles: dict[str, str] = Field(default_factory=dict)
    paper: tuple[PaperCount, ...] = ()
    steps: tuple[StepEntry, ...] = Field(min_length=1)


@dataclass(frozen=True)
class RecipeStep:
    """A step of a recipe under its name there, with checked settings."""

    name: str
    step: BuildStep
    settings: StrictModel


@dataclass(frozen=True)
class BuildRecipe:
    """An opened recipe.

    Attributes:
        exam: The kind of exam it makes.
        file: The file it is in.
        roles: Role -> a line that describes it.
        paper: The paper's counts.
        code: The recipe's own steps and readers.
        copied: Field with text of a source -> field that says where in the source it is.
    """

    name: str
    title: str
    exam: str
    file: Path
    roles: Mapping[str, str]
    paper: tuple[PaperCount, ...]
    steps: tuple[StepEntry, ...]
    code: Code
    copied: Mapping[str, str]

    @property
    def folder(self) -> Path:
        """The folder with its prompts and tables."""
        return self.file.parent

    @cached_property
    def places(self) -> tuple[RecipeStep, ...]:
        """The chain of steps.

        Raises:
            UsageError: A step does not exist, or a setting is not valid.
        """
        return tuple(self._place(entry) for entry in self.steps if not entry.off)

    def _place(self, entry: StepEntry) -> RecipeStep:
        try:
            return self.bind(entry)
        except ValidationError as error:
            names = ", ".join(self.step_of(entry).settings.model_fields) or "none"
            raise UsageError(
                f"recipe {self.name}, step {entry.name}: {first_error(error)}; its settings are: {names}"
            ) from error
        except UsageError as error:
            raise UsageError(f"recipe {self.name}, step {entry.name}: {error}") from error

    def bind(self, entry: StepEntry) -> RecipeStep:
        """Return the step that an entry declares.

        Raises:
            UsageError: There is no such step, or it lacks something.
            ValidationError: A setting is not valid.
        """
        step = self.step_of(entry)
        settings = step.settings.model_validate(entry.settings)
        if isinstance(settings, GenericSettings):
            step = settings.declare(replace(step, takes=settings.sort, makes=settings.sort), self.code)
        step = replace(step, about=entry.about or step.about)
        return RecipeStep(entry.name, step, settings)

    def step_of(self, entry: StepEntry) -> BuildStep:
        """Return the kind of step that an entry names.

        Raises:
            UsageError: There is no such step.
        """
        name = entry.step or entry.name
        step = self.code.get("STEPS", {}).get(name) or STEPS.get(name)
        if step is None:
            names = ", ".join((*STEPS, *self.code.get("STEPS", {})))
            raise UsageError(f"there is no step {name!r}; the steps are: {names}")
        return step

    def prompts(self, own: Path | None = None) -> Prompts:
        """Return the recipe's templates, with the user's own wording on top."""
        return Prompts(self.folder / "prompts", own)

    def with_settings(self, given: Mapping[str, Mapping[str, Any]]) -> BuildRecipe:
        """Return the recipe with other settings: step -> setting, with dots for parts of it -> value.

        Raises:
            UsageError: There is no such step or setting.
        """
        names = [entry.name for entry in self.steps]
        if unknown := sorted(given.keys() - set(names)):
            raise UsageError(f"recipe {self.name} has no step {unknown[0]!r}; its steps are: {', '.join(names)}")
        return replace(self, steps=tuple(_changed(entry, given.get(entry.name, {})) for entry in self.steps))

    def asked_roles(self) -> list[str]:
        """Return the roles that steps use, in order."""
        return list(dict.fromkeys(role for place in self.places for role in place.step.roles))

    def drawing_roles(self) -> set[str]:
        """Return the roles that draw."""
        return {role for place in self.places for role in place.step.painters}


def _changed(entry: StepEntry, given: Mapping[str, Any]) -> StepEntry:
    body = copy.deepcopy(entry.model_dump(exclude_unset=True))
    for path, value in given.items():
        *above, last = path.split(".")
        try:
            inner: Any = body
            for part in above:
                inner = inner[int(part)] if isinstance(inner, list) else inner.setdefault(part, {})
            inner[int(last) if isinstance(inner, list) else last] = value
        except (IndexError, ValueError, TypeError, AttributeError) as error:
            raise UsageError(f"step {entry.name} has no setting {path!r}: --set takes STEP.SETTING=VALUE") from error
    return StepEntry.model_validate(body)


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


def read_recipe(path: Path, exam: str = "") -> BuildRecipe:
    """Return the recipe in a file; `exam` is the kind of an installed exam, whose recipe may have code.

    Raises:
        DataError: It cannot be read, or something in it is not valid; every problem has its line.
    """
    file = read_model(path, RecipeFile)
    problems, text = Problems(), path.read_text(encoding="utf-8")
    names = [entry.name for entry in file.steps]
    for n, name in enumerate(names):
        if name in names[:n]:
            problems.add(f"two steps are called {name!r}", path, line_of(text, ("steps", n, "name")))
    for n, count in enumerate(file.paper):
        if count.after not in names:
            problems.add(f"paper: no step is called {count.after!r}", path, line_of(text, ("paper", n, "after")))
    if file.code and not exam:
        problems.add("code: only the recipe of an installed exam may have code", path, line_of(text, ("code",)))
    if not exam and file.exam not in (kinds := [kind.name for kind in exams.each()]):
        problems.add(f"exam: the kind of exam to make, one of {', '.join(kinds)}", path, line_of(text, ("exam",)))
    problems.settle()
    code = vars(import_module(file.code)) if file.code else {}
    return BuildRecipe(**{**dict(file), "exam": exam or file.exam, "file": path, "code": code})


def check_recipe(path: Path) -> BuildRecipe:
    """Return the recipe in a file after checking all that can be checked without running it.

    Raises:
        DataError: Something is not valid; every problem has its line.
    """
    installed = next((kind.name for kind in exams.each() if kind.recipe and kind.recipe / FILE == path.resolve()), "")
    recipe = read_recipe(path, installed)
    problems, text = Problems(), path.read_text(encoding="utf-8")
    fields: dict[str, set[str] | None] = {}
    for n, entry in enumerate(recipe.steps):
        at = ("steps", n)
        try:
            place = recipe.bind(entry)
        except ValidationError as error:
            add_problems(problems, error, path, recipe.step_of(entry).settings, at)
            continue
        except UsageError as error:
            problems.add(f"step {entry.name}: {error}", path, line_of(text, (*at, "step")))
            continue
        for message, *key in _place_problems(recipe, place, fields):
            problems.add(f"step {entry.name}: {message}", path, line_of(text, (*at, *key)))
    problems.settle()
    return recipe


def _place_problems(
    recipe: BuildRecipe, place: RecipeStep, fields: dict[str, set[str] | None]
) -> Iterator[tuple[str, ...]]:
    """Yield what is wrong with a step and the key in question; where code or a table sets fields, all may be there."""
    step, prompts = place.step, recipe.prompts()
    for name in step.prompts:
        try:
            text = prompts.text(name)
        except LimnerError as error:
            yield str(error), "prompt"
            continue
        if isinstance(place.settings, AskSettings) and name == place.settings.prompt:
            for key in place.settings.fill:
                if f"{{{{{key}}}}}" not in text:
                    yield f"prompt {name}.md lacks the field {{{{{key}}}}}", "fill", key
            for key in sorted({*FIELD.findall(text)} - {*place.settings.fill}):
                yield f"prompt {name}.md has the field {{{{{key}}}}}, which nothing fills", "fill"
    if isinstance(place.settings, AskSettings):
        yield from place.settings.unknown_names()
    known = fields.get(step.takes, set())
    if step.source is None and step.takes not in fields:
        yield f"no earlier step makes items of the sort {step.takes!r}", "sort"
    elif step.source is None and known is not None:
        for name in sorted(set(step.reads or ()) - known - {"warnings"}):
            yield f"no earlier step sets the field {name!r}", name
    if step.beside and step.beside not in fields:
        yield f"no earlier step makes items of the sort {step.beside!r}", step.beside
    if isinstance(place.settings, SourceSettings) and (entries := place.settings.entries) is not None:
        if entries.of not in fields:
            yield f"no earlier step makes items of the sort {entries.of!r}", "entries", "of"
        elif (others := fields[entries.of]) is not None:
            for name in sorted({entries.list, *entries.keep, *filter(None, [entries.id])} - others):
                yield f"no earlier step sets the field {name!r}", "entries", name
    if isinstance(place.settings, ReviewSettings) and known is not None:
        for name in sorted({*place.settings.fields} - known - {place.settings.write}):
            yield f"no earlier step sets the field {name!r}", "fields"
    declared = step.name in STEPS and (step.source is None or bool(step.writes))
    before = fields.get(step.makes, set())
    fields[step.makes] = before | set(step.writes) if declared and before is not None else None
    for role in step.roles:
        if role not in recipe.roles:
            yield f"the role {role!r} is not described under roles", "role"


def recipes() -> Iterator[BuildRecipe]:
    """Yield the recipes of all installed exams."""
    for kind in exams.each():
        if kind.recipe is not None:
            yield read_recipe(kind.recipe / FILE, kind.name)


def open_recipe(name: str) -> BuildRecipe:
    """Return the recipe of this name, or the one in a user's file.

    Raises:
        UsageError: There is none.
    """
    installed = {recipe.name: recipe for recipe in recipes()}
    if name in installed:
        return installed[name]
    path = Path(name) / FILE if Path(name).is_dir() else Path(name)
    if path.is_file():
        return read_recipe(path.resolve())
    raise UsageError(
        f"no recipe {name!r}; the recipes are: {', '.join(installed) or 'none'}. "
        f"Your own recipe is a file, such as ./{FILE}"
    )
