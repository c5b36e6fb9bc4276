"""Lints of a prompt and its checklist: errors that no exam may have, and warnings for reviewers. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field

from ....build.criterion_words import Lint, lint_prompt, plain
from ....build.lint import WordingRules
from ....build.wording import VAGUE, read_patterns, stems
from ....core.schema import StrictModel

ERRORS = frozenset({"empty", "length", "language", "count", "repeated", "unexplained"})
WARNINGS = frozenset({"compound", "already-stated", "unseen"})

_PATTERNS = read_patterns(Path(__file__).with_name("patterns.toml"), "checklist")
_QUOTE = r"[\"“][^\"”]{1,80}[\"”]|(?<!\w)['‘][^'’]{1,80}['’](?!\w)"
_QUOTED = re.compile(rf"(?:{_QUOTE})(?:(?:,\s*(?:and\s+)?|\s+and\s+)(?:{_QUOTE}))*|\([^()]*\)")
"""Words in quotes or brackets; a list of labels is one demand."""
_BE = r"(?:is|are|was|were|has|have|had|can|could|will|would|should|must|shall|may|does|do)"
_VERBS = "|".join((Path(__file__).parent / "statement_verbs.txt").read_text(encoding="utf-8").split())
_DOES = rf"(?:{_BE}|(?:{_VERBS})(?:e?s|ed)?)"
_DOING = re.compile(rf"\b{_DOES}\b", re.IGNORECASE)
_SECOND = re.compile(
    rf"(?:(?!(?:which|that|who|whose|where|when|so|with|such)\b)[\w'’-]+\s+){{0,7}}?{_DOES}\b", re.IGNORECASE
)
_SENTENCES = re.compile(r"[.!?]\s+(?=[A-Z\"“'‘])")
_SHOWN = (
    "label labels labelled labeled text texts title word words written writes reads read name named names colour color"
    " coloured colored colours visible clearly image should legible seen sees"
)
_FORM = VAGUE | frozenset(_SHOWN.split())
"""Words for how something is shown, not for what is shown."""


class ChecklistLimits(StrictModel):
    """The limits of the rules, from the cases printed in the paper if possible.

    Attributes:
        words: A prompt must have fewer words than this; our choice.
        items: The most items.
        stated: A prompt with this share of an item's words already states it; our choice.
    """

    words: int = Field(default=250, ge=10)
    items: int = Field(default=20, ge=1)
    stated: float = Field(default=0.75, gt=0, le=1)


def lint_checklist(
    prompt: str, entries: Sequence[Mapping[str, str]], limits: ChecklistLimits | None = None
) -> list[Lint]:
    """Return every lint of a prompt and its checklist."""
    limits = limits or ChecklistLimits()
    lints = lint_prompt(prompt, limits.words)
    if not 0 < len(entries) <= limits.items:
        lints.append(Lint("count", 0, f"{len(entries)} items; 1 to {limits.items} are allowed"))
    seen: dict[str, int] = {}
    for n, entry in enumerate(entries, 1):
        item, why = str(entry.get("item") or ""), str(entry.get("explanation") or "")
        if not item.strip():
            lints.append(Lint("empty", n, "there is no item", "item"))
            continue
        if not why.strip():
            lints.append(Lint("unexplained", n, "there is no explanation", "item"))
        if plain(item) in seen:
            lints.append(Lint("repeated", n, f"the same as item {seen[plain(item)]}", "item"))
        seen.setdefault(plain(item), n)
        details = {
            "compound": why_several_facts(item),
            "already-stated": why_already_stated(item, prompt, limits.stated),
            "unseen": why_not_visible(item),
        }
        lints += [Lint(kind, n, detail, "item") for kind, detail in details.items() if detail]
    return lints


def why_several_facts(item: str) -> str | None:
    """Return why an item seems to state more than one fact; None if it does not.

    >>> why_several_facts("Three boats lie in the harbour, and one of them is on fire")
    'a second statement: ", and one of them is"'
    >>> why_several_facts("The arrow leads from the sun to the leaf") is None
    True
    """
    text = _QUOTED.sub(" it ", item.strip())
    if match := _SENTENCES.search(text):
        return f'a second sentence: "{text[match.end() : match.end() + 40]}"'
    for joint in _PATTERNS["joint"].finditer(text):
        # The words before must be a complete statement; otherwise the verb belongs to both parts.
        if _DOING.search(text, 0, joint.start()) and (match := _SECOND.match(text, joint.end())):
            return f'a second statement: "{text[joint.start() : match.end()].strip()[:40]}"'
    if _PATTERNS["clause"].match(text):
        return "a second statement after the comma"
    if match := _PATTERNS["both"].search(text):
        return f'a second statement: "{match[0].strip()}"'
    if (match := _PATTERNS["things"].search(text)) and not _PATTERNS["together"].search(text[: match.start()]):
        return f'two things: "{match[0].strip()[:60]}"'
    if match := _PATTERNS["there"].search(text) or _PATTERNS["pair"].search(text):
        return f'two things: "{match[0].strip()[:60]}"'
    return None


def why_already_stated(item: str, prompt: str, share: float = 0.75) -> str | None:
    """Return why the prompt already states an item; None if the item needs knowledge.

    >>> why_already_stated("The Moon is copper red", "A night when the full Moon turns copper red.")
    'the prompt already says: copper, moon, red'
    >>> why_already_stated("The umbra narrows away from the Earth", "The full Moon turns copper red.") is None
    True
    """
    wanted = stems(item, _FORM)
    shared = wanted & stems(prompt)
    if len(shared) >= 2 and len(shared) >= share * len(wanted):
        return f"the prompt already says: {', '.join(sorted(shared)[:6])}"
    return None


def why_not_visible(item: str) -> str | None:
    """Return why an item cannot be seen in a picture; None if it can, for example as a label or a curve.

    >>> why_not_visible("The hymns sound solemn")
    'it cannot be seen: "hymns"'
    >>> why_not_visible("The pH at the half-equivalent point equals the pKa") is None
    True
    """
    text = _QUOTED.sub(" ", item)
    match = _PATTERNS["unseen"].search(text)
    return f'it cannot be seen: "{match[0]}"' if match and not _PATTERNS["named"].search(text) else None


RULES = WordingRules(ChecklistLimits, ERRORS, "checklist", lint_checklist)
"""The rules of wording as recipes declare them."""
