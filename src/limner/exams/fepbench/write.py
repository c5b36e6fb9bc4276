"""Writes a build's items as atom sets: the counterpart of `data.read`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .data import REGIMES, SAMPLES, Atoms, Sample

EVIDENCE = "evidence.json"
"""For each sample the words of both prompts that ask for its instruction atoms."""


def write(
    folder: Path, items: Sequence[Mapping[str, Any]], save: Callable[[str, str], None]
) -> Mapping[str, Sequence[str]]:
    """Write the samples and their figures; gives the ids of each item's two questions.

    Args:
        folder: The exam's data folder.
        items: With ``image``, both prompts, the atoms, and ``domain``, ``panel_type`` and ``aspect``.
        save: Puts a picture into the folder, by its hash and path.
    """
    numbers: Counter[str] = Counter()
    lines, made = [], dict[str, list[str]]()
    for item in items:
        domain = re.sub(r"\W+", "_", item["domain"].partition(" & ")[0])
        numbers[domain] += 1
        id = f"{domain}_{numbers[domain]}"
        row = {name: item[name] for name in ("domain", "panel_type", "aspect")}
        row |= {"id": id, "prompts": {regime: item[f"{regime}_prompt"] for regime in REGIMES}}
        row |= {"image_path": f"{id}.png", "atoms": {name: item[name] for name in Atoms.model_fields}}
        lines.append(Sample.model_validate(row).model_dump_json())
        save(item["image"], f"images/{id}.png")
        made[item["item"]] = [f"{id}/{regime}" for regime in REGIMES]
    (folder / SAMPLES).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    evidence = {made[item["item"]][0].partition("/")[0]: list(item["evidence"]) for item in items}
    (folder / EVIDENCE).write_text(json.dumps(evidence, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return made
