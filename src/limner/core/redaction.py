"""Redaction: removal of keys, secrets in addresses and links, and control characters from everything shown."""

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
from urllib.parse import parse_qsl, quote, unquote, urljoin, urlsplit, urlunsplit

MIN_KEY_CHARS = 8
"""The minimum length of a value that is treated as a key because of its variable's name."""
MIN_REGISTERED_KEY_CHARS = 6
"""The minimum length of a key from a variable named in the settings; shorter ones occur in ordinary words."""
MIN_ENCODED_CHARS = 12
"""The minimum length of a key whose encoded spellings are removed."""
SHORTENED_CHARS = 12
"""The number of first characters that show a shortened key."""
MASK = "***"
_LIKE_A_KEY = re.compile(r"KEY(_|$)|TOKEN(_|$)|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
# Replies of services may be long, so these patterns run in linear time.
_LOGIN = re.compile(r"(?<=://)[^/\s@:]*+:[^/\s]+(?=@)")
_MASKED = re.compile(r"[\w.-]++(?:\*{3,}[\w-]*+)?|\*{3,}[\w-]*+")
"""A word; a masked one contains at least three asterisks in a row."""
_key_variables: set[str] = set()
_address_secrets: set[str] = set()


def register_key(variable: str) -> None:
    """Register an environment variable that holds a key, regardless of its name."""
    _key_variables.add(variable)


def register_address(url: str) -> None:
    """Register an address so that its login and query are treated as keys."""
    _address_secrets.update(secret_parts(url))


def is_key(variable: str) -> bool:
    """Return whether an environment variable holds a key, according to its name or the settings."""
    return variable in _key_variables or _LIKE_A_KEY.search(variable) is not None


def known_secrets(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the keys known to this process, longest first."""
    given = os.environ if environ is None else environ
    keys = {value for value in _address_secrets if len(value) >= MIN_REGISTERED_KEY_CHARS}
    for name, value in given.items():
        shortest = MIN_REGISTERED_KEY_CHARS if name in _key_variables else MIN_KEY_CHARS
        if is_key(name) and len(value.strip()) >= shortest:
            keys.add(value.strip())
    keys |= {spelling for key in keys if len(key) >= MIN_ENCODED_CHARS for spelling in encoded_spellings(key)}
    return sorted(keys, key=lambda value: (-len(value), value))


def encoded_spellings(key: str) -> set[str]:
    """Return the spellings of a key in base64 (also inside a longer text), hexadecimal, and as `ESCAPES`.

    >>> "c2stY2FuYXJ5LTEyMzQ1" in encoded_spellings("sk-canary-12345")
    True
    >>> {"sk%2fcanary12", "sk%2Fcanary12", "sk&#47;canary12"} < encoded_spellings("sk/canary12")
    True
    """
    data = key.encode("utf-8", "replace")
    spellings = {data.hex(), data.hex().upper(), quote(key), key.replace("/", r"\/")}
    spellings |= {"".join(f"%{byte:02{form}}" for byte in data) for form in "xX"}
    spellings |= {"".join(form.format(ord(c)) if _ODD.match(c) else c for c in key) for form in ESCAPES}
    for shift in range(3):
        # Only characters that do not depend on what stands before and after the key.
        first, last = -(-shift * 8 // 6), (shift + len(data)) * 8 // 6
        plain = b64encode(bytes(shift) + data).decode()[first:last]
        spellings |= {plain, plain.replace("+", "-").replace("/", "_")}
    return spellings - {key}


ESCAPES = ("%{:02X}", "%{:02x}", "%25{:02X}", "\\u{:04x}", "\\u{:04X}", "&#{};", "&#x{:X};", "&#x{:x};")
"""Forms of characters other than letters and digits in addresses, JSON and HTML, by their number."""
_ODD = re.compile(r"[^\w.~-]")


def without_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that hold no key, for programs that need none."""
    return {name: value for name, value in environ.items() if not is_key(name) and redact(value) == value}


_last: tuple[dict[Any, Any], set[str], set[str], tuple[str, ...]] | None = None


def _current_secrets() -> tuple[str, ...]:
    """Return the known keys; they are cached until something changes, because this is called constantly."""
    global _last
    # The mapping behind os.environ; reading each variable through os.environ takes fifty times as long.
    plain: dict[Any, Any] | None = getattr(os.environ, "_data", None)
    if plain is None:
        return tuple(known_secrets())
    last = _last
    if last is None or last[:3] != (plain, _key_variables, _address_secrets):
        _last = last = dict(plain), set(_key_variables), set(_address_secrets), tuple(known_secrets())
    return last[3]


def without_key(text: str, key: str | None) -> str:
    """Return a text without the key, whether complete or with its middle masked."""
    if key:
        text = text.replace(key, MASK)
    return _MASKED.sub(lambda word: MASK if MASK in word[0] else word[0], text) if MASK in text else text


def redact(text: str) -> str:
    """Return a message without keys known to this process, logins in addresses, and masked words."""
    return without_key(_LOGIN.sub(MASK, _redact_text(text, _current_secrets())), None)


def without_secrets(value: Any) -> Any:
    """Return data without keys known to this process, whether complete or masked; other asterisks are kept.

    Args:
        value: Plain JSON or a text.
    """
    keys = _current_secrets()
    return _redact_nested(value, keys) if keys else value


def _redact_nested(value: Any, keys: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return _redact_text(value, keys)
    if isinstance(value, list | tuple):
        return [_redact_nested(item, keys) for item in value]
    if isinstance(value, Mapping):
        return {_redact_nested(key, keys): _redact_nested(item, keys) for key, item in value.items()}
    return value


def _redact_text(text: str, keys: tuple[str, ...]) -> str:
    for secret in keys:
        if secret in text:
            text = text.replace(secret, MASK)
    # Only after all whole keys: an encoded spelling may begin like the key itself.
    for secret in keys:
        if len(secret) >= 2 * SHORTENED_CHARS and _may_be_shortened(secret, text):
            text = _shortened(secret).sub(MASK, text)
    if MASK in text:
        for ends in _masked_patterns(keys):
            text = ends.sub(MASK, text)
    return text


def _may_be_shortened(key: str, text: str) -> bool:
    """Return whether a text has a part of a key that is long enough, or its first and last characters beside dots."""
    if key[:SHORTENED_CHARS] in text or key[-SHORTENED_CHARS:] in text:
        return True
    return (".." in text or "…" in text) and key[:ENDS] in text and key[-ENDS:] in text


ENDS = 4
"""The number of characters at each end that show a key with dots between them."""


@lru_cache(maxsize=1024)
def _shortened(key: str) -> re.Pattern[str]:
    """Return the pattern of a key's beginning, of its end, and of both with dots between them."""
    dots, n = r"(?:\.{2,}|…)", SHORTENED_CHARS
    heads = "|".join(re.escape(key[:i]) for i in range(n, ENDS - 1, -1))
    tails = "|".join(re.escape(key[-i:]) for i in range(n, ENDS - 1, -1))
    more, before = (list(map(re.escape, letters)) for letters in (key[n:64], key[-64:-n]))
    begun = re.escape(key[:n]) + "".join(f"(?:{letter}" for letter in more) + ")?" * len(more)
    ended = "(?:" * len(before) + "".join(f"{letter})?" for letter in before) + re.escape(key[-n:])
    return re.compile(rf"{begun}(?:{dots}[\w-]{{0,12}})?|(?:{heads}){dots}(?:{tails})|(?:[\w-]{{0,12}}{dots})?{ended}")


@lru_cache(maxsize=8)
def _masked_patterns(keys: tuple[str, ...]) -> list[re.Pattern[str]]:
    """Return patterns that match each key with its middle masked, as error messages about keys show it."""
    patterns = []
    for secret in keys:
        heads = "|".join(re.escape(secret[:n]) for n in range(min(12, len(secret)), 2, -1))
        tails = "|".join(re.escape(secret[-n:]) for n in range(min(12, len(secret)), 2, -1))
        patterns.append(re.compile(rf"(?:{heads})\*{{3,}}(?:{tails})?|\*{{3,}}(?:{tails})"))
    return patterns


PUBLIC_PARAMETERS = frozenset({"api-version", "api_version", "version"})
"""Query parameters that may be shown; all others are treated as keys."""


def join_path(base: str, path: str) -> str:
    """Return the address of a path below a base, with the base's login and query, followed by the path's query.

    >>> join_path("https://me:pw@host/v1/?key=k", "/jobs?id=7")
    'https://me:pw@host/v1/jobs?key=k&id=7'
    """
    parts, (way, _, query) = urlsplit(base), path.partition("?")
    both = "&".join(word for word in (parts.query, query) if word)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") + way, both, ""))


def resolve_link(url: str, to: str) -> str:
    """Return the target of a link found at an address; an invalid one is returned as it is.

    >>> resolve_link("https://host/a/b", "/c"), resolve_link("https://host/a", "//[")
    ('https://host/c', '//[')
    """
    try:
        return urljoin(url, to)
    except ValueError:
        return to


def public_address(url: str) -> str:
    """Return an address without login, query and fragment, so that it can be shown.

    >>> public_address("https://me:pw@host:8000/v1?key=k")
    'https://host:8000/v1'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an invalid address"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def secret_parts(url: str) -> set[str]:
    """Return all spellings of the secrets in an address: its login and the contents of its query.

    >>> sorted(secret_parts("https://me:p%77d@host/v1?key=k1"))
    ['bWU6cHdk', 'k1', 'key=k1', 'me:p%77d', 'me:pwd', 'p%77d', 'pwd']
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return set()
    spellings: set[str] = set()
    if login := parts.netloc.rpartition("@")[0]:
        user, colon, word = login.partition(":")
        spellings |= {login, unquote(login), word or user, unquote(word or user)}
        # Its form in a header.
        spellings.add(b64encode(unquote(login if colon else f"{user}:").encode()).decode().rstrip("="))
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    if any(name not in PUBLIC_PARAMETERS for name, _ in pairs) or (parts.query and not pairs):
        spellings.add(parts.query)
    for word in parts.query.split("&"):
        name, equals, value = word.partition("=")
        if unquote(name) not in PUBLIC_PARAMETERS:
            spellings |= {value, unquote(value)} if equals and value else {name, unquote(name)}
    return spellings - {""}


# C0, DEL and C1 control a terminal, direction marks reorder its output, lone surrogates break its encoding, and the
# two separators end lines.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
DIRECTION = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Direction marks, which printed text may need."""
LAYOUT = "\n\t"
"""Control characters allowed in text of several lines."""


def escape_controls(text: str, keep: str = "") -> str:
    r"""Return a text with its control characters escaped as in JSON.

    Args:
        text: The text, from any source.
        keep: Characters that are not escaped.

    >>> escape_controls("a\x1b[31m\nb")
    'a\\u001b[31m\\u000ab'
    """
    return _CONTROL.sub(lambda match: match[0] if match[0] in keep else f"\\u{ord(match[0]):04x}", text)


def printable(text: str) -> str:
    """Return a text that is safe to print: without keys, and with control characters escaped, except `LAYOUT`."""
    return escape_controls(str(without_secrets(text)), LAYOUT)


TOKEN_BYTES = 24
"""The length of a token in bytes: 192 bits, so that links cannot be guessed."""


def new_token() -> str:
    """Return a new secret for a link; only its `token_hash` should be stored."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def token_hash(token: str) -> str:
    """Return the hash under which a token is stored; tokens are long and random, so a plain hash reveals nothing."""
    return hashlib.sha256(f"limner-token\n{token}".encode()).hexdigest()


def secrets_equal(secret: str, candidate: str) -> bool:
    """Return whether two secrets are equal, in constant time."""
    return hmac.compare_digest(secret.encode(), candidate.encode())


def sign(token: str, text: str) -> str:
    """Return the signature of a text, which only someone who knows the token can make."""
    return hmac.new(token.encode(), f"limner-sign\n{text}".encode(), hashlib.sha256).hexdigest()


def csrf_token(token: str) -> str:
    """Return the value that a page sends with every change; it survives restarts and does not reveal the token."""
    return hmac.new(token.encode(), b"limner-csrf", hashlib.sha256).hexdigest()
