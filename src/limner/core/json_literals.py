"""Reads values in JSON or Python literals, with comments, trailing commas and typographic quotes.

The grammar is a superset of JSON: what strict JSON means, it means here, save that repeated keys, NaN,
Infinity and halves of surrogate pairs are refused. Nothing is closed or guessed; the work is linear.
"""

from __future__ import annotations

import json
import math
import re

from .asks import Unreadable
from .json_text import MAX_DEPTH, check_depth

MAX_DIGITS = 500

_DOUBLE, _SINGLE = "“”", "‘’"
# Each class both opens and closes: a stray opening quote is closed by the next, and scanning stays linear.
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
"""What may be beyond a float, which begins at 309 digits."""
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class Ended(Unreadable):
    """The text ends before the value does."""

    def __init__(self) -> None:
        super().__init__("the object ends before it is closed")


def is_gap(text: str, start: int, end: int) -> bool:
    """Whether nothing but white space and comments stands between two places."""
    return _GAP.fullmatch(text, start, end) is not None


class Reader:
    """Reads values out of one text.

    Attributes:
        at: Where the last reading ended or failed.
        keyed: Whether the last reading met a quoted key with its colon: the sign of an object, not of prose.
    """

    def __init__(self, text: str) -> None:
        self.text, self.at, self.keyed = text, 0, False
        # Of halves of surrogate pairs in escapes, and of numbers too large, the quick reading would not tell.
        plain = "\\u" not in text and (text.isascii() or _SURROGATE.search(text) is None)
        self._plain = plain and _LARGE.search(text) is None

    def read(self, start: int) -> object:
        """The value that starts at `start`; raises `Unreadable`, or `Ended` when the text stops inside it."""
        self.at, self.keyed = start, False
        return self._strict(start) or self._value(0)

    def _strict(self, start: int) -> object:
        """The value where it is strict JSON and means the same here; otherwise None, and the place is unchanged.

        Tried until it fails once: a text with many beginnings is still read in linear time.
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
        found: dict[str, object] = {}
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
            if key in found:
                self.at = start
                raise Unreadable(f"the key {_quoted(key)} is given twice")
            found[key] = self._value(depth)
            self._comma("}")
        self.at += 1
        return found

    def _items(self, close: str, depth: int) -> tuple[list[object], bool]:
        found: list[object] = []
        comma = False
        self.at += 1
        while self._peek() != close:
            found.append(self._value(depth))
            comma = self._comma(close)
        self.at += 1
        return found, comma

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
            raise Ended
        found = _ESCAPE.sub(_unescape, match[1]) if "\\" in match[1] else match[1]
        if _SURROGATE.search(found):
            try:
                found = found.encode("utf-16", "surrogatepass").decode("utf-16")
            except UnicodeDecodeError:
                raise Unreadable("half of a surrogate pair stands in a string") from None
        self.at = match.end()
        return found

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
            raise Ended
        raise Unreadable(f"a value was expected, not {_quoted(word or self.text[self.at])}")

    def _peek(self) -> str:
        gap = _GAP.match(self.text, self.at)
        self.at = gap.end() if gap else self.at
        if self.at == len(self.text):
            raise Ended
        return self.text[self.at]


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _finite(word: str) -> float:
    """A number within the bounds."""
    if len(word) > MAX_DIGITS:
        raise ValueError("too many digits")
    value = float(word)
    if not math.isfinite(value):
        raise ValueError("too large")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_finite)


def _unescape(match: re.Match[str]) -> str:
    """One escape; what neither JSON nor Python escapes, such as LaTeX's \\alpha, keeps its backslash."""
    body = match[1]
    if len(body) == 1:
        return _ESCAPED.get(body, match[0])
    code = int(body[1:], 16)
    return chr(code) if code <= 0x10FFFF else match[0]


def _quoted(text: str) -> str:
    return json.dumps(text[:60])
