"""Comparison of judges: on single marks, on scores of drawings, and on the order of painters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ... import exams
from ...core.errors import UsageError
from ...core.protocol import Protocol, Score
from ...store import DEFAULT, Store
from ...store.store import using_store
from .. import MET, evaluators_of
from ..stats import chance_corrected, icc
from .everyone import all_numbers, all_replacements, load_opinions, wanted_evaluators
from .opinions import UNITS, AgreementNumber, ComparedDrawings, Opinion, group_by_sort, make_number
from .pair_numbers import common_scores
from .results import Agreement


def judges(
    exam: str,
    *,
    score: str | None = None,
    reading: str = "careful",
    constants: Mapping[str, float] | None = None,
    store: Store | str | Path = DEFAULT,
    study: str | None = None,
    by: Sequence[str] = (),
    judges: Sequence[str] = (),
    units: Sequence[str] = UNITS,
    **which: Any,
) -> Agreement:
    """Compare every evaluator with every other on the drawings that both have marked or rated.

    By default these are all judges and panels in each way they were asked, all metrics, and the people of each study
    combined.

    Args:
        exam: The exam's name in the store.
        score: The only score to compare by; by default all, and for all judges together the first that all decide.
        reading: How stored replies are read.
        constants: Numbers to compute the exam's scores with, instead of the usual ones.
        store: The store that holds the marks.
        study: Only this study's people and drawings, each weighted by the inverse of its sampling probability.
        by: Tags to break the numbers down by; ``painter`` for each painter's drawings.
        judges: Only these evaluators: judges, metrics, persons (``person/anna``), a study's people (``people/pilot``).
        units: The units on which scores are compared: ``drawing``, ``painter``, ``painter_tag``; marks always are.
        **which: ``painters``, ``variant``, ``options``, ``selection``; see `limner.api.groups`.

    Raises:
        UsageError: There is no such score, study or evaluator.
    """
    with using_store(store) as opened:
        name = exams.stored_name(exam)
        wanted = wanted_evaluators(judges, evaluators_of(opened, name), which)
        everyone = load_opinions(opened, name, which, reading=reading, constants=constants, study=study)
    raters = tuple(opinion for opinion in everyone.wanted(wanted) if opinion.cost.n)
    chosen = _score(raters, everyone.protocol, score)
    numbers = tuple(all_numbers(everyone, wanted, by, units, chosen.name, only=score is not None))
    reason = None
    if len(raters) < 2 and not numbers:
        reason = "only one judge, asked in one way: nothing to compare it with" if raters else "nothing is marked yet"
    together = tuple(_together(raters, chosen, ComparedDrawings(everyone.protocol, everyone.seen, {})))
    replacements = tuple(all_replacements(everyone, wanted))
    return Agreement(name, reading, chosen, raters, reason, numbers, together, replacements)


def _score(raters: Sequence[Opinion], protocol: Protocol[Any], wanted: str | None) -> Score:
    own = {score.name: score for score in protocol.scored} | {MET.name: MET}
    if wanted is not None:
        if wanted not in own:
            raise UsageError(f"--score {wanted}: choose from {', '.join(own)}")
        return own[wanted]
    main = [score for score in protocol.scored if score.main]
    marked = [rater for rater in raters if rater.markings]
    settled = (score for score in main if marked and all(rater.settles(score.name) for rater in marked))
    return next(settled, MET)


def _together(raters: Sequence[Opinion], score: Score, field: ComparedDrawings) -> Iterator[AgreementNumber]:
    """Yield Krippendorff's alpha and the intraclass correlation of more than two judges."""
    if len(raters) < 3:
        return
    head, marked = AgreementNumber("", ""), []
    for id in sorted(field.seen):
        given = [rater.marks.get(id, {}) for rater in raters]
        for criterion in sorted({name for marks in given for name in marks}):
            marked.append((criterion, field.unit(id, [marks.get(criterion) for marks in given])))
    for sort, units in group_by_sort(marked).items():
        n = sum(len(unit.said) > 1 for unit in units)
        for measure, each in chance_corrected(units, [0.0, 1.0]).items():
            yield make_number(replace(head, score=sort), measure, each, n)
    scores = common_scores(raters, [score.name] * len(raters), field)
    for form, each in icc([field.unit(id, values) for id, values in scores.items()]).items():
        yield make_number(replace(head, score=score.name), form, each)
