"""Strategies that change the prompt: rewrite, recaption, reason, structure."""

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
from ..core.data_files import parse_row
from ..core.data_rows import Problems, json_lines
from ..core.faults import Fault
from ..core.json_text import loads
from ..core.schema import FrozenModel, Id, Words
from ..painters import PaintRequest
from ..painters.diffusers.text_encoding import SEPARATOR, reason_text
from ..store.records import load_results
from .base import Guess, Stage, Studio, facts_of

USUAL_CHARS = 4000
"""The most characters in a rewritten prompt if the painter has no limit."""
USUAL_TOKENS, STRETCHED_TOKENS = 512, 2048
"""The tokens that a painter's text encoder reads: usually, and if stretched for reasoning."""


async def rewrite(request: PaintRequest, studio: Studio) -> PaintRequest:
    """Have a planner condense a long text into a structured prompt within the painter's limit, as in AIBench."""
    facts = facts_of(studio.painter)
    limit = studio.number("limit", (facts.prompt_limit if facts else None) or USUAL_CHARS, low=200)

    def read(reply: str) -> str:
        return format_plan(loads(reply), request.prompt, limit)

    shown = [Text(studio.prompts.fill("rewrite", prompt=request.prompt, limit=str(limit)))]
    prompt, key = await studio.ask("planner", "rewrite", request, shown, Contract(read))
    studio.note("rewrite", text=prompt, call=key)
    return replace(request, prompt=prompt)


def format_plan(plan: Mapping[str, Any], source: str, limit: int) -> str:
    """Return the drawing prompt made from a planner's JSON object.

    Raises:
        Unreadable: A part is missing, a label is not in the source, or the prompt is too long.
    """
    lists = {name: plan.get(name) for name in ("labels", "relations")}
    for name, value in lists.items():
        if not isinstance(value, list) or not all(isinstance(entry, str) and entry.strip() for entry in value):
            raise Unreadable(f'"{name}" must be a list of texts')
    for name in ("content", "layout", "style"):
        value = plan.get(name)
        if not (isinstance(value, str) and value.strip()):
            raise Unreadable(f'"{name}" must be a text')
    labels, relations = (list(dict.fromkeys(" ".join(entry.split()) for entry in lists[n] or ())) for n in lists)
    source_letters = _letters_and_digits(source)
    if strange := [label for label in labels if _letters_and_digits(label) not in source_letters]:
        raise Unreadable(f"these labels do not stand in the text: {', '.join(map(repr, strange[:8]))}")
    parts = [str(plan["content"]).strip()]
    if labels:
        parts.append("Labels, word for word: " + ", ".join(f'"{label}"' for label in labels) + ".")
    if relations:
        parts.append("Connections:\n" + "\n".join(f"- {relation}" for relation in relations))
    parts += [f"Layout: {str(plan['layout']).strip()}", f"Style: {str(plan['style']).strip()}"]
    prompt = "\n\n".join(parts)
    if len(prompt) > limit:
        raise Unreadable(f"the prompt has {len(prompt)} characters; at most {limit} are allowed")
    return prompt


def _letters_and_digits(text: str) -> str:
    return "".join(ch for ch in text.casefold() if ch.isalnum())


async def recaption(request: PaintRequest, studio: Studio) -> PaintRequest:
    """Have a planner write a longer caption without reasoning, as in MMMG's baseline."""
    most = studio.number("tokens", USUAL_TOKENS, low=16)
    count = await _counter(studio)
    words = {"prompt": request.prompt, "tokens": str(most), "words": str(most * 3 // 4)}
    reply, key = await studio.ask(
        "planner", "recaption", request, [Text(studio.prompts.fill("recaption", **words))], Contract(_caption)
    )
    prompt = cut_to_tokens(reply, most, count)
    studio.note("recaption", text=prompt, call=key, cut=len(reply) - len(prompt) or None)
    return replace(request, prompt=prompt)


def _caption(reply: str) -> str:
    text = split_thinking(reply)[1]
    if not text:
        raise Unreadable("the reply has no text")
    return text


async def reason(request: PaintRequest, studio: Studio) -> PaintRequest:
    """Have a planner reason about entities and dependencies and then write a description, as in MMMG's cascade.

    The painter gets the description; with ``send=both``, the trace comes before it, cut to the encoder's length, and
    before that the thinking of a style other than ``o3``. A FLUX trained on traces needs ``send=trained``: the written
    trace, separator and description for T5, the question for CLIP. ``traces=FILE`` takes trace and description from a
    file instead of a planner.
    """
    trained = studio.options.get("send") == "trained"
    if trained and not getattr(studio.painter, "reads_short", False):
        raise Fault("bad_request", f"{studio.painter.spec} reads one text: send=trained needs a local FLUX.1")
    style = studio.options.get("style", "o3")
    facts = facts_of(studio.painter)
    encoder_tokens = getattr(facts, "encoder_tokens", None) or getattr(studio.painter, "encoder_tokens", None)
    most = studio.number("tokens", encoder_tokens or USUAL_TOKENS, low=16)
    count = await _counter(studio)
    if (file := studio.options.get("traces")) is not None:
        trace, description, key = *trace_of(file, request.question), None
    else:
        words = {"prompt": request.prompt, "separator": SEPARATOR, "tokens": str(min(most, USUAL_TOKENS))}
        if style == "o3":
            shown = studio.prompts.fill("reason_summary", words="150", **words)
        else:
            shown = studio.prompts.fill("reason_trace", **words)
        contract = Contract(_written_trace if trained else _trace_with_thinking)
        (thinking, trace, description), key = await studio.ask("planner", "reason", request, [Text(shown)], contract)
        if style != "o3" and not trained:
            results = await asyncio.to_thread(load_results, studio.calls.store, [key])
            separate = stored_thinking(results.get(key, {}))
            trace = "\n\n".join(filter(None, (separate, thinking, trace)))
    send = studio.options.get("send", "both" if most >= STRETCHED_TOKENS else "description")
    if trained:
        prompt = reason_text(trace, description, most, count)
    else:
        prompt = description = cut_to_tokens(description, most, count)
        if send == "both" and trace and (room := most - count(description) - 2) > 0:
            prompt = f"{cut_to_tokens(trace, room, count)}\n\n{description}".strip()
    studio.note("trace", text=trace, call=key)
    studio.note("description", text=description, call=key)
    if prompt != description:
        studio.note("prompt", text=prompt)
    return replace(request, prompt=prompt, short=request.prompt if trained else None)


async def _counter(studio: Studio) -> Callable[[str], int]:
    """Return a function that counts tokens: with the painter's own tokenizer, else by estimate."""
    own = getattr(studio.painter, "token_counter", None)
    return (own and await asyncio.to_thread(own)) or estimate_tokens


@lru_cache(maxsize=4)
def read_traces(file: str) -> Mapping[str, tuple[str, str]]:
    """Read the trace and final prompt of each question from lines with ``id``, ``trace`` and ``final_prompt``.

    Raises:
        DataError: The file has errors; the message gives the line and id of each.
    """
    problems, path = Problems(), Path(file).expanduser()
    rows = [parse_row(TraceRow, body, problems, path, line) for line, body in json_lines(path, problems)]
    problems.settle()
    return {row.id: (row.trace, row.final_prompt) for row in rows if row is not None}


class TraceRow(FrozenModel):
    """One line of a file of traces; it may have further fields."""

    id: Id
    trace: Words
    final_prompt: Words = Field(min_length=1)


def trace_of(file: str, question: str) -> tuple[str, str]:
    """Return the trace and final prompt of one question.

    Raises:
        Fault: ``not_applicable``: the file does not contain the question.
    """
    trace = read_traces(file).get(question)
    if trace is None:
        raise Fault("not_applicable", f"{file} has no trace for this question")
    return trace


def stored_thinking(result: Mapping[str, Any]) -> str:
    """Return the thinking that a service sends separately from its answer, if any."""
    choices = (result.get("raw") or {}).get("choices") or [{}]
    message = choices[0].get("message") or {}
    text = message.get("reasoning_content") or message.get("reasoning")
    return text.strip() if isinstance(text, str) else ""


def split_thinking(reply: str) -> tuple[str, str]:
    """Split a reply into inline thinking (``<think>…</think>``, as small local models write it) and the rest.

    >>> split_thinking("<think>Roots drink.</think> A tree.")
    ('Roots drink.', 'A tree.')
    """
    before, closed, after = reply.rpartition("</think>")
    if not closed:
        return "", reply.strip()
    return before.replace("<think>", "").strip(), after.strip()


def split_trace(reply: str) -> tuple[str, str]:
    """Split a reply into written trace and description, without inline thinking.

    Raises:
        Unreadable: The separator or the description is missing.
    """
    before, mark, after = split_thinking(reply)[1].rpartition(SEPARATOR)
    if not mark:
        raise Unreadable(f"a line {SEPARATOR} must stand before the description")
    if not after.strip():
        raise Unreadable(f"the description after {SEPARATOR} is missing")
    return before.strip(), after.strip()


def _trace_with_thinking(reply: str) -> tuple[str, str, str]:
    return split_thinking(reply)[0], *split_trace(reply)


def _written_trace(reply: str) -> tuple[str, str, str]:
    trace, description = split_trace(reply)
    if not trace:
        raise Unreadable(f"the reasoning before {SEPARATOR} is missing; write it out there")
    return "", trace, description


def guess_planner(written: int) -> Any:
    """Return a function that estimates one planner call with this many tokens written."""

    def guess(tokens: int, options: Mapping[str, str], n: int) -> list[Guess]:
        return [Guess("planner", 1, tokens + 350, written)]

    return guess


def _guess_reasoning(tokens: int, options: Mapping[str, str], n: int) -> list[Guess]:
    """Return the planner's estimated call; none if traces are given."""
    guesses: list[Guess] = [] if "traces" in options else guess_planner(2000)(tokens, options, n)
    return guesses


REWRITE = Stage(
    "rewrite", "a planner condenses a long text into a structured drawing prompt", "words", ("planner",),
    {"limit": "the most characters of the prompt; by default the painter's own limit"},
    numbers=("limit",), words=rewrite, guess=guess_planner(1200),
)  # fmt: skip
_PIECE = re.compile(r"[^\W\d_]+|\d|_|[^\w\s]")
_STOP = re.compile(r"(?<=[.!?;:\n。！？])\s*")


def estimate_tokens(text: str) -> int:
    """Return the approximate number of tokens that an encoder such as T5 needs, rather too many than too few.

    Words count one token per five letters, rounded up; digits, signs and letters of scripts without spaces one each.

    >>> estimate_tokens("A red cell carries oxygen.")
    8
    """
    pieces = _PIECE.findall(text)
    return sum(len(piece) if ord(piece[0]) > 0x2E80 else -(-len(piece) // 5) for piece in pieces)


def cut_to_tokens(text: str, most: int, count: Callable[[str], int] = estimate_tokens) -> str:
    """Cut a text to at most `most` tokens, after a complete sentence if possible, else after a complete word.

    >>> cut_to_tokens("One two. Three four. Five six.", 6)
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
    {"tokens": "its maximum length; 512 by default"},
    numbers=("tokens",), words=recaption, guess=guess_planner(700),
)  # fmt: skip
REASON = Stage(
    "reason", "a planner reasons about entities and dependencies, then describes the drawing", "words", ("planner",),
    {
        "style": "o3 (a summary), r1 (the thinking too, sent separately) or r1-7b (a local model's, inline)",
        "send": "description; both: the trace before it; trained: in the form for a FLUX trained on traces",
        "traces": "a file with id, trace and final_prompt on each line, instead of the planner",
        "tokens": "the encoder's length: 512 by default, 2048 for one stretched for reasoning",
    },
    {"style": ("o3", "r1", "r1-7b"), "send": ("description", "both", "trained")}, ("tokens",),
    {"traces": frozenset({"planner", "style"})}, words=reason, guess=_guess_reasoning,
)  # fmt: skip
HEADINGS = ("subject", "panels", "elements", "labels", "relations", "layout", "style")
_WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*")
_QUOTED = re.compile(r"[\"“”„«»]([^\"“”„«»\n]{1,200})[\"“”„«»]|(?<!\w)['‘]([^'‘’\n]{1,200})['’](?!\w)")
_FUNCTION_WORDS = frozenset((Path(__file__).parent / "plain_words.txt").read_text(encoding="utf-8").split())
"""Words that matter for a sentence but not for a picture, so that they may be added or dropped."""
_NEGATIVE = frozenset({"not", "no", "without", "never"})


async def structure(request: PaintRequest, studio: Studio) -> PaintRequest:
    """Have a planner structure the prompt without changing its content."""

    def read(reply: str) -> str:
        text = split_thinking(reply)[1].strip().strip("`").strip()
        if faults := differences(request.prompt, text):
            raise Unreadable("; ".join(faults))
        return text

    shown = [Text(studio.prompts.fill("structure", prompt=request.prompt))]
    prompt, key = await studio.ask("planner", "structure", request, shown, Contract(read))
    studio.note("structure", text=prompt, call=key)
    return replace(request, prompt=prompt)


def differences(original: str, ordered: str) -> list[str]:
    """Return how the content of a structured prompt differs: dropped and added words, changed quotations, negations.

    >>> differences('A red cell by a "nerve"', "Elements\\n- red cell\\nRelations\\n- red cell by nerve")
    ['changed in quotation: "nerve"']
    """
    before, after = (_content(_without_headings(text)) for text in (original, ordered))
    messages = []
    if dropped := [word for key, word in before.items() if key not in after]:
        messages.append(f"dropped: {', '.join(dropped[:12])}")
    if added := [word for key, word in after.items() if key not in before]:
        messages.append(f"added: {', '.join(added[:12])}")
    quoted = _quotations(ordered)
    lost = [words for words in _quotations(original) if words not in quoted]
    messages += [f'changed in quotation: "{words}"' for words in lost[:5]]
    denied = [sum(word in _NEGATIVE for word in _words(text)) for text in (original, ordered)]
    if denied[0] != denied[1]:
        messages.append(f"{denied[0]} negations became {denied[1]}")
    return messages


def _without_headings(text: str) -> str:
    kept = (line for line in text.splitlines() if line.strip(" #*:-_").casefold() not in HEADINGS)
    return "\n".join(re.sub(rf"^\W*(?:{'|'.join(HEADINGS)})\s*:", "", line, flags=re.IGNORECASE) for line in kept)


def _quotations(text: str) -> list[str]:
    return [" ".join((double or single).split()) for double, single in _QUOTED.findall(text)]


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _content(text: str) -> dict[str, str]:
    """Return the content words by their stems; numbers are left unchanged."""
    return {_stem(word): word for word in _words(text) if word not in _FUNCTION_WORDS and word not in _NEGATIVE}


def _stem(word: str) -> str:
    """Return a word without the endings that change when a sentence becomes a bullet point."""
    if any(ch.isdigit() for ch in word) or not word.isascii():
        return word
    for ending in ("ings", "ing", "edly", "ies", "ied", "ed", "es", "ly", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


STRUCTURE = Stage(
    "structure", "a planner structures the prompt without adding, dropping or changing anything", "words", ("planner",),
    words=structure, guess=guess_planner(400),
)  # fmt: skip
