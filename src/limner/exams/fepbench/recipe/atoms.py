"""Atoms of figures: the text in them, drafts of atoms, evidence in prompts, and equivalent prompts."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Literal

from rapidfuzz import fuzz

from ....build.wording import PLAIN, WORD, stem, stems
from ....core.asks import Unreadable
from ....core.schema import read_toml
from ....core.vocabulary import read_choice, read_object, read_text_field, read_whole_number

MODALITIES = ("visual", "text", "relation")
ROLES = ("instruction", "reasoning")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "visual": ("name", "location"),
    "text": ("text", "attached_to"),
    "relation": ("source", "target", "type"),
}
DIRECTIONS = ("forward", "both", "none")
LAYOUT = ("panel_structure", "global_layout")
AtomLists = dict[str, list[dict[str, Any]]]
"""Modality -> atoms with ``id`` and ``role``."""


def read_draft(reply: Mapping[str, Any], prompt: str, panel_type: str) -> dict[str, Any]:
    """Return atoms, layout and evidence of a reply; ``empty`` lists the categories without an atom.

    An atom with evidence is an instruction atom, one without is a reasoning atom.

    Raises:
        Unreadable: Something is missing or repeated, evidence is not in the prompt, an atom that the prompt asks for
            has none, or the number of panels does not fit the label.
    """
    atoms: AtomLists = {modality: [] for modality in MODALITIES}
    evidence: list[dict[str, str]] = []
    wrong: list[str] = []
    asked = labels(prompt)
    for modality in MODALITIES:
        entries = reply.get(modality)
        if not isinstance(entries, list) or not all(isinstance(row, Mapping) for row in entries):
            raise Unreadable(f'"{modality}" must be a list of objects')
        seen: set[tuple[str, ...]] = set()
        for n, entry in enumerate(entries, 1):
            id = f"{modality[0]}{n}"
            atom = _atom(modality, id, entry)
            key = tuple(normalize_text(str(value)) for name, value in atom.items() if name != "id")
            if key in seen:
                wrong.append(f"{id} occurs twice")
            seen.add(key)
            span = entry.get("evidence")
            if span is not None and not isinstance(span, str):
                raise Unreadable(f'"evidence" of {modality} atom {n} must be words of the prompt, or null')
            if span and (why := why_no_evidence(span, prompt)):
                wrong.append(f"evidence of {modality} atom {n}: {why}")
            if not span and modality == "text" and normalize_text(atom["text"]) in asked:
                wrong.append(f"text atom {n}: the prompt asks for {atom['text']!r}, so it needs evidence")
            atoms[modality].append({"id": id, "role": ROLES[not span], **atom})
            if span:
                evidence.append({"atom": id, "free": " ".join(span.split()), "structured": ""})
    if wrong:
        raise Unreadable("; ".join(wrong[:8]))
    given = read_object(reply, "layout")
    structure, arrangement = (read_text_field(given, name) for name in LAYOUT)
    count = read_whole_number(given, "panel_count", 1, 100)
    if (count == 1) != (panel_type == "single"):
        raise Unreadable(f'"panel_count" is {count}, but the figure was found to have {panel_type} panel(s)')
    layout = {"panel_structure": structure, "panel_count": count, "global_layout": arrangement}
    return {**atoms, "layout": layout, "evidence": evidence, "empty": _empty(reply, atoms)}


def _atom(modality: str, id: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    try:
        atom: dict[str, Any] = {name: read_text_field(entry, name) for name in FIELDS[modality]}
        if modality == "visual":
            is_number = isinstance(entry.get("count"), int | float)
            atom["count"] = (
                read_whole_number(entry, "count", 1, 10_000) if is_number else read_text_field(entry, "count")
            )
        if modality == "relation":
            atom["direction"] = read_choice(entry, "direction", DIRECTIONS)
    except Unreadable as error:
        raise Unreadable(f"{modality} atom {id[1:]}: {error}") from error
    return atom


def _empty(reply: Mapping[str, Any], atoms: AtomLists) -> list[str]:
    """Return the categories without an atom; the reply must give a reason for each."""
    reasons = reply.get("empty") or {}
    if not isinstance(reasons, Mapping):
        raise Unreadable('"empty" must be an object')
    none = [
        f"{modality} {role}"
        for modality in MODALITIES
        for role in ROLES
        if not any(atom["role"] == role for atom in atoms[modality])
    ]
    if silent := [name for name in none if not (isinstance(reasons.get(name), str) and reasons[name].strip())]:
        raise Unreadable(f'there is no {silent[0]} atom; add one, or say in "empty" why the figure has none')
    return [f"{name}: {reasons[name]}" for name in none]


def doubts(draft: Mapping[str, Any], prompt: str, lines: Sequence[dict[str, Any]]) -> list[str]:
    """Return what reviewers should check: doubtful evidence, and text that OCR did not read."""
    spans = {row["atom"]: row["free"] for row in draft["evidence"]}
    messages = []
    for modality in MODALITIES:
        for atom in draft[modality]:
            span = spans.get(atom["id"])
            if span and (why := why_doubtful(modality, atom, span, prompt)):
                messages.append(f"{atom['id']}: is {span[:60]!r} its evidence? {why}")
            if modality == "text" and is_unread(atom["text"], lines):
                messages.append(f"{atom['id']}: OCR has not read {atom['text']!r}")
    panels = draft["layout"]["panel_count"]
    if panels > 1 and str(panels) not in numbers(prompt):
        messages.append(f"layout: the prompt does not say that there are {panels} panels")
    named = stems(" ".join(str(atom.get("name") or atom.get("text")) for m in ("visual", "text") for atom in draft[m]))
    for atom in draft["relation"]:
        for end in ("source", "target"):
            if stems(atom[end]) and not stems(atom[end]) & named:
                messages.append(f"{atom['id']}: its {end} {atom[end]!r} is not a visual or text atom")
    drawn_text = normalize_text(" ".join(atom["text"] for atom in draft["text"]))
    for line in lines:
        if len(line["text"].strip()) > 2 and normalize_text(line["text"]) not in drawn_text:
            messages.append(f"no text atom has the line {line['text']!r}")
    return messages


def split_faults(body: Mapping[str, Any]) -> list[str]:
    """Return the faults in the split of a figure's atoms; none if both prompts give the same split.

    Every instruction atom has evidence in each prompt; no reasoning atom has any, and no prompt quotes its words; the
    number of panels fits the panel type.
    """
    prompts = {regime: body[f"{regime}_prompt"] for regime in ("free", "structured")}
    evidence = {row["atom"]: row for row in body["evidence"]}
    atoms = [(modality, atom) for modality in MODALITIES for atom in body[modality]]
    faults = [f"evidence for {id}, which is not an atom" for id in evidence.keys() - {atom["id"] for _, atom in atoms}]
    for modality, atom in atoms:
        id, spans = atom["id"], evidence.get(atom["id"], {})
        for regime, prompt in prompts.items():
            span = str(spans.get(regime) or "")
            if atom["role"] == "instruction":
                why = why_no_evidence(span, prompt) if span else f"no evidence in the {regime} prompt"
                faults += [f"{id}: {why}"] if why else []
            elif span:
                faults.append(f"{id}: a reasoning atom has no evidence")
            elif modality == "text" and normalize_text(atom["text"]) in labels(prompt):
                faults.append(f"{id}: the {regime} prompt asks for {atom['text']!r}")
    count = body["layout"]["panel_count"]
    if (count == 1) != (body["panel_type"] == "single"):
        faults.append(f"panel_type is {body['panel_type']}, but panel_count is {count}")
    return faults


MIN_SIMILARITY = 80
"""Similarity (0-100) from which a label counts as read by OCR."""


def is_unread(text: str, lines: Sequence[dict[str, Any]]) -> bool:
    """Return whether OCR read these words neither in one line nor across several."""
    words, whole = normalize_text(text), normalize_text(" ".join(line["text"] for line in lines))
    near = max((fuzz.ratio(words, normalize_text(line["text"])) for line in lines), default=0)
    return max(near, fuzz.partial_ratio(words, whole) if len(words) <= len(whole) else 0) < MIN_SIMILARITY


_DATA = read_toml(Path(__file__).with_name("rewording.toml"))
_NUMBERS = {word: n for n, word in enumerate(_DATA["numbers"], 2)}
_SCAFFOLD = frozenset(map(stem, _DATA["scaffold"]))
_COLOURS = frozenset(_DATA["colours"])
_OPPOSITES = [tuple(pair) for one in _DATA["opposites"] for pair in (one, one[::-1])]
_BREAK = re.compile(r"[.;:!?,]\s+|[.;:!?]$|\n+")
_FROM = re.compile(r"\bfrom\s+(.{2,60}?)\s+(?:in)?(?:to|into|towards)\s+(.{2,60}?)(?=[.,;:\n]|\band\b|$)")
NEW_SHARE = 0.6
"""A clause of which this share of words is new says something new; our choice, like `MIN_NEW_WORDS`."""
MIN_NEW_WORDS = 2
LOST, GAINED = 0.25, 0.5
"""The shares of an atom's words whose loss or gain counts as dropping or adding the atom; our choice."""
DEFINING_FIELDS = {"visual": ("name",), "text": ("text",), "relation": ("source", "target", "type")}
"""The fields whose words define an atom."""


@dataclass(frozen=True)
class Rewording:
    """One difference between two prompts."""

    kind: Literal["added", "dropped", "changed"]
    detail: str

    def __str__(self) -> str:
        """Return the kind and the details."""
        return f"{self.kind}: {self.detail}"


def rewordings(free: str, structured: str) -> list[Rewording]:
    """Return the differences that rules find between a prompt and its structured form; none if they agree.

    >>> [str(one) for one in rewordings("Two red boats at the left.", "Objects: three red boats at the right.")]
    ['dropped: the number 2', 'added: the number 3', "changed: 'left' has become 'right'"]
    >>> rewordings("Two red boats lie at the left.", "Objects: two red boats at the left.")
    []
    """
    return [*sure_rewordings(free, structured), *_reversed_words(free, structured), *_clauses(free, structured)]


def sure_rewordings(free: str, structured: str) -> list[Rewording]:
    """Return the differences that rewriting alone never causes: in labels, numbers, colours and directions."""
    ways = _labels, _numbers, _colours, _directions
    return [difference for way in ways for difference in way(free, structured)]


def _labels(free: str, structured: str) -> list[Rewording]:
    gone, new = sorted(labels(free) - labels(structured)), sorted(labels(structured) - labels(free))
    changes = []
    for label in list(gone):
        near = [other for other in new if SequenceMatcher(None, label, other).ratio() > 0.6]
        if near:
            changes.append(Rewording("changed", f"the label {label!r} has become {near[0]!r}"))
            gone.remove(label)
            new.remove(near[0])
    return [*changes, *_lost_and_new("label", map(repr, gone), map(repr, new))]


def _lost_and_new(what: str, gone: Iterable[str], new: Iterable[str]) -> list[Rewording]:
    changes = [Rewording("dropped", f"the {what} {each}") for each in gone]
    return changes + [Rewording("added", f"the {what} {each}") for each in new]


def _numbers(free: str, structured: str) -> list[Rewording]:
    before, after = numbers(free), numbers(structured)
    return _lost_and_new("number", sorted(before - after), sorted(after - before))


def numbers(text: str) -> set[str]:
    """Return the numbers in a text, as words or digits, except 1 and those in labels.

    >>> sorted(numbers("Two panels with 12 cells, one marked 'Day 4'"))
    ['12', '2']
    """
    words = WORD.findall(_bare(text))
    figures = {word for word in words if word[0].isdigit() and word != "1"}
    return figures | {str(_NUMBERS[word]) for word in words if word in _NUMBERS}


def _bare(text: str) -> str:
    """Return the text without the labels in it."""
    return QUOTED.sub(" ", normalize_text(text))


def _colours(free: str, structured: str) -> list[Rewording]:
    before, after = (set(WORD.findall(_bare(text))) & _COLOURS for text in (free, structured))
    return _lost_and_new("colour", sorted(before - after), sorted(after - before))


def _reversed_words(free: str, structured: str) -> list[Rewording]:
    """Return words that became fewer while their opposites became more."""
    before, after = Counter(WORD.findall(_bare(free))), Counter(WORD.findall(_bare(structured)))
    changes = []
    for word, other in _OPPOSITES:
        if before[word] and not after[word] and after[other] > before[other]:
            changes.append(Rewording("changed", f"{word!r} has become {other!r}"))
    return changes


def _directions(free: str, structured: str) -> list[Rewording]:
    """Return statements "from … to …" about the same things that have changed direction."""
    changes, before = [], _ways(free)
    for subject, a, b in _ways(structured):
        alike = [way for way in before if (a & way[1] and b & way[2]) or (a & way[2] and b & way[1])]
        if alike:
            best = max(alike, key=lambda way: (len(subject & way[0]), bool(a & way[1] and b & way[2])))
            if not (a & best[1] and b & best[2]):
                reversed_pairs = f"from {' '.join(sorted(a))} to {' '.join(sorted(b))}"
                changes.append(Rewording("changed", f"{reversed_pairs} was the other way round"))
    return changes


def _ways(text: str) -> list[tuple[set[str], set[str], set[str]]]:
    words = normalize_text(text).replace("'", "").replace('"', "")
    ways = []
    for match in _FROM.finditer(words):
        before = re.split(r"[.,;:\n]", words[: match.start()])[-1]
        ways.append((_stems(before), _stems(match[1]), _stems(match[2])))
    return ways


def _clauses(free: str, structured: str) -> list[Rewording]:
    changes = []
    for kind, text, other in (("dropped", free, structured), ("added", structured, free)):
        known_stems = _stems(normalize_text(other))
        for clause in _BREAK.split(normalize_text(text)):
            clause_stems = _stems(clause)
            new = clause_stems - known_stems
            if len(new) >= MIN_NEW_WORDS and len(new) >= NEW_SHARE * len(clause_stems):
                changes.append(Rewording(kind, f"{clause.strip()[:80]!r}"))  # type: ignore[arg-type]
    return changes


def _stems(text: str) -> set[str]:
    words = {stem(re.sub(r"(?<=[^s])s$", "", word)) for word in WORD.findall(text) if word not in PLAIN}
    return words - _SCAFFOLD


def moved_atoms(atoms: Mapping[str, Sequence[Mapping[str, Any]]], free: str, structured: str) -> list[Rewording]:
    """Return atoms that one prompt names and the other does not, by the words of their fields.

    An instruction atom is dropped if the structured prompt lacks words of it that the free one has; a reasoning atom is
    added if the structured one has words of it that the free one lacks.
    """
    before, after = _stems(normalize_text(free)), _stems(normalize_text(structured))
    messages = []
    for modality, fields in DEFINING_FIELDS.items():
        for atom in atoms[modality]:
            words = _stems(normalize_text(" ".join(str(atom[name]) for name in fields)))
            gone, new = words & before - after, words & after - before
            if atom["role"] == "instruction" and gone and len(gone) >= LOST * len(words):
                messages.append(Rewording("dropped", f"{atom['id']}: {', '.join(sorted(gone))}"))
            if atom["role"] == "reasoning" and new and len(new) >= GAINED * len(words):
                messages.append(Rewording("added", f"{atom['id']}: {', '.join(sorted(new))}"))
    return messages


_STRAIGHT = str.maketrans("‘’‚‛“”„‟«»‐‑‒–—−", '\'\'\'\'""""""------')
_GAP = re.compile(r"\s*(?:\.\.\.|…|\[(?:\.\.\.|…)\])\s*")
_ENDS = " \t\n.,;:!?\"'()"
QUOTED = re.compile(r"\"([^\"]{1,120})\"|(?<!\w)'([^']{1,120}?)'(?!\w)")
NAMES: Mapping[str, tuple[str, ...]] = {"visual": ("name",), "text": ("text",), "relation": ("source", "target")}
"""The fields with an atom's names."""
ABOUT = 0.6
"""The share of an atom's words that a prompt must have to ask for it; our choice."""


def normalize_text(text: str) -> str:
    """Return one form for texts that differ only in case, blanks, quotation marks and dashes.

    >>> normalize_text("The “Golgi\\n apparatus” – here") == normalize_text('the "golgi apparatus" - here')
    True
    """
    return " ".join(unicodedata.normalize("NFKC", text).translate(_STRAIGHT).casefold().split())


def why_no_evidence(span: str, prompt: str) -> str | None:
    """Return why a span is not evidence in a prompt; None if the prompt contains it word for word.

    Parts separated by an ellipsis must occur in this order.

    >>> why_no_evidence("two red arrows … the cell", "Draw two red arrows that point to the cell.") is None
    True
    >>> why_no_evidence("three red arrows", "Draw two red arrows that point to the cell.")
    "the prompt does not say 'three red arrows'"
    """
    text, at = _one_quote(prompt), 0
    parts = [part.strip(_ENDS) for part in _GAP.split(_one_quote(span))]
    if not any(len(part) > 1 for part in parts):
        return f"{span[:60]!r} says nothing"
    for part in parts:
        start = re.compile(rf"(?<!\w){re.escape(part)}(?!\w)").search(text, at)
        if start is None:
            return f"the prompt does not say {part[:120]!r}"
        at = start.end()
    return None


def _one_quote(text: str) -> str:
    """Unify quotation marks, which change when words are copied into a reply."""
    return normalize_text(text).replace('"', "'")


def labels(prompt: str) -> set[str]:
    """Return the quoted words of a prompt, which should appear in the figure.

    >>> sorted(labels("Write 'Air' and “Glass” at the lens' edge."))
    ['air', 'glass']
    """
    return {(a or b).strip(_ENDS) for a, b in QUOTED.findall(normalize_text(prompt))} - {""}


def why_doubtful(modality: str, atom: Mapping[str, Any], span: str, prompt: str) -> str | None:
    """Return why a span may not be about an atom; None if it is.

    The span must contain the words of a text atom. For a visual or a relation atom, the prompt must contain most words
    of its names, and the span at least one.

    >>> why_doubtful("text", {"text": "Trench"}, "forms a 'Trench'", "The floor forms a 'Trench'.") is None
    True
    >>> why_doubtful("visual", {"name": "arrow of the reflected ray"}, "a ray", "Draw a ray in glass.")
    'the prompt has no arrow, reflect'
    """
    names = " ".join(str(atom[name]) for name in NAMES[modality])
    if modality == "text":
        words = normalize_text(names).strip(_ENDS)
        return None if words in normalize_text(span) else f"{names[:60]!r} is not in {span[:60]!r}"
    span_stems = stems(names, frozenset())
    lacking = span_stems - _all(prompt)
    if len(lacking) > (1 - ABOUT) * len(span_stems):
        return f"the prompt has no {', '.join(sorted(lacking)[:4])}"
    if span_stems and not span_stems & _all(span):
        return f"{span[:60]!r} names none of {', '.join(sorted(span_stems)[:4])}"
    return None


def _all(text: str) -> set[str]:
    return {stem(word) for word in re.findall(r"[^\W_]+(?:['’.\-][^\W_]+)*", text.casefold())}
