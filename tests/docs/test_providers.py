"""The pages on providers agree with the program: fields, options, sizes, prices, kinds of faults."""

from __future__ import annotations

import re
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
from limner.core.row_names import SERVICE_REWRITE
from limner.core.service_rewrite import RewriteSwitch
from limner.core.settings import ModelFacts, PainterFacts, Provider
from limner.core.wire import EditForm, WireFormat
from limner.painters import SERVICES, service
from limner.painters.base import PaintRequest
from limner.painters.diffusers import options as pipelines
from limner.painters.jobs import POLLING
from limner.painters.worker import ready
from limner.painters.worker.custom import EXECUTION, OWN
from tests.docs.blocks import PAGES, blocks
from tests.docs.tables import (
    ASPECTS,
    CATALOGUE_HEAD,
    KNOWN,
    MODEL_HEAD,
    NOTHING,
    PAINTER_HEAD,
    PROVIDERS,
    SETTINGS,
    SIZE_HEAD,
    Table,
    catalogue_rows,
    code,
    model_price_rows,
    number,
    painter_price_rows,
    provider_rows,
    service_rows,
    size_rows,
    table,
    tables,
)

INDEX = PROVIDERS / "index.md"
NAMES = sorted(KNOWN["providers"])
SHAPES = {name: SERVICES.get(name).painter for name in SERVICES.own()}

each_drawing = pytest.mark.parametrize("name", [name for name in NAMES if SETTINGS.providers[name].image_shape])
each_provider = pytest.mark.parametrize("name", NAMES)
priced_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def page(name: str) -> Path:
    return PROVIDERS / f"{name}.md"


def words(file: Path) -> str:
    return " ".join(file.read_text("utf-8").split())


def test_every_provider_has_its_page_and_its_row() -> None:
    assert list(table(INDEX, "provider", "draws").rows) == provider_rows()
    assert {file.stem for file in PROVIDERS.glob("*.md")} == {
        *NAMES,
        "diffusers",
        "index",
        "python",
        "transformers",
        "worker",
    }


def test_every_model_of_the_catalogue_has_its_row() -> None:
    assert list(table(PROVIDERS.parent / "models.md", *CATALOGUE_HEAD).rows) == catalogue_rows()


def test_every_image_service_has_its_row() -> None:
    assert list(table(INDEX, "`image_shape`", "whose it is").rows) == service_rows()


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


@pytest.mark.parametrize(("place", "model"), [(0, WireFormat), (1, EditForm)])
def test_every_field_of_a_description_is_told_with_its_default(place: int, model: type[BaseModel]) -> None:
    found = [each for each in tables(INDEX) if each.section == "A service of your own"][place]
    assert [code(name) for name, _, _ in found.rows] == list(model.model_fields)
    for name, meaning, default in found.rows:
        field = model.model_fields[code(name)]
        usual = field.get_default(call_default_factory=True)
        several = isinstance(usual, tuple) and usual
        assert default == (", ".join(f"`{each}`" for each in usual) if several else _default(usual)), name
        for value in _choices(field.annotation) if code(name) != "failed" else ():
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


def test_options_of_pipelines_are_those_of_the_code() -> None:
    told = table(page("diffusers"), "option", "meaning", "default", "makes another drawing")
    rows = {code(name): row for row in told.rows for name in row[0].split(", ")}
    assert set(rows) == set(pipelines.READERS)
    assert {name for name, row in rows.items() if row[3] == "no"} == set(pipelines.EXECUTION)
    for other, name in pipelines.ALIASES.items():
        assert other in ("device",) or f"`{other}`" in rows[name][1]
    (sizes,) = table(page("diffusers"), "painter", "square", "landscape", "portrait").rows
    assert tuple(code(size) for size in sizes[1:]) == tuple(pipelines.SIZES[aspect] for aspect in ASPECTS)
    usual = pipelines.parse({}, "diffusers/x")
    assert (code(rows["dtype"][2]), rows["batch_size"][2]) == (usual.dtype, str(usual.batch_size))
    assert code(rows["offload"][2]) == usual.offload
    assert code(rows["split"][2]) == str(usual.split).lower()
    assert all(f"`{name}`" in rows["quantize"][1] for name in pipelines.QUANTIZATIONS)


@pytest.mark.parametrize(
    ("name", "known", "free"),
    [("transformers", set(ready.READERS), EXECUTION), ("worker", set(OWN), (*EXECUTION, "edits"))],
)
def test_options_of_other_models_are_those_of_the_code(name: str, known: set[str], free: tuple[str, ...]) -> None:
    told = table(page(name), "option", "meaning", "default", "makes another drawing")
    rows = {code(option): row for row in told.rows for option in row[0].split(", ")}
    assert set(rows) == known
    assert {option for option, row in rows.items() if row[3] == "no"} == set(free)
    usual = pipelines.parse({}, f"{name}/x")
    assert (rows["batch_size"][2], rows["timeout_s"][2]) == (str(usual.batch_size), f"{usual.timeout_s:g}")


def _leaves(body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in body.items():
        if isinstance(value, dict):
            yield from _leaves(value)
        else:
            yield key, value


@each_drawing
def test_sizes_and_longest_prompts(name: str) -> None:
    assert list(table(page(name), *SIZE_HEAD).rows) == size_rows(name)


def _priced(file: Path, *head: str) -> list[Table]:
    return [each for each in tables(file) if each.head[: len(head)] == head]


@priced_page
def test_prices_are_those_shipped(page: Path) -> None:
    for found in _priced(page, "model", "input", "output"):
        for name, sent, written, day, source in found.rows:
            facts = SETTINGS.models[code(name)]
            assert (number(sent), number(written)) == (facts.input_price, facts.output_price), name
            assert (day, source) == (facts.priced_on, facts.source), name
    for found in _priced(page, "painter", "per image", "at most"):
        for name, price, most, edit, day, source in found.rows:
            known = SETTINGS.painters[code(name)]
            told = (number(price), number(most), number(edit))
            assert told == (known.image_price, known.image_bound, known.edit_price), name
            assert (day, source) == (known.priced_on, known.source), name


@each_provider
def test_no_known_price_is_left_out(name: str) -> None:
    models, painters = model_price_rows(name), painter_price_rows(name)
    for head, rows in ((MODEL_HEAD, models), (PAINTER_HEAD, painters)):
        assert [row for each in _priced(page(name), *head) for row in each.rows] == rows
    if not models and not painters:
        assert re.search(r"^## Prices\n\nNone", page(name).read_text("utf-8"), re.MULTILINE)


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
