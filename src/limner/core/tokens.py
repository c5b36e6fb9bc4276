"""Secrets in links: made, compared, hashed for storage, and what a page under one proves itself by."""

from __future__ import annotations

import hashlib
import hmac
import secrets

BYTES = 24
"""192 bits: nobody guesses a link."""


def new_token() -> str:
    """A secret for a link; keep only its `token_hash`."""
    return secrets.token_urlsafe(BYTES)


def token_hash(token: str) -> str:
    """What is stored of a token. Tokens are random and long, so a plain hash tells nothing."""
    return hashlib.sha256(f"limner-token\n{token}".encode()).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two secrets are equal; takes as long whether they are or not."""
    return hmac.compare_digest(one.encode(), other.encode())


def csrf_of(token: str) -> str:
    """What a page under a secret link sends back with every change; it outlives the server, and tells no token."""
    return hmac.new(token.encode(), b"limner-csrf", hashlib.sha256).hexdigest()
