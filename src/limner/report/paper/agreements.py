"""Agreement of a store's evaluators with people and with each other, for the tables of papers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from ...scoring import evaluators_of
from ...scoring.compare import AgreementNumber, Opinion
from ...scoring.compare.judges import ExamOpinions, all_numbers, load_opinions, wanted_evaluators
from ...scoring.compare.opinions import ANYONE
from ...store import Store
from ..tables.model import Cell, TableRow, interval_cell
from .schema import ColumnSpec, Layout, TableChoice

HUMAN_ICCS = ("ICC(2,1)", "ICC(1,1)")
"""The forms that a table may show: the second if no two drawings have a number from everyone, as with many people."""
AMONG_PEOPLE = ("std", *HUMAN_ICCS)
"""Measures of agreement among people, which do not depend on the row's judge."""
Key = tuple[str, str, str | None, str, str]
"""First evaluator, second evaluator, category, score, measure."""


@dataclass(frozen=True)
class Agreements:
    """The numbers of agreement, for looking up.

    Attributes:
        numbers: The computed numbers.
        everyone: The opinions of all evaluators about the drawings.
        people: The name of the people with whom judges are compared; None if there are none.
    """

    numbers: Mapping[Key, AgreementNumber]
    everyone: ExamOpinions
    people: str | None

    def find(
        self, first: str, words: str, category: str | None = None, second: str | None = None
    ) -> list[AgreementNumber]:
        """Return the numbers for words such as ``mae spelling+logic`` or ``kendall relaxed / overall``.

        If any number is missing, the result is empty.
        """
        measure, _, score = words.partition(" ")
        who = ANYONE if measure in AMONG_PEOPLE else first
        keys = [(who, second or self.people or "", category, name, measure) for name in score.split("+")]
        return [self.numbers[key] for key in keys] if self.numbers.keys() >= {*keys} else []

    def cell(
        self, first: str, words: str, spec: ColumnSpec, category: str | None = None, second: str | None = None
    ) -> Cell:
        """Return the number for words as in `find`, or after ``p`` its p-value; several become their mean."""
        p = words.startswith("p ")
        numbers = self.find(first, words.removeprefix("p "), category, second)
        values = [number.p if p else number.value for number in numbers]
        if not numbers or None in values:
            return Cell()
        mean = sum(value for value in values if value is not None) / len(values)
        ends = (None, None) if len(numbers) > 1 or p else (numbers[0].low, numbers[0].high)
        value, low, high = (None if end is None else spec.scale * end for end in (mean, *ends))
        return interval_cell(value, low, high, spec.digits)

    @property
    def words(self) -> str:
        """The people with whom judges are compared, in words for captions."""
        if self.people is None:
            return "no one has rated its drawings in a study"
        (together,) = [opinion for opinion in self.everyone.opinions if opinion.name == self.people]
        many = len(self.everyone.people[together.study or ""])
        return f"{self.people}: {many} {'person' if many == 1 else 'people'}, {self.rated} drawings"

    @property
    def rated(self) -> int:
        """The number of drawings that these people rated."""
        return sum(_drawings(opinion) for opinion in self.everyone.opinions if opinion.name == self.people)


def agreements(store: Store, exam: str, layout: Layout, choice: TableChoice) -> Agreements:
    """Return the numbers of agreement of this exam that a table needs; without a study, of the one most rated."""
    kept = {name: choice.which[name] for name in ("painters", "without", "selection") if name in choice.which}
    everyone = load_opinions(store, exam, kept, reading=choice.reading, study=choice.study)
    together = [opinion for opinion in everyone.opinions if opinion.kind == "people"]
    people = max(together, key=lambda number: (_drawings(number), number.name), default=None)
    numbers = dict[Key, AgreementNumber]()
    if layout.rows != "rated" and (people is not None or layout.rows == "pairs"):
        wanted = wanted_evaluators((), evaluators_of(store, exam), {})
        by = ["painter"] if layout.rows == "painters" else []
        for number in all_numbers(everyone, wanted, by, ["drawing"]):
            numbers[number.first, number.second, number.category, number.score, number.measure] = number
    return Agreements(numbers, everyone, people.name if people else None)


def _drawings(opinion: Opinion) -> int:
    return len({*opinion.marks, *(id for given in opinion.scores.values() for id in given)})


def agreement_rows(layout: Layout, held: Agreements, specs: Sequence[ColumnSpec]) -> Iterator[TableRow]:
    """Yield the rows of a table about evaluators, pairs of evaluators, or painters' ratings, if they show something."""
    make = {"rated": _rated, "pairs": _pairs}.get(layout.rows, _evaluators)
    yield from (row for row in make(layout, held, specs) if any(cell.value is not None for cell in row.cells))


def _evaluators(layout: Layout, held: Agreements, specs: Sequence[ColumnSpec]) -> Iterator[TableRow]:
    for opinion in held.everyone.opinions:
        if opinion.kind in ("person", "people"):
            continue
        for score in [name for name in layout.scores if name in opinion.scores] + sorted(opinion.scales):
            pair = score if score == layout.against else f"{score} / {layout.against}"
            cells = tuple(held.cell(opinion.name, f"{spec.figure.agreement} {pair}", spec) for spec in specs)
            label = opinion.name if score in opinion.scales else f"{score} by {opinion.name}"
            yield TableRow(label, cells, about={"evaluator": opinion.name, "score": score})


def _pairs(layout: Layout, held: Agreements, specs: Sequence[ColumnSpec]) -> Iterator[TableRow]:
    """Yield the rows of people among themselves, of each judge with people, and of every two judges."""
    judges = sorted(one.name for one in held.everyone.opinions if one.kind in ("judge", "panel"))
    scores = [spec.figure.score for spec in specs]
    form = next((each for each in HUMAN_ICCS if any(held.find(ANYONE, f"{each} {name}") for name in scores)), "")
    listed = [(f"Human-Human {form}", ANYONE, held.people, form)] if form else []
    listed += [(f"{judge}-Human ρ", judge, held.people, "spearman") for judge in judges if held.people]
    listed += [(f"{one} vs {other} ρ", one, other, "spearman") for one, other in combinations(judges, 2)]
    for label, first, second, measure in listed:
        cells = tuple(held.cell(first, f"{measure} {spec.figure.score}", spec, second=second) for spec in specs)
        yield TableRow(label, cells, about={"evaluator": first, "with": second or ""})


def _rated(layout: Layout, held: Agreements, specs: Sequence[ColumnSpec]) -> Iterator[TableRow]:
    """Yield a row for every rated painter, in order of names."""
    columns = [_means(held, spec.figure.rated) for spec in specs]
    for painter in sorted({seen.painter for seen in held.everyone.seen.values()}):
        cells = []
        for spec, means in zip(specs, columns, strict=True):
            value = means.get(painter)
            if value is not None and spec.figure.place:
                value = 1.0 + sum(other < value for other in means.values())
            cells.append(interval_cell(value, None, None, spec.digits))
        yield TableRow(painter, tuple(cells), about={"painter": painter})


def _means(held: Agreements, names: Sequence[str]) -> dict[str, float]:
    """Return each painter's mean on the first scale with ratings; those of all people together take precedence."""
    for name in names:
        for opinion in sorted(held.everyone.opinions, key=lambda opinion: opinion.name != held.people):
            if opinion.kind == "person":
                continue
            if name in opinion.painters:
                return dict(opinion.painters[name])
            if name in opinion.scores:
                weights = held.everyone.weights.get(opinion.study or "", {})
                return _by_painter(opinion.scores[name], weights, held.everyone)
    return {}


def _by_painter(given: Mapping[str, float], weights: Mapping[str, float], everyone: ExamOpinions) -> dict[str, float]:
    sums: dict[str, list[float]] = {}
    for id, value in given.items():
        total = sums.setdefault(everyone.seen[id].painter, [0.0, 0.0])
        total[0] += weights.get(id, 1.0) * value
        total[1] += weights.get(id, 1.0)
    return {painter: top / bottom for painter, (top, bottom) in sums.items()}
