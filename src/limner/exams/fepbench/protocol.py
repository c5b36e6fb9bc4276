"""FEPBench's protocol: one call verifies the gold atoms, another lists unexpected content; IF, RE and SP from both."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...core.asks import (
    Ask,
    Contract,
    Picture,
    Reply,
    Text,
    Unreadable,
    Variant,
    list_schema,
    object_schema,
    only_reply,
    text_in,
)
from ...core.exam import Question
from ...core.json_text import loads
from ...core.marks import Criterion, Mark, values
from ...core.protocol import Evidence, Protocol, Reading, Row, Score
from . import analysis
from .data import MODALITIES, REGIMES, ROLES, Atom, Atoms, Modality

BETA = 0.5
PARTS_OF = {
    **{f"if_{m}": f"mean match of {m} atoms that the prompt asks for" for m in MODALITIES},
    "if_layout": "share of the three layout atoms met",
    **{f"re_{m}": f"mean match of {m} atoms of the reference alone" for m in MODALITIES},
    **{f"sp_{m}": f"share of the {m} content drawn that is supported" for m in MODALITIES},
}
"""The parts of the three scores -> their descriptions."""
TITLES = {"if": "IF", "re": "RE", "sp": "SP"}
TITLES |= {name: f"{TITLES[name[:2]]} {name[3:]}" for name in PARTS_OF}
"""The scores and their parts as the paper writes them: IF, IF visual, …"""


def atom_match(gate: int | None, first: int | None, second: int | None) -> float | None:
    """Return how well an atom is drawn: 0 if its gate is 0, otherwise half for each of the two flags.

    Flags may be unknown; the result is None unless it is the same for all their possible values.

    >>> atom_match(1, 1, 0), atom_match(0, 1, 1), atom_match(1, 0, 0)
    (0.5, 0.0, 0.0)
    >>> atom_match(0, None, 1), atom_match(None, 0, 0), atom_match(None, 1, 0), atom_match(1, None, 1)
    (0.0, 0.0, None, None)
    """
    if gate == 0 or (first == 0 and second == 0):
        return 0.0
    if gate is None or first is None or second is None:
        return None
    return BETA * first + BETA * second


def mean_if_known(values: Iterable[float | None]) -> float | None:
    """Return the mean, or None if a value is unknown.

    >>> mean_if_known([1.0, 0.5]), mean_if_known([1.0, None])
    (0.75, None)
    """
    items = list(values)
    numbers = [value for value in items if value is not None]
    return sum(numbers) / len(items) if items and len(numbers) == len(items) else None


def precision(supported: int, unexpected: int) -> float | None:
    """Return the share of drawn content that prompt or reference supports; None if nothing was drawn.

    >>> precision(3, 1), precision(0, 2), precision(0, 0)
    (0.75, 0.0, None)
    """
    drawn = supported + unexpected
    return 1 - unexpected / drawn if drawn else None


def overall_precision(parts: Sequence[float | None]) -> float | None:
    """Return the mean of the defined parts; None if there are none.

    >>> overall_precision([1.0, 0.5, None]), overall_precision([None, None, None])
    (0.75, None)
    """
    return mean_if_known(part for part in parts if part is not None)


def score_atoms(atoms: Atoms, marks: Sequence[Mark]) -> dict[str, float | None]:
    """Return the scores of one drawing; ``sp`` is omitted unless the marks determine all its parts."""
    answers = values(marks)
    scores: dict[str, float | None] = {}
    for role, name in zip(ROLES, ("if", "re"), strict=True):
        for modality in MODALITIES:
            matches = [
                atom_match(*(answers.get(f"{modality}/{atom.id}/{part}") for part in PARTS[modality]))
                for atom in atoms.of(modality)
                if atom.role == role
            ]
            scores[f"{name}_{modality}"] = mean_if_known(matches)
    scores["if_layout"] = mean_if_known(answers.get(f"layout/{part}") for part in LAYOUT)
    for name in ("if", "re"):
        scores[name] = mean_if_known(value for key, value in scores.items() if key.startswith(f"{name}_"))
    counts = {modality: drawn(atoms, marks, modality) for modality in MODALITIES}
    for modality, count in counts.items():
        scores[f"sp_{modality}"] = None if count is None else precision(*count)
    if None not in counts.values():
        scores["sp"] = overall_precision([scores[f"sp_{modality}"] for modality in MODALITIES])
    return scores


def drawn(atoms: Atoms, marks: Sequence[Mark], modality: Modality) -> tuple[int, int] | None:
    """Return the numbers of drawn gold atoms (gate 1) and of unexpected items; None if the marks leave them open."""
    answers = values(marks)
    gates = [answers.get(f"{modality}/{atom.id}/{PARTS[modality][0]}") for atom in atoms.of(modality)]
    items = sum(mark.criterion.startswith(f"unexpected/{modality}/") for mark in marks)
    nothing = answers.get(f"unexpected/{modality}")
    if None in gates or nothing is None or bool(nothing) == bool(items):
        return None
    return gates.count(1), items


def count_undefined(rows: Sequence[Row]) -> dict[str, int]:
    """Return modality -> the number of drawings without such content, whose precision is undefined."""
    return {m: sum(drawn(row.question.rubric, row.marks, m) == (0, 0) for row in rows) for m in MODALITIES}


def remarks(rows: Sequence[Row]) -> list[str]:
    """Return remarks on undefined precision and on unequal shares of the regimes."""
    texts, empty = [], count_undefined(rows)
    if any(empty.values()):
        counts = ", ".join(f"{modality} {count}" for modality, count in empty.items() if count)
        texts.append(
            f"sp: some of {len(rows)} drawings have no such content ({counts}); those parts are left out of the mean"
        )
    regimes = Counter(row.question.tags.get("regime", "") for row in rows)
    if rows and len({regimes[regime] for regime in REGIMES}) > 1:
        counts = ", ".join(f"{regimes[regime]} {regime}" for regime in REGIMES)
        texts.append(f"prompts behind these means: {counts}; the paper pools both in equal shares")
    return texts


PARTS: Mapping[Modality, tuple[str, str, str]] = {
    "visual": ("present", "count", "location"),
    "text": ("exact", "readable", "attached"),
    "relation": ("satisfied", "type", "direction"),
}
"""Modality -> its gate and its two other flags."""
LAYOUT = ("panel_structure", "panel_count", "global_layout")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")


def normalize_text(text: str) -> str:
    """Return a text with normalised case, blanks and look-alike characters, without punctuation at the ends.

    >>> normalize_text(" “Golgi\\n APPARATUS”. ") == normalize_text("golgi apparatus")
    True
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return _EDGES.sub("", plain) or plain


def read_verification(atoms: Atoms, text: str) -> list[Mark]:
    """Return the marks in a verification, which must answer every gold atom once, by its id.

    Raises:
        Unreadable: An atom is missing, unknown or answered twice, or a flag is neither 0 nor 1.
    """
    body = loads(text)
    marks = [mark for modality in MODALITIES for mark in _atoms(atoms, modality, body.get(modality))]
    layout = _mapping(body.get("layout"), '"layout"')
    return marks + [Mark(f"layout/{part}", _flag(layout, part, "layout"), text_in(layout, "reason")) for part in LAYOUT]


def _atoms(atoms: Atoms, modality: Modality, answers: object) -> list[Mark]:
    if not isinstance(answers, list):
        raise Unreadable(f'"{modality}" must be a list')
    given: dict[str, Mapping[str, Any]] = {}
    for place, answer in enumerate(answers, 1):
        entry = _mapping(answer, f'entry {place} of "{modality}"')
        id = entry.get("id")
        if not isinstance(id, str):
            raise Unreadable(f'entry {place} of "{modality}" has no "id"')
        if id in given:
            raise Unreadable(f"{modality} atom {id[:40]} is answered twice")
        given[id] = entry
    wanted = [atom.id for atom in atoms.of(modality)]
    if missing := [id for id in wanted if id not in given]:
        raise Unreadable(f"{modality} atoms without an answer: {', '.join(missing[:10])}")
    if unknown := [id for id in given if id not in wanted]:
        raise Unreadable(f"there is no {modality} atom {unknown[0][:40]!r}")
    return [
        Mark(f"{modality}/{id}/{part}", _flag(given[id], part, f"{modality} atom {id}"), text_in(given[id], "reason"))
        for id in wanted
        for part in PARTS[modality]
    ]


def read_unexpected(text: str) -> list[Mark]:
    """Return the marks in a list of unexpected content: for each modality whether there is none, then each item.

    Items are identified by modality, text and place; repeated items count once.

    Raises:
        Unreadable: There is no list, or an item lacks its modality, its text or its place.
    """
    items = loads(text).get("unexpected")
    if not isinstance(items, list):
        raise Unreadable('"unexpected" must be a list; an empty one where there is nothing')
    items_by_modality: dict[str, dict[tuple[str, str], str]] = {modality: {} for modality in MODALITIES}
    for number, entry in enumerate(items, 1):
        item = _mapping(entry, f"item {number}")
        modality, what, place = (item.get(name) for name in ("modality", "item", "place"))
        if modality not in MODALITIES:
            raise Unreadable(f'item {number}: "modality" must be one of {", ".join(MODALITIES)}')
        if not isinstance(what, str) or not isinstance(place, str) or not what.strip() or not place.strip():
            raise Unreadable(f'item {number} needs an "item" and a "place" in words')
        key = normalize_text(what), normalize_text(place)
        items_by_modality[modality].setdefault(key, f"{what.strip()} ({place.strip()})")
    marks = [Mark(f"unexpected/{modality}", int(not items_by_modality[modality])) for modality in MODALITIES]
    for modality in MODALITIES:
        texts = enumerate(items_by_modality[modality].values(), 1)
        marks += [Mark(f"unexpected/{modality}/{number}", 1, words) for number, words in texts]
    return marks


def read_marks(ask: str, replies: Sequence[Reply], parse: Callable[[str], list[Mark]]) -> list[Mark] | str:
    """Return the marks in the only reply to an ask, or the reason why there are none."""
    try:
        return parse(only_reply(replies, (ask,)).text)
    except Unreadable as error:
        return f"{ask}: {error}"


def _mapping(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Unreadable(f"{place} must be an object")
    return value


def _flag(entry: Mapping[str, Any], name: str, place: str) -> int:
    value = entry.get(name)
    if not isinstance(value, int | float) or value not in (0, 1):
        raise Unreadable(f'{place}: "{name}" must be 0 or 1, not {value!r}'[:200])
    return int(value)


_WORDS = {"type": "string"}
_FLAG = {"type": "integer", "enum": [0, 1]}
VERIFICATION = object_schema(
    {
        **{m: list_schema({"id": _WORDS, "reason": _WORDS, **dict.fromkeys(PARTS[m], _FLAG)}) for m in MODALITIES},
        "layout": object_schema({"reason": _WORDS, **dict.fromkeys(LAYOUT, _FLAG)}),
    }
)
_ITEM = {"modality": {"type": "string", "enum": list(MODALITIES)}, "item": _WORDS, "place": _WORDS}
UNEXPECTED = object_schema({"unexpected": list_schema(_ITEM)})


WORDS = {
    "present": "Shown: {name}",
    "count": "Number shown is {count}: {name}",
    "location": "Location is {location}: {name}",
    "exact": "Text written exactly like this: {text}",
    "readable": "Text is readable: {text}",
    "attached": "Text belongs to {attached_to}: {text}",
    "satisfied": "Relation shown: {source} — {type} — {target}",
    "type": "Relation has the type {type}: {source} — {target}",
    "direction": "Relation has the right direction ({direction}): {source} — {type} — {target}",
    "panel_structure": "Panels: {panel_structure}",
    "panel_count": "Number of panels is {panel_count}",
    "global_layout": "Overall layout: {global_layout}",
}
"""The template of each flag's criterion, to be filled with an atom's fields."""


class FEPBench(Protocol[Atoms]):
    """FEPBench's protocol: one call verifies the gold atoms, another lists unexpected content."""

    scored = (
        Score("if", 1, "instruction faithfulness: mean of its four parts", digits=3),
        Score("re", 1, "reasoning enrichment: mean of its three parts", digits=3),
        Score("sp", 1, "semantic precision: mean of its parts that are defined", monotone=False, digits=3),
        *(Score(name, 1, about, not name.startswith("sp"), digits=3, main=False) for name, about in PARTS_OF.items()),
    )
    variants = ("paper", "ocr")
    draw_options: Mapping[str, tuple[str, ...]] = {"regime": ("both", *REGIMES)}
    selecting = frozenset({"regime"})
    reasons = False
    label_kinds = frozenset({"exact", "readable"})
    breakdowns = ("regime", "domain", "panel_type", "aspect", "regime_domain")
    dimensions = ("if", "re", "sp", *PARTS_OF)
    titles = TITLES
    reply_tokens: Mapping[str, int] = {"verify": 4000, "unexpected": 1500}

    def takes(self, question: Question[Atoms], options: Mapping[str, str]) -> bool:
        """Return whether the question's regime is the requested one."""
        return options.get("regime", "both") in ("both", question.tags.get("regime"))

    def cluster(self, question: Question[Atoms]) -> str:
        """Return the name of the sample, because drawings of its two questions are not independent."""
        return question.tags.get("sample", question.id)

    def criteria(self, question: Question[Atoms]) -> list[Criterion]:
        """Return three flags per atom, three for the layout, and one per modality for unexpected content."""
        atoms, criteria = question.rubric, []
        counts = Counter(normalize_text(atom.text) for atom in atoms.text)
        for modality in MODALITIES:
            for atom in atoms.of(modality):
                fields = atom.model_dump()
                label = fields.get("text")
                # Words that belong in two places must appear twice.
                again = "repeated " if label and counts[normalize_text(label)] > 1 else ""
                for part in PARTS[modality]:
                    id, text = f"{modality}/{atom.id}/{part}", WORDS[part].format(**fields)
                    labels = (label,) if label else ()
                    criteria.append(Criterion(id, text, again + part, labels=labels, exact=bool(label)))
        layout = atoms.layout.model_dump()
        criteria += [Criterion(f"layout/{part}", WORDS[part].format(**layout), "layout") for part in LAYOUT]
        return criteria + [
            Criterion(f"unexpected/{m}", f"No {m} content is unexpected", "unexpected") for m in MODALITIES
        ]

    def templates(self, variant: Variant) -> tuple[str, ...]:
        """Return the templates of the two verifiers and of the note on the drawing."""
        return ("verify", "unexpected", f"drawing-{variant.name}")

    def needed(self, variant: Variant) -> frozenset[str]:
        """Return ``ocr``, lines of text in the drawing, if the judge is shown them."""
        return frozenset({"ocr"}) if variant.name == "ocr" else self.needs

    def asks(self, question: Question[Atoms], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        """Return two asks: for the atom verifier, and for the precision verifier, which also sees the prompt."""
        atoms, fill, fields = question.rubric, variant.prompts.fill, {}
        if variant.name == "ocr":
            lines = [" ".join(line["text"].split()) for line in evidence["ocr"]["value"]]
            fields["lines"] = "\n".join(f"- {line}" for line in lines) or "- (none)"
        # In other variants this field has recognised lines of text, which are more than wording.
        spare = ["drawing"] if variant.name == "paper" else []
        shown = {"drawing": fill(f"drawing-{variant.name}", **fields).strip()}
        shown |= {modality: _lines(atoms.of(modality)) for modality in MODALITIES}
        layout = json.dumps(atoms.layout.model_dump(), ensure_ascii=False)
        verify = Text(fill("verify", spare=spare, **shown, layout=layout)), Picture(image)
        unexpected = Text(fill("unexpected", spare=spare, **shown, prompt=question.prompt)), Picture(image)
        split = self.criteria(question)
        gold, rest = (tuple(c for c in split if (c.kind == "unexpected") == last) for last in (False, True))
        return [
            Ask("verify", verify, gold, Contract(lambda reply: read_verification(atoms, reply), VERIFICATION)),
            Ask("unexpected", unexpected, rest, Contract(read_unexpected, UNEXPECTED)),
        ]

    def marks(self, question: Question[Atoms], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        """Return the marks from both replies, the same in every reading, because the authors released no parser."""
        gold = read_marks("verify", replies, lambda text: read_verification(question.rubric, text))
        extra = read_marks("unexpected", replies, read_unexpected)
        if isinstance(gold, str):
            # Without the gold atoms' marks there is no score, not even precision.
            return [Mark.unread(criterion.id, gold) for criterion in self.criteria(question)]
        if isinstance(extra, str):
            return [*gold, *(Mark.unread(f"unexpected/{modality}", extra) for modality in MODALITIES)]
        return [*gold, *extra]

    def scores(self, question: Question[Atoms], marks: Sequence[Mark], evidence: Evidence) -> dict[str, float | None]:
        """Return the scores by the paper's equations; None if marks are missing or nothing was drawn."""
        return {**dict.fromkeys(self.dimensions), **score_atoms(question.rubric, marks)}

    def analyses(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return scores by atom count, correlations, and gaps between regimes and panel types."""
        return {
            "complexity": analysis.complexity(rows),
            "correlations": analysis.correlations(rows),
            "gaps": analysis.gaps(rows, self),
            "undefined_sp": count_undefined(rows),
        }

    def remarks(self, rows: Sequence[Row]) -> list[str]:
        """Return remarks on undefined precision and on unequal shares of the regimes."""
        return remarks(rows)


def _lines(atoms: Sequence[Atom]) -> str:
    """Return atoms in the form shown to the judge: one per line, without their roles."""
    return "\n".join(json.dumps(atom.model_dump(exclude={"role"}), ensure_ascii=False) for atom in atoms)
