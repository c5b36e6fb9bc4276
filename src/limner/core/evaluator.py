"""Who drew, and who marked and how: the names that rows, columns and comparisons are made of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol, TypeVar

from .errors import UsageError

BETWEEN = " · "
"""Stands between a judge and what sets it apart."""
FACTS = ("variant", "options", "args", "prompts", "templates", "rules", "engine")
"""What a label tells first; whatever else a setup has comes after."""
WORDS = {"templates": "wording"}
SHORT = 4
"""Of a hash a label shows so much."""
KINDS = ("judge", "panel", "person", "metric")
"""The sorts of evaluators."""
SHOWN = ("judge", "panel")
"""Evaluators of these kinds are shown where none is named: they give an exam's scores to all drawings."""
MOST = 4
"""More facts than this are not tried together; then a label has all that differ."""


@dataclass(frozen=True)
class WrongDrawings:
    """A judge's scores of wrong drawings, where they are about those of right ones; see `limner.scoring.groups`.

    Attributes:
        score: The exam's main score.
        shuffled: What it gives another question's drawing, ``control/shuffled``.
        reference: What it gives the right drawing, ``control/reference``.
        questions: How many questions both rest on.
        digits: How many decimals the score is shown with.
    """

    score: str
    shuffled: float
    reference: float
    questions: int
    digits: int

    @property
    def words(self) -> str:
        """What stands wherever this judge's scores stand."""
        shuffled, reference = (f"{value:.{self.digits}f}" for value in (self.shuffled, self.reference))
        scores = f"another question's drawing scores {shuffled}, the reference {reference}"
        return f"This judge passes wrong drawings: {scores}."

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, with the sentence."""
        names = ("score", "shuffled", "reference", "questions", "words")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Evaluator:
    """A judge with its arguments, variant, options of asking and wording; or a person, a metric, a panel.

    Attributes:
        id: The setup's hash, which is also how the store knows it.
        setup: Everything that shapes its marks.
        label: The shortest name that tells it from the others in the store.
        kind: What it is; one of `KINDS`.
        worded: Names of its wording beside the hash, such as ``shipped``.
        examined: The day of its newest certificate for this exam; None where it was not examined.
        passes_wrong_drawings: What it gives wrong drawings in the reading that is shown, where that is about what it
            gives right ones; None where it tells them apart, or where too few controls were drawn to know.
    """

    id: str
    setup: Mapping[str, Any]
    label: str = ""
    kind: str = "judge"
    worded: tuple[str, ...] = ()
    examined: str | None = None
    passes_wrong_drawings: WrongDrawings | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must stand wherever its scores stand."""
        return (self.passes_wrong_drawings.words,) if self.passes_wrong_drawings else ()

    @property
    def warnings_json(self) -> dict[str, Any]:
        """The same as fields of plain JSON, which are null where there is nothing to say."""
        wrong = self.passes_wrong_drawings
        return {"passes_wrong_drawings": None if wrong is None else wrong.to_json()}

    @property
    def told(self) -> str:
        """The name, for a judge with the day on which it was examined, as tables show it."""
        if self.kind != "judge":
            return self.name
        return f"{self.name} (examined {self.examined})" if self.examined else f"{self.name} (not examined)"

    @property
    def judge(self) -> str:
        """Whom it asks: ``ocr`` or ``openai/gpt-6-sol``."""
        return str(self.setup["judge"])

    @property
    def name(self) -> str:
        """The label, or the judge where it has none yet."""
        return self.label or self.judge

    @property
    def order(self) -> tuple[str, str, str]:
        """Where it stands among others: by its judge, for labels change with what else is in the store."""
        return self.judge, self.label, self.id

    @property
    def variant(self) -> str | None:
        """How it is asked."""
        return self.setup.get("variant")

    @property
    def options(self) -> Mapping[str, Any]:
        """The exam's options it is asked with."""
        return self.setup.get("options") or {}

    @property
    def args(self) -> Mapping[str, Any]:
        """The arguments sent along with every call."""
        return self.setup.get("args") or {}

    @property
    def wording(self) -> str | None:
        """The hash of the prompts' wording; None for judges that read no prose."""
        return self.setup.get("templates")

    @cached_property
    def facts(self) -> dict[tuple[str, str], str]:
        """All that can set it apart from others of the same judge, in the order labels tell it."""
        found: dict[tuple[str, str], str] = {}
        keys = [key for key in FACTS if key in self.setup]
        keys += sorted(key for key in self.setup if key not in (*FACTS, "judge", "model"))
        for key in keys:
            value = self.setup[key]
            if isinstance(value, Mapping):
                found |= {(key, name): _text(item) for name, item in sorted(value.items())}
            elif value is not None:
                found[key, ""] = _text(value)
        return found


class Evaluated:
    """Anything that rests on one evaluator's marks."""

    evaluator: Evaluator

    @property
    def judge(self) -> str:
        """Whom the evaluator asks."""
        return self.evaluator.judge

    @property
    def setup(self) -> Mapping[str, Any]:
        """Everything that shapes the marks."""
        return self.evaluator.setup


class HasEvaluator(Protocol):
    """Anything that rests on one evaluator's marks."""

    @property
    def evaluator(self) -> Evaluator:
        """Who marked, and how."""


E = TypeVar("E", bound=HasEvaluator)


def by_evaluator(found: Iterable[E]) -> list[list[E]]:
    """Return what rests on the same evaluator's marks together, in the order it comes in."""
    sides: dict[str, list[E]] = {}
    for each in found:
        sides.setdefault(each.evaluator.id, []).append(each)
    return list(sides.values())


def labelled(evaluators: Iterable[Evaluator]) -> list[Evaluator]:
    """Return the same with the shortest labels that tell them apart, whatever the order they come in.

    >>> gpt = {"judge": "openai/gpt-5", "model": "gpt-5", "args": {}}
    >>> low = {**gpt, "args": {"reasoning_effort": "low"}}
    >>> [each.label for each in labelled([Evaluator("a", low), Evaluator("b", gpt)])]
    ['gpt-5 · reasoning_effort=low', 'gpt-5']
    """
    listed = list(evaluators)
    shorts = _short_names(sorted({each.judge for each in listed}), {e.judge for e in listed if "model" in e.setup})
    found = []
    for each in listed:
        rivals = [other for other in listed if other.judge == each.judge and other.id != each.id]
        told = BETWEEN.join([shorts[each.judge], *([words] if (words := _apart(each, rivals)) else [])])
        found.append(replace(each, label=told))
    counts: dict[str, list[str]] = {}
    for each in found:
        counts.setdefault(each.label, []).append(each.id)
    return [replace(e, label=f"{e.label}{BETWEEN}{e.id[:8]}") if len(set(counts[e.label])) > 1 else e for e in found]


def _short_names(judges: Sequence[str], models: set[str]) -> dict[str, str]:
    """Return a model's name without its provider, where no other judge is called so."""
    short = {judge: judge.partition("/")[2] or judge if judge in models else judge for judge in judges}
    taken = [*short.values()]
    return {judge: name if taken.count(name) == 1 else judge for judge, name in short.items()}


def _apart(one: Evaluator, others: Sequence[Evaluator]) -> str:
    """Return the fewest facts that no other has all of; facts it has go before facts it lacks."""
    keys = [key for each in (one, *others) for key in each.facts]
    differing = [k for k in dict.fromkeys(keys) if len({each.facts.get(k) for each in (one, *others)}) > 1]
    if not others or not differing:
        return ""
    for size in range(1, min(MOST, len(differing)) + 1):
        for chosen in sorted(combinations(differing, size), key=lambda keys: sum(k not in one.facts for k in keys)):
            if all(any(other.facts.get(k) != one.facts.get(k) for k in chosen) for other in others):
                return _words(one, chosen)
    return _words(one, differing)


def _words(one: Evaluator, keys: Sequence[tuple[str, str]]) -> str:
    said = []
    for key, name in keys:
        value = one.facts.get((key, name))
        if value is None:
            continue
        if name:
            said.append(f"{name}={value}")
        elif key == "variant":
            said.append(value)
        else:
            said.append(f"{WORDS.get(key, key)} {value[:SHORT] if key == 'templates' else value}")
    return " ".join(said)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True)
class Which:
    """Which evaluators are wanted; all conditions hold together, nothing said means all of the kinds that are shown.

    Attributes:
        judges: ``openai/gpt-6-sol`` in all its ways, one of them by its label as tables show it or by its id, or
            ``openai/gpt-6-sol?reasoning_effort=low``. An empty value, as in ``?reasoning_effort=``, asks for those
            without the argument.
        wording: ``shipped``, ``release``, the OCR examiner's rules, or how the wording's hash begins.
        kinds: The sorts of evaluators that are wanted where none is named; whoever is named is there whatever it is.
    """

    judges: tuple[str, ...] = ()
    variant: str | None = None
    options: Mapping[str, str] | None = None
    wording: str | None = None
    kinds: tuple[str, ...] = SHOWN

    @property
    def everyone(self) -> bool:
        """Whether nothing is said."""
        return not (self.judges or self.variant or self.options or self.wording)

    def choose(self, there: Sequence[Evaluator]) -> list[Evaluator]:
        """Those of the labelled evaluators that are wanted.

        Raises:
            UsageError: A word matches nobody; says who is there.
        """
        for word in self.judges:
            if not _named(there, word):
                raise UsageError(f"no judge {word!r} in this store; there is: {_listed(there)}")
        named = (("variant", self.variant, self._varied), ("wording", self.wording, self._worded))
        for what, asked, test in named:
            if asked is not None and there and not any(test(each) for each in there):
                names = {name for e in there for name in (e.worded if what == "wording" else ()) or (getattr(e, what),)}
                known = ", ".join(sorted(str(name) for name in names if name)) or "none"
                raise UsageError(f"no {what} {asked!r} in this store; there is: {known}")
        return self.among(there)

    def among(self, there: Sequence[Evaluator]) -> list[Evaluator]:
        """Return the same without a word where nobody is meant."""
        asked = {*(self.options or {}).items()}
        named = {each.id for word in self.judges for each in _named(there, word)}
        return [
            each
            for each in there
            if (each.id in named if self.judges else each.kind in self.kinds)
            and self._varied(each)
            and self._worded(each)
            and asked <= {*_texts(each.options).items()}
        ]

    def _varied(self, one: Evaluator) -> bool:
        return self.variant is None or one.variant == self.variant

    def _worded(self, one: Evaluator) -> bool:
        word = self.wording
        return word is None or word in one.worded or (len(word) > 2 and (one.wording or "").startswith(word))


def _named(there: Sequence[Evaluator], word: str) -> list[Evaluator]:
    """A whole judge in all its ways, one evaluator by its label, or those that a question mark leaves of a judge."""
    whole = [each for each in there if each.judge == word]
    return whole or [each for each in there if word in (each.id, each.label)] or [e for e in there if _answers(e, word)]


def _answers(one: Evaluator, word: str) -> bool:
    judge, _, rest = word.partition("?")
    if judge not in (one.judge, one.judge.partition("/")[2]):
        return False
    given = {**_texts(one.options), **_texts(one.args)}
    if one.variant is not None:
        given.setdefault("variant", one.variant)
    pairs = [pair.partition("=") for pair in rest.split("&") if pair]
    return all(given.get(name, "") == value for name, _, value in pairs)


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: _text(value) for name, value in values.items()}


def _listed(there: Sequence[Evaluator]) -> str:
    return ", ".join(sorted({each.label or each.judge for each in there})) or "none"


CONTROL = "control/"
"""What the specs of controls begin with."""
SERVICE_REWRITE = "service_rewrite"
"""The option of painters that asks the service to rewrite prompts: ``on`` or ``off``; ``off`` unless it is given."""
REWRITTEN = " · service rewrite"
"""What is said after the name of a painter whose service was asked to rewrite prompts."""
REFERENCE, SHUFFLED = f"{CONTROL}reference", f"{CONTROL}shuffled"
"""The control that ought to get everything, and the one that shows another question's reference."""


def name_and_spec(word: str) -> tuple[str, str]:
    """Return a painter's name and spec: both are the word itself where it is not ``name=spec``.

    >>> name_and_spec("mine=folder/a=b"), name_and_spec("folder/a=b")
    (('mine', 'folder/a=b'), ('folder/a=b', 'folder/a=b'))
    >>> name_and_spec("FLUX-Reason (R1)=folder/a")
    ('FLUX-Reason (R1)', 'folder/a')
    """
    found = re.match(r"([\w.:+()-]+(?: [\w.:+()-]+)*)=(.+)", word)
    return (found[1], found[2]) if found else (word, word)


def label(painter: str, options: Mapping[str, Any]) -> str:
    """Return a painter's name with its options: one row of a table.

    >>> label("mine", {"size": 9}), label("mine", {"service_rewrite": "on"})
    ('mine?size=9', 'mine · service rewrite')
    """
    words = "&".join(f"{key}={value}" for key, value in sorted(options.items()) if key != SERVICE_REWRITE)
    return (f"{painter}?{words}" if words else painter) + (REWRITTEN if SERVICE_REWRITE in options else "")


def without_options(label: str) -> str:
    """Return the painter's name in its label.

    >>> without_options("mine?size=9 · service rewrite"), without_options("mine · service rewrite")
    ('mine', 'mine')
    """
    return label.partition("?")[0].removesuffix(REWRITTEN)


def row_name(painter: str, strategy: str) -> str:
    """Return a painter's row in tables: with its strategy, where that is not the direct one.

    >>> row_name("mine", "direct"), row_name("mine", "rewrite")
    ('mine', 'mine + rewrite')
    """
    return painter if strategy == "direct" else f"{painter} + {strategy}"


def short_row_name(name: str) -> str:
    """Return a row's name where room is scarce: without the providers before its slashes.

    >>> short_row_name("lab/brush?quality=high + best-of-3[chooser=lab/chooser2]")
    'brush?quality=high + best-of-3[chooser=chooser2]'
    >>> short_row_name("control/blank"), short_row_name("folder/./out/mine")
    ('control/blank', 'mine')
    >>> short_row_name("lab/brush · service rewrite + rewrite")
    'brush · service rewrite + rewrite'
    """
    painter, plus, strategy = name.partition(" + ")
    head, mark, options = painter.partition("?")
    if not head.startswith(CONTROL):
        head = head.rstrip("/").rpartition("/")[2] or head
    return f"{head}{mark}{options}{plus}{re.sub(r'=[^][=,&]*/', '=', strategy)}"
