"""How long a text is for a painter's encoder, and cutting it to fit."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from ..core.errors import UsageError

_PIECE = re.compile(r"[^\W\d_]+|\d|_|[^\w\s]")
_STOP = re.compile(r"(?<=[.!?;:\n。！？])\s*")


def about(text: str) -> int:
    """About how many tokens an encoder such as T5 makes of a text, rather too many than too few.

    A word of up to five letters counts one, longer ones one for every five letters; digits, signs and letters of
    scripts without spaces count one each.

    >>> about("A red cell carries oxygen.")
    8
    """
    pieces = _PIECE.findall(text)
    return sum(len(piece) if ord(piece[0]) > 0x2E80 else -(-len(piece) // 5) for piece in pieces)


@lru_cache(maxsize=4)
def counter(tokenizer: str | None) -> Callable[[str], int]:
    """Counts tokens: with the encoder's own ``tokenizer.json`` where one is given, else by `about`.

    Raises:
        UsageError: The file cannot be used.
    """
    if tokenizer is None:
        return about
    try:
        from tokenizers import Tokenizer  # type: ignore[import-not-found, import-untyped, unused-ignore]

        loaded = Tokenizer.from_file(str(Path(tokenizer).expanduser()))
    except ImportError as error:
        raise UsageError("-S tokenizer needs the package tokenizers: pip install 'limner[gpu]'") from error
    except Exception as error:  # The package raises bare exceptions.
        raise UsageError(f"-S tokenizer={tokenizer}: cannot be read: {error}") from error
    return lambda text: len(loaded.encode(text, add_special_tokens=False).ids)


def cut(text: str, most: int, count: Callable[[str], int] = about) -> str:
    """As much of the text's beginning as has at most `most` tokens: whole sentences, or else whole words.

    >>> cut("One two. Three four. Five six.", 6)
    'One two. Three four.'
    """
    text = text.strip()
    if count(text) <= most:
        return text
    for pieces in (_STOP.split(text), text.split()):
        taken = range(len(pieces) + 1)
        most_taken = bisect_right(taken, most, key=lambda n: count(" ".join(pieces[:n]))) - 1
        if most_taken:
            return " ".join(pieces[:most_taken]).strip()
    return ""
