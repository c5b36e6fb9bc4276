"""JSON parsing: strict and bounded for services, lenient for models' replies; and access to values by path."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .asks import Unreadable

MAX_DEPTH = 50
"""The deepest nesting of lists and objects in a valid reply."""
MAX_PARTS = 1_000_000
"""The maximum number of lists, objects and items in one text: in memory, each is many times its size as text."""
_NESTS = (dict, list, tuple)
_DEEP = f"nested more than {MAX_DEPTH} deep"
_TEXT = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


class TooComplex(ValueError):
    """JSON that is nested too deeply or has too many parts."""


def parse_json(data: bytes | str) -> Any:
    """Parse JSON; NaN, infinities and numbers too large for a float are kept as text.

    Raises:
        ValueError: The data is not JSON.
        TooComplex: It is nested too deeply or has too many parts.
    """
    if isinstance(data, bytes):
        data = data.decode(json.detect_encoding(data), "surrogatepass")
    if sum(map(data.count, ",[{")) > MAX_PARTS and _parts(data) > MAX_PARTS:
        raise TooComplex(f"more than {MAX_PARTS:,} parts")
    try:
        value = json.loads(data, parse_constant=str, parse_float=_number)
    except RecursionError:
        raise TooComplex(_DEEP) from None
    check_depth(value)
    return value


def check_depth(value: Any) -> None:
    """Refuse values nested too deeply for recursive functions.

    Raises:
        TooComplex: The value is nested more than `MAX_DEPTH` deep.
    """
    level = [value] if isinstance(value, _NESTS) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return
        inside = [container.values() if isinstance(container, dict) else container for container in level]
        level = [item for items in inside for item in items if isinstance(item, _NESTS)]
    if level:
        raise TooComplex(_DEEP)


def _parts(data: str) -> int:
    """Return an upper bound on the number of parts; characters inside strings do not count."""
    bare = _TEXT.sub("", data)
    return sum(map(bare.count, ",[{"))


def _number(word: str) -> float | str:
    number = float(word)
    return number if math.isfinite(number) else word


MAX_DIGITS = 500
_DOUBLE, _SINGLE = "“”", "‘’"
# Each character class matches both opening and closing quotes, so that the next quote always closes a string and
# scanning stays linear.
_STRINGS = {
    quote: re.compile(rf"[{marks}]((?:[^{marks}\\]++|\\.)*+)[{marks}]", re.DOTALL)
    for marks in ('"', "'", _DOUBLE, _SINGLE)
    for quote in marks
}
_GAP = re.compile(r"(?:[\s\ufeff\u200b]++|//[^\n]*+|#[^\n]*+)*+")
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*+)(\.[0-9]*+)?+|(\.[0-9]++))([eE][+-]?[0-9]++)?+(?![\w.])", re.ASCII)
_WORD = re.compile(r"[\w.+-]*+")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = dict(zip("bfnrt", "\b\f\n\r\t", strict=True)) | {c: c for c in f"\"'\\/{_DOUBLE}{_SINGLE}"}
_LARGE = re.compile(r"[0-9]{309}")
"""Integers of 309 digits or more, which may be too large for a float."""
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class TextEnded(Unreadable):
    """An error for a text that ends inside a value."""

    def __init__(self) -> None:
        super().__init__("the object ends before it is closed")


def is_blank_between(text: str, start: int, end: int) -> bool:
    """Return whether only white space and comments lie between two positions."""
    return _GAP.fullmatch(text, start, end) is not None


class ReplyReader:
    """A lenient reader of JSON values in one text.

    Attributes:
        at: The position where the last reading ended or failed.
        keyed: Whether the last reading met a quoted key with a colon, the sign of an object rather than prose.
    """

    def __init__(self, text: str) -> None:
        self.text, self.at, self.keyed = text, 0, False
        # The strict parser would accept lone surrogates in escapes and numbers that are too large.
        plain = "\\u" not in text and (text.isascii() or _SURROGATE.search(text) is None)
        self._plain = plain and _LARGE.search(text) is None

    def read(self, start: int) -> object:
        """Return the value that starts at `start`.

        Raises:
            Unreadable: It cannot be read; `TextEnded` if the text ends inside it.
        """
        self.at, self.keyed = start, False
        return self._strict(start) or self._value(0)

    def _strict(self, start: int) -> object:
        """Return the value if it is strict JSON; otherwise return None and keep the position.

        After the first failure it is not tried again, so that a text with many brackets is read in linear time.
        """
        if not self._plain:
            return None
        try:
            value, end = _DECODER.raw_decode(self.text, start)
            check_depth(value)
        except (ValueError, OverflowError, RecursionError):
            self._plain = False
            return None
        if value:
            self.at, self.keyed = end, True
        return value

    def _value(self, depth: int) -> object:
        mark = self._peek()
        if depth == MAX_DEPTH and mark in "{[(":
            raise Unreadable(f"nested more than {MAX_DEPTH} deep")
        if mark == "{":
            return self._object(depth + 1)
        if mark == "[":
            return self._items("]", depth + 1)[0]
        if mark == "(":
            items, comma = self._items(")", depth + 1)
            return items if comma or len(items) != 1 else items[0]
        return self._string(mark) if mark in _STRINGS else self._scalar()

    def _object(self, depth: int) -> dict[str, object]:
        members: dict[str, object] = {}
        self.at += 1
        while (mark := self._peek()) != "}":
            if mark not in _STRINGS:
                raise Unreadable("a key in double quotes was expected")
            start = self.at
            key = self._string(mark)
            if self._peek() != ":":
                raise Unreadable("a colon was expected after a key")
            self.at += 1
            self.keyed = True
            if key in members:
                self.at = start
                raise Unreadable(f"the key {_quoted(key)} is given twice")
            members[key] = self._value(depth)
            self._comma("}")
        self.at += 1
        return members

    def _items(self, close: str, depth: int) -> tuple[list[object], bool]:
        items: list[object] = []
        comma = False
        self.at += 1
        while self._peek() != close:
            items.append(self._value(depth))
            comma = self._comma(close)
        self.at += 1
        return items, comma

    def _comma(self, close: str) -> bool:
        mark = self._peek()
        if mark not in (",", close):
            raise Unreadable(f"a comma or {close} was expected")
        self.at += mark == ","
        return mark == ","

    def _string(self, quote: str) -> str:
        match = _STRINGS[quote].match(self.text, self.at)
        if not match:
            self.at = len(self.text)
            raise TextEnded
        text = _ESCAPE.sub(_unescape, match[1]) if "\\" in match[1] else match[1]
        if _SURROGATE.search(text):
            try:
                text = text.encode("utf-16", "surrogatepass").decode("utf-16")
            except UnicodeDecodeError:
                raise Unreadable("half of a surrogate pair stands in a string") from None
        self.at = match.end()
        return text

    def _scalar(self) -> object:
        if number := _NUMBER.match(self.text, self.at):
            if len(number[0]) > MAX_DIGITS:
                raise Unreadable(f"a number has more than {MAX_DIGITS} digits")
            if not math.isfinite(float(number[0])):
                raise Unreadable("a number is too large")
            value = float(number[0]) if any(number.groups()) else int(number[0])
            self.at = number.end()
            return value
        match = _WORD.match(self.text, self.at)
        word = match[0] if match else ""
        if word in _WORDS:
            self.at += len(word)
            return _WORDS[word]
        if word.lstrip("+-").lower() in ("nan", "inf", "infinity"):
            raise Unreadable("NaN and Infinity are not allowed")
        if self.at + len(word) == len(self.text):
            raise TextEnded
        raise Unreadable(f"a value was expected, not {_quoted(word or self.text[self.at])}")

    def _peek(self) -> str:
        gap = _GAP.match(self.text, self.at)
        self.at = gap.end() if gap else self.at
        if self.at == len(self.text):
            raise TextEnded
        return self.text[self.at]


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is given twice")
    return members


def _finite(word: str) -> float:
    """Parse a number, refusing those that are too long or too large."""
    if len(word) > MAX_DIGITS:
        raise ValueError("too many digits")
    value = float(word)
    if not math.isfinite(value):
        raise ValueError("too large")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_finite)


def _unescape(match: re.Match[str]) -> str:
    """Return the character of an escape; escapes unknown to JSON and Python, such as LaTeX's \\alpha, are kept."""
    body = match[1]
    if len(body) == 1:
        return _ESCAPED.get(body, match[0])
    code = int(body[1:], 16)
    return chr(code) if code <= 0x10FFFF else match[0]


def _quoted(text: str) -> str:
    return json.dumps(text[:60])


MAX_CHARS = 400_000
_MARK = re.compile(r"(?P<think><think(?:ing)?>)|(?P<fence>(?:`{3,}+|~{3,}+)[^\S\n]*+[\w+.-]*+)|\{|\[[\s\[]*+", re.I)
_FENCE_END = re.compile(r"\s*+(?:```|~~~|\Z)")
_FENCE_LINE = re.compile(r"\n[ \t]*+(?=```|~~~)")
_THINK = re.compile(r"<think(?:ing)?>", re.I)
_THOUGHT = re.compile(r"</think(?:ing)?>", re.I)
_LONE_THOUGHT = re.compile(r"</think(?:ing)?>(?=\s*+\Z|[^\S\n]*+[\n{`])", re.I)
_BRACES = re.compile(r'[{}]|"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)


def loads(text: str) -> dict[str, object]:
    """Return the JSON object in a model's reply: the last fenced one, or the last one in the text if none is fenced.

    Args:
        text: The reply, including anything around the object.

    Returns:
        The object as `json.loads` would return it if it were strict JSON. Tuples become lists.

    Raises:
        Unreadable: There is no object, or the last one is cut off, broken, too deep or too long, repeats a key, or
            contains NaN or Infinity.
    """
    check_length(text)
    fenced: dict[str, object] | None = None
    loose: dict[str, object] | None = None
    fault: Unreadable | None = None
    fault_at = 0
    for attempt, at, in_fence in _attempts(text):
        if isinstance(attempt, Unreadable):
            if in_fence or fenced is None:
                fault, fault_at = attempt, at
        elif in_fence:
            fenced, fault = attempt, None
        elif fenced is None and (attempt or loose is None):  # An empty {} in later prose is not an answer.
            loose, fault = attempt, None
    if fault:
        column = fault_at - text.rfind("\n", 0, fault_at)
        raise Unreadable(f"{fault.args[0]} (line {text.count(chr(10), 0, fault_at) + 1}, column {column})")
    answer = loose if fenced is None else fenced
    if answer is None:
        raise Unreadable("no JSON object found")
    return answer


def check_length(text: str) -> None:
    """Refuse an overlong reply before anything parses it.

    Raises:
        Unreadable: The reply is longer than `MAX_CHARS`.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable(f"the reply is longer than {MAX_CHARS} characters")


def _attempts(text: str) -> Iterator[tuple[dict[str, object] | Unreadable, int, bool]]:
    """Yield each object, complete or not: its value or fault, its end position, and whether it is fenced."""
    reader = ReplyReader(text)
    at = _after_lone_thought(text)
    opening: int | None = at
    fence, work = False, 0
    while mark := _MARK.search(text, at):
        at, start = mark.end(), mark.start()
        if mark["think"]:
            at = _after_thought(text, at)
        if mark["think"] or mark["fence"]:
            opening, fence = at, bool(mark["fence"])
            continue
        opens = opening is not None and is_blank_between(text, opening, start)
        opening = None
        try:
            value = reader.read(start)
        except Unreadable as error:
            work += reader.at - start
            if work > 2 * len(text) + 10_000:  # Overlapping failed attempts could take quadratic time.
                raise Unreadable("too many brackets that hold no JSON") from None
            if not reader.keyed and not (opens and mark[0] == "{"):
                at = _after_braces(text, start) if mark[0] == "{" else at
                continue
            if isinstance(error, TextEnded):
                raise
            yield error, reader.at, opens and fence
            # A complete object inside a broken one would look like an answer, so reading resumes only at a new fence.
            line = _FENCE_LINE.search(text, at)
            at = line.end() if line else len(text)
        else:
            at = reader.at
            if isinstance(value, dict):
                yield value, at, bool(opens and fence and _FENCE_END.match(text, at))


def _after_thought(text: str, at: int) -> int:
    if thought := _THOUGHT.search(text, at):
        return thought.end()
    raise Unreadable("the reply ends inside its thinking")


def _after_lone_thought(text: str) -> int:
    """Return where the answer starts, for replies whose opening thinking tag was removed by the chat template."""
    if _THINK.search(text):
        return 0
    return max((m.end() for m in _LONE_THOUGHT.finditer(text)), default=0)


def _after_braces(text: str, start: int) -> int:
    """Return the position after the brace that closes the one at `start`, to skip everything inside."""
    depth = 0
    for mark in _BRACES.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if not depth:
            return mark.end()
    raise TextEnded


ANY = "*"
"""A path step that matches every item; the first item in which the rest of the path has a value is used."""
_FIELD_GAP = re.compile(r"\{([\w*.-]+)\}")


def value_at(value: Any, path: str) -> Any:
    """Return the value at a path, or None if there is none.

    >>> value_at({"data": [{"url": "a"}]}, "data.0.url"), value_at({"x": {"b": 1}}, "*.b")
    ('a', 1)
    >>> value_at([], "0") is None
    True
    """
    step, dot, rest = path.partition(".")
    if isinstance(value, list):
        value = {str(place): item for place, item in enumerate(value)}
    if not isinstance(value, Mapping):
        return None
    items = value.values() if step == ANY else [value.get(step)]
    inner = (value_at(item, rest) if dot else item for item in items)
    return next((item for item in inner if item is not None), None)


def first_value_at_path(value: Any, paths: Iterable[str]) -> Any:
    """Return the value at the first path that has one, or None."""
    return next((inner for path in paths if (inner := value_at(value, path)) is not None), None)


def set_at_path(value: dict[str, Any], path: str, item: Any) -> None:
    """Set the item at a dotted path, creating missing dictionaries along the way.

    >>> body = {"input": {"prompt": "p"}}
    >>> set_at_path(body, "input.image", 7), body
    (None, {'input': {'prompt': 'p', 'image': 7}})
    """
    *way, last = path.split(".")
    for step in way:
        if not isinstance(value.get(step), dict):
            value[step] = {}
        value = value[step]
    value[last] = item


def gap_names(template: Any) -> Iterator[str]:
    """Yield the names of all gaps in a template: a text, or a list or dictionary of templates."""
    if isinstance(template, str):
        yield from _FIELD_GAP.findall(template)
    elif isinstance(template, dict | list):
        for item in template.values() if isinstance(template, dict) else template:
            yield from gap_names(item)


def fill(template: Any, word: Callable[[str], Any]) -> Any:
    """Return the template with its gaps filled.

    A text that consists of a single gap becomes the value itself, whatever its type. Fields and items with a gap whose
    value is None are omitted.

    >>> fill({"a": "{n}", "b": "{no}", "c": "n={n}"}, {"n": 7}.get)
    {'a': 7, 'c': 'n=7'}
    """
    if isinstance(template, dict):
        filled = {key: fill(item, word) for key, item in template.items()}
        return {key: item for key, item in filled.items() if item is not None}
    if isinstance(template, list):
        return [item for item in (fill(item, word) for item in template) if item is not None]
    if not isinstance(template, str):
        return template
    if whole := _FIELD_GAP.fullmatch(template):
        return word(whole[1])
    words = {name: word(name) for name in _FIELD_GAP.findall(template)}
    return None if None in words.values() else _FIELD_GAP.sub(lambda gap: str(words[gap[1]]), template)
