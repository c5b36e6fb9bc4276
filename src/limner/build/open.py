"""Opening of builds by their name in a store, with recipe, settings, roles and wording."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import UsageError
from ..core.exam import Exam
from ..core.images import Preparer
from ..core.settings import Settings
from ..evidence.probe import OcrProbe
from ..models import open_model
from ..painters import Painter, open_painter
from ..store import Store
from .base import OpenModel
from .engine import Builder
from .recipe import BuildRecipe, open_recipe, parse_settings
from .records import Build, load_build, load_builds, save_build

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def new_build(
    store: Store,
    name: str,
    recipe: str,
    *,
    settings: Sequence[str] = (),
    roles: Mapping[str, str] | None = None,
    prompts: Path | None = None,
) -> Builder:
    """Create a build; no step is run yet.

    Args:
        store: The store of the build.
        name: The name of the build and of the exam that it makes.
        recipe: A recipe's name, or the path of a ``recipe.toml``.
        settings: ``STEP.SETTING=VALUE`` words.
        roles: Role -> ``provider/model``, and ``role.argument`` -> value.
        prompts: A folder with the user's own wording.

    Raises:
        UsageError: The build exists already, or a setting is not valid.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a valid name: use at most 100 letters, digits, dots, dashes and underscores")
    if any(build.name == name for build in load_builds(store)):
        raise UsageError(f"{store.url} already has a build {name!r}; `limner build run {name}` continues it")
    opened = open_recipe(recipe)
    word = recipe if opened.name == recipe else str(opened.file)
    return change_build(store, Build(name, word), settings=settings, roles=roles, prompts=prompts)


def change_build(
    store: Store,
    build: Build,
    *,
    settings: Sequence[str] = (),
    roles: Mapping[str, str] | None = None,
    prompts: Path | None = None,
    keep: bool = True,
) -> Builder:
    """Return the build with other settings, roles or wording, which are also stored for later runs.

    Raises:
        UsageError: Something is not valid; then nothing is stored.
    """
    recipe = open_recipe(build.recipe)
    body = {"settings": {}, "roles": {}, "prompts": None} | build.body
    chosen = {step: dict(given) for step, given in body["settings"].items()}
    for step, given in parse_settings(settings).items():
        chosen.setdefault(step, {}).update(given)
    recipe = recipe.with_settings(chosen)
    body["settings"] = _absolute(recipe, chosen)
    body["roles"] = {**body["roles"], **_checked(recipe, roles or {})}
    if prompts is not None:
        body["prompts"] = str(prompts.resolve())
    recipe = recipe.with_settings(body["settings"])
    changed = Build(build.name, build.recipe, body, build.created)
    builder = Builder(changed, recipe, store, recipe.prompts(Path(body["prompts"]) if body["prompts"] else None))
    if keep:
        save_build(store, changed)
    return builder


def open_build(store: Store, name: str) -> Builder:
    """Open the build of this name for reading.

    Raises:
        UsageError: There is none.
    """
    return change_build(store, load_build(store, name), keep=False)


def with_models(builder: Builder, settings: Settings) -> Builder:
    """Return the build with the models and painters of its roles, ready to run."""
    roles, blobs = builder.build.body["roles"], builder.store.blobs
    images, empty = Preparer(blobs.get), Exam[Any](builder.build.name, builder.recipe.exam, ())
    models: dict[str, OpenModel] = {}
    painters: dict[str, Painter] = {}
    drawing = builder.recipe.drawing_roles()
    for role in builder.recipe.asked_roles():
        if role not in roles:
            continue
        args = {name.partition(".")[2]: value for name, value in roles.items() if name.startswith(f"{role}.")}
        if role in drawing:
            painters[role] = open_painter(roles[role], empty, blobs, OcrProbe(), settings, args)
        else:
            models[role] = open_model(roles[role], args, settings, images)
    return Builder(builder.build, builder.recipe, builder.store, builder.prompts, models, painters)


def _checked(recipe: BuildRecipe, roles: Mapping[str, str]) -> dict[str, str]:
    asked = recipe.asked_roles()
    for name in roles:
        if name.partition(".")[0] not in asked:
            raise UsageError(f"recipe {recipe.name} has no role {name!r}; its roles are: {', '.join(asked) or 'none'}")
    return dict(roles)


def _absolute(recipe: BuildRecipe, chosen: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Make the paths in settings absolute, so that later runs work from any folder."""
    places = {place.name: place.settings for place in recipe.places}

    def absolute(step: str, name: str, given: Any) -> Any:
        value = getattr(places.get(step), name, None)
        if isinstance(value, Path):
            return str(value.resolve())
        paths = [str(path.resolve()) for path in value if isinstance(path, Path)] if isinstance(value, tuple) else []
        return paths or given

    return {step: {name: absolute(step, name, given) for name, given in own.items()} for step, own in chosen.items()}
