"""Refreshes the catalogue of models from a file, an address, or a service's own list of models."""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..calls import Fault
from ..calls.http import download, exchange
from ..core import catalogue
from ..core.catalogue import ModelFacts, PainterFacts
from ..core.errors import DataError, UsageError
from ..core.json_text import parse_json
from ..core.loops import run_to_end
from ..core.schema import first_wrong
from ..core.settings import Provider, Settings

MOST_BYTES = 4 * 2**20
KINDS: dict[str, type[ModelFacts] | type[PainterFacts]] = {"models": ModelFacts, "painters": PainterFacts}
Rows = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True)
class Change:
    """One fact that an update brought."""

    name: str
    field: str
    before: Any
    after: Any

    def __str__(self) -> str:
        """In words."""
        was = "" if self.before is None else f" (was {self.before})"
        return f"{self.name}: {self.field} is {self.after}{was}"


def update(source: str, known: Settings) -> list[Change]:
    """Take over what a source says and keep it in the user's configuration folder; returns what is new by that.

    Args:
        source: A catalogue's file or address, TOML or JSON; or the name of a service that lists its models.
        known: What is known so far.

    Raises:
        UsageError: There is no such source, or it does not answer.
        DataError: It is no catalogue.
    """
    rows = _rows(source, known)
    changes = _changes(rows, known)
    if changes:
        _keep(rows)
    return changes


def _rows(source: str, known: Settings) -> Rows:
    if source in known.providers:
        return _listed(source, known.providers[source])
    if source.startswith(("http://", "https://")):
        try:
            return read(run_to_end(download(source, MOST_BYTES)), source)
        except Fault as fault:
            raise UsageError(f"the catalogue cannot be fetched: {fault.detail}") from fault
    path = Path(source)
    if not path.is_file():
        services = ", ".join(sorted(known.providers))
        raise UsageError(f"{source} is no file, no address and no service; services are: {services}")
    if path.stat().st_size > MOST_BYTES:
        raise DataError(f"is over {MOST_BYTES:,} bytes", file=path)
    return read(path.read_bytes(), str(path))


def read(data: bytes, source: str) -> Rows:
    """Return the rows of a catalogue, every one checked.

    Raises:
        DataError: It is neither TOML nor JSON, or a row does not fit.
    """
    try:
        text = data.decode("utf-8")
        body = parse_json(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"is neither TOML nor JSON: {error}", file=source) from error
    rows: Rows = {}
    for kind, facts in KINDS.items():
        found = body.get(kind, {}) if isinstance(body, dict) else None
        if not isinstance(found, dict) or not all(isinstance(row, dict) for row in found.values()):
            raise DataError(f"[{kind}] must hold a table for every model", file=source)
        for name, row in found.items():
            try:
                given = facts.model_validate(row)
            except ValidationError as error:
                raise DataError(f'{kind}."{name}".{first_wrong(error)}', file=source) from error
            rows.setdefault(kind, {})[name] = given.model_dump(mode="json", exclude_unset=True)
    if not rows:
        raise DataError('names no model; rows stand under [models."SERVICE/MODEL"]', file=source)
    return rows


def _listed(name: str, provider: Provider) -> Rows:
    """Return the days on which a service shuts models down, from its own list of them."""
    try:
        body = run_to_end(exchange("GET", provider.address("/models"), headers=provider.key_headers()))
    except Fault as fault:
        raise UsageError(f"{name} does not list its models: {fault.detail}") from fault
    listed = body.get("data")
    if not isinstance(listed, list):
        raise UsageError(f"{name} does not list its models: there is no 'data' in its reply")
    rows: dict[str, dict[str, Any]] = {}
    for one in listed:
        ends = one.get("shutdown_date") if isinstance(one, dict) else None
        if isinstance(ends, str) and isinstance(one.get("id"), str):
            try:
                facts = ModelFacts.model_validate({"shutdown": ends})
            except ValidationError as error:
                raise DataError(f"{one['id']}: shutdown_date {ends!r} is no day", file=name) from error
            rows[f"{name}/{one['id']}"] = facts.model_dump(mode="json", exclude_unset=True)
    return {"models": rows}


def _changes(rows: Rows, known: Settings) -> list[Change]:
    """Return the facts that differ from what is known."""
    found: list[Change] = []
    for kind, facts in KINDS.items():
        have: dict[str, ModelFacts] | dict[str, PainterFacts] = known.models if kind == "models" else known.painters
        for name, row in rows.get(kind, {}).items():
            old, new = have.get(name, facts()), facts.model_validate(row)
            for field in row:
                before, after = getattr(old, field), getattr(new, field)
                if before != after:
                    found.append(Change(name, field, before, after))
    return found


def _keep(rows: Rows) -> None:
    """Lay the rows over those kept before; the file is whole at every moment."""
    kept, path = catalogue.refreshed_rows(), catalogue.refreshed_file()
    for kind, some in rows.items():
        for name, row in some.items():
            kept.setdefault(kind, {}).setdefault(name, {}).update(row)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        json.dump(kept, file, ensure_ascii=False, indent=1, sort_keys=True)
    os.replace(file.name, path)
