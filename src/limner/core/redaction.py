"""What may be shown: keys, secrets in addresses and links, and control characters are taken out first."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit, urlunsplit

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


def known_secrets(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the keys that this process knows, the longest first."""
    given = os.environ if environ is None else environ
    found = {value for value in _parts if len(value) >= LEAST_TOLD}
    for name, value in given.items():
        if is_key(name) and len(value.strip()) >= (LEAST_TOLD if name in _named else LEAST):
            found.add(value.strip())
    return sorted(found, key=lambda value: (-len(value), value))


_last: tuple[dict[Any, Any], set[str], set[str], tuple[str, ...]] | None = None


def _known() -> tuple[str, ...]:
    """Return the same, found anew only when the environment or what is named has changed: it is asked at every step."""
    global _last
    # As the environment itself keeps it: to read each variable takes fifty times as long.
    plain: dict[Any, Any] | None = getattr(os.environ, "_data", None)
    if plain is None:
        return tuple(known_secrets())
    last = _last
    if last is None or last[:3] != (plain, _named, _parts):
        _last = last = dict(plain), set(_named), set(_parts), tuple(known_secrets())
    return last[3]


def without_key(text: str, key: str | None) -> str:
    """Return a text without the key, whole or with its middle masked."""
    if key:
        text = text.replace(key, HIDDEN)
    return _MASKED.sub(lambda word: HIDDEN if HIDDEN in word[0] else word[0], text) if HIDDEN in text else text


def redacted(text: str) -> str:
    """Return a message without any key this process knows, and without the logins in addresses; masked words go too."""
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


PUBLIC = frozenset({"api-version", "api_version", "version"})
"""What a query may say in the open: everything else in it is taken for a key."""


def join_path(base: str, path: str) -> str:
    """The address of a path below a base: the base's login and query stay, a query of the path's own comes behind.

    >>> join_path("https://me:pw@host/v1/?key=k", "/jobs?id=7")
    'https://me:pw@host/v1/jobs?key=k&id=7'
    """
    parts, (way, _, query) = urlsplit(base), path.partition("?")
    both = "&".join(word for word in (parts.query, query) if word)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") + way, both, ""))


def lead_on(url: str, to: str) -> str:
    """Where an address leads that stands at another, whole or as a path; what is none stays as it is.

    >>> lead_on("https://host/a/b", "/c"), lead_on("https://host/a", "//[")
    ('https://host/c', '//[')
    """
    try:
        return urljoin(url, to)
    except ValueError:
        return to


def bare(url: str) -> str:
    """Return an address as it may be shown: without its login, its query and what comes after.

    >>> bare("https://me:pw@host:8000/v1?key=k")
    'https://host:8000/v1'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that is none"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def secret_parts(url: str) -> set[str]:
    """All spellings of what is secret in an address: its login, and what its query holds.

    >>> sorted(secret_parts("https://me:p%77d@host/v1?key=k1"))
    ['bWU6cHdk', 'k1', 'key=k1', 'me:p%77d', 'me:pwd', 'p%77d', 'pwd']
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return set()
    found: set[str] = set()
    if login := parts.netloc.rpartition("@")[0]:
        user, colon, word = login.partition(":")
        found |= {login, unquote(login), word or user, unquote(word or user)}
        # As it goes out in a header.
        found.add(b64encode(unquote(login if colon else f"{user}:").encode()).decode().rstrip("="))
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    if any(name not in PUBLIC for name, _ in pairs) or (parts.query and not pairs):
        found.add(parts.query)
    for word in parts.query.split("&"):
        name, equals, value = word.partition("=")
        if unquote(name) not in PUBLIC:
            found |= {value, unquote(value)} if equals and value else {name, unquote(name)}
    return found - {""}


# C0, DEL and C1 drive a terminal, marks of direction reorder what it shows, halves of surrogate pairs break its
# encoding, and the two separators are ends of lines.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
DIRECTION = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Marks of direction, which text for print may need."""
LAYOUT = "\n\t"
"""What may stand in text of several lines."""


def visible(text: str, keep: str = "") -> str:
    r"""Return a text with its control characters spelt out, as JSON spells them.

    Args:
        text: Of whatever origin.
        keep: Characters that stay as they are.

    >>> visible("a\x1b[31m\nb")
    'a\\u001b[31m\\u000ab'
    """
    return _CONTROL.sub(lambda found: found[0] if found[0] in keep else f"\\u{ord(found[0]):04x}", text)


def printable(text: str) -> str:
    """Whole output as it is printed: lines stay lines, keys and control characters do not get out."""
    return visible(str(without_secrets(text)), LAYOUT)


BYTES = 24
"""192 bits: nobody guesses a link."""


def new_token() -> str:
    """Return a secret for a link; keep only its `token_hash`."""
    return secrets.token_urlsafe(BYTES)


def token_hash(token: str) -> str:
    """Return what is stored of a token. Tokens are random and long, so a plain hash tells nothing."""
    return hashlib.sha256(f"limner-token\n{token}".encode()).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two secrets are equal; takes as long whether they are or not."""
    return hmac.compare_digest(one.encode(), other.encode())


def csrf_of(token: str) -> str:
    """What a page under a secret link sends back with every change; it outlives the server, and tells no token."""
    return hmac.new(token.encode(), b"limner-csrf", hashlib.sha256).hexdigest()
