"""Painters' standings: their numbers and places, computed afresh from marks each time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.errors import UsageError
from ..core.evaluator import Evaluated, Evaluator
from ..core.evidence import count_backends
from ..core.marks import count_divided
from ..core.protocol import Protocol, Reading, Score
from ..evidence.probe import evidence_names
from ..store.records import OVERLAP, PROMPT_CUT, PROMPT_REWRITTEN, Drawing
from .comparable import Comparable, On, comparables, lead, ordered, places
from .entries import NOT_APPLICABLE, UNMARKED, Entry, Group, without_unmarked
from .numbers import LazyMapping, Numbers, columns, is_undecided, numbers, pessimistic_numbers
from .stats import Interval
from .stats.resample import Plain

SORTS = ("name", "coverage", "cost")
"""The sort keys of rows other than scores."""
HEAD = (
    "exam", "reading", "painter", "strategy", "name", "judge", "evaluator", "setup", "place", "control", "on",
    "expected", "undrawn", "coverage", "failures",
)  # fmt: skip
"""The fields of a standing's JSON before its numbers."""
TAIL = ("cost", "analyses", "remarks", "evidence", "flagged", "flagged_ids", "screened", "unscreened")
"""The fields after them."""


@dataclass(frozen=True)
class Costs(Plain):
    """The mean dollars for one drawing, failed tries included; None if the cost of any try is unknown.

    Attributes:
        drawing: Dollars for making it.
        marking: Dollars for marking it once.
    """

    drawing: float | None
    marking: float | None


UNKNOWN_COSTS = Costs(None, None)


@dataclass(frozen=True)
class Standing(Evaluated):
    """A painter's numbers under one evaluator.

    Attributes:
        evaluator: Who marked and how.
        all: The numbers on all questions for which the painter has a score.
        common: The numbers on the questions that all painters marked by this evaluator have in common; None if there
            is only one painter.
        pessimistic: The scores if everything that is missing counts as zero.
        place: The rank by the main score, or by the score that rows are sorted by; equal scores share a place. None
            for controls and without a score.
        expected: The number of questions in the exam or the selection, without those that do not apply to a control.
        coverage: The share of expected questions that have a score.
        undrawn: The number of expected questions that were never tried.
        failures: The number of failures by kind.
        by: Breakdowns, by tag and value, on the questions that painters are compared on.
        cost: Dollars for drawing and marking, failures included; None if any price is unknown.
        costs: Dollars for one drawing, separately for drawing and marking.
        analyses: What the exam's paper reports beyond its scores.
        evidence: The number of drawings measured: name of the evidence -> backend -> drawings.
        remarks: What a reader must know to interpret these scores.
        flagged: The number of drawings with text addressed to the examiner.
        flagged_ids: The ids of their questions.
        screened: The number of drawings whose text was searched for such words.
        unscreened: The number of drawings whose text was never read.
        compared: The painters it is compared with, on which questions, and who is left out.
        corrected: The scores corrected with people's marks; see `limner.scoring.corrected`.
    """

    exam: str
    reading: Reading
    painter: str
    strategy: str
    name: str
    evaluator: Evaluator
    all: Numbers
    common: Numbers | None
    pessimistic: Numbers
    compared: Comparable
    place: int | None = None
    control: bool = False
    expected: int = 0
    coverage: float = 0.0
    undrawn: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)
    by: Mapping[str, Mapping[str, Numbers]] = field(default_factory=dict)
    cost: float | None = None
    costs: Costs = UNKNOWN_COSTS
    analyses: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    evidence: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    flagged: int = 0
    flagged_ids: tuple[str, ...] = ()
    screened: int = 0
    unscreened: int = 0
    corrected: Plain | None = None

    @property
    def n(self) -> int:
        """The number of questions with a score."""
        return self.all.n

    @property
    def unmarked(self) -> int:
        """The number of drawings that were never marked, which `failures` includes as one kind."""
        return self.failures.get(UNMARKED, 0)

    @property
    def failed(self) -> Mapping[str, int]:
        """The number of failures by kind: `failures` without the drawings that are merely not marked yet."""
        return without_unmarked(self.failures)

    @property
    def on(self) -> On:
        """The questions on which painters are compared; see `numbers`."""
        return self.compared.on

    @property
    def numbers(self) -> Numbers:
        """The numbers that painters are compared by: on the common questions if there are any, else on its own."""
        return self.common if self.on == "common" and self.common is not None and self.common.n else self.all

    @property
    def scores(self) -> Mapping[str, Interval]:
        """The scores that painters are compared by; see `numbers`."""
        return self.numbers.scores

    @property
    def bounds(self) -> Mapping[str, tuple[float, float]]:
        """The bounds of `scores` under abstention."""
        return self.numbers.bounds

    @property
    def decided(self) -> Mapping[str, float]:
        """The share of criteria decided, and the share of those that are met; see `numbers`."""
        return self.numbers.decided

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON: ``scores`` are on all questions the painter has, ``common`` on the common ones."""
        plain = {name: getattr(self, name) for name in HEAD} | {
            "evaluator": self.evaluator.name,
            "setup": dict(self.setup),
            **self.evaluator.warnings_json,
            "failures": dict(self.failures),
            **self.all.to_json(),
            "pessimistic": {name: interval.value for name, interval in self.pessimistic.scores.items()},
            "by": {tag: {value: body.to_json() for value, body in each.items()} for tag, each in self.by.items()},
            "common": None if self.common is None else self.common.to_json(),
            "compared": self.compared.to_json(),
            "costs": self.costs.to_json(),
        }
        plain |= {name: getattr(self, name) for name in TAIL} | {"analyses": dict(self.analyses)}
        return plain if self.corrected is None else plain | {"corrected": self.corrected.to_json()}


def standings(
    exam: str,
    groups: Sequence[Group],
    protocol: Protocol[Any],
    reading: Reading,
    by: Sequence[str] = (),
    on: On = "common",
    sort: str | None = None,
) -> list[Standing]:
    """Return every painter's standing, evaluator by evaluator, best first and controls last.

    Args:
        exam: The exam's name.
        groups: The marked drawings of each painter under each evaluator.
        protocol: The exam's protocol.
        reading: How stored replies were read.
        by: Tags to break the numbers down by; ``dimension`` lists the exam's dimensions.
        on: The questions that painters are compared on.
        sort: The score to sort and rank the rows by, instead of the main one; or ``name``, ``coverage``, ``cost``.

    Raises:
        UsageError: Rows cannot be sorted by that name.
    """
    sides = comparables(groups, protocol, on)
    return [row for side in sides for row in standings_of(side, exam, reading, by, sort)]


def standings_of(
    side: Comparable, exam: str, reading: Reading, by: Sequence[str] = (), sort: str | None = None
) -> list[Standing]:
    """Return the standings of the painters under one evaluator; see `standings`."""
    rows = [_standing(exam, group, side, reading, by) for group in side.everyone]
    return _sorted(rows, columns(side.protocol), sort)


def fewer_standings(rows: Sequence[Standing], side: Comparable) -> list[Standing]:
    """Return the standings of some of the painters, without breakdowns.

    Only the numbers on the common questions are computed again.

    Args:
        rows: The standings of all painters.
        side: The painters to keep.
    """
    by_name, groups = {row.name: row for row in rows}, {group.name: group for group in side.everyone}
    fewer = []
    for name, group in groups.items():
        row = by_name[name]
        alone, inside = len(groups) == 1, side.common(group)
        same = row.common is not None and row.common.n == len({entry.question.id for entry in inside})
        shared = None if alone or not group.scored else row.common if same else numbers(inside, side.protocol)
        fewer.append(replace(row, common=shared, compared=side, by={}))
    return _sorted(fewer, columns(side.protocol), None)


def _sorted(rows: Sequence[Standing], scores: Sequence[Score], sort: str | None) -> list[Standing]:
    """Return the rows sorted, with their places; see `limner.scoring.comparable`."""
    if sort is not None and sort not in (*SORTS, *(score.name for score in scores)):
        raise UsageError(f"--sort {sort}: choose from {', '.join([*(score.name for score in scores), *SORTS])}")
    chosen = next((score for score in scores if score.name == sort), None)
    placed = places(rows, chosen or lead(rows, scores))
    placed_rows = [replace(rows[n], place=placed[n]) for n in ordered(rows, scores, chosen)]
    keys: dict[str | None, Callable[[Standing], Any]] = {
        "name": lambda row: row.name,
        "coverage": lambda row: -row.coverage,
        "cost": lambda row: (row.cost is None, row.cost or 0.0),
    }
    key = keys.get(sort)
    return sorted(placed_rows, key=lambda row: (row.control, not row.n, key(row))) if key else placed_rows


def _standing(exam: str, group: Group, side: Comparable, reading: Reading, by: Sequence[str]) -> Standing:
    protocol = side.protocol
    applicable = [entry for entry in group.entries if entry.status != NOT_APPLICABLE]
    scored = group.scored
    decided = not any(map(is_undecided, scored))
    whole = numbers(scored, protocol, decided)
    alone = len(side.everyone) == 1
    shared = None
    if not alone and scored:
        inside = side.common(group)
        shared = whole if len(inside) == len(scored) else numbers(inside, protocol, decided)
    return Standing(
        exam=exam,
        reading=reading,
        painter=group.painter,
        strategy=group.strategy,
        name=group.name,
        evaluator=group.evaluator,
        all=whole,
        common=shared,
        pessimistic=pessimistic_numbers(applicable, group.absent, protocol),
        compared=side,
        control=group.control,
        expected=len(group.expected),
        coverage=round(group.coverage, 4),
        undrawn=len(group.absent),
        failures=group.failures,
        by={tag: _breakdown(side.basis(group), protocol, tag) for tag in by},
        cost=_cost(group),
        costs=costs(group.entries, group.drawings.values()),
        analyses=LazyMapping(lambda: protocol.analyses([entry.row for entry in scored])),
        remarks=(
            # First, because tables show only the first remarks, and a painter trained on the exam compares with none.
            *_overlap_remarks(scored),
            *_exam_remarks(scored, protocol),
            *_cut_remarks(scored),
            *_rewritten_remarks(scored),
            *_panel_remarks(group),
        ),
        evidence=_backend_counts(scored),
        **_screening(applicable),
    )


def _exam_remarks(scored: Sequence[Entry], protocol: Protocol[Any]) -> list[str]:
    """Return the exam's remarks; the rows are built only if the exam makes any."""
    own = type(protocol).remarks is not Protocol.remarks
    return protocol.remarks([entry.row for entry in scored]) if own else []


def _panel_remarks(group: Group) -> list[str]:
    """Return the remark on how often a panel's members differ."""
    if group.evaluator.kind != "panel":
        return []
    counts = [count_divided(entry.marks) for entry in group.scored]
    differ, of = sum(count[0] for count in counts), sum(count[1] for count in counts)
    rule = group.evaluator.setup.get("rule")
    return [f"its members differ on {differ} of {of} marks; the panel decides by {rule}"] if of else []


def _cut_remarks(entries: Sequence[Entry]) -> list[str]:
    """Return the remarks on prompts that the service read only in part."""
    noted = {entry.drawing.id: entry.drawing.notes for entry in entries if entry.drawing.notes}
    cut_notes = [cut for notes in noted.values() if (cut := notes.get(PROMPT_CUT))]
    if not cut_notes:
        return []
    drawings = {entry.drawing.id for entry in entries}
    remarks = []
    for unit in sorted({cut.get("unit", "characters") for cut in cut_notes}):
        cuts = [cut for cut in cut_notes if cut.get("unit", "characters") == unit]
        read = " or ".join(f"{length:,}" for length in sorted({cut["read"] for cut in cuts}))
        sent = max(cut["sent"] for cut in cuts)
        few = f"{len(cuts)} of {len(drawings)} drawings were made from only the beginning of their prompt"
        remarks.append(f"{few}: the painter reads {read} {unit} and cuts off the rest; up to {sent:,} were sent")
    return remarks


def _rewritten_remarks(entries: Sequence[Entry]) -> list[str]:
    """Return the remark on prompts that the service rewrote without being asked."""
    drawings = {entry.drawing.id: entry.drawing.notes or {} for entry in entries}
    count = sum(PROMPT_REWRITTEN in notes for notes in drawings.values())
    return [f"{count} of {len(drawings)} drawings were made from a prompt that the service rewrote"] if count else []


def _overlap_remarks(entries: Sequence[Entry]) -> list[str]:
    """Return the remarks on a painter whose weights were trained on concepts that an exam asks for."""
    notes = [entry.drawing.notes for entry in entries if entry.drawing.notes]
    overlaps = {
        (each["exam"], len(each["concepts"]), each["questions"]) for note in notes for each in note.get(OVERLAP, ())
    }
    return [
        f"trained on {concepts} concepts that occur in {questions} questions of {exam} (--allow-overlap)"
        for exam, concepts, questions in sorted(overlaps)
    ]


def _backend_counts(entries: Sequence[Entry]) -> dict[str, dict[str, int]]:
    """Return how many drawings each backend measured: name of the evidence -> backend -> drawings."""
    evidence = [entry.evidence for entry in entries if entry.evidence]
    counted = {name: count_backends(evidence, name) for name in evidence_names()} if evidence else {}
    return {name: dict(counts) for name, counts in counted.items() if counts}


def _screening(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the fields of a standing on drawings with text addressed to the examiner."""
    drawn = {entry.drawing.id: entry for entry in entries if entry.drawing.status == "done"}.values()
    flagged = [entry for entry in drawn if entry.flags]
    ids = tuple(dict.fromkeys(entry.question.id for entry in flagged))
    read = sum(entry.flags is not None for entry in drawn)
    return {"flagged": len(flagged), "flagged_ids": ids, "screened": read, "unscreened": len(drawn) - read}


def _cost(group: Group) -> float | None:
    """Return the cost of the drawings and all their markings, failed ones too; None if any price is unknown."""
    costs = [drawing.cost for drawing in group.drawings.values()]
    costs += [entry.marking.cost for entry in group.entries if entry.marking]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


DIMENSION = "dimension"
"""A word in place of a tag: by the exam's own dimensions, unless questions have a tag of this name."""


def has_dimensions(tag: str, values: Collection[str], protocol: Protocol[Any]) -> bool:
    """Return whether the values of a breakdown are the exam's own dimensions instead of values of a tag."""
    return tag == DIMENSION and {*values} <= {*protocol.dimensions}


def _breakdown(entries: Sequence[Entry], protocol: Protocol[Any], tag: str) -> dict[str, Numbers]:
    if tag == DIMENSION and not any(DIMENSION in entry.question.tags for entry in entries):
        whole = numbers(entries, protocol)
        ends = {name: {name: whole.bounds[name]} if name in whole.bounds else {} for name in protocol.dimensions}
        return {name: Numbers(whole.scores[name].n, {name: whole.scores[name]}, own) for name, own in ends.items()}
    values: dict[str, list[Entry]] = {}
    for entry in entries:
        values.setdefault(entry.question.tags.get(tag, "(none)"), []).append(entry)
    return {value: numbers(values[value], protocol) for value in protocol.in_order(tag, values)}


MADE_ELSEWHERE = ("folder/", "python/")
"""The prefixes of painters whose images are made elsewhere, at an unknown cost."""


def costs(entries: Sequence[Entry], drawings: Iterable[Drawing] | None = None) -> Costs:
    """Return the mean costs of one drawing; `drawings` are those of the entries, if already collected."""
    if drawings is None:
        drawings = {entry.drawing.id: entry.drawing for entry in entries}.values()
    return Costs(drawing_cost(drawings), marking_cost(entries))


def drawing_cost(drawings: Iterable[Drawing]) -> float | None:
    """Return the mean dollars for one finished drawing, including the cost of failed ones."""
    tried = [drawing for drawing in drawings if drawing.status != "not_applicable"]
    return _mean([_paid(drawing) for drawing in tried], sum(drawing.status == "done" for drawing in tried))


def marking_cost(entries: Iterable[Entry]) -> float | None:
    """Return the mean dollars for one finished marking, including the cost of failed ones."""
    markings = [entry.marking for entry in entries if entry.marking is not None]
    return _mean([marking.cost for marking in markings], sum(marking.status == "done" for marking in markings))


def _paid(drawing: Drawing) -> float | None:
    return None if drawing.origin == "import" or drawing.spec.startswith(MADE_ELSEWHERE) else drawing.cost


def _mean(paid: Sequence[float | None], done: int) -> float | None:
    priced = [cost for cost in paid if cost is not None]
    return sum(priced) / done if done and len(priced) == len(paid) else None
