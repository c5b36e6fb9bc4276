"""What people marked in a study, as statistics take it: their marks as groups, and how the drawings were chosen."""

from __future__ import annotations

from collections.abc import Mapping

from ..core.errors import UsageError
from ..scoring import Group
from ..scoring.groups import find_groups, stored_exam
from ..scoring.human_marks import Frame
from ..store import Store
from ..store.records import evaluator_kinds, load_setups, marking_setups
from .records import PERSON, inclusion, load_items, load_study


def people_of(
    store: Store,
    exam: str,
    study: str | None = None,
    reading: str = "careful",
    constants: Mapping[str, float] | None = None,
) -> tuple[list[Group], Frame]:
    """Everything people marked of an exam in a study, or in all of them, and how its drawings were chosen.

    Raises:
        StoreError: There is no such study.
        UsageError: The study is of another exam, or nobody has marked anything in it.
    """
    name = stored_exam(exam, store).name
    items = []
    if study is not None:
        if (of := load_study(store, study).exam) != name:
            raise UsageError(f"--study {study}: this is a study of {of}, not of {name}")
        items = load_items(store, study)
    kinds, setups, there = evaluator_kinds(store), load_setups(store), marking_setups(store, name)
    people = [id for id in sorted(there) if kinds[id] == PERSON and study in (None, setups[id].get("study"))]
    if not people:
        where = f"the study {study}" if study is not None else f"any study of {name}"
        raise UsageError(f"nobody has marked criteria in {where} yet; people's marks are what scores are corrected by")
    _, found = find_groups(name, store=store, judges=people, reading=reading, constants=constants)
    return found, Frame(study or "", inclusion(items))
