"""Extraction of a complete SVG element from a model's reply, without thinking, prose and fences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .document import BadSvg

MAX_CHARS = 8 * 2**20

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.IGNORECASE | re.DOTALL)
_LONE_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_MARK = re.compile(r"<!--|<!\[CDATA\[|<(?:[\w.-]+:)?svg(?=[\s/>])|</(?:[\w.-]+:)?svg\s*>")
_TAG_REST = re.compile(r"""(?:[^>"']++|"[^"]*+"|'[^']*+')*+>""")
_ENDS = {"<!--": "-->", "<![CDATA[": "]]>"}


def extract(reply: str) -> str:
    """Return the SVG element in a model's reply, without the text around it.

    The last one inside a fence is taken; if there is none in fences, the last one in the text. A nested picture is part
    of the outer one. SVG in a model's thinking does not count.

    Raises:
        BadSvg: There is none, or the last one is never closed.
    """
    if len(reply) > MAX_CHARS:
        raise BadSvg(f"the reply has {len(reply):,} characters; at most {MAX_CHARS:,} are taken")
    text = _THOUGHT.sub("\n", reply)
    if thoughts := list(_LONE_THOUGHT_END.finditer(text)):
        # Some chat templates contain the opening tag, so it is missing from the reply.
        text = text[thoughts[-1].end() :]
    # Fence lines alternate: one opens, the next one closes.
    parts = _FENCE.split(text)
    pictures = [*_pictures(parts[0::2]), *_pictures(parts[1::2])]
    if not pictures:
        raise BadSvg("there is no <svg> element in the reply: write one whole SVG file, from <svg to </svg>")
    if pictures[-1] is None:
        raise BadSvg("the SVG is cut off: </svg> is missing. Write the whole file, shorter if need be")
    return pictures[-1]


def _pictures(parts: list[str]) -> list[str | None]:
    return [picture for part in parts for picture in _in_part(part)]


def _in_part(text: str) -> Iterator[str | None]:
    """Yield every outermost picture in order; finally None if one is never closed, which hides all after it."""
    opened: list[tuple[int, bool]] = []
    whole: list[tuple[int, int]] = []
    endless: set[str] = set()
    at = 0
    while mark := _MARK.search(text, at):
        at = mark.end()
        if end := _ENDS.get(mark[0]):
            # A comment that never ends hides nothing: outside a picture, it is prose.
            stop = -1 if end in endless else text.find(end, at)
            if stop < 0:
                endless.add(end)
            else:
                at = stop + len(end)
        elif mark[0].startswith("</"):
            if opened:
                start, _ = opened.pop()
                while whole and whole[-1][0] > start:
                    whole.pop()
                whole.append((start, at))
        elif rest := _TAG_REST.match(text, at):
            at = rest.end()
            if text[mark.start() - 1 : mark.start()] == "`" and text.startswith("`", at):
                continue  # A tag in backticks is only mentioned.
            if rest[0].endswith("/>"):
                if not opened:
                    whole.append((mark.start(), at))
            else:
                opened.append((mark.start(), bool(rest[0][:-1].strip())))
        else:
            opened.append((mark.start(), True))
            break
    # Prose mentions "<svg>" without attributes.
    begun = min((start for start, attributes in opened if attributes), default=None)
    for start, end_at in whole:
        if begun is None or start < begun:
            yield text[start:end_at]
    if begun is not None:
        yield None
