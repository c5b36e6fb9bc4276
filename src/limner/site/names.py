"""Names for files and links, made from names that anybody may have written."""

from __future__ import annotations

import hashlib
import re

LONGEST = 40
"""Of a name so much is kept; what follows it tells names apart."""


def key(*parts: str) -> str:
    """A short name for a file or a link: readable, the same in every build, and never two for one or one for two.

    Letters, digits, ``-`` and ``_`` alone, so that it means the same in a URL and on every file system; the hash at its
    end keeps apart what differs only in other signs or in case.

    >>> key("Biology/1"), key("../../etc/passwd")
    ('Biology_1-9939d6df', 'etc_passwd-3754d6cb')
    """
    text = "\n".join(parts)
    word = re.sub(r"[^A-Za-z0-9]+", "_", " ".join(parts)).strip("_")[:LONGEST].rstrip("_")
    return f"{word or 'x'}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
