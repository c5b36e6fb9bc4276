"""The generated tables of docs/services.md and docs/models.md: what the settings and the painters say of services."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from limner.core.evaluator import SERVICE_REWRITE
from limner.core.json_text import gaps
from limner.core.settings import ModelFacts, PainterFacts, Settings, shipped
from limner.core.wire import ANYTHING, RewriteSwitch
from limner.painters import SERVICES
from limner.painters.base import PaintRequest
from limner.painters.service import ApiPainter
from tests.docs.blocks import ROOT
from tests.docs.tables import NOTHING

SERVICES_PAGE, MODELS_PAGE = ROOT / "docs" / "services.md", ROOT / "docs" / "models.md"
Rows = list[tuple[str, ...]]
KNOWN: dict[str, Any] = shipped()
SETTINGS = Settings.model_validate(KNOWN)
ASPECTS: tuple[Literal["square", "landscape", "portrait"], ...] = ("square", "landscape", "portrait")
ANY = "some-model"
"""A model that nothing is known of."""
EDITORS = {"bfl": ("flux-2-klein-9b",), "dashscope": ("qwen-image-edit", "wan2.6-image")}
"""Models that are not in the catalogue and start from another number of pictures than the rest."""


def overview_rows() -> Rows:
    """Return a row for each service: whether it draws and marks, and the variable of its key."""
    return [
        (
            f"[`{name}`](#{name})",
            "yes" if provider.image_shape else "no",
            "yes" if _marks(name) else "no",
            f"`{provider.key_env}`" if provider.key_env else "none",
        )
        for name, provider in SETTINGS.providers.items()
    ]


def format_rows() -> Rows:
    """Return the wire formats of image calls that this package registers."""
    return [(f"`{name}`", SERVICES.about(name)) for name in SERVICES.own()]


def service_rows(name: str) -> Rows:
    """Return what is known of one service: how it is called, then each of its models that has facts of its own."""
    provider = SETTINGS.providers[name]
    addresses = [url for url in (provider.base_url, provider.image_url) if url]
    rows: Rows = [("address", _listed(addresses).replace(", ", ", images "))]
    if provider.key_header:
        rows.append(("key header", f"`{provider.key_header}`"))
    if provider.image_shape:
        rows += _drawing_rows(name)
    if _marks(name):
        described = f", replies described by `{provider.structured}`" if provider.structured != "none" else ""
        rows.append(("marks", f"`{provider.shape}` format{described}"))
    if provider.batch:
        rows.append(("batches", f"{provider.batch.share:.0%} of the price, {provider.batch.calls:,} calls"))
    models = [spec for spec in {**SETTINGS.models, **SETTINGS.painters} if spec.startswith(f"{name}/")]
    return rows + [(_listed(alike), facts) for facts, alike in groupby(models, key=_model_facts) if facts]


def ending_rows() -> Rows:
    """Return the models of the catalogue that end, with the day and the successor."""
    return [
        (f"`{name}`", str(facts.shutdown), f"`{facts.successor}`" if facts.successor else NOTHING)
        for name, facts in SETTINGS.models.items()
        if facts.shutdown
    ]


def paper_name_rows() -> Rows:
    """Return the models of the catalogue that tables of the papers show."""
    return [(f"`{name}`", ", ".join(facts.paper_names)) for name, facts in SETTINGS.models.items() if facts.paper_names]


def generated_tables() -> Iterator[tuple[Path, tuple[str, ...], Rows]]:
    """Yield every table that the settings fill: its page, its head, its rows."""
    yield SERVICES_PAGE, ("service", "draws", "marks", "key variable"), overview_rows()
    yield SERVICES_PAGE, ("`image_shape`", "format"), format_rows()
    for name in SETTINGS.providers:
        yield SERVICES_PAGE, ("fact", f"`{name}`"), service_rows(name)
    yield MODELS_PAGE, ("model", "gone on", "successor"), ending_rows()
    yield MODELS_PAGE, ("model", "called in the papers"), paper_name_rows()


def options(name: str) -> dict[str, str]:
    """Return every option that a service's painters take, with what is sent unless it is given."""
    painters = list(_painters(name).values())
    sent = {key.rpartition(".")[2]: value for painter in painters for key, value in _leaves(_body(painter))}
    known = {option for painter in painters for option in painter.known} - {SERVICE_REWRITE}
    defaults = sent | dict(painters[0].execution)
    names = sorted(known | painters[0].execution.keys(), key=lambda option: (option == ANYTHING, option))
    return {option: _plain(defaults[option]) if option in defaults else "" for option in names}


def _marks(name: str) -> bool:
    return "shape" in KNOWN["providers"][name]


def _drawing_rows(name: str) -> Rows:
    provider, others = SETTINGS.providers[name], _painters(name)[ANY]
    rows: Rows = [
        ("draws", f"`{provider.image_shape}`, sends {_listed(_sent(name))}"),
        ("options", _same_as(name) or ", ".join(map(_option, options(name).items()))),
        ("sizes", _sizes(others) or "the service chooses"),
        ("edits", _edits(name)),
    ]
    if switches := SETTINGS.rewrite_switches(name):
        rows.append((f"`{SERVICE_REWRITE}`", _rewriting(switches)))
    if others.facts.image_price is not None:
        rows.append(("price", f"${price(others.facts.image_price)}/image"))
    return rows


def _edits(name: str) -> str:
    """Return how many pictures a request may start from, models that differ from others by name."""
    numbers = {model: painter.most_pictures for model, painter in _painters(name).items()}
    others = numbers.pop(ANY)
    groups = groupby(sorted(numbers, key=lambda model: -numbers[model]), key=lambda model: numbers[model])
    told = [f"up to {most} with {_listed(models)}" for most, models in groups if most != others]
    rest = f"up to {others} pictures" if others else "no"
    return "; ".join([*told, f"others {rest}"]) if told else rest


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _same_as(name: str) -> str:
    shape = SETTINGS.providers[name].image_shape
    first = next(each for each, provider in SETTINGS.providers.items() if provider.image_shape == shape)
    return f"as [`{first}`](#{first})" if first != name and options(first) == options(name) else ""


def _option(item: tuple[str, str]) -> str:
    name, default = item
    shown = "any other name" if name == ANYTHING else f"`{name}`"
    return f"{shown} (`{default}`)" if default and name != "size" else shown


@cache
def _painters(name: str) -> dict[str, ApiPainter]:
    """Return painters by model: one that nothing is known of, those of the catalogue, and patterns of a description."""
    shape = SETTINGS.providers[name].image_shape
    assert shape is not None
    known = [spec.partition("/")[2] for spec in SETTINGS.painters if spec.startswith(f"{name}/")]
    described = SETTINGS.wires[name].models if name in SETTINGS.wires else ()
    make, nowhere = SERVICES.get(shape).painter, Any
    models = dict.fromkeys((ANY, *known, *described, *EDITORS.get(name, ())))
    return {each: make("mine", f"{name}/{each}", each, {}, SETTINGS, nowhere) for each in models}


def _body(painter: ApiPainter) -> dict[str, Any]:
    return painter.body(PaintRequest("q", "A leaf."))


def _sent(name: str) -> list[str]:
    """Return the fields of a request beside options; of a described one, those filled in and constants at its top."""
    wire, seeds = SETTINGS.wires.get(name), SETTINGS.providers[name].seeds
    bodies = [wire.of_model(each).body for each in _painters(name)] if wire else map(_body, _painters(name).values())
    fields = [way for body in bodies for way, value in _leaves(body) if not wire or [*gaps(value)] or "." not in way]
    unwanted = options(name).keys() - {"size"} | (set() if seeds else {"seed"})
    return [way for way in dict.fromkeys(fields) if way.rpartition(".")[2] not in unwanted]


def _leaves(body: dict[str, Any], way: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in body.items():
        place = f"{way}.{key}".lstrip(".")
        if isinstance(value, dict):
            yield from _leaves(value, place)
        else:
            yield place, value


def _plain(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value).lower().removesuffix(".0")


def _sizes(painter: ApiPainter) -> str:
    sizes = dict(painter.sizes) | dict(painter.facts.sizes)
    return _listed(sizes[aspect] for aspect in ASPECTS if aspect in sizes)


def _rewriting(switches: dict[str, RewriteSwitch]) -> str:
    """Return by which field each model is told, models with the same field together."""

    def field(pattern: str) -> str:
        switch = switches[pattern]
        return "always on" if switch.always else _listed(switch.off) or "no field"

    groups = groupby(sorted(switches, key=lambda pattern: (pattern == ANYTHING, field(pattern))), key=field)
    return "; ".join(f"{how}: {_listed(patterns)}" for how, patterns in groups).replace("`*`", "others")


def _model_facts(spec: str) -> str:
    """Return a model's prices, with their day, and in what it differs from others of its service."""
    model, facts = SETTINGS.models.get(spec, ModelFacts()), SETTINGS.painters.get(spec, PainterFacts())
    told = [f"${model.input_price:.2f} in, ${model.output_price:.2f} out"] if model.input_price is not None else []
    told += [f"${model.image_input_price:.2f} for pictures in"] if model.image_input_price is not None else []
    told += [f"${price(facts.image_price)}/image"] if facts.image_price is not None else []
    told += [f"at most ${price(facts.image_bound)}/image"] if facts.image_bound is not None else []
    told += [f"${price(facts.edit_price)}/edit"] if facts.edit_price is not None else []
    day = facts.priced_on or model.priced_on
    prices = [f"{', '.join(told)} ({day})"] if told else []
    return "; ".join(prices + (_differences(spec) if spec in SETTINGS.painters else []))


def _differences(spec: str) -> list[str]:
    name, _, model = spec.partition("/")
    painter, others = _painters(name)[model], _painters(name)[ANY]
    told = [f"sizes {_sizes(painter)}"] if _sizes(painter) != _sizes(others) else []
    if limit := painter.facts.prompt_limit:
        beyond = {"cut": "cuts prompts after", "refused": "refuses prompts over", None: "reads"}
        told.append(f"{beyond[painter.facts.over_limit]} {limit:,} characters")
    return told


def price(dollars: float) -> str:
    """Return dollars with as many digits as they need, two at least."""
    return f"{dollars:.2f}" if round(dollars, 2) == dollars else f"{dollars:g}"
