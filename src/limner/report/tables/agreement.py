"""The agreement between judges, people and metrics, with its tables, CSV records and data frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

from ...core.plot_data import plural
from ...scoring.compare import Agreement, AgreementNumber
from ...scoring.compare.opinions import ALL_CRITERIA, ANYONE, PEOPLE_PREFIX, make_number
from ...scoring.compare.pair_numbers import PAIR_FORMS
from ...scoring.stats import MEASURES, Measure
from .model import (
    MISSING,
    Cell,
    Cells,
    Framed,
    FrameRows,
    Table,
    column_table,
    interval_cell,
    number,
    percent_cell,
    simple_table,
)

COLUMNS = ("exam", "reading", *(field.name for field in fields(AgreementNumber)))
MARKS = ("accuracy", "kappa", "ac1", "ac2", "alpha_nominal", "alpha_interval", "first_only", "second_only")
SCORES = ("mae", "shift", *MEASURES, *PAIR_FORMS)
HEADS = {
    "mae": "MAE", "pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall", "shift": "shift", "std": "std",
    "accuracy": "accuracy %", "kappa": "kappa", "ac1": "AC1", "ac2": "AC2", "alpha_nominal": "alpha nominal",
    "alpha_interval": "interval", "first_only": "1st only", "second_only": "2nd only",
}  # fmt: skip
COUNTS = ("first_only", "second_only")
SHORT = ("shift", "ac1", "ac2", "alpha_nominal", "alpha_interval", *PAIR_FORMS)
"""The measures that are shown without their interval."""


@dataclass(frozen=True, repr=False)
class JudgeAgreement(Framed, Agreement):
    """The agreement of judges, people and metrics, as shown by `limner agree`."""

    def tables(self) -> list[Table]:
        """Return tables of single judges, of pairs of evaluators (by mark, drawing, painter), and of all judges."""
        return [_judges_table(self), *_pair_tables(self), *([_all_judges_table(self)] if self.together else [])]

    def frame_rows(self) -> FrameRows:
        """Return a row for each number."""
        numbers = (*_own_numbers(self), *self.numbers, *self.together)
        return COLUMNS, [{"exam": self.exam, "reading": self.reading, **each.to_json()} for each in numbers]

    def __repr__(self) -> str:
        """Return the name of the class and the counts."""
        judges, numbers = plural(len(self.raters), "judge"), plural(len(self.numbers), "number")
        return f"<JudgeAgreement: {self.exam}, {judges}, {numbers}>"


MAX_ROWS, MAX_SENTENCES = 6, 2
"""The most rows and judges' sentences of the summary, so that it fits on a screen."""
SUMMARY = ("accuracy", "kappa", "spearman")
AMONG_PEOPLE = ("ICC(2,1)", "ICC(1,1)", "std")


def summary_table(agreement: Agreement) -> Table:
    """Return one line for each pair of evaluators, those with people first, and what to do next."""
    lines: dict[tuple[str, str], list[AgreementNumber]] = {}
    for each in agreement.numbers:
        if each.unit == "drawing" and not each.tag and not _is_deviation(each):
            lines.setdefault((each.first, each.second), []).append(each)
    pairs = sorted(lines, key=lambda pair: not any(name.startswith(PEOPLE_PREFIX) for name in pair))
    rows: list[dict[str, str | Cell]] = []
    notes = [agreement.reason] if agreement.reason else []
    wanted = [agreement.score.name]
    for first, second in pairs[:MAX_ROWS]:
        score = _compared_score(lines[first, second], wanted)
        wanted.append(score.rpartition(" / ")[2])
        line = {each.measure: each for each in lines[first, second] if each.score == (
            ALL_CRITERIA if each.measure in MARKS else score
        )}  # fmt: skip
        n = max((each.n for measure, each in line.items() if measure not in MARKS), default=0)
        name = CEILING if first == ANYONE else first
        rows.append({"first": name, "second": second, "score": score or MISSING, "drawings": str(n)})
        rows[-1] |= {HEADS[measure]: _cell(line[measure], SUMMARY) for measure in SUMMARY if measure in line}
        if first == ANYONE:
            said = [f"{measure} {number(line[measure].value, 2)}" for measure in AMONG_PEOPLE if measure in line]
            said = [word for word in said if not (word.startswith("ICC(1,1)") and "ICC(2,1)" in line)]
            notes += [f"among {second} on {score}: {', '.join(said)}"] if said else []
    sentences = [each.sentence for each in agreement.replacements if each.sentence]
    notes += sentences[:MAX_SENTENCES]
    more = {"pairs": len(pairs) - MAX_ROWS, "judges against people": len(sentences) - MAX_SENTENCES}
    notes += [f"{count} more {what}: --detail" for what, count in more.items() if count > 0]
    notes.append(
        "accuracy and kappa: single marks; Spearman: scores of drawings; --detail has intervals and all numbers"
    )
    heads = list(dict.fromkeys(head for row in rows for head in row))
    body = [[row.get(head, MISSING) for head in heads] for row in rows]
    title = f"{agreement.exam} · agreement · reading {agreement.reading}"
    return simple_table(title, heads or ["first", "second"], body, notes, names=3)


def _compared_score(numbers: Sequence[AgreementNumber], wanted: Sequence[str]) -> str:
    """Return the score by which a pair is compared: the first of the wanted ones that it has, else its first."""
    scores = list(dict.fromkeys(each.score for each in numbers if each.measure not in MARKS))
    return next((score for score in wanted if score in scores), scores[0] if scores else "")


def _judges_table(agreement: Agreement) -> Table:
    rows: list[Cells] = []
    notes = [agreement.reason] if agreement.reason else []
    for rater in agreement.raters:
        flips, cost, seconds = rater.flips, rater.cost, rater.seconds
        rate = percent_cell(flips.rate) if flips.n else Cell()
        counts = [str(len(rater.parts)), str(rater.markings)]
        rows.append([rater.name, *counts, rate, number(cost.value, 5), number(seconds.value, 2)])
        if cost.reason and cost.n:
            notes.append(f"{rater.name}: {cost.reason}")
        if rater.ties:
            notes.append(f"{rater.name}: {rater.ties} criteria left out because its repeats are tied")
    if any(rater.flips.n for rater in agreement.raters):
        notes.append("flips: percent of marks on which two repeats of the same marking differ")
    else:
        notes.append("no flip rate: nothing was marked more than once; mark again with `--repeats`")
    notes += [each.sentence for each in agreement.replacements if each.sentence]
    title = f"{agreement.exam} · judges · reading {agreement.reading}"
    return simple_table(title, ["judge", "drawings", "markings", "flips %", "$ per image", "s per image"], rows, notes)


def _all_judges_table(agreement: Agreement) -> Table:
    lines = _lines(each for each in agreement.together if each.measure in MARKS)
    rows: list[Cells] = [
        [score, str(line["alpha_nominal"].n), *(_cell(line.get(f"alpha_{level}")) for level in ("nominal", "interval"))]
        for (*_, score), line in lines.items()
        if "alpha_nominal" in line
    ]
    forms = [each for each in agreement.together if each.measure.startswith("ICC")]
    values = ", ".join(f"{each.measure} {number(each.value, 2)}" for each in forms) or "no ICC"
    notes = [f"{agreement.score.name} over {forms[0].n if forms else 0} drawings: {values}"]
    columns = ["criteria", "marked by two or more", "alpha nominal", "interval"]
    return simple_table(f"all {len(agreement.raters)} judges together", columns, rows, notes)


def _own_numbers(agreement: Agreement) -> Iterator[AgreementNumber]:
    """Yield the numbers of each judge, then the judges' win rates in the tests of whether they may replace a person."""
    for rater in agreement.raters:
        head = AgreementNumber(rater.name, "", unit="")
        yield make_number(head, "flip_rate", rater.flips.rate)
        yield make_number(head, "ever_flipped", rater.flips.ever)
        yield make_number(head, "cost_per_image", rater.cost)
        yield make_number(head, "seconds_per_image", rater.seconds)
        yield make_number(head, "ties", Measure(float(rater.ties), rater.markings))
    for each in agreement.replacements:
        win_rate = Measure(each.test.win_rate, each.test.n, each.test.reason)
        yield make_number(AgreementNumber(each.judge, PEOPLE_PREFIX + each.study, unit=""), "win_rate", win_rate)


CEILING = "one person (ceiling)"
Line = tuple[str, str, str, str, str]
"""The key of a table row: first, second, tag, category, score."""


def _pair_tables(agreement: Agreement) -> list[Table]:
    """Return the tables of pairs by mark, by drawing and by painter, and of deviations; empty ones are left out."""
    pairs = [each for each in agreement.numbers if not _is_deviation(each)]
    drawings = [each for each in pairs if each.unit == "drawing"]
    marked = {(each.first, each.second, each.score) for each in drawings if each.measure == "accuracy"}
    marks = [each for each in drawings if each.measure in MARKS and (each.first, each.second, each.score) in marked]
    tables = [
        _pair_table("mark by mark", marks, MARKS, "criteria"),
        _pair_table("drawing by drawing", [each for each in drawings if each.measure not in MARKS], SCORES),
        _pair_table("painter by painter", [each for each in pairs if each.unit != "drawing"], SCORES),
        _deviations_table([each for each in agreement.numbers if _is_deviation(each)]),
    ]
    return [table for table in tables if table is not None]


def _is_deviation(each: AgreementNumber) -> bool:
    """Return whether a number is of a person's deviation from its study, instead of a pair of evaluators."""
    among_people = each.first.startswith("person/") and each.second.startswith(PEOPLE_PREFIX)
    return among_people and each.first != ANYONE and each.p is None


def _lines(numbers: Iterable[AgreementNumber]) -> dict[Line, dict[str, AgreementNumber]]:
    lines: dict[Line, dict[str, AgreementNumber]] = {}
    for each in numbers:
        line = (each.first, each.second, each.tag or "", each.category or "", each.score)
        lines.setdefault(line, {})[each.measure] = each
    return lines


def _cell(each: AgreementNumber | None, short: Sequence[str] = SHORT) -> str | Cell:
    if each is None or each.value is None:
        return MISSING
    if each.measure in COUNTS:
        return str(int(each.value))
    scale = 100 if each.measure == "accuracy" else 1
    ends = (None, None) if each.measure in short else (each.low, each.high)
    value, low, high = (None if end is None else scale * end for end in (each.value, *ends))
    return interval_cell(value, low, high, 1 if scale == 100 else 2)


def p_words(p: float | None) -> str:
    """Return a p-value as tables show it.

    >>> p_words(24 / 720), p_words(0.00001), p_words(None)
    ('0.033', '<0.001', '–')
    """
    if p is None:
        return MISSING
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _pair_table(
    title: str, numbers: Sequence[AgreementNumber], measures: Sequence[str], what: str = "score"
) -> Table | None:
    kept = [measure for measure in measures if any(each.measure == measure for each in numbers)]
    if not kept:
        return None
    lines = {key: line for key, line in _lines(numbers).items() if line.keys() & {*kept}}
    rows = list(lines.values())
    tagged = any(each.tag for each in numbers)
    columns: list[tuple[str, Cells]] = [("first", [CEILING if first == ANYONE else first for first, *_ in lines])]
    columns.append(("second", [second for _, second, *_ in lines]))
    if tagged:
        columns.append(("by", [f"{tag} {category}".strip() for *_, tag, category, _ in lines]))
    columns.append((what, [score for *_, score in lines]))
    columns.append(("n", [str(max(each.n for measure, each in row.items() if measure in kept)) for row in rows]))
    columns += [(HEADS.get(measure, measure), [_cell(row.get(measure)) for row in rows]) for measure in kept]
    if "spearman" in kept:
        ranked = [row.get("spearman") for row in rows]
        columns.append(("p (Spearman)", [p_words(each.p if each else None) for each in ranked]))
    return column_table(title, columns, _notes(numbers, kept), names=4 if tagged else 3)


def _notes(numbers: Sequence[AgreementNumber], kept: Sequence[str]) -> list[str]:
    notes = []
    units = {each.unit for each in numbers}
    if "spearman" in kept:
        over = "drawings" if units == {"drawing"} else "painters, or painters on each value of the tag"
        notes.append(f"n: {over}; [low, high]: 95% interval over questions; p: two-sided, exact where n is small")
    if "ac1" in kept:
        notes.append("n: marks that both decided; 1st only, 2nd only: marks that only one of them decided")
        notes.append("a mark is the majority of repeats or people; kappa is Cohen's, AC1 and AC2 are Gwet's")
        notes.append(
            "alpha is Krippendorff's; interval weighs how far apart marks are; 1 is full agreement, 0 is chance"
        )
    notes += list(dict.fromkeys(f"{each.first} and {each.second}: {each.reason}" for each in numbers if each.reason))
    if "shift" in kept:
        notes.append("shift: how much higher the second evaluator's numbers are")
    if PAIR_FORMS[0] in kept:
        notes.append("ICC: (2,1) agreement on the score itself, (3,1) agreement up to a constant")
    if any(" / " in each.score for each in numbers):
        notes.append(
            "A / B: score A of the first, B of the second; if B is a rank, 1 is best, so agreement is negative"
        )
    if any(each.first == ANYONE for each in numbers):
        notes.append(f"{CEILING}: each person against the others of the study, averaged over people")
    return notes


def _deviations_table(numbers: Sequence[AgreementNumber]) -> Table | None:
    rows: list[Cells] = [
        [first, score, str(line["mae"].n), *(_cell(line.get(measure), ()) for measure in ("shift", "mae", "spearman"))]
        for (first, _, _, _, score), line in _lines(numbers).items()
        if "mae" in line
    ]
    if not rows:
        return None
    heads = ["person", "score", "drawings", "shift", "MAE", "Spearman"]
    notes = ["each person against the mean of the others; shift: how much higher the others' numbers are"]
    return simple_table("how people deviate from each other", heads, rows, notes, names=2)
