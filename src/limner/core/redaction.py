"""Keys reach no store and no message: the rule by which what others say is cleaned of them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from .addresses import secret_parts

LEAST = 8
"""Characters of the shortest value that is taken for a secret by its variable's name."""
LEAST_TOLD = 6
"""Characters of the shortest secret that the settings tell: shorter ones stand in ordinary words."""
HIDDEN = "***"
_LIKE_A_KEY = re.compile(r"KEY(_|$)|TOKEN(_|$)|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
# What others say may be long: nothing here looks at a character more than a few times.
_LOGIN = re.compile(r"(?<=://)[^/\s@:]*+:[^/\s@]++(?=@)")
_MASKED = re.compile(r"[\w.-]++(?:\*{3,}[\w-]*+)?|\*{3,}[\w-]*+")
"""Every word, for a masked one is known by its end alone."""
_named: set[str] = set()
_parts: set[str] = set()


def name_key(variable: str) -> None:
    """Say that an environment variable holds a key, whatever it is called."""
    _named.add(variable)


def name_address(url: str) -> None:
    """Say that an address is used: its login and its query are keys."""
    _parts.update(secret_parts(url))


def is_key(variable: str) -> bool:
    """Whether an environment variable holds a key, as far as its name or the settings tell."""
    return variable in _named or _LIKE_A_KEY.search(variable) is not None


def secrets(environ: Mapping[str, str] | None = None) -> list[str]:
    """The keys that this process knows, the longest first."""
    given = os.environ if environ is None else environ
    found = {value for value in _parts if len(value) >= LEAST_TOLD}
    for name, value in given.items():
        if is_key(name) and len(value.strip()) >= (LEAST_TOLD if name in _named else LEAST):
            found.add(value.strip())
    return sorted(found, key=lambda value: (-len(value), value))


_last: tuple[dict[Any, Any], set[str], set[str], tuple[str, ...]] | None = None


def _known() -> tuple[str, ...]:
    """The same, found anew only when the environment or what is named has changed: it is asked at every step."""
    global _last
    # As the environment itself keeps it: to read each variable takes fifty times as long.
    plain: dict[Any, Any] | None = getattr(os.environ, "_data", None)
    if plain is None:
        return tuple(secrets())
    last = _last
    if last is None or last[:3] != (plain, _named, _parts):
        _last = last = dict(plain), set(_named), set(_parts), tuple(secrets())
    return last[3]


def without_key(text: str, key: str | None) -> str:
    """A text without the key, whole or with its middle masked."""
    if key:
        text = text.replace(key, HIDDEN)
    return _MASKED.sub(lambda word: HIDDEN if HIDDEN in word[0] else word[0], text) if HIDDEN in text else text


def redacted(text: str) -> str:
    """A message without any key this process knows, and without the logins in addresses; masked words go too."""
    return without_key(_LOGIN.sub(HIDDEN, _without(text, _known())), None)


def without_secrets(value: Any) -> Any:
    """Data without any key this process knows, whole or with its middle masked; other asterisks stay as they are.

    Args:
        value: Plain JSON, or one text.
    """
    known = _known()
    return _walked(value, known) if known else value


def _walked(value: Any, known: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return _without(value, known)
    if isinstance(value, list | tuple):
        return [_walked(item, known) for item in value]
    if isinstance(value, Mapping):
        return {_walked(key, known): _walked(item, known) for key, item in value.items()}
    return value


def _without(text: str, known: tuple[str, ...]) -> str:
    for secret in known:
        if secret in text:
            text = text.replace(secret, HIDDEN)
    if HIDDEN in text:
        for ends in _ends(known):
            text = ends.sub(HIDDEN, text)
    return text


@lru_cache(maxsize=8)
def _ends(known: tuple[str, ...]) -> list[re.Pattern[str]]:
    """Finds each secret with its middle masked, as complaints about keys show them."""
    found = []
    for secret in known:
        heads = "|".join(re.escape(secret[:n]) for n in range(min(12, len(secret)), 2, -1))
        tails = "|".join(re.escape(secret[-n:]) for n in range(min(12, len(secret)), 2, -1))
        found.append(re.compile(rf"(?:{heads})\*{{3,}}(?:{tails})?|\*{{3,}}(?:{tails})"))
    return found
