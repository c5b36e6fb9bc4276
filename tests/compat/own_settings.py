"""What a limner.toml comes to."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from limner.core import settings


def own(file: Path) -> dict[str, Any]:
    """Everything that the file names, as it is understood: all fields, usual values too."""
    loaded = settings.load(file).model_dump(mode="json")
    named = tomllib.loads(file.read_text("utf-8"))
    found = {part: {name: loaded[part][name] for name in named[part]} for part in named if part != "evidence"}
    return found | {"evidence": loaded["evidence"]}


def unused(file: Path) -> list[str]:
    """Fields that settings know and the file does not use."""
    named = tomllib.loads(file.read_text("utf-8"))
    parts: dict[str, type[BaseModel]] = {
        "providers": settings.Provider,
        "models": settings.ModelFacts,
        "painters": settings.PainterFacts,
    }
    used = {part: {field for entry in named[part].values() for field in entry} for part in parts}
    missing = {f"{part}.{field}" for part, model in parts.items() for field in set(model.model_fields) - used[part]}
    missing |= {f"evidence.{field}" for field in set(settings.Measures.model_fields) - set(named["evidence"])}
    return sorted(missing | set(settings.Settings.model_fields) - set(named))
