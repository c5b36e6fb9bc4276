"""Selection of marked drawings by exam, painters, evaluators and questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from .. import exams
from ..core import catalogue, settings
from ..core.errors import UsageError
from ..core.evaluator import (
    REFERENCE,
    SHOWN_KINDS,
    SHUFFLED,
    Evaluator,
    EvaluatorFilter,
    WrongDrawings,
    group_by_evaluator,
    name_and_spec,
    row_name,
)
from ..core.exam import Selection
from ..core.protocol import Protocol, Score, parse_reading
from ..evidence.probe import split_options
from ..exams import ExamSource, Kind
from ..store import DEFAULT, Store
from ..store.records import kind_of, known_painters, load_exam, painters_by_spec
from ..store.store import using_store
from .comparable import ON, On, comparable
from .entries import Group, load_groups, open_kind, without_flagged
from .numbers import make_derive, score_parts, values_of
from .stats import difference_interval
from .stats.resample import NEAR


def stored_exam(exam: str, store: Store) -> ExamSource:
    """Return the stored exam named by the command-line argument EXAM.

    Raises:
        StoreError: The store has no such exam.
    """
    name = exams.stored_name(exam)
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
    kinds: Sequence[str] = SHOWN_KINDS,
    wanted: Callable[[Group], bool] = lambda _: True,
) -> tuple[Kind[Any], list[Group]]:
    """Return the exam's kind, and a group of entries for each painter under each evaluator.

    The protocol of the returned kind uses `constants`.

    Args:
        exam: The exam's name in the store.
        store: The store that holds the results.
        painters: Only these painters.
        without: Leave out these painters.
        judges: Only these evaluators, such as ``openai/gpt-6.1-sol`` or ``openai/gpt-6.1-sol?reasoning_effort=low``.
        reading: How stored replies are read.
        variant: Only marks asked for with this variant.
        options: Only marks asked for with these options; names of evidence choose the backend that measured it.
        wording: Only marks asked for in this wording: ``shipped``, ``release``, or the beginning of its hash.
        selection: Only these questions.
        constants: Numbers to compute the exam's scores with, instead of the usual ones.
        exclude_flagged: Whether drawings with text addressed to the examiner are left without a score.
        unmarked: Whether to include painters that have no marks; see `limner.scoring.entries.load_groups`.
        brief: Whether to leave out the reasons of marks and the keys of replies; see `load_groups`.
        kinds: The kinds of evaluators to include if `judges` is empty.
        wanted: Returns whether to keep a group.
    """
    with using_store(store) as opened:
        name = exams.stored_name(exam)
        kind = open_kind(opened, name, constants, parse_reading(reading))
        backends, asked = split_options(options or {})
        chosen = known_painters(opened, name, [name_and_spec(word)[0] for word in painters])
        # Controls test the judge, so they are loaded whichever painters are selected.
        controls = painters_by_spec(opened, name, (REFERENCE, SHUFFLED)) if chosen else frozenset()
        groups = load_groups(
            opened,
            name,
            reading=parse_reading(reading),
            painters=chosen | controls,
            which=EvaluatorFilter(tuple(judges), variant, asked, wording, tuple(kinds)),
            opened=kind,
            backends=backends,
            unmarked=unmarked,
            brief=brief,
        )
        groups = with_warnings(groups, kind.protocol)
        groups = [group for group in groups if not chosen or chosen & _called(group)]
        groups = _without(groups, without)
        if selection is not None and selection != Selection():
            whole = load_exam(opened, name, kind.rubric)
            ids = {question.id for question in whole.select(selection, kind.protocol.breakdowns).questions}
            if not ids:
                raise UsageError("no question is selected")
            groups = [group.select(ids) for group in groups]
        if exclude_flagged:
            groups = [without_flagged(group) for group in groups]
        return kind, [group for group in groups if group.entries and wanted(group)]


def _without(groups: list[Group], names: Sequence[str]) -> list[Group]:
    check_without(names, {name for group in groups for name in _called(group)})
    return [group for group in groups if not set(names) & _called(group)]


def check_without(names: Sequence[str], names_there: Set[str]) -> None:
    """Check the names of ``--without``.

    Raises:
        UsageError: There is no painter of that name.
    """
    if unknown := sorted(set(names) - names_there):
        raise UsageError(f"--without {unknown[0]}: choose from {', '.join(sorted(names_there)) or 'none'}")


def _called(group: Group) -> set[str]:
    names = {(name, row_name(name, group.strategy)) for name in (group.painter, group.shown or group.painter)}
    return {*chain(*names), *(entry.drawing.painter for entry in group.entries[:1])}


def checked_on(word: str) -> On:
    """Return the value of ``--on`` after checking it."""
    if word in ON:
        return ON[ON.index(word)]
    raise UsageError(f"--on {word}: choose from {', '.join(ON)}")


MIN_QUESTIONS = 10
"""The minimum number of common questions for a warning about a judge."""
PASSING_SHARE = 0.8
"""The share of the reference's score at which another question's drawing counts as passed."""


def with_warnings(groups: Sequence[Group], protocol: Protocol[Any]) -> list[Group]:
    """Return the groups, with warnings attached to evaluators that pass wrong drawings or whose model is gone.

    Args:
        groups: The groups of all painters including controls, even if not all will be shown.
        protocol: The exam's protocol.
    """
    warned: dict[str, Evaluator] = {}
    gone = _gone_judges({group.evaluator.judge for group in groups})
    for members in group_by_evaluator(groups):
        evaluator = members[0].evaluator
        wrong = wrong_drawings(members, protocol) if evaluator.kind in SHOWN_KINDS else None
        warned[evaluator.id] = replace(evaluator, passes_wrong_drawings=wrong, gone=gone.get(evaluator.judge))
    return [replace(group, evaluator=warned[group.evaluator.id]) for group in groups]


def _gone_judges(judges: Set[str]) -> dict[str, str]:
    """Return since when each of these judges is gone, if it is."""
    named = [judge for judge in judges if "/" in judge]
    if not named:
        return {}
    models, day = settings.load().models, catalogue.today()
    gone = [judge for judge in named if judge in models and catalogue.state_of(models[judge], day) == "gone"]
    return catalogue.lifetime_warnings(gone, models, day)


def wrong_drawings(groups: Sequence[Group], protocol: Protocol[Any]) -> WrongDrawings | None:
    """Return one evaluator's scores of ``control/shuffled`` and ``control/reference``; None unless about equal.

    They are about equal if, by the exam's first main score, other questions' drawings get at least 80% of what the
    references get, or the 95% interval of the paired difference includes 0. There is no warning

    - if fewer than ten questions have this score for both, for example because the judge abstains;
    - if other questions' drawings get a score of zero, because such a judge passes nothing.

    If a control was drawn in several ways, the one with the shortest name counts.

    Args:
        groups: The painters under this evaluator, all with the same reading.
        protocol: The exam's protocol.
    """
    score = next((each for each in protocol.scored if each.main), None)
    if score is None:
        return None
    controls = [_control(groups, spec, score) for spec in (REFERENCE, SHUFFLED)]
    pair = [group for group in controls if group is not None]
    if len(pair) < len(controls):
        return None
    side = comparable(pair, protocol)
    if len(side.questions) < MIN_QUESTIONS:
        return None
    right, wrong = (score_parts(side.common(group), protocol, decided=True) for group in pair)
    reference, shuffled = (values_of(parts, protocol).get(score.name) for parts in (right, wrong))
    if reference is None or shuffled is None or shuffled <= 0:
        return None
    if shuffled < PASSING_SHARE * reference - NEAR * score.top:
        gap = difference_interval(right, wrong, score.name, make_derive(protocol), top=score.top)
        if gap.low is None or gap.low > 0:
            return None
    return WrongDrawings(score.name, shuffled, reference, len(side.questions), score.digits)


def _control(groups: Sequence[Group], spec: str, score: Score) -> Group | None:
    """Return the painter of this spec with the shortest name, with only its drawings that have the score."""
    named = sorted((group for group in groups if group.spec == spec), key=lambda group: (len(group.name), group.name))
    if not named:
        return None
    return replace(named[0], entries=tuple(e for e in named[0].scored if e.scores.get(score.name) is not None))
