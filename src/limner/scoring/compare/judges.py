"""Judges compared: on single marks, on the scores of drawings, and on the order of painters."""

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
    """Compare every evaluator with every other on the drawings both have marked or rated.

    Where none is named these are the judges and panels in every way they were asked, metrics, and the people of each
    study together.

    Args:
        exam: The exam's name in the store.
        score: Compare by this score alone; by default by all, and judges together by the first that all of them settle.
        reading: How stored replies are read.
        constants: Numbers the exam's scores are computed with, in place of the usual ones.
        store: Where the marks are.
        study: Only people of this study, and only its drawings, each counted by how likely the sample took it.
        by: Tags for whose values there are numbers of their own; ``painter`` for each painter's drawings.
        judges: Only these: judges, metrics, persons (``person/anna``), people of a study (``people/pilot``).
        units: What scores of any two are compared on: ``drawing``, ``painter``, ``painter_tag``; marks always are.
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
    settled = (score for score in main if marked and all(_settles(rater, score) for rater in marked))
    return next(settled, MET)


def _settles(rater: Opinion, score: Score) -> bool:
    return score.name in rater.scores and score.name not in rater.unsettled


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
