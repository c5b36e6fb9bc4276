"""Reads what the released scorer writes: one JSON file per sample, the reply's keys beside the annotation's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from ...core.errors import DataError
from ...core.json_text import parse_json
from .. import ImportedReply

REPLY_KEYS = ("description", "answers", "global_evaluation")


def read_results(folder: Path) -> Iterator[ImportedReply]:
    """Every result under `folder`, in the order of their names.

    Raises:
        DataError: A file that cannot belong to any question.
    """
    files = sorted(folder.rglob("*.json"))
    if not files:
        raise DataError("no *.json result in this folder", file=folder)
    for file in files:
        try:
            body = parse_json(file.read_bytes())
        except (OSError, ValueError) as error:
            # The name still tells which question it was.
            name = file.relative_to(folder).with_suffix("").as_posix()
            yield ImportedReply(name, (), file, fault=f"not readable as JSON: {error}")
            continue
        if not isinstance(body, dict) or not isinstance(body.get("id"), str):
            raise DataError('a result must be an object with a text "id"', file=file)
        rubric = {"scoring_points": body["scoring_points"]} if "scoring_points" in body else None
        reply = {key: body[key] for key in REPLY_KEYS if key in body}
        yield ImportedReply(body["id"], (("mark", _text(reply)),), file, rubric)


def _text(reply: dict[str, object]) -> str:
    text = json.dumps(reply, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair has no UTF-8: such a reply is kept in escapes.
        return json.dumps(reply)
    return text
