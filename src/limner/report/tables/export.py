"""The export of a row per question, painter and judge, as JSON lines, CSV or Parquet."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core.data_rows import write_csv
from ...core.errors import need_polars
from ...core.images import inspect
from ...core.protocol import Protocol
from ...core.redaction import printable, without_secrets
from ...scoring import Group, comparables
from ...scoring.entries import NOBODY
from ...store import Blobs


def export_rows(exam: str, protocol: Protocol[Any], groups: Sequence[Group], reading: str) -> Iterator[dict[str, Any]]:
    """Yield plain rows; ``status`` is ``done`` or the fault, ``common`` whether painters are compared on the question.

    Drawings without marks have rows without a judge.
    """
    marked = [group for group in groups if group.evaluator is not NOBODY]
    common = {side.evaluator.id: side.questions for side in comparables(marked, protocol)}
    for group in groups:
        for entry in group.entries:
            marking, drawing = entry.marking, entry.drawing
            costs = [drawing.cost, marking.cost if marking else 0.0]
            yield {
                "exam": exam,
                "id": entry.question.id,
                "painter": group.painter,
                "strategy": group.strategy,
                "judge": group.judge or None,
                "variant": group.setup.get("variant"),
                "reading": reading,
                "seed": drawing.seed,
                "repeat": marking.repeat if marking else 0,
                "status": entry.status,
                "detail": entry.detail,
                "scores": dict(entry.scores),
                "evidence": _measured(entry.evidence),
                "flags": None if entry.flags is None else [flag.to_json() for flag in entry.flags],
                "marks": {mark.criterion: mark.value for mark in entry.marks},
                "tags": dict(entry.question.tags),
                "image": drawing.image,
                "origin": drawing.origin,
                "cost": None if None in costs else sum(cost for cost in costs if cost is not None),
                "evaluator": group.evaluator.name or None,
                "common": entry.question.id in common.get(group.evaluator.id, ()),
            }


def _measured(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Return the measured values except lists and mappings, each with its backend."""
    plain = {name: measured for name, measured in evidence.items() if not isinstance(measured["value"], list | dict)}
    values = {name: measured["value"] for name, measured in plain.items()}
    return values | {f"{name}_backend": measured["backend"] for name, measured in plain.items()}


def write_rows(rows: Sequence[dict[str, Any]], form: str, output: Path | None) -> None:
    """Write rows to a file, or to standard output; Parquet needs polars."""
    rows = without_secrets(rows)
    if form == "jsonl":
        data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    else:
        flat = [_flat(row) for row in rows]
        data = _csv(flat).encode() if form == "csv" else _parquet(flat)
    if output is None:
        # Parquet is binary and never meant for a terminal.
        sys.stdout.buffer.write(data if form == "parquet" else printable(data.decode()).encode())
        sys.stdout.buffer.flush()
    else:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_bytes(data)


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    # Booleans are written as in JSON lines.
    words = {True: "true", False: "false"}
    plain = ({name: words[cell] if isinstance(cell, bool) else cell for name, cell in row.items()} for row in rows)
    return write_csv(names, plain)


def _parquet(rows: Sequence[dict[str, Any]]) -> bytes:
    need_polars("--format parquet")
    import polars

    buffer = io.BytesIO()
    polars.DataFrame(rows, infer_schema_length=None).write_parquet(buffer)
    return buffer.getvalue()


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with scores and tags as columns, and marks and flags as JSON text, since they differ by row."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if key in ("marks", "flags"):
            flat[key] = None if value is None else json.dumps(value)
        else:
            flat |= {f"{key}.{name}": item for name, item in value.items()} if isinstance(value, dict) else {key: value}
    return flat


def write_images(groups: Sequence[Group], blobs: Blobs, folder: Path) -> int:
    """Write each drawing once, named after painter and question, and return the number of files."""
    written: dict[str, Path] = {}
    for group in groups:
        painter = re.sub(r"[^\w.+-]+", "_", group.painter).strip("._") or "painter"
        for entry in group.entries:
            drawing = entry.drawing
            if drawing.image is None or drawing.id in written:
                continue
            data = blobs.get(drawing.image)
            seed = f".{drawing.seed}" if drawing.seed else ""
            path = folder / painter / f"{drawing.question_id}{seed}.{inspect(data).suffix}"
            if path in written.values():
                # Names of painters can differ only in characters that file names cannot contain.
                path = path.with_stem(f"{path.stem}.{drawing.id[:8]}")
            if not path.resolve().is_relative_to(folder.resolve()):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            written[drawing.id] = path
    return len(written)
