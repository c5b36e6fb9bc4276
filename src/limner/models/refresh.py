"""Updates of the model catalogue from LiteLLM's cost map, a file, an address, or a service's list of models."""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from ..calls import Fault
from ..calls.http import download, exchange
from ..core import catalogue
from ..core.catalogue import ModelFacts, PainterFacts
from ..core.errors import DataError, UsageError
from ..core.json_text import parse_json
from ..core.loops import run_to_end
from ..core.schema import first_error
from ..core.settings import Provider, Settings

MOST_BYTES = 16 * 2**20
KINDS: dict[str, type[ModelFacts] | type[PainterFacts]] = {"models": ModelFacts, "painters": PainterFacts}
PROVENANCE = ("priced_on", "source", "confirmed")
"""Fields that change with every price."""
Rows = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True)
class Change:
    """One fact that an update changed."""

    name: str
    field: str
    before: Any
    after: Any

    def text(self) -> str:
        """Return the change without the model's name."""
        return f"{self.field} is {self.after}" + ("" if self.before is None else f" (was {self.before})")

    def __str__(self) -> str:
        """Return the change as text."""
        return f"{self.name}: {self.text()}"


@dataclass(frozen=True)
class Update:
    """An update that was read and not yet kept.

    Attributes:
        rows: The facts to keep, by kind and name.
        changes: Those that differ from what is known.
        left_out: The number of facts left out, because Limner has confirmed others.
        gathered: Whether third parties gathered the facts, so that users should look at them first.
    """

    rows: Rows
    changes: list[Change]
    left_out: int = 0
    gathered: bool = False

    def lines(self) -> list[str]:
        """Return the changes as text; those of third parties as a line for each model, known models last."""
        if not self.gathered:
            return [str(change) for change in self.changes]
        shown = [change for change in self.changes if change.field not in PROVENANCE]
        models = [list(some) for _, some in groupby(shown, key=lambda change: change.name)]
        models.sort(key=lambda some: any(change.before is not None for change in some))
        return [f"{some[0].name}: {', '.join(change.text() for change in some)}" for some in models]

    def keep(self) -> None:
        """Store the facts in the user's configuration folder."""
        if self.changes:
            _keep(self.rows)


def read_update(source: str, settings: Settings, *, trust: bool = False) -> Update:
    """Return what a source would change in the catalogue.

    Args:
        source: The file or address of a catalogue (TOML or JSON) or a cost map, or the name of a service that lists
            its models.
        settings: The current settings.
        trust: Whether a cost map overrides facts that Limner has confirmed.

    Raises:
        UsageError: The source does not exist, or does not answer.
        DataError: It is not a catalogue.
    """
    left_out, gathered = 0, False
    if source in settings.providers:
        rows = _listed(source, settings.providers[source])
    elif gathered := is_cost_map(body := _parsed(_fetched(source, settings), source)):
        found = read_cost_map(body, settings.providers, source)
        taken, left_out = accepted(found, settings.models, catalogue.today(), trust=trust)
        rows = {"models": taken}
    else:
        rows = read(body, source)
    return Update(rows, _changes(rows, settings), left_out, gathered)


def _fetched(source: str, settings: Settings) -> bytes:
    if source.startswith(("http://", "https://")):
        try:
            return run_to_end(download(source, MOST_BYTES))
        except Fault as fault:
            hint = catalogue.age_hint(settings.models, settings.painters, catalogue.today())
            age = f"; {hint}" if hint else ""
            raise UsageError(f"the catalogue cannot be fetched: {fault.detail}{age}") from fault
    path = Path(source)
    if not path.is_file():
        services = ", ".join(sorted(settings.providers))
        raise UsageError(f"{source} is not a file, an address or a service; the services are: {services}")
    if path.stat().st_size > MOST_BYTES:
        raise DataError(f"is over {MOST_BYTES:,} bytes", file=path)
    return path.read_bytes()


def _parsed(data: bytes, source: str) -> Any:
    try:
        text = data.decode("utf-8")
        return parse_json(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"is neither TOML nor JSON: {error}", file=source) from error


def read(body: Any, source: str) -> Rows:
    """Return the rows of a catalogue, every one checked.

    Raises:
        DataError: A row does not fit.
    """
    rows: Rows = {}
    for kind, facts in KINDS.items():
        section = body.get(kind, {}) if isinstance(body, dict) else None
        if not isinstance(section, dict) or not all(isinstance(row, dict) for row in section.values()):
            raise DataError(f"[{kind}] must hold a table for every model", file=source)
        for name, row in section.items():
            try:
                given = facts.model_validate(row)
            except ValidationError as error:
                raise DataError(f'{kind}."{name}".{first_error(error)}', file=source) from error
            rows.setdefault(kind, {})[name] = given.model_dump(mode="json", exclude_unset=True)
    if not rows:
        raise DataError('names no model; put each model under [models."SERVICE/MODEL"]', file=source)
    return rows


def _listed(name: str, provider: Provider) -> Rows:
    """Return the shutdown dates in a service's own list of models."""
    try:
        body = run_to_end(exchange("GET", provider.address("/models"), headers=provider.key_headers()))
    except Fault as fault:
        raise UsageError(f"{name} does not list its models: {fault.detail}") from fault
    listed = body.get("data")
    if not isinstance(listed, list):
        raise UsageError(f"{name} does not list its models: its reply has no 'data'")
    rows: dict[str, dict[str, Any]] = {}
    for model in listed:
        ends = model.get("shutdown_date") if isinstance(model, dict) else None
        if isinstance(ends, str) and isinstance(model.get("id"), str):
            try:
                facts = ModelFacts.model_validate({"shutdown": ends})
            except ValidationError as error:
                raise DataError(f"{model['id']}: shutdown_date {ends!r} is not a date", file=name) from error
            rows[f"{name}/{model['id']}"] = facts.model_dump(mode="json", exclude_unset=True)
    return {"models": rows}


def _changes(rows: Rows, settings: Settings) -> list[Change]:
    """Return the facts that differ from what is known."""
    changes: list[Change] = []
    for kind, named in rows.items():
        known, facts = getattr(settings, kind), KINDS[kind]
        for name, row in named.items():
            old, new = known.get(name, facts()), facts.model_validate(row)
            pairs = ((field, getattr(old, field), getattr(new, field)) for field in row)
            changes += [Change(name, field, before, after) for field, before, after in pairs if before != after]
    return changes


def _keep(rows: Rows) -> None:
    """Merge the rows into the kept ones; the file is replaced atomically."""
    kept, path = catalogue.refreshed_rows(), catalogue.refreshed_file()
    for kind, some in rows.items():
        for name, row in some.items():
            kept.setdefault(kind, {}).setdefault(name, {}).update(row)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        json.dump(kept, file, ensure_ascii=False, indent=1, sort_keys=True)
    os.replace(file.name, path)


ADDRESS = "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json"
SOURCE = "LiteLLM's cost map, which others gather"
SIZED = re.compile(r"(\d+-x-\d+|low|medium|high|standard|hd|auto)/")
"""The beginning of a name that stands for one size or quality of an image model."""
NAME = re.compile(r"[\w.:@+/-]{1,200}", re.ASCII)
MODES = ("chat", "responses")
PRICES = ("input_price", "output_price")


class Row(BaseModel):
    """One model of the cost map; fields that Limner has no use for are ignored."""

    input_cost_per_token: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    output_cost_per_token: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    max_output_tokens: int | None = Field(default=None, gt=0)
    supports_vision: bool | None = None
    deprecation_date: date | None = None

    def facts(self) -> dict[str, Any]:
        """Return what it says, as fields of `limner.core.catalogue.ModelFacts`; both prices or none."""
        known: dict[str, Any] = {
            "max_output_tokens": self.max_output_tokens,
            "image_input": self.supports_vision,
            "shutdown": self.deprecation_date and self.deprecation_date.isoformat(),
        }
        if self.input_cost_per_token is not None and self.output_cost_per_token is not None:
            costs = (self.input_cost_per_token, self.output_cost_per_token)
            known |= {name: round(cost * 1e6, 6) for name, cost in zip(PRICES, costs, strict=True)}
        return {name: value for name, value in known.items() if value is not None}


def is_cost_map(body: Any) -> bool:
    """Return whether a JSON body looks like the cost map."""
    return isinstance(body, Mapping) and any(
        isinstance(row, Mapping) and "litellm_provider" in row for row in body.values()
    )


def read_cost_map(body: Mapping[str, Any], services: Collection[str], source: str) -> dict[str, dict[str, Any]]:
    """Return the facts about chat models of these services, by their names in Limner.

    >>> row = {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2e-06, "output_cost_per_token": 0}
    >>> read_cost_map({"o9": row, "x/o9": row | {"litellm_provider": "x"}}, ["openai"], "map")
    {'openai/o9': {'input_price': 2.0, 'output_price': 0.0}}

    Raises:
        DataError: A row of these services has a name or a value that does not fit.
    """
    rows: dict[str, dict[str, Any]] = {}
    for key, row in body.items():
        service = row.get("litellm_provider") if isinstance(row, Mapping) else None
        known = isinstance(service, str) and service in services
        if not known or row.get("mode") not in MODES or SIZED.match(key):
            continue
        if not NAME.fullmatch(key):
            raise DataError(f"{key[:80]!a} is not the name of a model", file=source)
        try:
            facts = Row.model_validate(row).facts()
        except ValidationError as error:
            raise DataError(f'"{key}".{first_error(error)}', file=source) from error
        if facts:
            rows[f"{service}/{key.removeprefix(f'{service}/')}"] = facts
    return rows


def accepted(
    rows: Mapping[str, dict[str, Any]], known: Mapping[str, ModelFacts], day: date, *, trust: bool
) -> tuple[dict[str, dict[str, Any]], int]:
    """Return the rows with what may be kept, and how many facts were left out since Limner has confirmed others.

    Args:
        rows: What the cost map says.
        known: What Limner knows.
        day: The day on which the prices count as read.
        trust: Whether the cost map overrides confirmed facts.
    """
    kept: dict[str, dict[str, Any]] = {}
    left_out = 0
    for name, row in rows.items():
        old = known.get(name, ModelFacts(confirmed=False))
        held = {field for field in row if not trust and old.confirmed and _would_override(old, row, field)}
        left_out += len(held)
        taken = {field: value for field, value in row.items() if field not in held}
        if any(field in taken and getattr(old, field) != taken[field] for field in PRICES):
            taken |= {"priced_on": day.isoformat(), "source": SOURCE, "confirmed": False}
        if taken:
            kept[name] = taken
    return kept, left_out


def _would_override(old: ModelFacts, row: Mapping[str, Any], field: str) -> bool:
    """Return whether a fact differs from a known one; a shutdown date that is only reported counts as different."""
    before, after = getattr(old, field), getattr(ModelFacts.model_validate({field: row[field]}), field)
    return before != after and (before is not None or field == "shutdown")
