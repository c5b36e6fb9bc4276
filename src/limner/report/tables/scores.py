"""Scores with their tables, CSV records and data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...core.errors import UsageError
from ...core.evaluator import group_by_evaluator
from ...core.plot_data import least_to_most, plural
from ...core.protocol import Protocol, Score
from ...exams import kind
from ...scoring import FLAGGED, Numbers, Standing, columns
from ...scoring.standings import has_dimensions
from ...scoring.stats import MIN_CLUSTERS, Interval
from .analyses import analysis_tables
from .model import (
    MISSING,
    Cell,
    Cells,
    Framed,
    FrameRows,
    Table,
    column_table,
    nothing_marked,
    score_cell,
    simple_table,
)
from .people import CORRECTED_COLUMNS, corrected_records, corrected_tables

COLUMNS = (
    "exam", "reading", "painter", "strategy", "judge", "by", "category", "n", "coverage", "score", "value", "low",
    "high", "least", "most", "flagged", "unscreened", "evaluator", "on", "place",
)  # fmt: skip


def standing_tables(
    standings: Sequence[Standing], exam_kind: str, score: str | None = None, detail: bool = False
) -> list[Table]:
    """Return a table per evaluator, with notes above and below it, and one per breakdown.

    Args:
        standings: The rows.
        exam_kind: The exam's kind, which defines its scores.
        score: The score that breakdowns show; by default the main one.
        detail: Whether breakdowns show every main score, in a table for each painter.

    Raises:
        UsageError: The exam has no such score.
    """
    protocol = kind(exam_kind).protocol
    names = {each.name: each for each in columns(protocol)}
    if score is not None and score not in names:
        raise UsageError(f"--score {score}: choose from {', '.join(names)}")
    tables = [
        table
        for rows in group_by_evaluator(standings)
        for table in _under_one(rows, protocol, names.get(score or ""), detail)
    ]
    return tables or [nothing_marked()]


def _under_one(rows: Sequence[Standing], protocol: Protocol[Any], score: Score | None, detail: bool) -> Iterator[Table]:
    shown, unknown = _known(rows, protocol)
    remarks = notes(rows)
    if unknown:
        names = ", ".join(score.name for score in unknown)
        remarks.append(f"no score for {names}: this judge decides too few criteria")
    yield _table(rows, shown, remarks)
    for tag in dict.fromkeys(tag for row in rows for tag, values in row.by.items() if values):
        if detail:
            yield from (_breakdown(row, tag, protocol, shown) for row in rows if row.by.get(tag))
        else:
            yield _matrix(rows, tag, protocol, score or shown[0])


def _known(rows: Sequence[Standing], protocol: Protocol[Any]) -> tuple[list[Score], list[Score]]:
    """Return the scores with a value or informative bounds in any row, and the other scores."""
    main = [score for score in columns(protocol) if score.main]
    informative = []
    for score in main:
        valued = any(row.numbers.value(score.name) is not None for row in rows)
        bounds = [row.bounds.get(score.name) for row in rows]
        if valued or any(b and (b[0] > 0 or b[1] < score.top) for b in bounds):
            informative.append(score)
    return informative or main, [score for score in main if informative and score not in informative]


def _table(rows: Sequence[Standing], scores: Sequence[Score], remarks: Sequence[str]) -> Table:
    first = rows[0]
    columns: list[tuple[str, Cells]] = []
    if placed := any(row.place is not None for row in rows):
        columns.append(("place", [_place(row, rows) for row in rows]))
    columns.append(("painter", [row.name for row in rows]))
    columns += _value_columns([row.numbers for row in rows], scores, any(row.all.bounds for row in rows))
    columns.insert(placed + 2, ("coverage", [f"{row.coverage:.0%}" for row in rows]))
    if any(row.failed for row in rows):
        failed = [", ".join(f"{count} {what}" for what, count in row.failed.items()) for row in rows]
        columns.append(("failed", [words or "0" for words in failed]))
    if any(row.unmarked for row in rows):
        columns.append(("not marked", [str(row.unmarked) for row in rows]))
    # Controls are below a line, since they are not ranked.
    apart = [n for n in range(1, len(rows)) if rows[n].control and not rows[n - 1].control]
    if apart and not placed:
        remarks = ["below the line: controls, whose correct result is known", *remarks]
    title = f"{first.exam} · judge {first.evaluator.told} · reading {first.reading}"
    above = [*first.evaluator.warnings, *first.compared.first]
    return column_table(title, columns, remarks, above=above, names=1 + placed, rules=apart, details=details(rows))


def _value_columns(views: Sequence[Numbers], scores: Sequence[Score], abstains: bool) -> list[tuple[str, Cells]]:
    """Return columns of counts, of the share decided where a judge abstains, and of scores."""
    columns: list[tuple[str, Cells]] = [("n", [str(view.n) for view in views])]
    for head, key in {"decided": "share", "met of decided": "met"}.items() if abstains else ():
        shares = [view.decided.get(key) for view in views]
        columns.append((head, [MISSING if share is None else f"{share:.0%}" for share in shares]))
    return columns + [(score.name, [_score(view, score.name, score.digits) for view in views]) for score in scores]


def _score(view: Numbers | None, name: str, digits: int) -> Cell:
    return Cell() if view is None else score_cell(view.scores.get(name), view.bounds.get(name), digits)


def _place(row: Standing, rows: Sequence[Standing]) -> str:
    if row.place is None:
        return "control" if row.control else MISSING
    shared = sum(other.place == row.place for other in rows) > 1
    return f"={row.place}" if shared else str(row.place)


def notes(rows: Sequence[Standing]) -> list[str]:
    """Return the notes that readers need to interpret the table, the most important first."""
    compared = rows[0].compared
    remarks = [note for note in compared.notes if note not in compared.first]
    if any(row.coverage < 1 for row in rows):
        remarks.append(_coverage(rows))
    remarks += _screening(rows)
    for remark in dict.fromkeys(remark for row in rows for remark in row.remarks):
        named = [row.name for row in rows if remark in row.remarks]
        remarks.append(remark if len(named) == len(rows) else f"{', '.join(named)}: {remark}")
    if any(row.all.bounds for row in rows):
        remarks.append(
            "decided: share of criteria this judge could decide. Where it abstains, a score is shown as "
            "least … most: its lowest and its highest possible value"
        )
    if any(interval.low is None for interval in _valued(rows)):
        remarks.append(f"no interval: fewer than {MIN_CLUSTERS} questions are too few for one")
    return remarks


def details(rows: Sequence[Standing]) -> list[str]:
    """Return the notes for readers who want to know more: what intervals are, and how the judge was asked."""
    remarks = []
    if any(interval.low is not None for interval in _valued(rows)):
        remarks.append("[low, high]: 95% interval over questions")
    setup = rows[0].setup
    shown = {k: setup[k] for k in ("variant", "options", "args", "prompts") if setup.get(k)}
    if shown:
        remarks.append("asked: " + ", ".join(f"{key} {_words(value)}" for key, value in shown.items()))
    return remarks


def _valued(rows: Sequence[Standing]) -> list[Interval]:
    return [interval for row in rows for interval in row.scores.values() if interval.value is not None]


def _coverage(rows: Sequence[Standing]) -> str:
    """Return the note on what coverage refers to, and on what is missing."""
    expected = max(row.expected for row in rows)
    note = f"coverage: questions with a score of the {expected} in this exam or selection"
    if any(row.undrawn for row in rows):
        note += "; --subset, --where or --ids select those that were drawn"
    return note + ("; failures are left out, never zeros" if any(row.failed for row in rows) else "")


def _screening(rows: Sequence[Standing]) -> list[str]:
    """Return the notes on text in drawings that addresses the examiner; none if no drawing's text was read."""
    flagged, left_out = sum(row.flagged for row in rows), sum(row.failures.get(FLAGGED, 0) for row in rows)
    unknown = sum(row.unscreened for row in rows)
    remarks = []
    if flagged:
        ids = list(dict.fromkeys(id for row in rows for id in row.flagged_ids))
        listed = ", ".join(ids[:3]) + (" …" if len(ids) > 3 else "")
        remarks.append(
            f"{plural(flagged, 'drawing')} carr{'ies' if flagged == 1 else 'y'} words addressed to the examiner: "
            f"{listed} (limner show {rows[0].exam} {ids[0]})"
        )
    if left_out:
        remarks.append("these are left out (--exclude-flagged): they have no score, and coverage falls")
    if unknown and any(row.screened for row in rows):
        remarks.append(
            f"{plural(unknown, 'drawing')} not screened for such words: OCR has not read their text "
            f"(limner evidence {rows[0].exam} --probe ocr)"
        )
    return remarks


def _words(value: Any) -> str:
    return " ".join(f"{key}={item}" for key, item in value.items()) if isinstance(value, Mapping) else str(value)


def _matrix(rows: Sequence[Standing], tag: str, protocol: Protocol[Any], score: Score) -> Table:
    """Return a table of categories by painters: one score, or each of the exam's own dimensions."""
    digits = {each.name: each.digits for each in columns(protocol)}
    categories = list(dict.fromkeys(category for row in rows for category in row.by.get(tag, {})))
    dimension = has_dimensions(tag, categories, protocol)
    body: list[Cells] = []
    for category in categories:
        views, name = [row.by.get(tag, {}).get(category) for row in rows], category if dimension else score.name
        counts = least_to_most(view.n for view in views if view is not None)
        body.append([category, counts, *(_score(view, name, digits.get(name, 2)) for view in views)])
    title = f"by {tag}" if dimension else f"{score.name} by {tag}"
    return simple_table(title, [tag, "n", *(row.name for row in rows)], body)


def _breakdown(standing: Standing, tag: str, protocol: Protocol[Any], scores: Sequence[Score]) -> Table:
    by, digits = standing.by[tag], {score.name: score.digits for score in columns(protocol)}
    shown: list[tuple[str, Cells]] = [(tag, list(by))]
    if has_dimensions(tag, by, protocol):
        shown += _value_columns(list(by.values()), (), False)
        shown.append(("value", [_score(view, name, digits.get(name, 2)) for name, view in by.items()]))
    else:
        shown += _value_columns(list(by.values()), scores, bool(standing.all.bounds))
    title = f"{standing.name} by {tag}"
    if standing.numbers.n != standing.n:
        title += f" · on the {standing.numbers.n} common questions"
    return column_table(title, shown)


class Standings(Framed, list[Standing]):
    """Every painter's numbers under every evaluator, as shown by `limner scores`.

    Attributes:
        kind: The exam's kind, which defines its scores.
        corrected: Whether to show them with scores corrected by people's marks.
    """

    def __init__(self, rows: Iterable[Standing], kind: str, corrected: bool = False) -> None:
        super().__init__(rows)
        self.kind, self.corrected = kind, corrected

    def tables(self, score: str | None = None, detail: bool = False) -> list[Table]:
        """Return a table for each evaluator, and one for every breakdown; see `standing_tables`."""
        tables = standing_tables(self, self.kind, score, detail)
        return [*tables, *(corrected_tables(self, self.kind) if self.corrected else [])]

    def analyses(self) -> list[Table]:
        """Return the tables that the exam's paper reports besides its scores."""
        return analysis_tables(self)

    def frame_rows(self) -> FrameRows:
        """Return a row for each number: painter, evaluator, score, value and interval."""
        if self.corrected:
            return CORRECTED_COLUMNS, list(corrected_records(self))
        return COLUMNS, [record for row in self for record in _records(row)]

    def to_json(self) -> list[dict[str, Any]]:
        """Return the body of ``--format json``."""
        # Compute rows with equally many questions one after the other, since they share their resamples.
        for row in sorted(self, key=lambda row: row.all.n):
            len(row.all.scores)
        return [row.to_json() for row in self]

    def __repr__(self) -> str:
        """Return the name of the class and the counts."""
        painters, evaluators = len({row.name for row in self}), len({row.evaluator.id for row in self})
        return f"<Standings: {plural(painters, 'painter')}, {plural(evaluators, 'evaluator')}>"


def _records(row: Standing) -> Iterator[dict[str, Any]]:
    """Yield one record per number, on the questions on which painters are compared."""
    head = {name: getattr(row, name, None) for name in COLUMNS} | {"evaluator": row.evaluator.name}
    views = [("", "", row.numbers)]
    views += [(tag, value, body) for tag, values in row.by.items() for value, body in values.items()]
    for tag, value, body in views:
        for score, interval in body.scores.items():
            least, most = body.bounds.get(score, (None, None))
            number = {"by": tag, "category": value, "score": score, **interval.to_json()}
            yield head | number | {"least": least, "most": most}
