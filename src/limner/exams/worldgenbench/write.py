"""Writes a build's items as prompts with checklists: the counterpart of `data.read`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .data import DOMAINS, PromptRow


def write(
    folder: Path, items: Sequence[Mapping[str, Any]], save: Callable[[str, str], None]
) -> Mapping[str, Sequence[str]]:
    """Write a file for each domain; gives each item's question id. There are no pictures.

    Args:
        folder: The exam's data folder.
        items: With ``prompt``, ``checklist``, ``domain``, and ``country`` and ``continent`` or ``discipline``.
        save: Not needed.
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    for item in items:
        row = {"id": item["item"], "prompt": item["prompt"], "domain": item["domain"]}
        row |= {name: item[name] for name in ("country", "continent", "discipline") if item.get(name)}
        row["checklist"] = [{name: one[name] for name in ("item", "explanation")} for one in item["checklist"]]
        PromptRow.model_validate(row)
        rows.setdefault(item["domain"], []).append(row)
    for domain in DOMAINS:
        if domain in rows:
            lines = (json.dumps(row, ensure_ascii=False) for row in rows[domain])
            (folder / f"{domain}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return {item["item"]: [item["item"]] for item in items}
