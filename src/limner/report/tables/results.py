"""The results of the Python API: standings, comparisons, agreement and questions, with data frames and HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ...core.plot_data import plural
from ...scoring import Standing
from ...scoring.compare import Across, Agreement, Comparison
from .agreement import COLUMNS as AGREEMENT_COLUMNS
from .agreement import agreement_records, agreement_tables
from .analyses import analysis_tables
from .comparison import ACROSS_COLUMNS, across_records, across_tables, comparison_records, comparison_tables
from .comparison import COLUMNS as COMPARISON_COLUMNS
from .model import Framed, FrameRows, Table
from .people import CORRECTED_COLUMNS, corrected_records, corrected_tables
from .question import mark_rows, mark_tables
from .scores import COLUMNS as STANDING_COLUMNS
from .scores import standing_records, standing_tables


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
        """Return a table for each evaluator, and one for every breakdown; see `limner.report.tables.scores`."""
        tables = standing_tables(self, self.kind, score, detail)
        return [*tables, *(corrected_tables(self, self.kind) if self.corrected else [])]

    def analyses(self) -> list[Table]:
        """Return the tables that the exam's paper reports besides its scores."""
        return analysis_tables(self)

    def frame_rows(self) -> FrameRows:
        """Return a row for each number: painter, evaluator, score, value and interval."""
        if self.corrected:
            return CORRECTED_COLUMNS, list(corrected_records(self))
        return STANDING_COLUMNS, list(standing_records(self))

    def to_json(self) -> list[dict[str, Any]]:
        """Return the body of ``--format json``."""
        # Compute rows with equally many questions one after the other, since they share their resamples.
        for row in sorted(self, key=lambda row: row.all.n):
            len(row.all.scores)
        return [row.to_json() for row in self]

    def __repr__(self) -> str:
        """Return the name of the class and the counts."""
        return f"<Standings: {plural(len({row.name for row in self}), 'painter')}, {_evaluators(self)}>"


class Comparisons(Framed, list[Comparison]):
    """Comparisons of painters under every evaluator, as shown by `limner compare`."""

    def tables(self) -> list[Table]:
        """Return tables of the painters' ranks and of all pairs."""
        return comparison_tables(self)

    def frame_rows(self) -> FrameRows:
        """Return a row for each painter and each pair; the column ``row`` says which."""
        return COMPARISON_COLUMNS, list(comparison_records(self))

    def to_json(self) -> list[dict[str, Any]]:
        """Return the body of ``--format json``."""
        return [comparison.to_json() for comparison in self]

    def __repr__(self) -> str:
        """Return the name of the class and the counts."""
        pairs = sum(len(comparison.pairs) for comparison in self)
        return f"<Comparisons: {plural(pairs, 'pair')} of painters, {_evaluators(self)}>"


@dataclass(frozen=True, repr=False)
class ExamComparison(Framed, Across):
    """A comparison of painters over several exams, as shown by `limner compare --exams`."""

    def tables(self) -> list[Table]:
        """Return a table of painters by exam, and one of how similarly each pair of exams ranks them."""
        return across_tables(self)

    def frame_rows(self) -> FrameRows:
        """Return a row for each painter and exam, then one for each pair of exams."""
        return ACROSS_COLUMNS, list(across_records(self))

    def __repr__(self) -> str:
        """Return the name of the class and the counts."""
        return f"<ExamComparison: {plural(len(self.painters), 'painter')}, {plural(len(self.columns), 'exam')}>"


@dataclass(frozen=True, repr=False)
class JudgeAgreement(Framed, Agreement):
    """The agreement of judges, people and metrics, as shown by `limner agree`."""

    def tables(self) -> list[Table]:
        """Return tables of single judges, of pairs, and of all judges together."""
        return agreement_tables(self)

    def frame_rows(self) -> FrameRows:
        """Return a row for each number."""
        return AGREEMENT_COLUMNS, list(agreement_records(self))

    def __repr__(self) -> str:
        """Return the name of the class and the counts."""
        judges, numbers = plural(len(self.raters), "judge"), plural(len(self.numbers), "number")
        return f"<JudgeAgreement: {self.exam}, {judges}, {numbers}>"


class QuestionView(Framed, dict[str, Any]):
    """One question with its drawings and marks, with the same keys as `limner show --format json`.

    Attributes:
        pictures: Small pictures as data URLs, by the images' hashes; unreadable images are left out.
    """

    def __init__(self, body: Mapping[str, Any], pictures: Mapping[str, str]) -> None:
        super().__init__(body)
        self.pictures = pictures

    def tables(self) -> list[Table]:
        """Return a table for every marking: its marks with their reasons."""
        return mark_tables(self)

    def frame_rows(self) -> FrameRows:
        """Return a row for each mark."""
        return mark_rows(self)

    def to_json(self) -> dict[str, Any]:
        """Return the body of ``limner show --format json``."""
        return dict(self)

    def __repr__(self) -> str:
        """Return the question's id, and the counts of drawings and markings."""
        drawings, markings = plural(len(self["drawings"]), "drawing"), plural(len(self["markings"]), "marking")
        return f"<QuestionView: {self['exam']} {self['id']}, {drawings}, {markings}>"

    def _repr_html_(self) -> str:
        from .html import question_html

        return question_html(self, self.pictures, self.tables())


def judge_agreement(agreement: Agreement) -> JudgeAgreement:
    """Return the agreement as a result with data frames and HTML."""
    return JudgeAgreement(**{field.name: getattr(agreement, field.name) for field in fields(agreement)})


def exam_comparison(across: Across) -> ExamComparison:
    """Return the comparison as a result with data frames and HTML."""
    return ExamComparison(**{field.name: getattr(across, field.name) for field in fields(across)})


def _evaluators(rows: Iterable[Standing | Comparison]) -> str:
    return plural(len({row.evaluator.id for row in rows}), "evaluator")
