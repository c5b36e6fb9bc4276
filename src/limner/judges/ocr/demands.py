"""The labels and axis names that a criterion requires in the text of a drawing.

A criterion that asks where something is, how it is drawn or how often is never proved by words alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ...core.marks import Criterion
from .matching import GENERIC, SIGN_LENGTH, TABLES, tokens

MAX_WORDS = 5
"""The most words in a label; a longer phrase is a description."""

LETTERS = 4
"""The minimum length of a label's longest word; the absence of labels with only shorter words proves nothing."""

MANY_SIGNS = 5
"""The number of different letters and numbers that a drawing hardly contains by chance; fewer prove nothing."""

AXES = {"x": "x", "horizontal": "x", "y": "y", "vertical": "y"}
"""The axis that each word for an axis means."""

SLOT = "□"
"""The placeholder for the labels in a shell, which is a criterion without its labels."""

_OPENERS = frozenset(TABLES["openers"])
_STOPS = frozenset(TABLES["stops"])
_COUNTS = {word: count for count, word in enumerate(TABLES["counts"], 2)}
_DRAWINGS = frozenset(TABLES["drawings"])
_POSITIONS = frozenset(TABLES["position"])
_ARTICLES = frozenset({"a", "an", "the"})
_VERBS = frozenset({"labeled", "labelled", "is", "are", "does", "do", "has", "have", "shown", "placed", "marked"})
_MORE = frozenset(TABLES["other_modifiers"]) - set(TABLES["there"]) - {"and", "or"} | {"exactly", "every"}
"""Words that ask for more than a label: its correctness, its look, its number."""
_PLACING = frozenset(TABLES["geometry"]) | frozenset(TABLES["placing"]) | _POSITIONS | {"and", "or"}
"""Words before "labeled" that ask where something is, how it is drawn or how often, or that name a second thing."""


def any_of(words: Iterable[str]) -> str:
    """Return a regular expression for any of these words, the longest first."""
    return "(?:" + "|".join(re.escape(w).replace(r"\ ", " ") for w in sorted(words, key=len, reverse=True)) + ")"


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_PLAIN = rf"(?:{any_of(TABLES['plain_adverbs'])} )*"
_MODIFIERS = rf"(?:{any_of(TABLES['plain_adverbs'] + TABLES['other_modifiers'])},? )*"
_THERE = rf"(?:{_PLAIN}{any_of(TABLES['there'])},? (?:and )?)*"
_DRAWING = any_of(_DRAWINGS)
_PLACE = rf"(?: (?:in|on) (?:the |each |this )?(?:\w+ )?{_DRAWING})?"
_LABELED = r"label(?:l?ed)"
_WRITING = r"(?:label|annotation|title|caption|heading|text|note|word|phrase)s?"
_HAS = rf"(?:(?:is|are)(?: there)?|does the {_DRAWING} {_PLAIN}(?:include|contain|have|show|carry|display))"
_AXIS = rf"(?:the )?{any_of(AXES)}"
_SIDE = rf"(?:(?:on|along) {_AXIS}[- ]axis|\({_AXIS}(?:[- ]axis)?\))"
_NAME = r"(?:'[^']+'|\"[^\"]+\"|(?:(?! and |'|\"|[,;:?]|\bax[ie]s\b).)+?)"

_REFUSED = _compile(rf"(?<!\w){any_of(TABLES['refuse'])}\b")
_CUE = _compile(rf"\b{any_of(TABLES['cues'])}\b")
_QUOTED = re.compile(r"""(?<![\w'"])(['"])(?=\S)(.+?)\1(?!\w)""")
_SLOTS = re.compile(rf"{SLOT}(?:(?:,| and| or|/| &)+ ?(?:the )?{SLOT})+")
_BRACKET = re.compile(r"(?:(?<=\s)|^)\(([^()]+)\)")
"""A separate bracket, unlike the one in f(x)."""
_REMARK = _compile(rf"(?:(?:at|in|on) )?(?:the )?{any_of(_POSITIONS)}(?:[ -](?:axis|side|panel|curve|of .*|the .*))?")
"""A remark on a label's position, as opposed to another name for it."""
_AFTER_LABELED = _compile(
    rf"(?P<before>\b\w+ )?\b(?:{_LABELED}|annotated|titled) (?P<link>as |with |by )?"
    r"(?=(?P<list>(?!and |or |but |[^\w(])\S.*)$)"
)
_GOES_ON = _compile(r" (?:in|to|for|from|per|by|between|at|\w+ed)\b")
_BEFORE_LABELED = _compile(
    rf"^(?:is|are) (?P<list>(?!there\b|these\b|those\b).+?) {_MODIFIERS}{_LABELED}\b"
    r"(?! (?:at \d|from |with |as |by |to ))"
)
_AXIS_NAMES = _compile(
    rf"(?:{any_of(TABLES['axis_openers'])} )++(?P<name1>{_NAME}) (?P<side1>{_SIDE}),? and (?P<name2>{_NAME}) "
    rf"(?P<side2>{_SIDE})"
)
_SHELLS = tuple(
    _compile(pattern)
    for pattern in (
        rf"(?:is|are) {SLOT} {_THERE}{_PLAIN}{_LABELED}{_PLACE}",
        rf"{_HAS} (?:[\w'-]+ ){{0,7}}[\w'-]+ {_THERE}{_PLAIN}(?:{_LABELED}|titled|captioned) (?:as |with |by )?"
        rf"(?:the )?(?:{_WRITING} )?{SLOT}{_PLACE}",
        rf"{_HAS} (?:(?:the|an?|clear) )?(?:\w+ )?{_WRITING} (?:(?:for|of|reading|saying) )?{SLOT}"
        rf"(?: {_PLAIN}(?:present|included|shown|visible|written))?{_PLACE}",
        rf"(?:is|are) the (?:\w+ )?\w+ {SLOT} {_PLAIN}written{_PLACE}",
    )
)
"""Whole criteria that ask for nothing but the words in the slot."""
_SEPARATOR = re.compile(r"\s*(?:,\s+(?:and/or |and |or )?|\s(?:and/or|and|or|&)\s|;\s)\s*")
_WORD = re.compile(r"[A-Za-zÀ-ž](?:[a-zß-ž]|['-][A-Za-zÀ-ž]?)*|[A-Z]+")
_SYMBOL = re.compile(r"[^\W\d_]?['\d]{0,4}[^\W_]?|\d+")
_ACRONYM = re.compile(r"[A-Z]{2,6}")
_OTHER_NAME = re.compile(r"[A-Z]{3,}|[A-Za-z .-]*[a-z]{3}[A-Za-z .-]*|[A-Za-z]+/[\w·^]+")
_PARTICULAR = re.compile(r"[A-Z]{1,2}['′]?|[b-z]|\w?\d+")
_RANGE = re.compile(r"\d\s?[-–]\s?\d")
_MARK = "\x00"
_STRAIGHT = str.maketrans({**dict.fromkeys("‘’‚‛", "'"), **dict.fromkeys("“”„‟", '"'), "‑": "-", "\u00a0": " "})


@dataclass(frozen=True, slots=True)
class Label:
    """Words that must be in a drawing.

    Attributes:
        text: The label as the criterion writes it.
        variants: Other wordings that the criterion allows.
        firm: Whether the absence of the words proves anything. It does not for symbols, formulas and single letters,
            which OCR misses, and for descriptions, which a drawing may word differently.
    """

    text: str
    variants: tuple[str, ...] = ()
    firm: bool = False


@dataclass(frozen=True, slots=True)
class LabelClaim:
    """The requirements of a criterion on the text in a drawing.

    Attributes:
        labels: The required labels.
        mode: Whether all labels are required, or any one is enough.
        sufficient: Whether the criterion asks for nothing else, so that finding the labels proves it met.
        axes: If the criterion names both axes, the axis that each label names: ``x`` or ``y``.
    """

    labels: tuple[Label, ...]
    mode: Literal["all", "any"]
    sufficient: bool
    axes: tuple[str, ...] = ()


def claim_of(criterion: Criterion) -> LabelClaim | None:
    """Return the text that a criterion requires in a drawing: labels named by its rubric, or else by its wording."""
    if not criterion.labels:
        return demand(criterion.text)
    labels = [Label(text, criterion.also, names_something(text, quoted=True)) for text in criterion.labels]
    return LabelClaim(tuple(labels), "all", True)


def demand(text: str) -> LabelClaim | None:
    """Return the labels that the wording of a criterion requires.

    Args:
        text: A yes-or-no question about a drawing.

    Returns:
        The required labels; None if words prove nothing or the criterion does not prescribe any.

    >>> [label.text for label in demand("Is a valve shown on the left and labeled 'Inlet valve'?").labels]
    ['Inlet valve']
    >>> demand("Are the axes labeled with wage on the vertical axis and employment on the horizontal axis?").axes
    ('y', 'x')
    >>> demand("Is the curve smooth?") is None
    True
    """
    body = " ".join(text.translate(_STRAIGHT).split()).rstrip(" ?.")
    if _REFUSED.search(body):
        return None
    if named := _axis_names(body):
        return named
    reading = _quoted(body) if _QUOTED.search(body) else _listed(body)
    if reading is None:
        return None
    labels, shell, link = reading
    if link == "mixed" or not labels or not all(tokens(label.text) for label in labels):
        return None
    return LabelClaim(tuple(labels), "any" if link == "or" else "all", _asks_no_more(shell, labels))


def names_something(text: str, variants: tuple[str, ...] = (), *, quoted: bool) -> bool:
    """Return whether a label is a plain name, which OCR would read and a drawing would not word differently."""
    words = [w for w in (w.strip("(),.:;!?") for w in text.replace("/", " ").split()) if w]
    if not any(len(w) >= LETTERS and _WORD.fullmatch(w) for w in words):
        return False
    if quoted:
        return True
    if not all(map(_OTHER_NAME.fullmatch, variants)) or any(map(_ACRONYM.fullmatch, words)):
        return False
    return all(_WORD.fullmatch(w) and w.lower() not in GENERIC | _ARTICLES for w in words)


def _axis_names(body: str) -> LabelClaim | None:
    """Return the names of both axes if a criterion asks for them and nothing else."""
    match = _AXIS_NAMES.fullmatch(body)
    if not match:
        return None
    labels = []
    for name in match.group("name1", "name2"):
        quoted, plain = bool(_QUOTED.fullmatch(name)), name.strip("'\" ").removeprefix("the ")
        described = len(plain.split()) > MAX_WORDS or _has_stop(plain.lower().split())
        if len("".join(tokens(plain))) <= SIGN_LENGTH or (described and not quoted):
            return None
        labels.append(Label(plain, firm=names_something(plain.partition("(")[0], quoted=quoted)))
    axes = tuple(AXES[re.findall(any_of(AXES), side.lower())[0]] for side in match.group("side1", "side2"))
    return LabelClaim(tuple(labels), "all", True, axes) if len(set(axes)) == len(axes) else None


def _quoted(body: str) -> tuple[list[Label], str, str] | None:
    """Return the labels in quotation marks, the criterion without them, and the word that joins them."""
    shell = _QUOTED.sub(SLOT, body)
    if not _CUE.search(shell):
        return None
    texts = [match[2].strip(" ,.;") for match in _QUOTED.finditer(body)]
    labels = [Label(text, firm=names_something(text, quoted=True)) for text in dict.fromkeys(texts) if text]
    between = shell[shell.find(SLOT) : shell.rfind(SLOT) + 1]
    return labels, _SLOTS.sub(SLOT, shell), _joined_by(between)


def _listed(body: str) -> tuple[list[Label], str, str] | None:
    """Return the labels named without quotation marks, the criterion without them, and the word that joins them."""
    for start, phrase, sure in _lists(body):
        items = list(_items(phrase))
        names = [item for item in items if item]
        whole = len(names) == len(items)
        if names:
            labels = [Label(*name, sure and whole and names_something(*name, quoted=False)) for name in names]
            shell = body[:start] + (SLOT if whole else "…") + body[start + len(phrase) :]
            return labels, shell, _joined_by(phrase)
    return None


def _lists(body: str) -> Iterator[tuple[int, str, bool]]:
    """Yield phrases that may list labels, the likeliest first: position, words, and whether absence proves anything."""
    for match in _AFTER_LABELED.finditer(body):
        if _names_label(match):
            rest = match["list"]
            phrase = _upto_stop(rest)
            # "labeled as the internal matrix" more often explains a label than quotes it, and "labeled as increase
            # in ..." gives only the beginning of the label.
            sure = not rest.lower().startswith("the ") and not _GOES_ON.match(rest[len(phrase) :])
            yield match.start("list"), phrase, sure
    before = _BEFORE_LABELED.search(body)
    if before and not _has_stop(_BRACKET.sub("", before["list"]).lower().replace(",", "").split()):
        yield before.start("list"), before["list"], True


def _names_label(match: re.Match[str]) -> bool:
    """Return whether the words after "labeled" are the label: "labeled as time", "labeled A", "a labeled pump"."""
    first = match["list"].split()[0].strip(",")
    if match["link"] == "as " or (not match["link"] and (match["before"] or "").lower() in {"a ", "an "}):
        return first.lower() not in _DRAWINGS
    return bool(_SYMBOL.fullmatch(first)) or first[:1].isupper() or not first.isalpha()


def _upto_stop(phrase: str) -> str:
    """Return the phrase up to the first word that cannot be part of a label."""
    kept: list[str] = []
    for word in phrase.split():
        bare = word.strip("(),.;:").lower()
        if bare in _VERBS and "and" in kept:
            # "labeled A and two windings labeled B": the words after the last "and" are not part of the list.
            kept = kept[: len(kept) - 1 - kept[::-1].index("and")]
            break
        if _has_stop([bare]) or _leaves_list(bare, kept):
            break
        kept.append(word)
        if word.endswith((";", ":", ".")):
            break
    while kept and kept[-1].strip(",").lower() in {"and", "or", "but", *_ARTICLES}:
        kept.pop()
    return " ".join(kept).strip(" ,;:.")


def _leaves_list(word: str, kept: list[str]) -> bool:
    """Return whether a word continues the sentence after the list: "labeled A, B, spanning", "labeled P located"."""
    if not kept or kept[-1] in {"and", "or"}:
        return False
    return bool(re.fullmatch(r"\w{3,}ing" if kept[-1].endswith(",") else r"\w{4,}(?:ed|ly)", word))


def _has_stop(words: Iterable[str]) -> bool:
    return any(word in _STOPS and len(word) > 1 for word in words)


def _items(phrase: str) -> Iterator[tuple[str, tuple[str, ...]] | None]:
    """Yield each label of a list with its other names, given in brackets; None for each part that is not a label.

    >>> list(_items("the soma (cell body), axon and axes"))
    [('soma', ('cell body',)), ('axon', ()), None]
    >>> list(_items("the two chambers (left atrium and right atrium)"))
    [('left atrium', ()), ('right atrium', ())]
    """
    inner = [match[1] for match in _BRACKET.finditer(phrase)]
    parts = [part for part in _SEPARATOR.split(_BRACKET.sub(_MARK, phrase)) if part.strip(f" {_MARK}")]
    words = [part.replace(_MARK, " ").strip(" ,").split() for part in parts]
    if inner and all(_SEPARATOR.search(text) and re.search(r"[^\W\d_]", text) for text in inner):
        # "the four chambers (left atrium, ...)": the words outside the brackets only describe the list inside.
        listed = [item for text in inner for item in _items(text)]
        count = sum(_COUNTS.get(word.lower(), 0) for head in words for word in head)
        yield from listed
        if not all(_MARK in part for part in parts) or count not in (0, len(listed)):
            yield None
        return
    brackets = iter(inner)
    for part, head in zip(parts, words, strict=True):
        yield _item(head, [next(brackets) for _ in range(part.count(_MARK))])


def _item(words: list[str], remarks: list[str]) -> tuple[str, tuple[str, ...]] | None:
    # "all four surfaces" and "periods 1-7" refer to a set without naming its members.
    of_a_set = words[0].lower() in TABLES["quantifiers"] and not _SYMBOL.fullmatch(words[-1])
    if any(map(_REMARK.fullmatch, remarks)) or of_a_set or _RANGE.search(" ".join(words)):
        return None
    while words and words[0].lower() in _OPENERS and (len(words) > 1 or len(words[0]) > 1):
        words = words[1:]
    lower = [word.lower() for word in words]
    if not words or len(words) > MAX_WORDS or _has_stop(lower):
        return None
    if (GENERIC | _POSITIONS).issuperset(words) or re.fullmatch(r"\w{3,}ly", " ".join(lower)):
        return None
    return " ".join(words), tuple(remark for remark in remarks if len(remark.split()) <= MAX_WORDS)


def _joined_by(phrase: str) -> str:
    """Return the word that joins a list: "and", "or", "mixed" for both, or "" for neither."""
    bare = f" {re.sub(r'[(),]', ' ', phrase)} ".replace(" and/or ", " or ").replace(" & ", " and ").lower()
    if " and " in bare and " or " in bare:
        return "mixed"
    return "and" if " and " in bare else "or" if " or " in bare else ""


def _asks_no_more(shell: str, labels: list[Label]) -> bool:
    """Return whether a criterion asks for nothing but its labels, and these cannot occur by chance."""
    plain = ["".join(tokens(label.text)) for label in labels]
    signs = [text for text in plain if len(text) <= SIGN_LENGTH or text.lstrip("-").replace(".", "").isdigit()]
    if len(set(plain)) < len(plain) or (signs and len(plain) < MANY_SIGNS):
        return False
    words = shell.replace(",", " ").split()
    end = next((n for n, word in enumerate(words) if word.lower().startswith(("label", "titled", SLOT))), len(words))
    subject = [word.lower() for word in words[:end]]
    counts = {_COUNTS[word] for word in subject if word in _COUNTS}
    if counts - {len(labels)} or not _MORE.isdisjoint(map(str.lower, words)):
        return False
    if subject[-1:] == ["and"]:
        subject.pop()
    # The labeled thing may itself be identified by a sign, such as side AB.
    if not _PLACING.isdisjoint(subject) or any(map(_PARTICULAR.fullmatch, words[: len(subject)])):
        return False
    return any(pattern.fullmatch(shell) for pattern in _SHELLS)
