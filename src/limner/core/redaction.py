"""Keys reach no store and no message: the rule by which what others say is cleaned of them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

LEAST = 8
"""Characters of the shortest value that is taken for a secret."""
_LIKE_A_KEY = re.compile(r"KEY(_|$)|TOKEN(_|$)|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_LOGIN = re.compile(r"(?<=://)[^/\s@]+:[^/\s@]+(?=@)")
_named: set[str] = set()


def name_key(variable: str) -> None:
    """Say that an environment variable holds a key, whatever it is called."""
    _named.add(variable)


def is_key(variable: str) -> bool:
    """Whether an environment variable holds a key, as far as its name or the settings tell."""
    return variable in _named or _LIKE_A_KEY.search(variable) is not None


def secrets(environ: Mapping[str, str] | None = None) -> list[str]:
    """The keys that this process knows, the longest first."""
    given = os.environ if environ is None else environ
    found = {value.strip() for name, value in given.items() if is_key(name)}
    return sorted((value for value in found if len(value) >= LEAST), key=len, reverse=True)


def without_key(text: str, key: str | None) -> str:
    """A text without the key, whole or with its middle masked."""
    if key:
        text = text.replace(key, "***")
    return re.sub(r"[\w.-]*\*{3,}[\w-]*", "***", text)


def redacted(text: str) -> str:
    """A text without any key this process knows, and without the logins in addresses."""
    for secret in secrets():
        text = text.replace(secret, "***")
    return without_key(_LOGIN.sub("***", text), None)
