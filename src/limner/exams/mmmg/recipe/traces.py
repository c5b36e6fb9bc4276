"""Reasoning traces: read from a reply and linted; prose must name every entity and relation of a graph."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field

from ....build.wording import stem
from ....core.asks import DraftFault, refuse_faulty_draft
from ....core.schema import StrictModel, read_model
from ....painters.diffusers.text_encoding import SEPARATOR
from ....strategies.rewrite import split_trace

FILE = "rules.toml"
"""The file in a recipe's folder with the words that prose uses for each relation."""
SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n+")
WORD = re.compile(r"[^\W_]+")
LISTED = re.compile(r"^\s*(?:[-*•–]\s|#{1,6}\s|\||\d{1,2}[.)]\s|```|>\s|[{\[\]}])", re.MULTILINE)
SMALL = frozenset(("the", "a", "an", "of", "and", "in", "on", "to", "for", "its", "their", "is", "are"))


class TraceRules(StrictModel):
    """The rules for linting traces.

    Attributes:
        cues: Relation -> words and phrases in lower case, one of which must name it.
        window: The number of consecutive sentences that must have both entities and the cue.
        least_words: The fewest words of a trace.
    """

    cues: dict[str, tuple[str, ...]]
    window: int = Field(default=2, ge=1)
    least_words: int = Field(default=20, ge=1)


class TraceRulesFile(StrictModel):
    """The contents of a ``rules.toml``."""

    traces: TraceRules


def read_trace_rules(folder: Path) -> TraceRules:
    """Return the rules in a recipe's folder."""
    return read_model(folder / FILE, TraceRulesFile).traces


def read_trace(reply: str, names: Sequence[str], links: Sequence[Sequence[str]], rules: TraceRules) -> tuple[str, str]:
    """Return trace and final prompt of a reply.

    Raises:
        Unreadable: It has faults; the message lists them.
    """
    trace, final = split_trace(reply)
    faults = trace_faults(trace, final, names, links, rules)
    if reply.count(SEPARATOR) != 1:
        faults.insert(0, DraftFault("separator", f"{SEPARATOR} must stand once, not {reply.count(SEPARATOR)} times"))
    refuse_faulty_draft(faults)
    return trace, final


def trace_faults(
    trace: str, final: str, names: Sequence[str], links: Sequence[Sequence[str]], rules: TraceRules
) -> list[DraftFault]:
    """Return all faults of a trace and the prompt it ends in.

    Args:
        trace: The reasoning.
        final: The painter's prompt.
        names: The graph's entities.
        links: The graph's dependencies, each a relation and two entities.
        rules: The recipe's rules.
    """
    faults = []
    for what, text in (("trace", trace), ("final prompt", final)):
        if listed := LISTED.search(text):
            faults.append(DraftFault("prose", f"the {what} has a list, a heading or code: {listed[0].strip()!r}"))
        if formal := re.search(rf"\b(?:{'|'.join(rules.cues)}|change)\s*\([^)]*[,)]", text):
            faults.append(DraftFault("prose", f"the {what} has the graph's notation: {formal[0][:40]!r}"))
    if (words := len(trace.split())) < rules.least_words:
        faults.append(DraftFault("short", f"the trace has {words} words; at least {rules.least_words} are wanted"))
    sentences = [_stems(sentence) for sentence in SENTENCE.split(trace) if sentence.strip()]
    places_of = {
        name: [n for n, words in enumerate(sentences) if _follow_each_other(_stems(name), words)] for name in names
    }
    lost = (name for name, places in places_of.items() if not places)
    faults += [DraftFault("entity", f"{name!r} is not named in the trace") for name in lost]
    cues = {relation: [_stems(cue) for cue in some] for relation, some in rules.cues.items()}
    for relation, first, second in links:
        if (
            places_of.get(first)
            and places_of.get(second)
            and not _names_relation(relation, first, second, sentences, places_of, cues, rules)
        ):
            faults.append(DraftFault("relation", f"the trace does not say {relation}({first}, {second}) in words"))
    return faults


def _names_relation(
    relation: str, first: str, second: str, sentences: Sequence[Sequence[str]], places_of: Mapping[str, Sequence[int]],
    cues: Mapping[str, Sequence[Sequence[str]]], rules: TraceRules,
) -> bool:  # fmt: skip
    """Return whether a sentence, or a window if no sentence has both entities, names them and their relation."""
    together = sorted({*places_of[first]} & {*places_of[second]})
    if together:
        return any(_follow_each_other(cue, sentences[n]) for n in together for cue in cues.get(relation, ()))
    for start in {n - back for n in places_of[first] for back in range(rules.window)}:
        window = range(max(0, start), min(len(sentences), start + rules.window))
        if any(n in window for n in places_of[first]) and any(n in window for n in places_of[second]):
            words = [word for n in window for word in sentences[n]]
            if any(_follow_each_other(cue, words) for cue in cues.get(relation, ())):
                return True
    return False


def _stems(text: str) -> list[str]:
    return [_root(word) for word in WORD.findall(text.casefold()) if word not in SMALL]


def _root(word: str) -> str:
    """Return the part that a word shares with its other forms: egg and eggs, make and makes."""
    base = stem(word)
    return base[:-1] if len(base) > 3 and base[-1] in "se" else base


def _follow_each_other(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether the wanted words follow each other in a sentence."""
    size = len(wanted)
    return bool(wanted) and any(list(words[n : n + size]) == list(wanted) for n in range(len(words) - size + 1))
