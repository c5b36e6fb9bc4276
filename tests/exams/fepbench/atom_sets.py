"""Small atom sets, and the replies of the two verifiers about them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from limner.core.asks import Reply
from limner.core.exam import Question
from limner.core.marks import Mark
from limner.exams.fepbench.data import MODALITIES, Atoms, Modality
from limner.exams.fepbench.protocol import LAYOUT, PARTS, FEPBench

PROTOCOL = FEPBench()
SAMPLE: dict[str, Any] = {
    "id": "S1",
    "domain": "Biology & Medicine",
    "panel_type": "single",
    "aspect": "landscape",
    "prompts": {"free": "Draw a cell with its nucleus.", "structured": "Objects: a cell; a nucleus in it."},
    "image_path": "S1.png",
    "atoms": {
        "visual": [
            {"id": "v1", "role": "instruction", "name": "cell", "count": 1, "location": "in the middle"},
            {"id": "v2", "role": "reasoning", "name": "ribosomes", "count": "several", "location": "in the cell"},
        ],
        "text": [
            {"id": "t1", "role": "instruction", "text": "Nucleus", "attached_to": "the dark sphere"},
            {"id": "t2", "role": "reasoning", "text": "Ribosome", "attached_to": "a small dot"},
        ],
        "relation": [
            {
                "id": "r1", "role": "instruction", "source": "cell", "target": "nucleus", "type": "contains",
                "direction": "forward",
            },
            {
                "id": "r2", "role": "reasoning", "source": "nucleus", "target": "ribosomes", "type": "is larger than",
                "direction": "none",
            },
        ],
        "layout": {"panel_structure": "one panel", "panel_count": 1, "global_layout": "cell in the middle"},
    },
}  # fmt: skip


def changed(place: str = "", value: Any = ..., **fields: Any) -> dict[str, Any]:
    """The sample with other fields, and with `value` at a place such as ``atoms.text.0.text``; ``...`` takes away."""
    row = copy.deepcopy(SAMPLE) | fields
    row = {key: item for key, item in row.items() if item is not ...}
    if place:
        *path, last = [int(part) if part.isdigit() else part for part in place.split(".")]
        inner: Any = row
        for part in path:
            inner = inner[part]
        if value is ...:
            del inner[last]
        else:
            inner[last] = value
    return row


def question(
    atoms: Mapping[str, Any] | None = None, id: str = "S1", regime: str = "free", **tags: str
) -> Question[Atoms]:
    own = {"sample": id, "regime": regime, "domain": "D", "panel_type": "single", "aspect": "square", **tags}
    return Question(f"{id}/{regime}", "Draw it.", Atoms.model_validate(atoms or SAMPLE["atoms"]), own)


def many(**counts: tuple[int, int]) -> Atoms:
    """An atom set with so many instruction and reasoning atoms of each modality; one of each where nothing is said."""
    body: dict[str, Any] = {"layout": SAMPLE["atoms"]["layout"]}
    for modality in MODALITIES:
        asked, found = counts.get(modality, (1, 1))
        roles = ["instruction"] * asked + ["reasoning"] * found
        first = {key: item for key, item in SAMPLE["atoms"][modality][0].items() if key not in ("id", "role")}
        body[modality] = [
            {"id": f"{modality[0]}{n}", "role": role, **first, **({"text": f"Word {n}"} if modality == "text" else {})}
            for n, role in enumerate(roles, 1)
        ]
    return Atoms.model_validate(body)


Flags = tuple[int, int, int]


def verification(atoms: Atoms, flags: Mapping[str, Flags] | None = None, layout: Flags = (1, 1, 1)) -> dict[str, Any]:
    """A verification in which all flags are 1 but those given by atom id."""
    given = flags or {}
    body: dict[str, Any] = {}
    for modality in MODALITIES:
        body[modality] = [
            {"id": a.id, "reason": "seen", **dict(zip(PARTS[modality], given.get(a.id, (1, 1, 1)), strict=True))}
            for a in atoms.of(modality)
        ]
    return body | {"layout": {"reason": "seen", **dict(zip(LAYOUT, layout, strict=True))}}


def unexpected(*items: tuple[str, str, str]) -> dict[str, Any]:
    """A list of unexpected items: modality, what, where."""
    return {"unexpected": [dict(zip(("modality", "item", "place"), item, strict=True)) for item in items]}


def replies(verify: object, extra: object) -> list[Reply]:
    def text(body: object) -> str:
        return body if isinstance(body, str) else json.dumps(body)

    return [Reply("verify", text(verify)), Reply("unexpected", text(extra))]


def read(
    asked: Question[Atoms],
    flags: Mapping[str, Flags] | None = None,
    items: Sequence[tuple[str, str, str]] = (),
    layout: Flags = (1, 1, 1),
) -> list[Mark]:
    """The marks of a drawing with these flags and these unexpected items."""
    return PROTOCOL.marks(asked, replies(verification(asked.rubric, flags, layout), unexpected(*items)), "careful")


def score(
    asked: Question[Atoms],
    flags: Mapping[str, Flags] | None = None,
    items: Sequence[tuple[str, str, str]] = (),
    layout: Flags = (1, 1, 1),
) -> dict[str, float | None]:
    return PROTOCOL.scores(asked, read(asked, flags, items, layout), {})


COUNTS = st.fixed_dictionaries({modality: st.tuples(st.integers(1, 4), st.integers(1, 3)) for modality in MODALITIES})
ATOMS: st.SearchStrategy[Atoms] = COUNTS.map(lambda counts: many(**counts))
FLAGS = st.tuples(*[st.integers(0, 1)] * 3)
ITEMS = st.lists(
    st.tuples(
        st.sampled_from(MODALITIES), st.sampled_from(["Sun", "sun.", "Moon"]), st.sampled_from(["left", "right"])
    ),
    max_size=6,
)


@st.composite
def verdicts(draw: st.DrawFn) -> tuple[Question[Atoms], dict[str, Flags], list[tuple[Modality, str, str]], Flags]:
    """A question and everything both verifiers say of a drawing."""
    asked = Question("S1/free", "Draw it.", draw(ATOMS), {"sample": "S1", "regime": "free"})
    ids = [atom.id for modality in MODALITIES for atom in asked.rubric.of(modality)]
    return asked, {id: draw(FLAGS) for id in ids}, draw(ITEMS), draw(FLAGS)


Form = Callable[[Mapping[str, Any]], str]
FORMS: dict[str, Form] = {
    "bare": lambda body: json.dumps(body),
    "fenced": lambda body: f"Here it is.\n```json\n{json.dumps(body, indent=1)}\n```\nDone.",
    "thinking first": lambda body: f"<think>hm {{1}}</think>{json.dumps(body)}",
    "Python literal": lambda body: repr(dict(body)),
    "booleans": lambda body: json.dumps(body).replace(": 1", ": true").replace(": 0", ": false"),
}
