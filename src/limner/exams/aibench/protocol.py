"""AIBench's protocol: one multiple-choice question per call, accuracy on four levels, and aesthetics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ...core.asks import Ask, Contract, Picture, Prompts, Reply, Text, Unreadable, Variant, object_schema
from ...core.evidence import AESTHETICS, measured_number, summarize_backends
from ...core.exam import Question
from ...core.json_text import loads
from ...core.marks import Criterion, Mark
from ...core.protocol import Evidence, Protocol, Reading, Row, Score
from .data import LEVELS, ChoiceQuestion, QuestionsRubric

BATCH_ASK = "all"
"""The name of the only ask in the batched variant."""
PROMPTS = Prompts(Path(__file__).parent / "prompts")
LEVEL_NAMES = tuple(LEVELS.values())


class AIBench(Protocol[QuestionsRubric]):
    """AIBench's protocol: multiple-choice questions on four levels, and aesthetics."""

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
    options: Mapping[str, tuple[str, ...]] = {"tries": ("3", "50")}
    draw_options: Mapping[str, tuple[str, ...]] = {"latex": ("keep", "strip")}
    label_kinds = frozenset({"component"})
    reply_tokens: Mapping[str, int] = {**dict.fromkeys(LEVEL_NAMES, 4), BATCH_ASK: 200}
    breakdowns = ("venue",)
    dimensions = (*LEVEL_NAMES, "aesthetics")
    blank_size = (50, 50)

    def criteria(self, question: Question[QuestionsRubric]) -> list[Criterion]:
        """Return one criterion for each question of the checklist, met if the answer is right."""
        return [criterion(item) for item in question.rubric.checklist]

    def templates(self, variant: Variant) -> tuple[str, ...]:
        """Return the templates of the system message and of the question or questions, or the release's."""
        return variant.released or ("system", "solve-all" if variant.name == "batched" else "solve")

    def drawing_template(self, group: str | None) -> str:
        """Return the template of a short instruction, or of a longer one for open models."""
        return "draw-open" if group == "open" else "draw-closed"

    def drawing_prompt(
        self,
        question: Question[QuestionsRubric],
        group: str | None,
        options: Mapping[str, str],
        prompts: Prompts | None = None,
    ) -> str:
        """Return the method text with an instruction."""
        method = strip_latex(question.prompt) if options.get("latex") == "strip" else question.prompt
        return (prompts or PROMPTS).fill(self.drawing_template(group), method=method.strip())

    def asks(self, question: Question[QuestionsRubric], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        """Return one ask per question, with the drawing and the options; or one for all questions if batched."""
        items, prompts, released = question.rubric.checklist, variant.prompts, variant.released
        system = prompts.fill("released-system") if released else prompts.text("system").strip()
        tries = int(variant.options.get("tries", "3"))
        if variant.name == "batched":
            listed = "\n\n".join(f"{n}. {item.question}\n{_options(item)}" for n, item in enumerate(items, 1))
            text = prompts.fill("solve-all", spare=["count"], questions=listed, count=str(len(items)))
            contract = Contract(partial(check_batched, items=items), batch_schema(items), required=False, tries=tries)
            return [Ask(BATCH_ASK, (Picture(image), Text(text)), tuple(self.criteria(question)), contract, system)]
        asks = []
        for item, criterion in zip(items, self.criteria(question), strict=True):
            text = prompts.fill("released" if released else "solve", question=item.question, options=_options(item))
            one = Contract(partial(read_choice, options=item.options), required=False, tries=tries)
            asks.append(Ask(item.key, (Picture(image), Text(text)), (criterion,), one, system))
        return asks

    def marks(self, question: Question[QuestionsRubric], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        """Return a mark for each question; an unanswered one is unread, or wrong in the authors' readings."""
        items, why = question.rubric.checklist, "there is no reply"
        texts = {reply.ask: reply.text for reply in replies}
        if BATCH_ASK in texts:
            try:
                answers = read_batched(texts[BATCH_ASK])
                texts = {item.key: answers[str(n)] for n, item in enumerate(items, 1) if str(n) in answers}
            except Unreadable as error:
                texts, why = {}, str(error)
        return [mark(item, texts.get(item.key), reading, why) for item in items]

    def scores(
        self, question: Question[QuestionsRubric], marks: Sequence[Mark], evidence: Evidence
    ) -> dict[str, float | None]:
        """Return the percentages of one drawing; None for a level without questions or with undecided ones."""
        parts = self.parts(Row(question, tuple(marks), {}, evidence))
        means = self.derive({name: top / bottom for name, (top, bottom) in parts.items() if bottom})
        return {score.name: means.get(score.name) for score in self.scored}

    def parts(self, row: Row) -> dict[str, tuple[float, float]]:
        """Return the parts of each level, where all questions count, even unanswered ones; and of aesthetics."""
        by_criterion, parts = {mark.criterion: mark for mark in row.marks}, {}
        for level in LEVEL_NAMES:
            marks = [by_criterion.get(item.key) for item in row.question.rubric.checklist if item.dimension == level]
            if not any(mark is None or mark.verdict == "abstain" for mark in marks):
                parts[level] = (100.0 * sum(mark.value or 0 for mark in marks if mark), float(len(marks)))
        rating = measured_number(row.evidence, AESTHETICS)
        return parts if rating is None else {**parts, "aesthetics": (rating, 1.0)}

    def derive(self, means: Mapping[str, Any]) -> dict[str, Any]:
        """Return the means with the overall score: the mean of the levels and, if measured, of aesthetics."""
        if not means.keys() >= set(LEVEL_NAMES):
            return dict(means)
        counted = [means[name] for name in self.dimensions if name in means]
        return {**means, "overall": sum(counted) / len(counted)}

    def analyses(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return the number of questions of each level, and of those without an answer."""
        asked, unanswered = dict.fromkeys(LEVEL_NAMES, 0), dict.fromkeys(LEVEL_NAMES, 0)
        for mark in (mark for row in rows for mark in row.marks):
            level = mark.criterion.partition("/")[0]
            asked[level] += 1
            unanswered[level] += mark.verdict == "unread" or mark.reason.startswith(NO_ANSWER)
        return {"questions": asked, "unanswered": unanswered}

    def remarks(self, rows: Sequence[Row]) -> list[str]:
        """Return remarks on unanswered questions and the parts of the overall score."""
        if not rows:
            return []
        counts, remarks = self.analyses(rows), []
        asked, unanswered = sum(counts["questions"].values()), sum(counts["unanswered"].values())
        if unanswered:
            remarks.append(f"{unanswered} of {asked} questions have no readable answer; they count as not right")
        rated = sum(measured_number(row.evidence, AESTHETICS) is not None for row in rows)
        if not rated:
            remarks.append("no aesthetics rating: overall is the mean of the four levels, not of five numbers")
        elif rated < len(rows):
            remarks.append(f"aesthetics is known of {rated} of {len(rows)} drawings: overall counts the mean of those")
        for who, _, papers in summarize_backends((row.evidence for row in rows), AESTHETICS):
            other = "not by UniPercept as in the paper: aesthetics and overall are not the paper's"
            remarks.append(f"aesthetics rated by {who}, {'as in the paper' if papers else other}")
        return remarks


def _options(item: ChoiceQuestion) -> str:
    return "\n".join(f"{letter}. {text}" for letter, text in sorted(item.options.items()))


LETTERS = frozenset("ABCD")
NO_ANSWER = "no answer, which counts as wrong"
_TAG = re.compile(r"</?\w+>|\\(?:boxed|text|textbf|mathbf|mathrm)\b")
_ORNAMENT = re.compile(r"""[*_`"'“”‘’$#{}\[\]\\]""")
_DASH = re.compile(r"^\s+[-–—]\s")
_BLANKS = re.compile(r"\s+")
_ONE = r"\(?\s*([A-D])\b\)?"
_HEAD = re.compile(
    r"(?i:(?:the )?(?:(?:correct |final |best )?(?:answer|option|choice|letter))[ :]*)?\(?([A-Da-d])"
    r"(?:\)|[.:,](?=\s|$)|[。：，、]|\s*(?:\n|$)|\s+[-–—]\s|\s+(?:because|since|as)\b)"
)
_ANSWER_PHRASES = (
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
"""Phrases that state a letter as the answer; a letter at the start of a reply counts as well."""
_MORE = re.compile(r"\s*(?:,|/|&|and\b|or\b|[，、和或])?\s*\(?[A-D](?:\)|[.,:/。，、]|\s*$|\s+(?:and|or)\b)")
"""A second letter directly after the first."""


def read_release_choice(text: str) -> str | None:
    """Return the reply's first character if it is A to D, else its last; the B of "Based on" is thus an answer.

    This copies the release: dots at both ends are removed first, and the rest is not stripped again.

    >>> [read_release_choice(text) for text in ("b.", "The answer is C..", "Based on the figure, yes", "(A)")]
    ['B', 'C', 'B', None]
    """
    plain = _without_thinking(text).strip().strip(".").upper()
    return next((letter for letter in (plain[:1], plain[-1:]) if letter in LETTERS), None)


def read_choice(text: str, options: Mapping[Any, str]) -> str:
    """Return the letter of the one option that a reply states, by its letter or by the option's text.

    >>> read_choice("Based on the figure, the answer is **C**.", {"A": "Yes", "C": "No"})
    'C'

    Raises:
        Unreadable: The reply states none of the options, or several.
    """
    without_thinking = _without_thinking(text).rpartition("</think>")[2].partition("<think>")[0]
    body = _BLANKS.sub(_blank, _ORNAMENT.sub("", _TAG.sub(" ", without_thinking))).strip()
    if not body:
        raise Unreadable("the reply is empty")
    places = [match for answers in _ANSWER_PHRASES for match in answers.finditer(body)]
    if head := _HEAD.match(body):
        places.append(head)
    stated = {match[1].upper() for match in places}
    # In "A. Yes", the words contradict the letter if option A is the no.
    behind = {_normalize(_DASH.sub("", body[match.end() :])) for match in places}
    rest = {letter for letter, words in options.items() if _normalize(words) in behind - {""}}
    stated |= set() if stated & rest else rest
    if not stated:
        answers = {_normalize(body), _yes_or_no(body)}
        stated = {letter for letter, words in options.items() if _normalize(words) in answers}
    letters = ", ".join(sorted(options))
    if len(stated) > 1 or any(_MORE.match(body, match.end()) for match in places):
        raise Unreadable(f"the reply must choose one option, by one letter of {letters}")
    if not stated & options.keys():
        raise Unreadable(f"the reply must be one letter of {letters}")
    return stated.pop()


def mark(item: ChoiceQuestion, text: str | None, reading: Reading, why: str) -> Mark:
    """Return the mark of an answer; without one it is unread, or wrong in the authors' readings, because of `why`."""
    letter = None
    if text is not None and reading == "careful":
        try:
            letter = read_choice(text, item.options)
        except Unreadable as error:
            why = str(error)
    elif text is not None:
        letter, why = read_release_choice(text), "neither its first nor its last character is one of A, B, C, D"
    if letter is not None:
        return Mark(item.key, int(letter == item.correct_option), f"answered {letter}; right is {item.correct_option}")
    return Mark.unread(item.key, why) if reading == "careful" else Mark(item.key, 0, f"{NO_ANSWER}: {why}")


def check_batched(text: str, items: Sequence[ChoiceQuestion]) -> None:
    """Check that a reply to all questions answers each of them.

    Raises:
        Unreadable: It does not.
    """
    answers = read_batched(text)
    for n, item in enumerate(items, 1):
        try:
            read_choice(answers.get(str(n), ""), item.options)
        except Unreadable as error:
            raise Unreadable(f"question {n}: {error}") from error


def batch_schema(items: Sequence[ChoiceQuestion]) -> dict[str, Any]:
    """Return the JSON schema of a reply to all questions."""
    return object_schema({str(n): {"type": "string", "enum": sorted(item.options)} for n, item in enumerate(items, 1)})


def read_batched(text: str) -> dict[str, str]:
    """Return question number -> answer from a single reply to all questions.

    Raises:
        Unreadable: The reply is not a JSON object.
    """
    return {key: answer for key, answer in loads(text).items() if isinstance(answer, str)}


def _without_thinking(text: str) -> str:
    """Return the text without the parts between thinking tags."""
    kept, at = [], 0
    while (start := text.find("<think>", at)) >= 0 and (end := text.find("</think>", start)) >= 0:
        kept.append(text[at:start])
        at = end + len("</think>")
    return "".join(kept) + text[at:]


def _blank(match: re.Match[str]) -> str:
    return "\n" if "\n" in match[0] else " "


def _normalize(words: str) -> str:
    return " ".join(_ORNAMENT.sub("", words).casefold().split()).strip(" .,:;!。：，、")


def _yes_or_no(body: str) -> str | None:
    """Return the yes or no with which a reply begins, as in "No, it is not shown"; None if there is none."""
    match = re.match(r"(yes|no)[,.;:!]", body, re.IGNORECASE)
    return match[1].casefold() if match else None


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
"""Words that may surround the name in a question that asks only for its presence."""


class ComponentName(NamedTuple):
    """A component's name and its alternatives."""

    name: str
    also: tuple[str, ...]


def criterion(item: ChoiceQuestion) -> Criterion:
    """Return a checklist question as a criterion, with the name whose presence answers it, if any."""
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
    """Return the letter of the yes if the options are yes and no, else None."""
    words = {letter: text.casefold().split()[0].strip(".,:;!") for letter, text in item.options.items() if text.strip()}
    if len(item.options) != 2 or set(words.values()) != {"yes", "no"}:
        return None
    return next(letter for letter, word in words.items() if word == "yes")


def asked(question: str) -> ComponentName | None:
    """Return the component whose presence is the only thing asked for; None for other questions.

    >>> asked("Is the 'Tide Encoder' component present (or an abbreviation such as TE)?")
    ComponentName(name='Tide Encoder', also=('TE',))
    >>> asked("Is the 'Tide Encoder' connected to the 'Decoder'?") is None
    True
    """
    shell = _QUOTED.sub(" □ ", question)
    names = [match[1] for match in _QUOTED.finditer(question)]
    outside = _ASIDE.sub(" ", shell)
    if not names or outside.count("□") != 1 or outside.index("□") != shell.index("□"):
        return None
    if not set(re.findall(r"\w+", outside.replace("□", " ").casefold())) <= _ALLOWED:
        return None
    name, *others = names
    others += [match.strip(" .'\"") for match in _ABBREVIATION.findall(question)]
    if inner := _ASIDE.search(name):
        # 'Teacher Model (TM)' contains two names.
        name, others = _ASIDE.sub(" ", name), [inner[1], *others]
    name = " ".join(name.split())
    return ComponentName(name, tuple(dict.fromkeys(other for other in others if other != name))) if name else None


_COMMENT = re.compile(r"^[ \t]*%.*(?:\n|\Z)|(?<!\\)((?:\\\\)*)%.*", re.MULTILINE)
_FIGURES = [f"{kind}figure{star}" for kind in ("", "wrap", "sub", "SC", "margin") for star in ("", "*")]
_PICTURE = re.compile(r"\\includegraphics\*?\s*(?:\[[^\]]{0,999}\])?\s*\{[^{}]*\}")
_CITATION = re.compile(
    r"(?<![ \t~])[ \t~]*\\(?:[cC]ite|[pP]arencite|[tT]extcite|[aA]utocite|[fF]ootcite|nocite)"
    r"(?:p|t|alp|alt|author|year|yearpar)?\*?"
    r"\s*(?:\[[^\]]{0,999}\]\s*){0,2}\{[^{}]{0,9999}\}"
)
_GAP = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


def _without_environment(text: str, name: str) -> str:
    """Return LaTeX text without an environment, in linear time: after its last end, no beginning has one."""
    begin, end = (rf"\\{word}\s*\{{{re.escape(name)}\}}" for word in ("begin", "end"))
    *_, last = [0, *(match.end() for match in re.finditer(rf"{end}[ \t]*\n?", text))]
    return re.sub(rf"{begin}.*?{end}[ \t]*\n?", "", text[:last], flags=re.DOTALL) + text[last:]


def strip_latex(text: str) -> str:
    r"""Return LaTeX text without comments, figures and citations.

    >>> strip_latex("An encoder~\\cite{a,b} maps $x$ to $z$.% see Fig. 2")
    'An encoder maps $x$ to $z$.'
    """
    text = _COMMENT.sub(lambda match: match[1] or "", text)
    for name in _FIGURES:
        text = _without_environment(text, name)
    for pattern in (_PICTURE, _CITATION):
        text = pattern.sub("", text)
    return _GAP.sub("\n\n", text).strip()
