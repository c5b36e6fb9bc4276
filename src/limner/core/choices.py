"""Multiple-choice questions: letters assigned so that no constant answer wins, and a measure of that. Pure."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

LETTERS = ("A", "B", "C", "D")


def balance_letters(rows: Sequence[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """Reorder the options of questions so that each letter is right about equally often.

    Questions with the same number of options share the letters evenly; which letter has one more, and how the wrong
    options are ordered, is decided by `key`. Options that are balanced already are kept.
    """
    out = [dict(row) for row in rows]
    for size in sorted({len(row["options"]) for row in rows}):
        group = [row for row in out if len(row["options"]) == size]
        counts = Counter(row["correct_option"] for row in group)
        if max(counts.values()) - min(counts[letter] for letter in LETTERS[:size]) <= 1:
            continue
        dealt = _deal_letters(len(group), size, f"{key}/{size}")
        for row, letter in zip(group, dealt, strict=True):
            _reorder_options(row, letter, random.Random(f"{key}/{row['id']}"))
    return out


def constant_answers(rows: Iterable[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the accuracy of constant answers: each letter, yes, no, and the longest option.

    Returns:
        By the strategy's name: the share that is right, over all questions that have such an option, its number, and
        what guessing among the options of those would get.
    """
    tally: dict[str, list[tuple[bool, float]]] = {}
    for row in rows:
        options, right, chance = row["options"], row["correct_option"], 1 / len(row["options"])
        for letter in options:
            tally.setdefault(f"{letter} of {len(options)}", []).append((letter == right, chance))
        heads = {letter: text.casefold().split()[0].strip(".,:;!") for letter, text in options.items()}
        for word in ("yes", "no"):
            if word in heads.values():
                # Of several options that begin with the word, the right one is taken: it is a bound.
                tally.setdefault(word, []).append((heads[right] == word, 0.5))
        longest = max(options, key=lambda letter: len(options[letter]))
        tally.setdefault("longest", []).append((longest == right, chance))
    return {
        name: {
            "right": sum(hit for hit, _ in hits) / len(hits),
            "n": len(hits),
            "chance": sum(chance for _, chance in hits) / len(hits),
        }
        for name, hits in sorted(tally.items())
    }


def _deal_letters(count: int, size: int, key: str) -> list[str]:
    """Return `count` letters, each equally often up to a remainder, in an order decided by the key."""
    generator = random.Random(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big"))
    first = generator.sample(LETTERS[:size], size)
    letters = [first[n % size] for n in range(count)]
    generator.shuffle(letters)
    return letters


def _reorder_options(row: dict[str, Any], letter: str, generator: random.Random) -> None:
    options = row["options"]
    right = options[row["correct_option"]]
    wrong = [text for name, text in sorted(options.items()) if name != row["correct_option"]]
    generator.shuffle(wrong)
    letters = LETTERS[: len(options)]
    row["options"] = {name: right if name == letter else wrong.pop() for name in letters}
    row["correct_option"] = letter
