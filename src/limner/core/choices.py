"""Multiple-choice questions: letters balanced so that constant answers gain nothing, and a check of that. Pure."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

LETTERS = ("A", "B", "C", "D")


def balance_letters(rows: Sequence[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """Return questions with options reordered so that each letter is right about equally often.

    Questions with the same number of options are balanced together; `key` is the seed for remainders and for the order
    of wrong options. Questions that are already balanced are kept.
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
        Name of the answer -> ``right``, the share of right answers among the questions that have such an option; ``n``,
        the number of these questions; and ``chance``, the share expected from guessing.
    """
    tally: dict[str, list[tuple[bool, float]]] = {}
    for row in rows:
        options, right, chance = row["options"], row["correct_option"], 1 / len(row["options"])
        for letter in options:
            tally.setdefault(f"{letter} of {len(options)}", []).append((letter == right, chance))
        heads = {letter: text.casefold().split()[0].strip(".,:;!") for letter, text in options.items()}
        for word in ("yes", "no"):
            if word in heads.values():
                # If several options begin with the word, the right one is assumed, which gives an upper bound.
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
    """Return `count` letters, each about equally often, in an order determined by the key."""
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
