"""The generated tables of docs/services.md and docs/choose.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from limner.core.catalogue import ModelFacts, state_of
from limner.core.evaluator import SERVICE_REWRITE
from limner.core.settings import Settings, load_shipped
from limner.core.wire import ANY_OPTION, RewriteSwitch
from limner.painters import SERVICES
from limner.painters.base import PaintRequest
from limner.painters.service import ApiPainter
from tests.docs.blocks import ROOT
from tests.docs.judge_costs import CHOICE_PAGE, HEAD, cost_rows

SERVICES_PAGE = ROOT / "docs" / "services.md"
Rows = list[tuple[str, ...]]
KNOWN: dict[str, Any] = load_shipped()
SETTINGS = Settings.model_validate(KNOWN)
ANY = "some-model"
"""A model that nothing is known of."""
PRICES = {
    "input_price": "{} in",
    "output_price": "{} out",
    "image_input_price": "{} for pictures in",
    "image_price": "{}",
    "image_bound": "≤ {}",
    "edit_price": "{} an edit",
}
"""How each price is shown."""
PAGE_DAY = max(date.fromisoformat(facts.priced_on) for facts in SETTINGS.models.values() if facts.priced_on)
"""The day of the catalogue; models gone by then are left out of the tables of services."""
OF_JOBS = ("poll_limit_s", "poll_pause_s")
"""Options of every service that runs jobs, which the table of all options explains."""
OVERVIEW = ("service", "key variable", "draws", "seeds", "edits", "marks")
EDITORS = {
    "bfl": ("flux-2-*", "flux-2-klein-*", "flux-kontext-*"),
    "dashscope": ("qwen-image-edit*", "qwen-image-2.*", "wan2.6-image*", "wan2.7-image*"),
}
"""Patterns of models that start from another number of pictures than the rest, where code says so."""


def overview_rows() -> Rows:
    """Return a row for each service: the variable of its key, whether it draws, takes seeds and edits, and marks."""
    return [
        (
            f"[`{name}`](#{name})",
            _listed([known.key_env]) or "none",
            "yes" if known.image_shape else "no",
            ("yes" if known.seeds else "no") if known.image_shape else "",
            _edits(name) if known.image_shape else "",
            "yes" if _marks(name) else "no",
        )
        for name, known in SETTINGS.providers.items()
    ]


def service_rows(name: str) -> Rows:
    """Return what is known of one service: how it is called, then each of its models that has facts of its own."""
    provider = SETTINGS.providers[name]
    rows: Rows = [("address", _listed([provider.base_url, provider.image_url]).replace(", ", ", images "))]
    if provider.key_header:
        rows.append(("key header", f"`{provider.key_header}`"))
    if provider.image_shape:
        rows += _drawing_rows(name)
    if provider.batch:
        rows.append(("batches", f"{provider.batch.share:.0%} of the price, up to {provider.batch.calls:,} calls each"))
    models = [spec for spec in {**SETTINGS.models, **SETTINGS.painters} if spec.startswith(f"{name}/")]
    current = [spec for spec in models if state_of(SETTINGS.models.get(spec, ModelFacts()), PAGE_DAY) != "gone"]
    return rows + [(_listed(alike), facts) for facts, alike in groupby(current, key=_model_facts) if facts]


def generated_tables() -> Iterator[tuple[Path, tuple[str, ...], Rows]]:
    """Yield every table that the settings fill: its page, its head, its rows."""
    yield SERVICES_PAGE, OVERVIEW, overview_rows()
    yield SERVICES_PAGE, ("`image_shape`", "format"), [(f"`{name}`", SERVICES.about(name)) for name in SERVICES.own()]
    for name in SETTINGS.providers:
        yield SERVICES_PAGE, ("fact", f"`{name}`"), service_rows(name)
    yield CHOICE_PAGE, HEAD, cost_rows()


def options(name: str) -> dict[str, str]:
    """Return every option that a service's painters take, with what is sent unless it is given."""
    painters = list(_painters(name).values())
    sent = {key.rpartition(".")[2]: value for painter in painters for key, value in _leaves(_body(painter))}
    known = {option for painter in painters for option in painter.known} - {SERVICE_REWRITE}
    defaults = sent | dict(painters[0].execution)
    names = sorted(known | painters[0].execution.keys(), key=lambda option: (option == ANY_OPTION, option))
    return {option: _plain(defaults[option]) if option in defaults else "" for option in names}


def _marks(name: str) -> bool:
    return "shape" in KNOWN["providers"][name]


def _drawing_rows(name: str) -> Rows:
    others = _painters(name)[ANY]
    own = [_option(item) for item in options(name).items() if item[0] not in OF_JOBS]
    rows: Rows = [("options", _same_as(name) or ", ".join(own))]
    if sizes := _sizes(others):
        rows.append(("sizes", sizes))
    if (limits := _edit_limits(name))[0]:
        rows.append(("edits", "; ".join([*limits[0], f"others {limits[1]}"])))
    if (switches := SETTINGS.rewrite_switches(name)) and (name in SETTINGS.rewrites or not _same_as(name)):
        rows.append((f"`{SERVICE_REWRITE}`", _rewriting(switches)))
    if others.facts.image_price:
        rows.append(("price", price(others.facts.image_price)))
    return rows


def _edits(name: str) -> str:
    """Return how many pictures a request may start from, whatever its model."""
    limits, rest = _edit_limits(name)
    return "some models" if limits else rest


def _edit_limits(name: str) -> tuple[list[str], str]:
    """Return how many pictures models may start from, where a model's number differs, and that of the others."""
    numbers = {model: painter.most_pictures for model, painter in _painters(name).items()}
    others = numbers.pop(ANY)
    wider = [(pattern, number) for pattern, number in numbers.items() if ANY_OPTION in pattern]
    named = [
        model
        for model, number in numbers.items()
        if not any(model != other and fnmatchcase(model, other) and number == most for other, most in wider)
    ]
    groups = groupby(sorted(named, key=lambda model: -numbers[model]), key=lambda model: numbers[model])
    limits = [f"up to {most}: {_listed(models)}" for most, models in groups if most != others]
    return limits, f"up to {others}" if others else "no"


def _listed(words: Iterable[str | None]) -> str:
    return ", ".join(f"`{word}`" for word in words if word)


def _same_as(name: str) -> str:
    shape = SETTINGS.providers[name].image_shape
    first = next(each for each, provider in SETTINGS.providers.items() if provider.image_shape == shape)
    return f"same as [`{first}`](#{first})" if first != name and options(first) == options(name) else ""


def _option(item: tuple[str, str]) -> str:
    name, default = item
    shown = "any other name" if name == ANY_OPTION else f"`{name}`"
    return f"{shown} (`{default}`)" if default and name != "size" else shown


@cache
def _painters(name: str) -> dict[str, ApiPainter]:
    """Return painters by model: one that nothing is known of, those of the catalogue, and patterns of a description."""
    shape = SETTINGS.providers[name].image_shape
    assert shape is not None
    known = [spec.partition("/")[2] for spec in SETTINGS.painters if spec.startswith(f"{name}/")]
    described = SETTINGS.wires[name].models if name in SETTINGS.wires else ()
    make = SERVICES.get(shape).painter
    nowhere: Any = None
    models = dict.fromkeys((ANY, *known, *described, *EDITORS.get(name, ())))
    return {each: make("mine", f"{name}/{each}", each, {}, SETTINGS, nowhere) for each in models}


def _body(painter: ApiPainter) -> dict[str, Any]:
    return painter.body(PaintRequest("q", "A leaf."))


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
    return _listed((dict(painter.sizes) | dict(painter.facts.sizes)).values())


def _rewriting(switches: dict[str, RewriteSwitch]) -> str:
    """Return by which field each model is told, models with the same field together."""

    def field(pattern: str) -> str:
        switch = switches[pattern]
        return "always on" if switch.always else _listed(switch.off) or "no rewriting"

    groups = groupby(sorted(switches, key=lambda pattern: (pattern == ANY_OPTION, field(pattern))), key=field)
    return "; ".join(f"{how}: {_listed(patterns)}" for how, patterns in groups).replace("`*`", "others")


def _model_facts(spec: str) -> str:
    """Return a model's prices, with their day, and in what it differs from others of its service."""
    model, painter = SETTINGS.models.get(spec), SETTINGS.painters.get(spec)
    facts = {key: value for row in (model, painter) if row for key, value in row.model_dump(exclude_none=True).items()}
    prices = ", ".join(words.format(price(facts[field])) for field, words in PRICES.items() if field in facts)
    parts = [f"{prices} ({facts['priced_on']})"] if prices else []
    return "; ".join(parts + (_differences(spec) if painter else []))


def _differences(spec: str) -> list[str]:
    name, _, model = spec.partition("/")
    painter, others = _painters(name)[model], _painters(name)[ANY]
    parts = [f"sizes {_sizes(painter)}"] if _sizes(painter) != _sizes(others) else []
    if limit := painter.facts.prompt_limit:
        beyond = {"cut": "cuts prompts after", "refused": "refuses prompts over", None: "reads"}
        parts.append(f"{beyond[painter.facts.over_limit]} {limit:,} characters")
    return parts


def price(dollars: float) -> str:
    """Return dollars with as many digits as they need, two at least."""
    return f"${dollars:.2f}" if round(dollars, 2) == dollars else f"${dollars:g}"
