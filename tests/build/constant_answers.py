"""How often constant answers to multiple-choice questions are right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


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
