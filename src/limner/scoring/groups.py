"""What is marked, as users ask for it: which exam, painters, evaluators and questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path

from .. import exams
from ..core.errors import UsageError
from ..core.evaluator import REFERENCE, SHOWN, SHUFFLED, Which, name_and_spec
from ..core.exam import Selection
from ..core.protocol import checked_reading
from ..evidence.probe import split_options
from ..exams import ExamSource
from ..store import DEFAULT, Store
from ..store.records import kind_of, known_painters, load_exam, painters_by_spec
from ..store.store import open_store
from .blind import called_out
from .comparable import ON, On
from .entries import Group, load_groups, without_flagged


def stored_exam(exam: str, store: Store) -> ExamSource:
    """The exam in the store that the word EXAM stands for.

    Raises:
        StoreError: The store has no such exam.
    """
    name = exams.name_of(exam)
    return ExamSource(name, kind_of(store, name), None)


def find_groups(
    exam: str,
    *,
    store: Store | str | Path = DEFAULT,
    painters: Sequence[str] = (),
    without: Sequence[str] = (),
    judges: Sequence[str] = (),
    reading: str = "careful",
    variant: str | None = None,
    options: Mapping[str, str] | None = None,
    wording: str | None = None,
    selection: Selection | None = None,
    constants: Mapping[str, float] | None = None,
    exclude_flagged: bool = False,
    unmarked: bool = False,
    brief: bool = False,
    kinds: Sequence[str] = SHOWN,
    wanted: Callable[[Group], bool] = lambda _: True,
) -> tuple[str, list[Group]]:
    """The exam's kind and everything marked, drawing by drawing, for every painter under every evaluator.

    Args:
        exam: The exam's name in the store.
        store: Where the results are.
        painters: Only these.
        without: Not these.
        judges: Only these, such as ``openai/gpt-6-sol`` or ``openai/gpt-6-sol?reasoning_effort=low``.
        reading: How stored replies are read.
        variant: Only marks asked for in this way.
        options: Only marks asked for with these options; evidence's names choose who measured it.
        wording: Only marks asked for in this wording: ``shipped``, ``release``, or how its hash begins.
        selection: Only these questions.
        constants: Numbers the exam's scores are computed with, in place of the usual ones.
        exclude_flagged: Drawings that carry words addressed to the examiner have no score.
        unmarked: Painters that nobody has marked are there too; see `limner.scoring.entries.load_groups`.
        brief: For numbers alone: marks without reasons, markings without keys of replies; see `load_groups`.
        kinds: Where no judge is named, evaluators of these kinds; people and metrics are there when they are named.
        wanted: Whether a group is, for whoever knows better.
    """
    with open_store(store) as found_store:
        named = stored_exam(exam, found_store)
        protocol = exams.kind(named.kind).protocol.tuned(constants or {})
        backends, asked = split_options(options or {})
        chosen = known_painters(found_store, named.name, [name_and_spec(word)[0] for word in painters])
        # The controls speak of the judge, whoever is shown.
        controls = painters_by_spec(found_store, named.name, (REFERENCE, SHUFFLED)) if chosen else frozenset()
        found = load_groups(
            found_store,
            named.name,
            reading=checked_reading(reading),
            painters=chosen | controls,
            which=Which(tuple(judges), variant, asked, wording, tuple(kinds)),
            constants=constants,
            backends=backends,
            unmarked=unmarked,
            brief=brief,
        )
        found = called_out(found, protocol)
        found = [group for group in found if not chosen or chosen & _called(group)]
        found = _without(found, without)
        if selection is not None and selection != Selection():
            kind = exams.kind(named.kind)
            whole = load_exam(found_store, named.name, kind.rubric)
            ids = {question.id for question in whole.select(selection, kind.protocol.breakdowns).questions}
            if not ids:
                raise UsageError("no question is selected")
            found = [group.select(ids) for group in found]
        if exclude_flagged:
            found = [without_flagged(group) for group in found]
        return named.kind, [group for group in found if group.entries and wanted(group)]


def _without(found: list[Group], names: Sequence[str]) -> list[Group]:
    check_without(names, {name for group in found for name in _called(group)})
    return [group for group in found if not set(names) & _called(group)]


def check_without(names: Sequence[str], there: Set[str]) -> None:
    """Check the names of ``--without``.

    Raises:
        UsageError: No painter is called so.
    """
    if unknown := sorted(set(names) - there):
        raise UsageError(f"--without {unknown[0]}: there is: {', '.join(sorted(there)) or 'none'}")


def _called(group: Group) -> set[str]:
    return {group.painter, group.name, *(entry.drawing.painter for entry in group.entries[:1])}


def which_questions(word: str) -> On:
    """The word of ``--on``, checked."""
    if word in ON:
        return ON[ON.index(word)]
    raise UsageError(f"--on {word}: there is: {', '.join(ON)}")
