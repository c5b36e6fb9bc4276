"""Strategies that work on the words: rewrite, recaption, reason, structure."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import Field

from ..core.asks import Contract, Text, Unreadable
from ..core.data_files import Problems, json_lines, parse_row
from ..core.errors import UsageError
from ..core.faults import Fault
from ..core.json_text import loads
from ..core.schema import FrozenModel, Id, Words
from ..painters import PaintRequest
from ..painters.diffusers.text_encoding import SEPARATOR, reason_text
from ..store.records import load_results
from .base import Guess, Stage, Studio, facts_of

LIMIT = 4000
"""Characters of a rewritten prompt, where the painter names no limit."""
SHORT, LONG = 512, 2048
"""Tokens a painter's text encoder takes: usually, and stretched for reasoning."""


async def rewrite(request: PaintRequest, studio: Studio) -> PaintRequest:
    """AIBench's: a planner condenses a long text into a structured drawing prompt within the painter's limit."""
    facts = facts_of(studio.painter)
    limit = studio.number("limit", (facts.prompt_limit if facts else None) or LIMIT, low=200)

    def read(reply: str) -> str:
        return structured(loads(reply), request.prompt, limit)

    shown = [Text(studio.prompts.fill("rewrite", prompt=request.prompt, limit=str(limit)))]
    prompt, key = await studio.ask("planner", "rewrite", request, shown, Contract(read))
    studio.note("rewrite", text=prompt, call=key)
    return replace(request, prompt=prompt)


def structured(found: Mapping[str, Any], source: str, limit: int) -> str:
    """Return the drawing prompt behind a planner's object.

    Raises:
        Unreadable: A part is missing, a label does not stand in the source, or it is too long.
    """
    lists = {name: found.get(name) for name in ("labels", "relations")}
    for name, value in lists.items():
        if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
            raise Unreadable(f'"{name}" must be a list of texts')
    for name in ("content", "layout", "style"):
        value = found.get(name)
        if not (isinstance(value, str) and value.strip()):
            raise Unreadable(f'"{name}" must be a text')
    labels, relations = (list(dict.fromkeys(" ".join(one.split()) for one in lists[n] or ())) for n in lists)
    there = _plain(source)
    if strange := [label for label in labels if _plain(label) not in there]:
        raise Unreadable(f"these labels do not stand in the text: {', '.join(map(repr, strange[:8]))}")
    parts = [str(found["content"]).strip()]
    if labels:
        parts.append("Labels, word for word: " + ", ".join(f'"{label}"' for label in labels) + ".")
    if relations:
        parts.append("Connections:\n" + "\n".join(f"- {relation}" for relation in relations))
    parts += [f"Layout: {str(found['layout']).strip()}", f"Style: {str(found['style']).strip()}"]
    prompt = "\n\n".join(parts)
    if len(prompt) > limit:
        raise Unreadable(f"the prompt has {len(prompt)} characters; at most {limit} are allowed")
    return prompt


def _plain(text: str) -> str:
    return "".join(ch for ch in text.casefold() if ch.isalnum())


async def recaption(request: PaintRequest, studio: Studio) -> PaintRequest:
    """MMMG's baseline: a plain longer caption, without reasoning."""
    most = studio.number("tokens", SHORT, low=16)
    count = counter(studio.options.get("tokenizer"))
    words = {"prompt": request.prompt, "tokens": str(most), "words": str(most * 3 // 4)}
    reply, key = await studio.ask(
        "planner", "recaption", request, [Text(studio.prompts.fill("recaption", **words))], Contract(_said)
    )
    prompt = cut(reply, most, count)
    studio.note("recaption", text=prompt, call=key, cut=len(reply) - len(prompt) or None)
    return replace(request, prompt=prompt)


def _said(reply: str) -> str:
    text = without_thought(reply)[1]
    if not text:
        raise Unreadable("the reply has no text")
    return text


async def reason(request: PaintRequest, studio: Studio) -> PaintRequest:
    """MMMG's cascade: the planner thinks entities and dependencies through and ends in a drawing description.

    What is sent is the description, or with ``send=both`` the trace before it, cut to what the encoder takes. A FLUX
    that was trained on traces wants ``send=trained``: trace, separator and description to T5, the question to CLIP.
    ``traces=FILE`` takes both from a file in place of a planner's.
    """
    if studio.options.get("send") == "trained" and not getattr(studio.painter, "reads_short", False):
        raise Fault("bad_request", f"{studio.painter.spec} reads one text: send=trained is for a local FLUX.1")
    style = studio.options.get("style", "o3")
    facts = facts_of(studio.painter)
    known = getattr(facts, "encoder_tokens", None) or getattr(studio.painter, "encoder_tokens", None)
    most = studio.number("tokens", known or SHORT, low=16)
    count = counter(studio.options.get("tokenizer"))
    if (file := studio.options.get("traces")) is not None:
        trace, description, key = *known_trace(file, request.question), None
    else:
        words = {"prompt": request.prompt, "separator": SEPARATOR, "tokens": str(min(most, SHORT))}
        if style == "o3":
            shown = studio.prompts.fill("reason_summary", words="150", **words)
        else:
            shown = studio.prompts.fill("reason_trace", **words)
        (trace, description), key = await studio.ask("planner", "reason", request, [Text(shown)], Contract(parted))
        own = thinking(await _result(studio, key))
        trace = "\n\n".join(part for part in (own if style != "o3" else "", trace) if part)
    description = cut(description, most, count)
    prompt = description
    send = studio.options.get("send", "both" if most >= LONG else "description")
    if send == "both" and trace and (room := most - count(description) - 2) > 0:
        prompt = f"{cut(trace, room, count)}\n\n{description}".strip()
    elif send == "trained":
        prompt = reason_text(trace, description, most, count)
    studio.note("trace", text=trace, call=key)
    studio.note("description", text=description, call=key)
    if prompt != description:
        studio.note("prompt", text=prompt)
    return replace(request, prompt=prompt, short=request.prompt if send == "trained" else None)


@lru_cache(maxsize=4)
def read_traces(file: str) -> Mapping[str, tuple[str, str]]:
    """Question -> trace and final prompt, from lines with ``id``, ``trace`` and ``final_prompt``.

    Raises:
        DataError: With line and id of everything that is wrong.
    """
    problems, path = Problems(), Path(file).expanduser()
    rows = [parse_row(TraceRow, body, problems, path, line) for line, body in json_lines(path, problems)]
    problems.settle()
    return {row.id: (row.trace, row.final_prompt) for row in rows if row is not None}


class TraceRow(FrozenModel):
    """One line of a file of traces; it may have more columns."""

    id: Id
    trace: Words
    final_prompt: Words = Field(min_length=1)


def known_trace(file: str, question: str) -> tuple[str, str]:
    """Trace and final prompt of one question.

    Raises:
        Fault: The file has none: the question does not apply.
    """
    found = read_traces(file).get(question)
    if found is None:
        raise Fault("not_applicable", f"{file} has no trace for this question")
    return found


async def _result(studio: Studio, key: str) -> Mapping[str, Any]:
    found = await asyncio.to_thread(load_results, studio.calls.store, [key])
    return found.get(key, {})


def thinking(result: Mapping[str, Any]) -> str:
    """Return the thinking a service sends apart from its answer, where it does."""
    choices = (result.get("raw") or {}).get("choices") or [{}]
    message = choices[0].get("message") or {}
    said = message.get("reasoning_content") or message.get("reasoning")
    return said.strip() if isinstance(said, str) else ""


def without_thought(reply: str) -> tuple[str, str]:
    """Inline thinking (``<think>…</think>``, as small local models write it) and what comes after it.

    >>> without_thought("<think>Roots drink.</think> A tree.")
    ('Roots drink.', 'A tree.')
    """
    before, closed, after = reply.rpartition("</think>")
    if not closed:
        return "", reply.strip()
    return before.replace("<think>", "").strip(), after.strip()


def parted(reply: str) -> tuple[str, str]:
    """Trace and description of a reply.

    Raises:
        Unreadable: There is no separator, or nothing after it.
    """
    inline, rest = without_thought(reply)
    before, mark, after = rest.rpartition(SEPARATOR)
    if not mark:
        raise Unreadable(f"a line {SEPARATOR} must stand before the description")
    if not after.strip():
        raise Unreadable(f"the description after {SEPARATOR} is missing")
    return "\n\n".join(part for part in (inline, before.strip()) if part), after.strip()


def planned(written: int) -> Any:
    """Return a guess at one call of a planner's that writes so many tokens."""

    def guess(tokens: int, options: Mapping[str, str], n: int) -> list[Guess]:
        return [Guess("planner", 1, tokens + 350, written)]

    return guess


def _reasoned(tokens: int, options: Mapping[str, str], n: int) -> list[Guess]:
    """Traces that are there already cost nothing."""
    found: list[Guess] = [] if "traces" in options else planned(2000)(tokens, options, n)
    return found


REWRITE = Stage(
    "rewrite", "a planner condenses a long text into a structured drawing prompt", "words", ("planner",),
    {"limit": "characters the prompt may have; the painter's own limit by default"},
    numbers=("limit",), words=rewrite, guess=planned(1200),
)  # fmt: skip
_PIECE = re.compile(r"[^\W\d_]+|\d|_|[^\w\s]")
_STOP = re.compile(r"(?<=[.!?;:\n。！？])\s*")


def about(text: str) -> int:
    """About how many tokens an encoder such as T5 makes of a text, rather too many than too few.

    A word of up to five letters counts one, longer ones one for every five letters; digits, signs and letters of
    scripts without spaces count one each.

    >>> about("A red cell carries oxygen.")
    8
    """
    pieces = _PIECE.findall(text)
    return sum(len(piece) if ord(piece[0]) > 0x2E80 else -(-len(piece) // 5) for piece in pieces)


@lru_cache(maxsize=4)
def counter(tokenizer: str | None) -> Callable[[str], int]:
    """Counts tokens: with the encoder's own ``tokenizer.json`` where one is given, else by `about`.

    Raises:
        UsageError: The file cannot be used.
    """
    if tokenizer is None:
        return about
    try:
        from tokenizers import Tokenizer  # type: ignore[import-not-found, import-untyped, unused-ignore]

        loaded = Tokenizer.from_file(str(Path(tokenizer).expanduser()))
    except ImportError as error:
        raise UsageError("-S tokenizer needs the package tokenizers: pip install 'limner[gpu]'") from error
    except Exception as error:  # The package raises bare exceptions.
        raise UsageError(f"-S tokenizer={tokenizer}: cannot be read: {error}") from error
    return lambda text: len(loaded.encode(text, add_special_tokens=False).ids)


def cut(text: str, most: int, count: Callable[[str], int] = about) -> str:
    """As much of the text's beginning as has at most `most` tokens: whole sentences, or else whole words.

    >>> cut("One two. Three four. Five six.", 6)
    'One two. Three four.'
    """
    text = text.strip()
    if count(text) <= most:
        return text
    for pieces in (_STOP.split(text), text.split()):
        taken = range(len(pieces) + 1)
        most_taken = bisect_right(taken, most, key=lambda n: count(" ".join(pieces[:n]))) - 1
        if most_taken:
            return " ".join(pieces[:most_taken]).strip()
    return ""


RECAPTION = Stage(
    "recaption", "a planner writes a longer caption, without reasoning", "words", ("planner",),
    {"tokens": "its length at most; 512 by default", "tokenizer": "tokenizer.json of the painter's encoder"},
    numbers=("tokens",), words=recaption, guess=planned(700),
)  # fmt: skip
REASON = Stage(
    "reason", "a planner thinks through entities and dependencies, then describes the drawing", "words", ("planner",),
    {
        "style": "o3 (a summary), r1 (the whole trace, apart) or r1-7b (a local model's, inline)",
        "send": "description; both: the trace before it; trained: as a FLUX that was trained on traces reads them",
        "traces": "a file with id, trace and final_prompt a line, in place of the planner",
        "tokens": "what the encoder takes: 512 by default, 2048 for one stretched for reasoning",
        "tokenizer": "tokenizer.json of the painter's encoder",
    },
    {"style": ("o3", "r1", "r1-7b"), "send": ("description", "both", "trained")}, ("tokens",),
    {"traces": frozenset({"planner", "style"})}, words=reason, guess=_reasoned,
)  # fmt: skip
HEADINGS = ("subject", "panels", "elements", "labels", "relations", "layout", "style")
_WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*")
_QUOTED = re.compile(r"[\"“”„«»]([^\"“”„«»\n]{1,200})[\"“”„«»]|(?<!\w)['‘]([^'‘’\n]{1,200})['’](?!\w)")
_PLAIN = frozenset((Path(__file__).parent / "plain_words.txt").read_text(encoding="utf-8").split())
"""Words that carry a sentence, not a picture: they may come and go."""
_NEGATIVE = frozenset({"not", "no", "without", "never"})


async def structure(request: PaintRequest, studio: Studio) -> PaintRequest:
    """Return a planner puts the prompt in order; see the module."""

    def read(reply: str) -> str:
        text = without_thought(reply)[1].strip().strip("`").strip()
        if faults := differences(request.prompt, text):
            raise Unreadable("; ".join(faults))
        return text

    shown = [Text(studio.prompts.fill("structure", prompt=request.prompt))]
    prompt, key = await studio.ask("planner", "structure", request, shown, Contract(read))
    studio.note("structure", text=prompt, call=key)
    return replace(request, prompt=prompt)


def differences(original: str, ordered: str) -> list[str]:
    """How an ordered prompt differs in substance: what it dropped, what it added, which quotations it changed.

    >>> differences('A red cell by a "nerve"', "Elements\\n- red cell\\nRelations\\n- red cell by nerve")
    ['changed in quotation: "nerve"']
    """
    before, after = (_content(_without_headings(text)) for text in (original, ordered))
    found = []
    if dropped := [word for key, word in before.items() if key not in after]:
        found.append(f"dropped: {', '.join(dropped[:12])}")
    if added := [word for key, word in after.items() if key not in before]:
        found.append(f"added: {', '.join(added[:12])}")
    quoted = _quotations(ordered)
    lost = [words for words in _quotations(original) if words not in quoted]
    found += [f'changed in quotation: "{words}"' for words in lost[:5]]
    denied = [sum(word in _NEGATIVE for word in _words(text)) for text in (original, ordered)]
    if denied[0] != denied[1]:
        found.append(f"{denied[0]} negations became {denied[1]}")
    return found


def _without_headings(text: str) -> str:
    kept = (line for line in text.splitlines() if line.strip(" #*:-_").casefold() not in HEADINGS)
    return "\n".join(re.sub(rf"^\W*(?:{'|'.join(HEADINGS)})\s*:", "", line, flags=re.IGNORECASE) for line in kept)


def _quotations(text: str) -> list[str]:
    return [" ".join((one or other).split()) for one, other in _QUOTED.findall(text)]


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _content(text: str) -> dict[str, str]:
    """Return the words that say something, by their stems; numbers as they are."""
    return {_stem(word): word for word in _words(text) if word not in _PLAIN and word not in _NEGATIVE}


def _stem(word: str) -> str:
    """Return a word without the endings that move when a sentence is turned into a point."""
    if any(ch.isdigit() for ch in word) or not word.isascii():
        return word
    for ending in ("ings", "ing", "edly", "ies", "ied", "ed", "es", "ly", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


STRUCTURE = Stage(
    "structure", "a planner structures the prompt without adding, dropping or changing anything", "words", ("planner",),
    words=structure, guess=planned(400),
)  # fmt: skip
