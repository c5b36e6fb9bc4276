"""What a reviewer does at an item: held against what the page had shown, and kept beside all that was done before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from pydantic import BaseModel, ValidationError

from ..core.schema import first_wrong
from ..store import Store
from ..store.schema import build_reviews
from .records import named_review
from .reviews import Review


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The action and the body that lead from one state to the other: ``add`` where lists only became longer.

    >>> difference({"a": [1], "b": 2}, {"a": [1, 3], "b": 2})
    ('add', {'a': [3]})
    >>> difference({"a": [1], "b": 2}, {"a": [3], "b": 2})
    ('edit', {'a': [3]})
    """
    changed = {name: value for name, value in new.items() if old.get(name, ...) != value}
    more = {name: value[len(old[name]) :] for name, value in changed.items() if _longer(old.get(name), value)}
    return ("add", more) if changed and more.keys() == changed.keys() else ("edit", changed)


def _longer(old: Any, new: Any) -> bool:
    lists = isinstance(old, list) and isinstance(new, list)
    return lists and len(new) > len(old) and new[: len(old)] == old


def misfit(old: Any, new: Any, rubric: type[BaseModel] | None = None, path: str = "") -> str | None:
    """Why a changed state cannot be one: another shape than before, or refused by the exam's rubric."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        if lost := sorted(map(str, old.keys() - new.keys())):
            return f"{path}{lost[0]} is missing"
        for name, value in old.items():
            if why := misfit(value, new[name], None, f"{path}{name}."):
                return why
    elif isinstance(old, list) and isinstance(new, list):
        like = [one for one in old if isinstance(one, Mapping)]
        for n, value in enumerate(new):
            if like and not isinstance(value, Mapping):
                return f"{path}{n + 1} must be an object"
    elif old is not None and new is not None and not _alike(old, new):
        return f"{path.rstrip('.')} must be {_word(old)}, not {_word(new)}"
    if rubric is not None and isinstance(new, Mapping) and rubric.model_fields.keys() <= new.keys():
        try:
            rubric.model_validate({name: new[name] for name in rubric.model_fields})
        except ValidationError as error:
            return first_wrong(error)
    return None


def _alike(old: Any, new: Any) -> bool:
    numbers = (int, float)
    if isinstance(old, numbers) and not isinstance(old, bool):
        return isinstance(new, numbers) and not isinstance(new, bool)
    return type(old) is type(new)


def _word(value: Any) -> str:
    if isinstance(value, Mapping):
        return "an object"
    return {str: "a text", bool: "true or false", list: "a list", int: "a number", float: "a number"}.get(
        type(value), "empty"
    )


async def add_if_unchanged(store: Store, review: Review, seen: str | None, *, alone: bool) -> Review | None:
    """Keep a review if nothing was done at the item that the reviewer has not seen; None where something was.

    Args:
        store: Where the build is.
        review: What was done.
        seen: The id of the last review that the page showed; None for none.
        alone: Whether only the reviewer's own count: others judge by themselves, and do not hinder.
    """
    kept = named_review(review)

    def operation(connection: sa.Connection) -> bool:
        table = build_reviews.c
        query = sa.select(table.id).where(table.build == review.build, table.item == review.item)
        if alone:
            query = query.where(table.reviewer == review.reviewer)
        last = connection.execute(query.order_by(table.created.desc(), table.id.desc()).limit(1)).scalar()
        if last != seen:
            return False
        store.insert_new(connection, build_reviews, kept.__dict__)
        return True

    return kept if await store.awrite(operation) else None
