"""The pages on services agree with the program: tables, fields, options, prices, settings that they show."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from limner.core import settings
from limner.core.evaluator import SERVICE_REWRITE
from limner.core.settings import ModelFacts, PainterFacts, Provider, WireFormat
from limner.core.wire import ANY_OPTION, EditForm, RewriteSwitch
from limner.painters import worker
from limner.painters.diffusers import options as diffusers
from tests.docs.blocks import PAGES, ROOT, blocks
from tests.docs.services import SERVICES_PAGE, SETTINGS, generated_tables, options
from tests.docs.tables import code, number, table, tables

DRAWING = [name for name, provider in SETTINGS.providers.items() if provider.image_shape]
CODE = re.compile(r"`([^`]+)`")
PRICES = {
    "input": "input_price",
    "output": "output_price",
    "per image": "image_price",
    "at most": "image_bound",
    "an edit": "edit_price",
}
"""What columns of prices are called on any page, and the field that each shows."""

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def test_generated_tables_are_current() -> None:
    for page, head, rows in generated_tables():
        assert list(table(page, *head).rows) == rows, f"{page.name}: run python -m tests.docs.refresh"


@each_page
def test_prices_in_other_tables_equal_catalogue(page: Path) -> None:
    known: dict[str, dict[str, Any]] = {"model": {**SETTINGS.models}, "painter": {**SETTINGS.painters}}
    for each in tables(page):
        for column in PRICES.keys() & set(each.head) if each.head[0] in known else ():
            for spec, cell in zip(each.column(each.head[0]), each.column(column), strict=True):
                facts = known[each.head[0]][code(spec)]
                assert number(cell) == getattr(facts, PRICES[column]), f"{page.name}: {spec}: {column}"


@pytest.mark.parametrize(
    ("beginning", "model"),
    [
        ("`base_url`", Provider),
        ("`input_price`", ModelFacts),
        ("`sizes`", PainterFacts),
        ("`submit` (required)", WireFormat),
        ("`fields`", EditForm),
        ("`off`", RewriteSwitch),
    ],
)
def test_every_field_is_explained_with_its_default(beginning: str, model: type[BaseModel]) -> None:
    rows = [each.rows for each in tables(SERVICES_PAGE) if each.rows[0][0].startswith(beginning)]
    assert len(rows) == 1
    explained: list[str] = []
    for cell, meaning in rows[0]:
        names, _, default = cell.partition(" = ")
        for name in CODE.findall(names):
            field = model.model_fields[name]
            assert default == _default(field.get_default(call_default_factory=True)), name
            assert ("(required)" in names) == field.is_required(), name
            assert {f"`{value}`" for value in _choices(field.annotation)} <= {
                f"`{word}`" for word in CODE.findall(meaning)
            }
            explained.append(name)
    assert sorted(explained) == sorted(model.model_fields)


def _default(value: Any) -> str:
    """Return a default as the page shows it: nothing where it is empty, off or missing."""
    if value is PydanticUndefined or not value:
        return ""
    words = ", ".join(value) if isinstance(value, tuple) else f"{value:g}" if type(value) is float else str(value)
    return f"`{words.lower() if value is True else words}`"


def _choices(annotation: Any) -> Iterator[str]:
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
    else:
        # Of a table, only what its fields may be called.
        for part in get_args(annotation)[: 1 if get_origin(annotation) is dict else None]:
            yield from _choices(part)


def test_every_option_is_explained() -> None:
    """In the table for all services, or in the words of the service's own section."""
    sections = dict(re.findall(r"^## (\S+)\n+((?:(?!\||#).*\n)*)", SERVICES_PAGE.read_text("utf-8"), re.MULTILINE))
    shared = {
        name for cell in table(SERVICES_PAGE, "option", "meaning").column("option") for name in CODE.findall(cell)
    }
    for name in DRAWING:
        own = {word.partition("=")[0] for word in CODE.findall(sections[name])}
        assert options(name).keys() - {ANY_OPTION} <= shared | own, name
    assert shared <= {option for name in DRAWING for option in options(name)}


@pytest.mark.parametrize(
    ("painter", "known", "execution"),
    [
        ("diffusers", diffusers.READERS, diffusers.EXECUTION),
        ("transformers", worker.READERS, worker.EXECUTION),
        ("worker", worker.OWN_OPTIONS, (*worker.EXECUTION, "edits")),
    ],
)
def test_options_of_local_painters_equal_code(painter: str, known: Iterable[str], execution: tuple[str, ...]) -> None:
    rows = table(ROOT / "docs" / "painters.md", "option", "for", "meaning").rows
    own = [cell for cell, painters, _ in rows if painters == "all" or painter in painters.split(", ")]
    assert sorted(name for cell in own for name in CODE.findall(cell)) == sorted(known)
    assert {name for cell in own if "†" in cell for name in CODE.findall(cell)} == set(execution)


@each_page
def test_painter_options_in_commands_are_known(page: Path) -> None:
    consoles = [block for block in blocks(page) if block.language == "console" and block.notes.get("exit") != "2"]
    commands = [command.words for block in consoles for command in block.commands()]
    for command in (command for command in commands if "--painter-arg" in command):
        words = shlex.split(command)
        given = {word.partition("=")[0] for word in _after("--painter-arg", words)} - {SERVICE_REWRITE}
        for spec in _after("--painter", words):
            provider = re.sub(r"^[^/]+=", "", spec).partition("/")[0]
            if provider in DRAWING and ANY_OPTION not in options(provider):
                assert given <= options(provider).keys(), command


def _after(option: str, words: list[str]) -> list[str]:
    return [value for name, value in pairwise(words) if name == option]


@pytest.mark.parametrize("name", ["services", "painters", "strategies", "choose", "cost"])
def test_settings_shown_can_be_loaded(name: str, tmp_path: Path) -> None:
    own_file = tmp_path / "limner.toml"
    for block in blocks(ROOT / "docs" / f"{name}.md"):
        if block.language == "toml" and block.runs:
            own_file.write_text(block.text, "utf-8")
            settings.load(own_file)
        elif block.language == "toml":
            # A price to be filled in must not be taken for a real one.
            with pytest.raises(tomllib.TOMLDecodeError):
                tomllib.loads(block.text)
