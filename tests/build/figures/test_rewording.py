"""Two prompts for one figure: what rules see of what was added, dropped or changed."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.build.figures.rewording import moved, rewordings, sure_rewordings
from tests.build.prompt_pairs import CHANGES, SAMPLE, pairs, rows

FREE = "Two red arrows lead from the sun to the leaf at the left. Write 'Light' at the arrows and 'Leaf' below."


@pytest.mark.parametrize(
    ("structured", "told"),
    [
        ("Objects: two red arrows from the sun to the leaf. Text: 'Light' at the arrows", "dropped: the label 'leaf'"),
        ("Objects: two red arrows from the sun to the leaf. Text: 'Light', 'Leaf', 'Root'", "added: the label 'root'"),
        ("Objects: two red arrows from the sun to the leaf. Text: 'Lights', 'Leaf'", "changed: the label 'light'"),
        ("Objects: three red arrows from the sun to the leaf. Text: 'Light', 'Leaf'", "added: the number 3"),
        ("Objects: two blue arrows from the sun to the leaf. Text: 'Light', 'Leaf'", "dropped: the colour red"),
        ("Objects: two red arrows from the leaf to the sun. Text: 'Light', 'Leaf'", "was the other way round"),
    ],
)  # fmt: skip
def test_what_no_rewriting_does_by_itself(structured: str, told: str) -> None:
    assert any(told in str(one) for one in sure_rewordings(FREE, structured))


def test_a_faithful_rewriting_has_none() -> None:
    same = "Objects: two red arrows at the left.\nText: 'Light' at the arrows; 'Leaf' below.\n"
    same += "Relations: they lead from the sun to the leaf."
    assert sure_rewordings(FREE, same) == []


@pytest.mark.parametrize("half", ["tuned on", "held out"])
def test_error_rates(half: str) -> None:
    """What docs/build-fepbench.md says of the half that no rule was set on."""
    atoms: dict[str, Any] = {str(row["id"]): row["atoms"] for row in rows(SAMPLE)}
    mine, hits, there = pairs()[half], Counter[str](), Counter[str]()

    def seen(pair: Any, structured: str) -> set[str]:
        found = [*rewordings(pair.free, structured)]
        return set(map(str, found + (moved(atoms[pair.id], pair.free, structured) if pair.id in atoms else [])))

    for change in CHANGES:
        chance = random.Random(5)
        for pair in mine:
            before = seen(pair, pair.structured)
            for _ in range(3):
                made = change(pair, chance, mine)
                if made is not None and made != pair.structured:
                    there[change.__name__] += 1
                    hits[change.__name__] += bool(seen(pair, made) - before)
    sure = [pair.id for pair in mine if sure_rewordings(pair.free, pair.structured)]
    found = {name: (hits[name], many) for name, many in there.items()}
    print(half, found, "refused", sure, "told to the checker", sum(bool(seen(one, one.structured)) for one in mine))
    if half == "held out":
        assert sure == ["Sample_Physics_2", "Sample_Biology_2"], "both count what the expert does not"
        assert found == {
            "add": (30, 30), "drop": (12, 30), "count": (24, 24), "drop_label": (30, 30), "rename": (30, 30),
            "turn": (18, 21), "reverse": (9, 15), "colour": (21, 21), "synonym": (14, 30),
        }  # fmt: skip


@given(st.text(max_size=120), st.text(max_size=120))
def test_nothing_breaks_it(free: str, structured: str) -> None:
    assert all(str(one).partition(":")[0] in ("added", "dropped", "changed") for one in rewordings(free, structured))
    assert rewordings(free, free) == []
