"""How a store's marks were come by, where that is not how the paper came by its own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from ...exams import Kind

PAPER = "paper"
"""Presets whose names begin so are the paper's settings."""
IMPORTED = "imported"


def differences(kind: Kind[Any], setup: Mapping[str, Any], reading: str) -> list[str]:
    """In words, each difference from the paper's settings; from the nearest where the paper has several."""
    presets = tomllib.loads(kind.presets.read_text(encoding="utf-8")) if kind.presets else {}
    paper = [preset for name, preset in presets.items() if name.startswith(PAPER)]
    same = [preset for preset in paper if preset.get("judge") == setup["judge"]] or paper[:1]
    return min((_from(preset, setup, reading) for preset in same), key=len, default=[])


def _from(preset: Mapping[str, Any], setup: Mapping[str, Any], reading: str) -> list[str]:
    found = []
    if setup["judge"] != preset.get("judge"):
        found.append(f"judge {setup['judge']} instead of {preset.get('judge')}")
    if reading != preset.get("reading", PAPER):
        found.append(f"reading {reading} instead of {preset.get('reading', PAPER)}")
    if setup.get("variant") == IMPORTED:
        return [*found, "imported: how the judge was asked is not known"]
    if "variant" in setup and setup["variant"] != preset.get("variant"):
        found.append(f"variant {setup['variant']} instead of {preset.get('variant')}")
    if "options" in setup:
        found += _pairs(setup["options"], preset.get("options", {}))
    if "args" in setup:
        found += _pairs(setup["args"], preset.get("judge_args", {}))
    return found


def _pairs(given: Mapping[str, Any], usual: Mapping[str, Any]) -> list[str]:
    found = []
    for name in sorted({*given, *usual}):
        if name not in usual:
            found.append(f"{name}={given[name]} added")
        elif name not in given:
            found.append(f"no {name}={usual[name]}")
        elif given[name] != usual[name]:
            found.append(f"{name}={given[name]} instead of {usual[name]}")
    return found
