"""What a page under a secret link proves itself by."""

from __future__ import annotations

import hashlib
import hmac

from ..core.tokens import new_token, same, token_hash

__all__ = ["csrf_of", "new_token", "same", "token_hash"]


def csrf_of(token: str) -> str:
    """What a page under a secret link sends back with every change; it outlives the server, and tells no token."""
    return hmac.new(token.encode(), b"limner-csrf", hashlib.sha256).hexdigest()
