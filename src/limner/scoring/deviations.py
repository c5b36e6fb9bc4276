"""How a store's numbers were come by, where that is not how the paper came by its own. Pure."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..exams import Kind
from ..protocol import Variant
from .entries import Group

PAPER = "paper"
"""Presets whose names begin so are the paper's settings."""
IMPORTED = "imported"
NOT_DRAWN = ("folder", "control")
"""Specs that begin so draw nothing themselves."""


def deviations(kind: Kind[Any], group: Group, reading: str, questions: int | None = None) -> list[str]:
    """In words, each difference from the paper's settings; from the nearest where the paper has several.

    Args:
        kind: The exam's.
        group: One painter under one evaluator.
        reading: How stored replies are read.
        questions: How many questions the paper's numbers rest on, where that is known.
    """
    presets = tomllib.loads(kind.presets.read_text(encoding="utf-8")) if kind.presets else {}
    paper = [preset for name, preset in presets.items() if name.startswith(PAPER)]
    same = [preset for preset in paper if preset.get("judge") == group.judge] or paper
    found = min((_marked(preset, group, reading) + _drawn(preset, group) for preset in same), key=len, default=[])
    found += _wording(kind, group)
    scored = len({entry.question.id for entry in group.scored})
    if questions is not None and scored != questions:
        found.append(f"{scored} questions where the paper has {questions}")
    return found


def _marked(preset: Mapping[str, Any], group: Group, reading: str) -> list[str]:
    setup, found = group.setup, []
    if group.judge != preset.get("judge"):
        found.append(f"judge {group.judge} instead of {preset.get('judge')}")
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


def _wording(kind: Kind[Any], group: Group) -> list[str]:
    """Whose words the judge was asked in: never the paper's own."""
    hash, variant = group.evaluator.wording, group.evaluator.variant
    if hash is None:
        return []
    if variant in kind.protocol.variants:
        asked = Variant(variant, kind.load_prompts(), dict(group.evaluator.options))
        if asked.prompts.hash(*kind.protocol.templates(asked)) == hash:
            return ["prompts in Limner's wording"]
    return [f"prompts in another wording ({hash[:4]})"]


def _drawn(preset: Mapping[str, Any], group: Group) -> list[str]:
    """Seed, sampler and size, where the paper names them."""
    usual, sizes = dict(preset.get("painter_args", {})), preset.get("painter_args", {}).get("size")
    usual.pop("size", None)
    if "seed" not in preset and not usual and sizes is None:
        return []
    first = group.entries[0].drawing
    if first.origin == "import" or first.spec.partition("/")[0] == NOT_DRAWN[0]:
        return ["how it was drawn is not known: the paper names seed or sampler"]
    if first.spec.partition("/")[0] in NOT_DRAWN:
        return []
    found = []
    seeds = sorted({entry.drawing.seed for entry in group.entries})
    if "seed" in preset and seeds != [preset["seed"]]:
        said = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
        found.append(f"{said} instead of {preset['seed']}")
    given = {name: value for name, value in first.options.items() if name in usual}
    found += _pairs(given, usual)
    if sizes is not None:
        found += _sizes(sizes, group)
    return found


def _sizes(wanted: Any, group: Group) -> list[str]:
    """The size most drawings have, where the paper has another for their aspect."""
    odd: Counter[tuple[str, str]] = Counter()
    for entry in group.entries:
        drawing, aspect = entry.drawing, entry.question.tags.get("aspect", "square")
        usual = wanted.get(aspect) if isinstance(wanted, Mapping) else wanted
        if drawing.width and drawing.height and usual and f"{drawing.width}x{drawing.height}" != usual:
            odd[f"{drawing.width}x{drawing.height}", str(usual)] += 1
    return [f"size {size} instead of {usual}" for (size, usual), _ in odd.most_common(1)]


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
