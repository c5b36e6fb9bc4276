"""Addresses of services: what in them is secret, how they are shown, and how a path goes below one."""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit, urlunsplit

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
    """An address as it may be shown: without its login, its query and what comes after.

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
