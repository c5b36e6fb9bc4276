"""Breaks text into lines by how wide its letters are: on a terminal, or by another measure."""

from __future__ import annotations

import re
from collections.abc import Callable

from rich.cells import cell_len

from .parts import clean


def wrap(text: str, width: float, at: str = " -/", measure: Callable[[str], float] = cell_len) -> list[str]:
    """Lines of at most `width`, broken after one of the letters in `at`, or anywhere where there is none.

    >>> wrap("gemini/gemini-3-pro", 12), wrap("abcdef", 4)
    (['gemini/', 'gemini-3-pro'], ['abcd', 'ef'])
    """
    found, line = [], ""
    for piece in re.findall(rf"[^{re.escape(at)}]*[{re.escape(at)}]|[^{re.escape(at)}]+", clean(text)):
        if line and measure((line + piece).rstrip()) > width:
            found.append(line.rstrip())
            line = ""
        line += piece
        while measure(line.rstrip()) > width:
            cut = 1
            while measure(line[: cut + 1]) <= width:
                cut += 1
            found.append(line[:cut])
            line = line[cut:]
    return [*found, line.rstrip()] if line.rstrip() or not found else found
