"""Words of a command line as values."""

from __future__ import annotations

import json
from typing import Any


def typed(word: str) -> Any:
    """What the word says as JSON, or the word itself.

    >>> typed("0.5"), typed("true"), typed("high")
    (0.5, True, 'high')
    """
    try:
        return json.loads(word)
    except ValueError:
        return word
