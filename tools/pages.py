"""Pages of the documentation that are partly written by programs: what stands between two marks is theirs."""

from __future__ import annotations

import re
from collections.abc import Mapping


def written(page: str, found: Mapping[str, str]) -> str:
    """The page with these parts between ``<!-- NAME -->`` and the next ``<!-- end -->``.

    Raises:
        ValueError: The page has no place for one of them, or several.
    """
    for name, text in found.items():
        marked = _place(name)
        page, count = marked.subn(lambda match, text=text: match[1] + text + "\n" + match[3], page)  # type: ignore[misc]
        if count != 1:
            raise ValueError(f"the page has {count} places for {name}; it needs one")
    return page


def part(page: str, name: str) -> str:
    """What stands in a place of the page.

    Raises:
        ValueError: It has no such place.
    """
    found = _place(name).search(page)
    if found is None:
        raise ValueError(f"the page has no place for {name}")
    return found[2].removesuffix("\n")


def _place(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {re.escape(name)} -->\n)(.*?)(<!-- end -->)", re.DOTALL)
