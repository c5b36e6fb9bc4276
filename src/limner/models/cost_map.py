"""LiteLLM's cost map as a catalogue: the facts about chat models that Limner knows too, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import date
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from ..core.catalogue import ModelFacts
from ..core.errors import DataError
from ..core.schema import first_error

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
