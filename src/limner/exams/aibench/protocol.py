"""AIBench's protocol: one multiple-choice question a call, accuracy on four levels over the whole set, aesthetics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ...core.asks import Ask, Contract, Picture, Reply, Text, Unreadable, Variant, object_schema
from ...core.evidence import AESTHETICS, measurers, number
from ...core.exam import Question
from ...core.json_text import loads
from ...core.marks import Criterion, Mark
from ...core.prompts import Prompts, stripped
from ...core.protocol import Evidence, Protocol, Reading, Row, Score
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
        return [criterion(item) for item in question.rubric.checklist]

    def templates(self, variant: Variant) -> tuple[str, ...]:
        """Return what the solver is told of itself, and the question or questions; or the release's."""
        return variant.released or ("system", "solve-all" if variant.name == "batched" else "solve")

    def drawing_prompt(self, question: Question[QuestionsRubric], group: str | None, options: Mapping[str, str]) -> str:
        """Return the method text with a short instruction, or with a longer one for open models."""
        method = stripped(question.prompt) if options.get("latex") == "strip" else question.prompt
        return PROMPTS.fill("draw-open" if group == "open" else "draw-closed", method=method)

    def asks(self, question: Question[QuestionsRubric], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        """Return the drawing as it is, then one question with its options; or all questions at once when batched."""
        items, prompts, released = question.rubric.checklist, variant.prompts, variant.released
        system = prompts.fill("released-system") if released else prompts.text("system").strip()
        if variant.name == "batched":
            listed = "\n\n".join(f"{n}. {item.question}\n{_options(item)}" for n, item in enumerate(items, 1))
            text = prompts.fill("solve-all", spare=["count"], questions=listed, count=str(len(items)))
            contract = Contract(partial(check_all, items=items), shape(items), required=False)
            return [Ask(ALL, (Picture(image), Text(text)), tuple(self.criteria(question)), contract, system)]
        found = []
        for item, criterion in zip(items, self.criteria(question), strict=True):
            text = prompts.fill("released" if released else "solve", question=item.question, options=_options(item))
            one = Contract(partial(careful, options=item.options), required=False)
            found.append(Ask(item.key, (Picture(image), Text(text)), (criterion,), one, system))
        return found

    def marks(self, question: Question[QuestionsRubric], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        """Right or wrong for each question. Without an answer it is unread, or wrong as the authors count it."""
        items, why = question.rubric.checklist, "there is no reply"
        texts = {reply.ask: reply.text for reply in replies}
        if ALL in texts:
            try:
                said = batched(texts[ALL])
                texts = {item.key: said[str(n)] for n, item in enumerate(items, 1) if str(n) in said}
            except Unreadable as error:
                texts, why = {}, str(error)
        return [mark(item, texts.get(item.key), reading, why) for item in items]

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
        """Return the overall score: a plain mean of the levels, and of aesthetics where it was measured."""
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
            unanswered[level] += mark.verdict == "unread" or mark.reason.startswith(NONE)
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


LETTERS = frozenset("ABCD")
NONE = "no answer, which counts as wrong"
_TAG = re.compile(r"</?\w+>|\\(?:boxed|text|textbf|mathbf|mathrm)\b")
_ORNAMENT = re.compile(r"""[*_`"'“”‘’$#{}\[\]\\]""")
_DASH = re.compile(r"^\s+[-–—]\s")
_BLANKS = re.compile(r"\s+")
_ONE = r"\(?\s*([A-D])\b\)?"
_HEAD = re.compile(
    r"(?i:(?:the )?(?:(?:correct |final |best )?(?:answer|option|choice|letter))[ :]*)?\(?([A-Da-d])"
    r"(?:\)|[.:,](?=\s|$)|[。：，、]|\s*(?:\n|$)|\s+[-–—]\s|\s+(?:because|since|as)\b)"
)
_SAID = (
    re.compile(
        r"\b(?i:answers?)(?:\s*[:：=]|(?i:\s+(?:is|would be|should be|must be|to (?:this|the) question|the|therefore|"
        rf"option|choice|letter|correct)))*\s*{_ONE}"
    ),
    re.compile(
        r"\b(?i:(?:correct|right|best) (?:option|choice|letter|one))(?:\s*[:：=]|(?i: (?:is|would be|should be|must be"
        rf")))(?i:\s+(?:option|choice|letter))?\s*{_ONE}"
    ),
    re.compile(r"答案\s*(?:应该?是|是|为|选)?\s*[:：]?\s*[(（]?([A-D])(?![A-Za-z])"),
    re.compile(rf"\b(?i:choose|select|pick|go with|going with)(?i:\s+(?:option|choice|letter|answer))?\s*:?\s*{_ONE}"),
    re.compile(rf"(?:\n|\b(?i:so|thus|hence|therefore)\b[,:]?)\s*{_ONE}\s*\.?\s*$"),
    re.compile(r"\b([A-D])\)? (?i:is (?:the )?(?:correct|right|best))\b"),
)
"""How a letter is said to be the answer: at the head of the reply, or in these words."""
_MORE = re.compile(r"\s*(?:,|/|&|and\b|or\b|[，、和或])?\s*\(?[A-D](?:\)|[.,:/。，、]|\s*$|\s+(?:and|or)\b)")
"""A second letter right behind the first."""


def release(text: str) -> str | None:
    """Return the first letter of the reply, else its last, where that is A to D: so the B of "Based on" is an answer.

    All dots at both ends are dropped first, and what is left is not stripped again.

    >>> release("b."), release("The answer is C.."), release("Based on the figure, yes"), release("(A)")
    ('B', 'C', 'B', None)
    """
    plain = _spoken(text).strip().strip(".").upper()
    return next((letter for letter in (plain[:1], plain[-1:]) if letter in LETTERS), None)


def careful(text: str, options: Mapping[Any, str]) -> str:
    """Return the one option a reply states, by its letter or in the option's own words.

    >>> careful("Based on the figure, the answer is **C**.", {"A": "Yes", "C": "No"})
    'C'

    Raises:
        Unreadable: It states none of the options, or several.
    """
    spoken = _spoken(text).rpartition("</think>")[2].partition("<think>")[0]
    body = _BLANKS.sub(_blank, _ORNAMENT.sub("", _TAG.sub(" ", spoken))).strip()
    if not body:
        raise Unreadable("the reply is empty")
    places = [found for said in _SAID for found in said.finditer(body)]
    if head := _HEAD.match(body):
        places.append(head)
    stated = {found[1].upper() for found in places}
    # "A. Yes" where A is the no: the words speak against the letter.
    behind = {_plain(_DASH.sub("", body[found.end() :])) for found in places}
    rest = {letter for letter, words in options.items() if _plain(words) in behind - {""}}
    stated |= set() if stated & rest else rest
    if not stated:
        said = {_plain(body), _yes_or_no(body)}
        stated = {letter for letter, words in options.items() if _plain(words) in said}
    letters = ", ".join(sorted(options))
    if len(stated) > 1 or any(_MORE.match(body, found.end()) for found in places):
        raise Unreadable(f"the reply must choose one option, by one letter of {letters}")
    if not stated & options.keys():
        raise Unreadable(f"the reply must be one letter of {letters}")
    return stated.pop()


def mark(item: ChoiceQuestion, text: str | None, reading: Reading, why: str) -> Mark:
    """Right or wrong; without an answer unread, or wrong as the authors count it. `why` tells why there is no text."""
    letter = None
    if text is not None and reading == "careful":
        try:
            letter = careful(text, item.options)
        except Unreadable as error:
            why = str(error)
    elif text is not None:
        letter, why = release(text), "neither its first nor its last character is one of A, B, C, D"
    if letter is not None:
        return Mark(item.key, int(letter == item.correct_option), f"answered {letter}; right is {item.correct_option}")
    return Mark.unread(item.key, why) if reading == "careful" else Mark(item.key, 0, f"{NONE}: {why}")


def check_all(text: str, items: Sequence[ChoiceQuestion]) -> None:
    """Look whether a reply to all questions answers each of them.

    Raises:
        Unreadable: It does not.
    """
    said = batched(text)
    for n, item in enumerate(items, 1):
        try:
            careful(said.get(str(n), ""), item.options)
        except Unreadable as error:
            raise Unreadable(f"question {n}: {error}") from error


def shape(items: Sequence[ChoiceQuestion]) -> dict[str, Any]:
    """Return the shape of a reply to all questions, as a JSON schema."""
    return object_schema({str(n): {"type": "string", "enum": sorted(one.options)} for n, one in enumerate(items, 1)})


def batched(text: str) -> dict[str, str]:
    """Question number -> what was answered, from one reply to all questions.

    Raises:
        Unreadable: The reply is no JSON object.
    """
    return {number: answer for number, answer in loads(text).items() if isinstance(answer, str)}


def _spoken(text: str) -> str:
    """Return the text without what stands between the marks of thinking."""
    kept, at = [], 0
    while (start := text.find("<think>", at)) >= 0 and (end := text.find("</think>", start)) >= 0:
        kept.append(text[at:start])
        at = end + len("</think>")
    return "".join(kept) + text[at:]


def _blank(found: re.Match[str]) -> str:
    return "\n" if "\n" in found[0] else " "


def _plain(words: str) -> str:
    return " ".join(_ORNAMENT.sub("", words).casefold().split()).strip(" .,:;!。：，、")


def _yes_or_no(body: str) -> str | None:
    """Return the "no" of "No, it is not shown"."""
    found = re.match(r"(yes|no)[,.;:!]", body, re.IGNORECASE)
    return found[1].casefold() if found else None


_QUOTED = re.compile(r"""(?<!\w)['"‘“](?=\S)(.+?)(?<=\S)['"’”](?!\w)""")
_ASIDE = re.compile(r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_ABBREVIATION = re.compile(r"\babbreviations? (?:like|such as|as|of) ([^,;()]+)", re.IGNORECASE)
_WORDS = """
    a an any architecture are as block blocks box called clearly component components contain contains depict depicted
    depicts diagram display displayed displays do does drawing element explicitly feature figure framework have
    illustrate illustrated illustration image in include included includes is it labeled labelled layer model module
    modules named network node of part phase picture pipeline present represent represented show shown shows stage step
    system the there this unit visible visually within
"""
_ALLOWED = frozenset(_WORDS.split())
"""Words around the name that ask for nothing but its presence."""


class ComponentName(NamedTuple):
    """A component by its name, and what else may stand for it."""

    name: str
    also: tuple[str, ...]


def criterion(item: ChoiceQuestion) -> Criterion:
    """Return a checklist question as a criterion, with the name whose presence answers it where there is one."""
    if item.dimension != "component":
        return Criterion(item.key, item.question, item.dimension)
    yes = yes_letter(item)
    if yes is None:
        return Criterion(item.key, item.question, "choice")
    named, right = asked(item.question), int(yes == item.correct_option)
    if named is None:
        return Criterion(item.key, item.question, "component", present_means=right)
    return Criterion(item.key, item.question, "component", labels=(named.name,), also=named.also, present_means=right)


def yes_letter(item: ChoiceQuestion) -> str | None:
    """Return the letter that says yes, where the options are a yes and a no."""
    words = {letter: text.casefold().split()[0].strip(".,:;!") for letter, text in item.options.items() if text.strip()}
    if len(item.options) != 2 or set(words.values()) != {"yes", "no"}:
        return None
    return next(letter for letter, word in words.items() if word == "yes")


def asked(question: str) -> ComponentName | None:
    """Return the one component whose presence is asked for; None where something else or more is asked.

    >>> asked("Is the 'Tide Encoder' component present (or an abbreviation such as TE)?")
    ComponentName(name='Tide Encoder', also=('TE',))
    >>> asked("Is the 'Tide Encoder' connected to the 'Decoder'?") is None
    True
    """
    shell = _QUOTED.sub(" □ ", question)
    names = [found[1] for found in _QUOTED.finditer(question)]
    outside = _ASIDE.sub(" ", shell)
    if not names or outside.count("□") != 1 or outside.index("□") != shell.index("□"):
        return None
    if not set(re.findall(r"\w+", outside.replace("□", " ").casefold())) <= _ALLOWED:
        return None
    name, *others = names
    others += [found.strip(" .'\"") for found in _ABBREVIATION.findall(question)]
    if inner := _ASIDE.search(name):
        # 'Teacher Model (TM)' has two names.
        name, others = _ASIDE.sub(" ", name), [inner[1], *others]
    name = " ".join(name.split())
    return ComponentName(name, tuple(dict.fromkeys(other for other in others if other != name))) if name else None
