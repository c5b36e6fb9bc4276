"""The pages on providers agree with the program: fields, options, sizes, prices, kinds of faults."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from limner.core import settings
from limner.core.evaluator import SERVICE_REWRITE
from limner.core.settings import ModelFacts, PainterFacts, Provider
from limner.core.wire import RewriteSwitch
from limner.painters import SERVICES, service
from limner.painters.base import PaintRequest
from limner.painters.service_calls import POLLING
from tests.docs.blocks import PAGES, blocks
from tests.docs.tables import (
    KNOWN,
    MODEL_HEAD,
    NOTHING,
    PAINTER_HEAD,
    PROVIDERS,
    SETTINGS,
    code,
    generated_tables,
    model_price_rows,
    painter_price_rows,
    table,
    tables,
)

INDEX = PROVIDERS / "index.md"
NAMES = sorted(KNOWN["providers"])
SHAPES = {name: SERVICES.get(name).painter for name in SERVICES.own()}

each_drawing = pytest.mark.parametrize("name", [name for name in NAMES if SETTINGS.providers[name].image_shape])
each_provider = pytest.mark.parametrize("name", NAMES)


def page(name: str) -> Path:
    return PROVIDERS / f"{name}.md"


def words(file: Path) -> str:
    return " ".join(file.read_text("utf-8").split())


def test_tables_are_as_refresh_writes_them() -> None:
    for page, head, rows in generated_tables():
        assert list(table(page, *head).rows) == rows, f"{page.name}: run python -m tests.docs.refresh"


def test_prices_on_other_pages_are_those_shipped() -> None:
    models = [row for name in NAMES for row in model_price_rows(name)]
    painters = [row for name in NAMES for row in painter_price_rows(name)]
    for file in PAGES:
        for each in tables(file):
            known = {MODEL_HEAD: models, PAINTER_HEAD: painters}.get(each.head)
            assert known is None or set(each.rows) <= set(known), file.name


@pytest.mark.parametrize(
    ("section", "model"),
    [
        ("A provider", Provider),
        ("A model", ModelFacts),
        ("A painter", PainterFacts),
        ("Rewriting of prompts", RewriteSwitch),
    ],
)
def test_every_field_is_told_with_its_default(section: str, model: type[BaseModel]) -> None:
    rows = table(INDEX, "field", section=section).rows
    assert [code(name) for name, _, _ in rows] == list(model.model_fields)
    for name, meaning, default in rows:
        field = model.model_fields[code(name)]
        assert default == _default(field.get_default(call_default_factory=True)), name
        for value in _choices(field.annotation):
            assert f"`{value}`" in meaning, f"{name}: {value}"


def _default(value: Any) -> str:
    if value is PydanticUndefined:
        return "required"
    if value is None:
        return "none"
    plain = {True: "true", False: "false", (): "[]"}.get(value) if isinstance(value, bool | tuple) else None
    return f"`{plain or (f'{value:g}' if isinstance(value, int | float) else value)}`"


def _choices(annotation: Any) -> Iterator[str]:
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
    else:
        for part in get_args(annotation):
            yield from _choices(part)


@each_provider
def test_the_entry_shown_is_the_one_shipped(name: str) -> None:
    (shown,) = [tomllib.loads(block.text) for block in blocks(page(name)) if "shipped" in block.notes]
    described = {"painters": {name: KNOWN["painters"][name]}} if name in SETTINGS.wires else {}
    rewrites = {"rewrites": {name: KNOWN["rewrites"][name]}} if name in KNOWN["rewrites"] else {}
    assert shown == {"providers": {name: KNOWN["providers"][name]}} | described | rewrites


def painter(provider: str, model: str = "some-model") -> service.ApiPainter:
    shape = SETTINGS.providers[provider].image_shape
    assert shape is not None
    nowhere: Any = None
    return SHAPES[shape]("mine", f"{provider}/{model}", model, {}, SETTINGS, nowhere)


def options(provider: str, model: str = "some-model") -> frozenset[str]:
    """Every option that a provider's painters take."""
    found = painter(provider, model)
    return found.known | found.execution.keys()


@each_drawing
def test_options_are_those_of_the_code_with_their_defaults(name: str) -> None:
    rows = {code(option): default for option, _, default in table(page(name), "option", "meaning", "default").rows}
    assert set(rows) == options(name)
    sent = dict(_leaves(painter(name).body(PaintRequest("q", "A leaf.")))) | POLLING | {SERVICE_REWRITE: "off"}
    for option, default in rows.items():
        if default in (NOTHING, "by aspect", "by model"):
            assert option not in sent or option == "size", option
            assert (default == "by aspect") == (option == "size")
        else:
            value = sent[option]
            written = ",".join(value) if isinstance(value, list) else str(value).lower()
            assert code(default) == written.removesuffix(".0"), option


def _leaves(body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in body.items():
        if isinstance(value, dict):
            yield from _leaves(value)
        else:
            yield key, value


@pytest.mark.parametrize("file", sorted(PROVIDERS.glob("*.md")), ids=lambda file: file.name)
def test_painter_options_in_commands_are_known(file: Path) -> None:
    for block in blocks(file):
        if block.language != "console" or block.notes.get("exit") == "2":
            continue
        for command in block.commands():
            told = shlex.split(command.words)
            given = [word.partition("=")[0] for word in _after("--painter-arg", told)]
            for spec in _after("--painter", told):
                provider = spec.rpartition("=")[2].partition("/")[0]
                if provider in SETTINGS.providers:
                    known = options(provider, spec.rpartition("=")[2].partition("/")[2])
                    assert "*" in known or set(given) <= known, command.words


def _after(option: str, told: list[str]) -> list[str]:
    return [value for name, value in pairwise(told) if name == option]


@pytest.mark.parametrize("file", [*sorted(PROVIDERS.glob("*.md")), PROVIDERS.parent / "cost.md"], ids=lambda f: f.name)
def test_settings_shown_can_be_used(file: Path, tmp_path: Path) -> None:
    own_file = tmp_path / "limner.toml"
    for block in blocks(file):
        if block.language == "toml" and block.runs:
            own_file.write_text(block.text, "utf-8")
            settings.load(own_file)
        elif block.language == "toml":
            # A price to be filled in must not pass for one.
            with pytest.raises(tomllib.TOMLDecodeError):
                tomllib.loads(block.text)
