"""Reads verdicts that were made elsewhere: JSON lines with the replies of both verifiers.

The authors have released no result format. A line is ``{"id": "S1/free", "verify": {…}, "unexpected": {…}}``, or has
``sample`` and ``regime`` in place of ``id``; each reply is the text as it came, or its JSON. A reply may be absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...core.data_files import Problems, files_under, json_lines
from ...core.errors import DataError
from .. import ImportedReply

ASKS = ("verify", "unexpected")


def read_results(path: Path) -> Iterator[ImportedReply]:
    """Every line of a file, or of all ``*.jsonl`` files under a folder.

    Raises:
        DataError: With file and line of everything that cannot belong to a question.
    """
    files = files_under(path, "*.jsonl")
    if not files:
        raise DataError("no *.jsonl file in this folder", file=path)
    problems = Problems()
    found = []
    for file in files:
        for line, row in json_lines(file, problems):
            id = row["id"] if "id" in row else f"{row.get('sample')}/{row.get('regime')}"
            if not isinstance(id, str) or ("id" not in row and not {"sample", "regime"} <= row.keys()):
                problems.add('a line needs a text "id", or "sample" and "regime"', file, line)
                continue
            replies = tuple((ask, _text(row[ask])) for ask in ASKS if row.get(ask) is not None)
            fault = None if replies else "there is no reply in this line"
            found.append(ImportedReply(id, replies, file, fault=fault))
    problems.settle()
    yield from found


def _text(reply: Mapping[str, Any] | str) -> str:
    text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
    # Half of a surrogate pair has no UTF-8.
    return text.encode("utf-8", "replace").decode()
