"""What people marked in a study, as statistics take it: their marks as groups, and how the drawings were chosen."""

from __future__ import annotations

from collections.abc import Mapping

from ..core.errors import UsageError
from ..exams import kind
from ..scoring import Group
from ..scoring.corrected import Frame
from ..scoring.groups import find_groups, stored_exam
from ..store import Store
from ..store.markings import marking_setups
from ..store.records import evaluator_kinds, kind_of, load_drawings, load_questions, load_setups
from .records import PERSON, Study, inclusion, load_items, load_study
from .sampling import cell_name


def people_of(
    store: Store,
    exam: str,
    study: str,
    reading: str = "careful",
    constants: Mapping[str, float] | None = None,
) -> tuple[list[Group], Frame]:
    """Everything people marked of an exam in a study, and how its drawings were chosen.

    Raises:
        StoreError: There is no such study.
        UsageError: The study is of another exam, or nobody has marked anything in it.
    """
    name = stored_exam(exam, store).name
    found = load_study(store, study)
    if found.exam != name:
        raise UsageError(f"--study {study}: this is a study of {found.exam}, not of {name}")
    frame = Frame(study, inclusion(load_items(store, study)), _strata(store, found))
    kinds, setups, there = evaluator_kinds(store), load_setups(store), marking_setups(store, name)
    people = [id for id in sorted(there) if kinds[id] == PERSON and setups[id].get("study") == study]
    if not people:
        raise UsageError(
            f"nobody has marked criteria in the study {study} yet; people's marks are what scores are corrected by"
        )
    _, groups = find_groups(name, store=store, judges=people, reading=reading, constants=constants)
    return groups, frame


def _strata(store: Store, study: Study) -> dict[str, str]:
    """Drawing -> its stratum, chosen or not, where the design spreads the sample over tags of questions."""
    sample = (study.body.get("design") or {}).get("sample") or {}
    tags = sample.get("strata") or sample.get("cross") or ()
    if not tags:
        return {}
    questions = load_questions(store, study.exam, kind(kind_of(store, study.exam)).rubric)
    return {
        drawing.id: cell_name(questions[drawing.question_hash].tags, tags)
        for drawing in load_drawings(store, study.exam)
        if drawing.question_hash in questions
    }
