"""Names of painters and evaluators, which identify the rows of tables and the sides of comparisons."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol, TypeVar

from .errors import UsageError

SEPARATOR = " · "
"""The separator between a judge and the facts that identify it."""
FACTS = ("variant", "options", "args", "prompts", "templates", "asked", "rules", "engine")
"""The order of facts in a label; other facts of a setup follow."""
FACT_TITLES = {"templates": "wording", "asked": "criteria"}
"""Titles of facts that are hashes, of which a label has the beginning."""
HASH_LETTERS = 4
"""The number of characters of a hash shown in a label."""
KINDS = ("judge", "panel", "person", "metric")
"""The kinds of evaluators."""
SHOWN_KINDS = ("judge", "panel")
"""The kinds of evaluators shown by default: those that score all drawings by the exam's criteria."""
MAX_FACTS = 4
"""The largest number of facts tried in combination; if none suffices, a label has all facts that differ."""


@dataclass(frozen=True)
class WrongDrawings:
    """A judge's scores of wrong and right drawings that are suspiciously close.

    Attributes:
        score: The exam's main score.
        shuffled: Its score of another question's drawing, ``control/shuffled``.
        reference: Its score of the right drawing, ``control/reference``.
        questions: The number of questions behind both scores.
        digits: The number of decimals shown.
    """

    score: str
    shuffled: float
    reference: float
    questions: int
    digits: int

    @property
    def words(self) -> str:
        """The warning shown with this judge's scores."""
        shuffled, reference = (f"{value:.{self.digits}f}" for value in (self.shuffled, self.reference))
        scores = f"another question's drawing scores {shuffled}, the reference {reference}"
        return f"This judge passes wrong drawings: {scores}."

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, including the warning."""
        names = ("score", "shuffled", "reference", "questions", "words")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Evaluator:
    """A judge with its arguments, variant, options and wording; or a person, a metric or a panel.

    Attributes:
        id: The setup's hash, its id in the store.
        setup: Everything that affects its marks.
        label: The shortest name that is unique in the store.
        kind: One of `KINDS`.
        worded: Names of its wording other than the hash, such as ``shipped``.
        examined: The date and result of its newest certificate for this exam; None if it was not examined.
        passes_wrong_drawings: Its scores of wrong drawings, in the reading shown, if they are close to those of right
            ones; None if it tells them apart, or if there are too few drawings by controls to know.
        gone: Since when its model is gone, and its successor; None if it is available.
    """

    id: str
    setup: Mapping[str, Any]
    label: str = ""
    kind: str = "judge"
    worded: tuple[str, ...] = ()
    examined: str | None = None
    passes_wrong_drawings: WrongDrawings | None = None
    gone: str | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings to be shown with its scores."""
        wrong = (self.passes_wrong_drawings.words,) if self.passes_wrong_drawings else ()
        return (*wrong, f"{self.gone}; these scores cannot be repeated") if self.gone else wrong

    @property
    def warnings_json(self) -> dict[str, Any]:
        """The result of its examination and the warnings as plain JSON fields; null if there is none."""
        wrong = self.passes_wrong_drawings
        return {"examined": self.examined, "passes_wrong_drawings": None if wrong is None else wrong.to_json()}

    @property
    def told(self) -> str:
        """The name shown in tables; for a judge other than the answer key, with the result of its examination."""
        if self.kind != "judge" or self.judge == ANSWER_KEY:
            return self.name
        return f"{self.name} (examined {self.examined})" if self.examined else f"{self.name} (not examined)"

    @property
    def judge(self) -> str:
        """The judge's spec, such as ``ocr`` or ``openai/gpt-6.1-sol``."""
        return str(self.setup["judge"])

    @property
    def name(self) -> str:
        """The label, or the judge if it has no label yet."""
        return self.label or self.judge

    @property
    def order(self) -> tuple[str, str, str]:
        """Its sort key: by judge first, because labels depend on the rest of the store."""
        return self.judge, self.label, self.id

    @property
    def variant(self) -> str | None:
        """The variant in which it is asked."""
        return self.setup.get("variant")

    @property
    def options(self) -> Mapping[str, Any]:
        """The exam's options for asking judges."""
        return self.setup.get("options") or {}

    @property
    def args(self) -> Mapping[str, Any]:
        """The arguments sent with every call."""
        return self.setup.get("args") or {}

    @property
    def wording(self) -> str | None:
        """The hash of the prompts' wording; None for judges that read no prose."""
        return self.setup.get("templates")

    @cached_property
    def facts(self) -> dict[tuple[str, str], str]:
        """All facts that can distinguish it from other evaluators with the same judge, in label order."""
        facts: dict[tuple[str, str], str] = {}
        keys = [key for key in FACTS if key in self.setup]
        keys += sorted(key for key in self.setup if key not in (*FACTS, "judge", "model"))
        for key in keys:
            value = self.setup[key]
            if isinstance(value, Mapping):
                facts |= {(key, name): _text(item) for name, item in sorted(value.items())}
            elif value is not None:
                facts[key, ""] = _text(value)
        return facts


class Evaluated:
    """A base class for results based on one evaluator's marks."""

    evaluator: Evaluator

    @property
    def judge(self) -> str:
        """The evaluator's judge."""
        return self.evaluator.judge

    @property
    def setup(self) -> Mapping[str, Any]:
        """The evaluator's setup."""
        return self.evaluator.setup


class HasEvaluator(Protocol):
    """A result based on one evaluator's marks."""

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator that gave the marks."""


E = TypeVar("E", bound=HasEvaluator)


def group_by_evaluator(results: Iterable[E]) -> list[list[E]]:
    """Group results by evaluator, in order of first appearance."""
    groups: dict[str, list[E]] = {}
    for result in results:
        groups.setdefault(result.evaluator.id, []).append(result)
    return list(groups.values())


def label_evaluators(evaluators: Iterable[Evaluator]) -> list[Evaluator]:
    """Return the evaluators with the shortest labels that are unique among them, regardless of order.

    >>> gpt = {"judge": "openai/gpt-5", "model": "gpt-5", "args": {}}
    >>> low = {**gpt, "args": {"reasoning_effort": "low"}}
    >>> [each.label for each in label_evaluators([Evaluator("a", low), Evaluator("b", gpt)])]
    ['gpt-5 · reasoning_effort=low', 'gpt-5']
    """
    listed = list(evaluators)
    shorts = _short_names(sorted({each.judge for each in listed}), {e.judge for e in listed if "model" in e.setup})
    named = []
    for each in listed:
        rivals = [other for other in listed if other.judge == each.judge and other.id != each.id]
        label = SEPARATOR.join([shorts[each.judge], *([words] if (words := _identifying_facts(each, rivals)) else [])])
        named.append(replace(each, label=label))
    counts: dict[str, list[str]] = {}
    for each in named:
        counts.setdefault(each.label, []).append(each.id)
    return [replace(e, label=f"{e.label}{SEPARATOR}{e.id[:8]}") if len(set(counts[e.label])) > 1 else e for e in named]


def _short_names(judges: Sequence[str], models: set[str]) -> dict[str, str]:
    """Return a short name for each judge: a model without its provider if that is unique."""
    short = {judge: judge.partition("/")[2] or judge if judge in models else judge for judge in judges}
    taken = [*short.values()]
    return {judge: name if taken.count(name) == 1 else judge for judge, name in short.items()}


def _identifying_facts(evaluator: Evaluator, others: Sequence[Evaluator]) -> str:
    """Describe the fewest facts that identify an evaluator among others, preferring facts that it has."""
    keys = [key for each in (evaluator, *others) for key in each.facts]
    differing = [k for k in dict.fromkeys(keys) if len({each.facts.get(k) for each in (evaluator, *others)}) > 1]
    if not others or not differing:
        return ""
    for size in range(1, min(MAX_FACTS, len(differing)) + 1):
        for chosen in sorted(combinations(differing, size), key=lambda keys: len({*keys} - evaluator.facts.keys())):
            if all(any(other.facts.get(k) != evaluator.facts.get(k) for k in chosen) for other in others):
                return _describe_facts(evaluator, chosen)
    return _describe_facts(evaluator, differing)


def _describe_facts(evaluator: Evaluator, keys: Sequence[tuple[str, str]]) -> str:
    words = []
    for key, name in keys:
        value = evaluator.facts.get((key, name))
        if value is None:
            continue
        if name:
            words.append(f"{name}={value}")
        elif key == "variant":
            words.append(value)
        else:
            words.append(f"{FACT_TITLES.get(key, key)} {value[:HASH_LETTERS] if key in FACT_TITLES else value}")
    return " ".join(words)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True)
class EvaluatorFilter:
    """A filter for evaluators; all conditions must hold. Without conditions, evaluators of `kinds` match.

    Attributes:
        judges: Each is a judge such as ``openai/gpt-6.1-sol``, which matches all evaluators with this judge; the label
            or id of one evaluator; or ``openai/gpt-6.1-sol?reasoning_effort=low``. An empty value, as in
            ``?reasoning_effort=``, matches evaluators without the argument.
        wording: ``shipped``, ``release``, the OCR examiner's rules, or the beginning of the wording's hash.
        kinds: The kinds that match if no judge is named; a named judge matches regardless of its kind.
    """

    judges: tuple[str, ...] = ()
    variant: str | None = None
    options: Mapping[str, str] | None = None
    wording: str | None = None
    kinds: tuple[str, ...] = SHOWN_KINDS

    @property
    def everyone(self) -> bool:
        """Whether there is no condition."""
        return not (self.judges or self.variant or self.options or self.wording)

    def choose(self, evaluators: Sequence[Evaluator]) -> list[Evaluator]:
        """Return the matching evaluators; they must have labels.

        Raises:
            UsageError: A condition matches no evaluator; the message lists the possible values.
        """
        for word in self.judges:
            if not _find_by_word(evaluators, word):
                raise UsageError(f"no judge {word!r} in this store; it has: {_list_labels(evaluators)}")
        named = (("variant", self.variant, self._varied), ("wording", self.wording, self._worded))
        for what, asked, test in named:
            if asked is not None and evaluators and not any(test(each) for each in evaluators):
                worded = what == "wording"
                names = {name for e in evaluators for name in (e.worded if worded else ()) or (getattr(e, what),)}
                choices = ", ".join(sorted(str(name) for name in names if name)) or "none"
                raise UsageError(f"no {what} {asked!r} in this store; it has: {choices}")
        return self.among(evaluators)

    def among(self, evaluators: Sequence[Evaluator]) -> list[Evaluator]:
        """Return the matching evaluators, possibly none; they must have labels."""
        asked = {*(self.options or {}).items()}
        named = {each.id for word in self.judges for each in _find_by_word(evaluators, word)}
        return [
            each
            for each in evaluators
            if (each.id in named if self.judges else each.kind in self.kinds)
            and self._varied(each)
            and self._worded(each)
            and asked <= {*_texts(each.options).items()}
        ]

    def _varied(self, evaluator: Evaluator) -> bool:
        return self.variant is None or evaluator.variant == self.variant

    def _worded(self, evaluator: Evaluator) -> bool:
        word = self.wording
        begins = word is not None and len(word) > 2 and (evaluator.wording or "").startswith(word)
        return word is None or word in evaluator.worded or begins


def _find_by_word(evaluators: Sequence[Evaluator], word: str) -> list[Evaluator]:
    """Return the evaluators with this judge, else with this label or id, else those matching ``judge?name=value``."""
    whole = [each for each in evaluators if each.judge == word]
    return (
        whole
        or [each for each in evaluators if word in (each.id, each.label)]
        or [e for e in evaluators if _matches_query(e, word)]
    )


def _matches_query(evaluator: Evaluator, word: str) -> bool:
    judge, _, rest = word.partition("?")
    if judge not in (evaluator.judge, evaluator.judge.partition("/")[2]):
        return False
    given = {**_texts(evaluator.options), **_texts(evaluator.args)}
    if evaluator.variant is not None:
        given.setdefault("variant", evaluator.variant)
    pairs = [pair.partition("=") for pair in rest.split("&") if pair]
    return all(given.get(name, "") == value for name, _, value in pairs)


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: _text(value) for name, value in values.items()}


def _list_labels(evaluators: Sequence[Evaluator]) -> str:
    return ", ".join(sorted({each.label or each.judge for each in evaluators})) or "none"


ANSWER_KEY = "key"
"""The judge that knows the truth about the samples' own pictures."""
CONTROL_PREFIX = "control/"
"""The prefix of the specs of controls."""
SERVICE_REWRITE = "service_rewrite"
"""The painter option that asks the service to rewrite prompts: ``on`` or ``off`` (the default)."""
REWRITE_SUFFIX = " · service rewrite"
"""The suffix of the name of a painter whose service was asked to rewrite prompts."""
REFERENCE, SHUFFLED = f"{CONTROL_PREFIX}reference", f"{CONTROL_PREFIX}shuffled"
"""The control that should get full marks, and the one that shows another question's reference."""


def name_and_spec(word: str) -> tuple[str, str]:
    """Return a painter's name and spec; both are the word itself unless it is ``name=spec``.

    >>> name_and_spec("mine=folder/a=b"), name_and_spec("folder/a=b")
    (('mine', 'folder/a=b'), ('folder/a=b', 'folder/a=b'))
    >>> name_and_spec("FLUX-Reason (R1)=folder/a")
    ('FLUX-Reason (R1)', 'folder/a')
    """
    match = re.match(r"([\w.:+()-]+(?: [\w.:+()-]+)*)=(.+)", word)
    return (match[1], match[2]) if match else (word, word)


def label(painter: str, options: Mapping[str, Any]) -> str:
    """Return a painter's name with its options, as shown in tables.

    >>> label("mine", {"size": 9}), label("mine", {"service_rewrite": "on"})
    ('mine?size=9', 'mine · service rewrite')
    """
    words = "&".join(f"{key}={value}" for key, value in sorted(options.items()) if key != SERVICE_REWRITE)
    return (f"{painter}?{words}" if words else painter) + (REWRITE_SUFFIX if SERVICE_REWRITE in options else "")


def without_options(label: str) -> str:
    """Return a painter's name from its label.

    >>> without_options("mine?size=9 · service rewrite"), without_options("mine · service rewrite")
    ('mine', 'mine')
    """
    return label.partition("?")[0].removesuffix(REWRITE_SUFFIX)


def row_name(painter: str, strategy: str) -> str:
    """Return a painter's name in tables, with its strategy unless that is ``direct``.

    >>> row_name("mine", "direct"), row_name("mine", "rewrite")
    ('mine', 'mine + rewrite')
    """
    return painter if strategy == "direct" else f"{painter} + {strategy}"


def short_row_name(name: str) -> str:
    """Return a row's name without providers, for places with little room.

    >>> short_row_name("lab/brush?quality=high + best-of-3[chooser=lab/chooser2]")
    'brush?quality=high + best-of-3[chooser=chooser2]'
    >>> short_row_name("control/blank"), short_row_name("folder/./out/mine")
    ('control/blank', 'mine')
    >>> short_row_name("lab/brush · service rewrite + rewrite")
    'brush · service rewrite + rewrite'
    """
    painter, plus, strategy = name.partition(" + ")
    head, mark, options = painter.partition("?")
    if not head.startswith(CONTROL_PREFIX):
        head = head.rstrip("/").rpartition("/")[2] or head
    return f"{head}{mark}{options}{plus}{re.sub(r'=[^][=,&]*/', '=', strategy)}"
