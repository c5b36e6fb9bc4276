"""Questions as a generator writes them, each with the nodes that it is about, so that the graph can check it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from ....core.asks import Unreadable
from ....core.json_text import loads
from ....core.schema import FrozenModel, Words, first_error
from ..data import LETTERS
from .latex_text import fold_text, occurs
from .logic_graph import Level, LogicGraph, QuestionRules

Letter = Literal["A", "B", "C", "D"]
Right = Annotated[Letter, BeforeValidator(lambda v: v.strip().upper() if isinstance(v, str) else v)]


class DraftQuestion(FrozenModel):
    """A question as drafted, before it is part of an exam.

    Attributes:
        track: At levels 1 and 2: A for what graph and figure show, B for what logic demands, absent for a part that
            the method does not have.
        nodes: The ids of the graph's nodes that it is about.
        about: At level 2, next, previous or path; at level 3, a pattern; at level 4, an aspect.
        holds: At level 3, whether the graph has the pattern.
        part: At level 1, the part that is asked for; for track absent, the part that does not exist.
        synonyms: At level 1, other names of the part.
    """

    question: Words = Field(min_length=10, max_length=600)
    options: dict[Letter, Words] = Field(min_length=2)
    correct_option: Right
    rationale: Words = Field(min_length=1)
    track: Literal["A", "B", "absent"] | None = None
    nodes: tuple[str, ...] = ()
    about: str = ""
    holds: bool | None = None
    part: Words = ""
    synonyms: tuple[Words, ...] = ()

    @property
    def right(self) -> str:
        """The words of the right option."""
        return self.options[self.correct_option]

    @property
    def yes_or_no(self) -> str | None:
        """``yes`` or ``no`` if the right option begins with it, otherwise None."""
        head = self.right.casefold().split()
        word = head[0].strip(".,:;!") if head else ""
        return word if word in ("yes", "no") else None


@dataclass(frozen=True)
class SetSize:
    """The size of a level's set.

    Attributes:
        least: The fewest questions; `most` the most.
        absent: At level 1, the number of questions on parts that the method does not have.
    """

    least: int
    most: int
    absent: int = 0


def parse_set(
    text: str, level: Level, graph: LogicGraph, method: str, size: SetSize, rules: QuestionRules
) -> list[DraftQuestion]:
    """Return the questions of one level in a generator's reply, checked by the level's rules.

    Raises:
        Unreadable: Some rules are broken; the message says which question breaks which rule.
    """

    body = loads(text).get("questions")
    if not isinstance(body, list):
        raise Unreadable('the reply must have a list under "questions"')
    drafts = [_draft(n, entry) for n, entry in enumerate(body, 1)]
    if problems := check_set(drafts, level, graph, method, size, rules):
        raise Unreadable("; ".join(problems[:8]))
    return drafts


def checklist(sets: Mapping[Level, Sequence[Mapping[str, Any]]], rules: QuestionRules) -> list[dict[str, Any]]:
    """Return the questions of all levels as rows of one checklist, numbered throughout."""
    rows: list[dict[str, Any]] = []
    for level, own in rules.levels.items():
        rows += [{"id": len(rows) + n, "level": own.name, **draft} for n, draft in enumerate(sets.get(level, ()), 1)]
    return rows


def _draft(n: int, entry: Any) -> DraftQuestion:
    try:
        draft = DraftQuestion.model_validate(entry)
    except ValidationError as error:
        raise Unreadable(f"question {n}: {first_error(error)}") from error
    if draft.correct_option not in draft.options:
        raise Unreadable(f"question {n}: correct_option {draft.correct_option} is none of its options")
    if tuple(sorted(draft.options)) != LETTERS[: len(draft.options)]:
        raise Unreadable(f"question {n}: the letters of its options go from A on")
    words = [" ".join(option.casefold().split()) for option in draft.options.values()]
    if len(set(words)) < len(words) or "" in words:
        raise Unreadable(f"question {n}: two options say the same, or one says nothing")
    return draft


PATTERNS = ("parallel", "fan-in", "fan-out", "feedback")
ASPECTS = ("modality", "task", "mechanism")
TRIVIAL = re.compile(r"^(?:reshape|concat\w*|flatten|add|sum|\+|⊕|norm\w*|softmax|relu|linear|dropout)$", re.IGNORECASE)
Drafts = Sequence[DraftQuestion]


def check_set(
    drafts: Drafts, level: Level, graph: LogicGraph, method: str, size: SetSize, rules: QuestionRules
) -> list[str]:
    """Return the faults of a level's questions, worded for the model that wrote them."""
    faults = list[str]()
    if not size.least <= len(drafts) <= size.most:
        faults.append(f"{len(drafts)} questions; {size.least} to {size.most} are wanted")
    if twice := {draft.question for draft in drafts if [other.question for other in drafts].count(draft.question) > 1}:
        faults.append(f"two questions are the same: {min(twice)}")
    check = _CHECKS[level]
    for n, draft in enumerate(drafts, 1):
        problems = [*banned(draft, level, graph, rules), *_ids(draft, graph)] or list(check(draft, graph, method))
        faults += [f"question {n}: {problem}" for problem in problems]
    return faults + list(_whole(drafts, level, size.absent, rules))


def banned(draft: DraftQuestion, level: Level, graph: LogicGraph, rules: QuestionRules) -> Iterator[str]:
    """Yield a message for each wording that the question's level bans; names of the graph's parts are allowed."""
    text = " | ".join((draft.question, *draft.options.values()))
    for label in sorted({node.label for node in graph.nodes}, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(label)}(?!\w)", "□", text, flags=re.IGNORECASE)
    for name in rules.levels[level].bans:
        for pattern in rules.bans[name]:
            if wording := re.search(pattern, text, re.IGNORECASE):
                yield f'it says "{wording[0]}", which a question of this level may not ({name})'


def _ids(draft: DraftQuestion, graph: LogicGraph) -> Iterator[str]:
    for node in draft.nodes:
        if node not in graph.by_id:
            yield f"nodes names {node}, which the graph does not have"


def _component(draft: DraftQuestion, graph: LogicGraph, method: str) -> Iterator[str]:
    if {option.casefold() for option in draft.options.values()} != {"yes", "no"}:
        yield "its options are Yes and No"
        return
    if not 1 <= len(draft.synonyms) <= 2:
        yield "one or two synonyms are wanted"
    for name in (draft.part, *draft.synonyms):
        if fold_text(name) not in fold_text(draft.question) or not fold_text(name):
            yield f'the question must name "{name}"'
    if draft.track == "absent":
        if draft.yes_or_no != "no":
            yield "of a part that is not there, No is right"
        for name in (draft.part, *draft.synonyms):
            labels = [fold_text(node.label) for node in graph.nodes]
            if occurs(name, method) or fold_text(name) in labels:
                yield f'"{name}" occurs in the text: it is not absent'
        return
    if draft.track is None:
        yield "track is A, B or absent"
    if draft.yes_or_no != "yes":
        yield "of a part that is there, Yes is right"
    if len(draft.nodes) != 1:
        yield "nodes holds the id of the one part it asks for"
    elif fold_text(graph.by_id[draft.nodes[0]].label) != fold_text(draft.part):
        yield f'part is the node\'s own name, "{graph.by_id[draft.nodes[0]].label}"'
    elif draft.track == "B" and TRIVIAL.match(draft.part.strip()):
        yield f'"{draft.part}" is a trivial operation'


def _topology(draft: DraftQuestion, graph: LogicGraph, method: str) -> Iterator[str]:
    if draft.track not in ("A", "B"):
        yield "track is A or B"
    if draft.about == "path":
        if len(draft.nodes) != 2 or {option.casefold() for option in draft.options.values()} != {"yes", "no"}:
            yield "a question on a path has two nodes, and the options Yes and No"
        elif (draft.yes_or_no == "yes") != graph.flow.has_edge(*draft.nodes):
            yield f"its answer is not the graph's: is there an edge {draft.nodes[0]} -> {draft.nodes[1]}?"
        return
    if draft.about not in ("next", "previous") or len(draft.nodes) != 1:
        yield "about is next, previous or path; for next and previous, nodes holds the one node asked about"
        return
    node = draft.nodes[0]
    right = graph.receivers(node) if draft.about == "next" else graph.givers(node)
    named = {fold_text(other.label): other.id for other in graph.nodes}
    if len(draft.options) != 4:
        yield "it has four options"
    for letter, option in draft.options.items():
        id = named.get(fold_text(option))
        if id is None:
            yield f'option {letter}, "{option}", is not a node of the graph'
        elif letter == draft.correct_option and id not in right:
            yield f'"{option}" is not {draft.about} to {node} in the graph'
        elif letter != draft.correct_option and id in right:
            yield f'option {letter}, "{option}", is right, too'
        elif letter != draft.correct_option and (id == node or id not in graph.near(node) | _around(graph, right)):
            yield f'option {letter}, "{option}", is not a plausible neighbour: same phase, or at most two edges away'


def _around(graph: LogicGraph, nodes: set[str]) -> set[str]:
    return {other for node in nodes for other in graph.near(node)}


def _phase(draft: DraftQuestion, graph: LogicGraph, method: str) -> Iterator[str]:
    if len(draft.options) != 4:
        yield "it has four options"
    if draft.about not in PATTERNS or draft.holds is None:
        yield f"about is one of {', '.join(PATTERNS)}, and holds says whether the graph has it"
        return
    if not draft.nodes:
        yield "nodes names what the pattern is made of"
        return
    if _pattern(draft.about, draft.nodes, graph) != draft.holds:
        yield f"holds is not the graph's: {draft.about} of {', '.join(draft.nodes)}"
    elif draft.yes_or_no is not None and (draft.yes_or_no == "yes") != draft.holds:
        yield "its right option says the opposite of holds"


def _pattern(name: str, nodes: Sequence[str], graph: LogicGraph) -> bool:
    """Return whether these nodes form the pattern; for fan-in and fan-out, the first node is the centre."""
    first, rest = nodes[0], set(nodes[1:])
    if name == "parallel":
        # Neither comes before the other in the flow.
        return len(nodes) > 1 and not any(graph.in_series(a, b) for a, b in combinations(nodes, 2))
    if name == "fan-in":
        givers = graph.givers(first)
        return len(givers & rest if rest else givers) > 1 and rest <= givers
    if name == "fan-out":
        receivers = graph.receivers(first)
        return len(receivers & rest if rest else receivers) > 1 and rest <= receivers
    return any(graph.leads_back(a, b) for a in nodes for b in nodes)


def _semantics(draft: DraftQuestion, graph: LogicGraph, method: str) -> Iterator[str]:
    if len(draft.options) != 4:
        yield "it has four options"
    if draft.about not in ASPECTS:
        yield f"about is one of {', '.join(ASPECTS)}"


def _whole(drafts: Drafts, level: Level, absent: int, rules: QuestionRules) -> Iterator[str]:
    if level == "component":
        present = [draft for draft in drafts if draft.track != "absent"]
        if len(drafts) - len(present) != absent:
            yield f"{len(drafts) - len(present)} questions on parts that are absent; {absent} are wanted"
        most = max(1, math.ceil(rules.track_b * len(present)))
        if sum(draft.track == "B" for draft in present) > most:
            yield f"at most {most} questions of track B, the others of track A"
        return
    asked = {question.about for question in drafts}
    if level == "semantics" and (lacking := [name for name in ASPECTS if name not in asked]):
        yield f"no question on {', '.join(lacking)}"
    if level == "phase" and len(asked) < 2:
        yield "at least two of the patterns are asked for"
    answers = [draft.yes_or_no for draft in drafts if draft.yes_or_no]
    most = max(answers.count("yes"), answers.count("no"), 0)
    if most > math.ceil(len(answers) / 2):
        yield f"of {len(answers)} yes-or-no questions {most} have the same answer: as many yes as no"


_CHECKS: dict[Level, Callable[[DraftQuestion, LogicGraph, str], Iterator[str]]] = {
    "component": _component,
    "topology": _topology,
    "phase": _phase,
    "semantics": _semantics,
}
