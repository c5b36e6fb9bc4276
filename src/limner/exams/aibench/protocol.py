"""AIBench's protocol: one multiple-choice question a call, accuracy on four levels over the whole set, aesthetics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...core.asks import Ask, Contract, Picture, Reply, Text, Unreadable, Variant
from ...core.evidence import AESTHETICS, measurers, number
from ...core.exam import Question
from ...core.marks import Criterion, Mark
from ...core.prompts import Prompts, stripped
from ...core.protocol import Evidence, Protocol, Reading, Row, Score
from . import answers, labels
from .data import LEVELS, ChoiceQuestion, QuestionsRubric

ALL = "all"
"""The name of the one ask of the batched variant."""
LEAST = 1024
"""The least width and height of a drawing by the paper's rules."""
PROMPTS = Prompts(Path(__file__).parent / "prompts")
LEVEL_NAMES = tuple(LEVELS.values())


class AIBench(Protocol[QuestionsRubric]):
    """See the module."""

    scored = (
        Score("overall", 100, "mean of the four levels and aesthetics; of the four alone without aesthetics"),
        Score("component", 100, "percent of level-1 questions answered right: components"),
        Score("topology", 100, "percent of level-2 questions answered right: links between neighbours"),
        Score("phase", 100, "percent of level-3 questions answered right: stages and how they join"),
        Score("semantics", 100, "percent of level-4 questions answered right: what the whole is for"),
        Score("aesthetics", 100, "measured rating of the image's looks, mean over drawings"),
    )
    variants = ("single", "batched")
    uses = frozenset({"aesthetics"})
    draw_options: Mapping[str, tuple[str, ...]] = {"latex": ("keep", "strip")}
    label_kinds = frozenset({"component"})
    reply_tokens: Mapping[str, int] = {**dict.fromkeys(LEVEL_NAMES, 4), ALL: 200}
    breakdowns = ("venue",)
    dimensions = (*LEVEL_NAMES, "aesthetics")
    blank_size = (50, 50)

    def criteria(self, question: Question[QuestionsRubric]) -> list[Criterion]:
        """One for each question of the checklist, met when it is answered right."""
        return [labels.criterion(item) for item in question.rubric.checklist]

    def templates(self, variant: Variant) -> tuple[str, ...]:
        """What the solver is told of itself, and the question or questions; or the release's."""
        return variant.released or ("system", "solve-all" if variant.name == "batched" else "solve")

    def drawing_prompt(self, question: Question[QuestionsRubric], group: str | None, options: Mapping[str, str]) -> str:
        """The method text with a short instruction, or with a longer one for open models."""
        method = stripped(question.prompt) if options.get("latex") == "strip" else question.prompt
        return PROMPTS.fill("draw-open" if group == "open" else "draw-closed", method=method)

    def asks(self, question: Question[QuestionsRubric], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        """The drawing as it is, then one question with its options; or all questions at once when batched."""
        items, prompts, released = question.rubric.checklist, variant.prompts, variant.released
        system = prompts.fill("released-system") if released else prompts.text("system").strip()
        if variant.name == "batched":
            listed = "\n\n".join(f"{n}. {item.question}\n{_options(item)}" for n, item in enumerate(items, 1))
            text = prompts.fill("solve-all", spare=["count"], questions=listed, count=str(len(items)))
            contract = Contract(partial(answers.check_all, items=items), answers.shape(items), required=False)
            return [Ask(ALL, (Picture(image), Text(text)), tuple(self.criteria(question)), contract, system)]
        found = []
        for item, criterion in zip(items, self.criteria(question), strict=True):
            text = prompts.fill("released" if released else "solve", question=item.question, options=_options(item))
            one = Contract(partial(answers.careful, options=item.options), required=False)
            found.append(Ask(item.key, (Picture(image), Text(text)), (criterion,), one, system))
        return found

    def marks(self, question: Question[QuestionsRubric], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        """Right or wrong for each question. Without an answer it is unread, or wrong as the authors count it."""
        items, why = question.rubric.checklist, "there is no reply"
        texts = {reply.ask: reply.text for reply in replies}
        if ALL in texts:
            try:
                said = answers.batched(texts[ALL])
                texts = {item.key: said[str(n)] for n, item in enumerate(items, 1) if str(n) in said}
            except Unreadable as error:
                texts, why = {}, str(error)
        return [answers.mark(item, texts.get(item.key), reading, why) for item in items]

    def scores(
        self, question: Question[QuestionsRubric], marks: Sequence[Mark], evidence: Evidence
    ) -> dict[str, float | None]:
        """Percentages of one drawing; None for a level with undecided questions or with none."""
        parts = self.parts(Row(question, tuple(marks), {}, evidence))
        found = self.derive({name: top / bottom for name, (top, bottom) in parts.items() if bottom})
        return {score.name: found.get(score.name) for score in self.scored}

    def parts(self, row: Row) -> dict[str, tuple[float, float]]:
        """Every question counts the same, whatever its drawing; unanswered ones stay in the denominator."""
        known, found = {mark.criterion: mark for mark in row.marks}, {}
        for level in LEVEL_NAMES:
            marks = [known.get(item.key) for item in row.question.rubric.checklist if item.dimension == level]
            if not any(mark is None or mark.verdict == "abstain" for mark in marks):
                found[level] = (100.0 * sum(mark.value or 0 for mark in marks if mark), float(len(marks)))
        rating = number(row.evidence, AESTHETICS)
        return found if rating is None else {**found, "aesthetics": (rating, 1.0)}

    def derive(self, means: Mapping[str, Any]) -> dict[str, Any]:
        """The overall score: a plain mean of the levels, and of aesthetics where it was measured."""
        if not means.keys() >= set(LEVEL_NAMES):
            return dict(means)
        counted = [means[name] for name in self.dimensions if name in means]
        return {**means, "overall": sum(counted) / len(counted)}

    def analyses(self, rows: Sequence[Row]) -> dict[str, Any]:
        """How many questions each level has, and how many of them have no answer."""
        asked, unanswered = dict.fromkeys(LEVEL_NAMES, 0), dict.fromkeys(LEVEL_NAMES, 0)
        for mark in (mark for row in rows for mark in row.marks):
            level = mark.criterion.partition("/")[0]
            asked[level] += 1
            unanswered[level] += mark.verdict == "unread" or mark.reason.startswith(answers.NONE)
        return {"questions": asked, "unanswered": unanswered}

    def remarks(self, rows: Sequence[Row]) -> list[str]:
        """Unanswered questions, what overall is the mean of, drawings below the paper's least size."""
        if not rows:
            return []
        counts, found = self.analyses(rows), []
        asked, unanswered = sum(counts["questions"].values()), sum(counts["unanswered"].values())
        if unanswered:
            found.append(f"{unanswered} of {asked} questions have no readable answer; they count as not right")
        rated = sum(number(row.evidence, AESTHETICS) is not None for row in rows)
        if not rated:
            found.append("no aesthetics rating: overall is the mean of the four levels, not of five numbers")
        elif rated < len(rows):
            found.append(f"aesthetics is known of {rated} of {len(rows)} drawings: overall counts the mean of those")
        for who, _, papers in measurers((row.evidence for row in rows), AESTHETICS):
            other = "not by UniPercept as in the paper: aesthetics and overall are not the paper's"
            found.append(f"aesthetics rated by {who}, {'as in the paper' if papers else other}")
        small = sum(row.size is not None and min(row.size) < LEAST for row in rows)
        if small:
            found.append(f"{small} of {len(rows)} drawings are smaller than {LEAST} x {LEAST}, the paper's least size")
        return found


def _options(item: ChoiceQuestion) -> str:
    return "\n".join(f"{letter}. {text}" for letter, text in sorted(item.options.items()))
