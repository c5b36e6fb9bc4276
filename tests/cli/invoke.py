"""The command line inside the test's own process: as `limner …` behaves, without starting Python anew each time."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from limner.cli import main


@dataclass(frozen=True)
class Said:
    """What a command said, and its exit code."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()

    def json(self) -> Any:
        return json.loads(self.out)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


def limner(*words: str | Path, code: int | None = 0) -> Said:
    """Run a command; its exit code must be `code` unless that is None."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with mock.patch.object(sys, "argv", ["limner", *map(str, words)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            left = end.code
    said = Said(int(left or 0), _bytes(out), _bytes(err).decode())
    assert code is None or said.code == code, f"{words}: exit code {said.code}\n{said.out}\n{said.err}"
    return said


def _bytes(stream: io.TextIOWrapper) -> bytes:
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue()
