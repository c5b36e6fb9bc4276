"""Paths into JSON and texts with gaps, as settings write them: ``data.0.url``, ``"/jobs/{id}"``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

ANY = "*"
"""A step of a path that stands for every item, of which the first counts that leads on to something."""
_GAP = re.compile(r"\{([\w*.-]+)\}")


def find(value: Any, path: str) -> Any:
    """What stands at a path; None where there is nothing.

    >>> find({"data": [{"url": "a"}]}, "data.0.url"), find({"x": {"b": 1}}, "*.b"), find([], "0")
    ('a', 1, None)
    """
    return _find(value, path.split("."))


def _find(value: Any, steps: list[str]) -> Any:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if step == ANY:
        items: Iterable[Any] = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return next((found for item in items if (found := _find(item, rest)) is not None), None)
    if isinstance(value, dict):
        return _find(value.get(step), rest)
    if isinstance(value, list) and re.fullmatch(r"[0-9]{1,6}", step) and int(step) < len(value):
        return _find(value[int(step)], rest)
    return None


def find_first(value: Any, paths: Iterable[str]) -> Any:
    """What stands at the first of the paths that leads to something."""
    return next((found for path in paths if (found := find(value, path)) is not None), None)


def put(value: dict[str, Any], path: str, item: Any) -> None:
    """Lay an item at a path of names, making the tables on the way.

    >>> body = {"input": {"prompt": "p"}}
    >>> put(body, "input.image", 7), body
    (None, {'input': {'prompt': 'p', 'image': 7}})
    """
    *way, last = path.split(".")
    for step in way:
        if not isinstance(value.get(step), dict):
            value[step] = {}
        value = value[step]
    value[last] = item


def gaps(template: Any) -> Iterator[str]:
    """The names of all gaps in a text, or in the texts of a table."""
    if isinstance(template, str):
        yield from _GAP.findall(template)
    elif isinstance(template, dict | list):
        for item in template.values() if isinstance(template, dict) else template:
            yield from gaps(item)


def fill(template: Any, word: Callable[[str], Any]) -> Any:
    """The template with its gaps filled. A text that is one gap becomes the word itself, whatever that is.

    Fields and items whose word is None are left out.

    >>> fill({"a": "{n}", "b": "{no}", "c": "n={n}"}, {"n": 7}.get)
    {'a': 7, 'c': 'n=7'}
    """
    if isinstance(template, dict):
        filled = {key: fill(item, word) for key, item in template.items()}
        return {key: item for key, item in filled.items() if item is not None}
    if isinstance(template, list):
        return [item for item in (fill(item, word) for item in template) if item is not None]
    if not isinstance(template, str):
        return template
    if whole := _GAP.fullmatch(template):
        return word(whole[1])
    found = {name: word(name) for name in _GAP.findall(template)}
    return None if None in found.values() else _GAP.sub(lambda gap: str(found[gap[1]]), template)
