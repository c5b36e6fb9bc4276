"""FEPBench's protocol: one call verifies the gold atoms, one lists what is unexpected; IF, RE and SP from both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...core.asks import Ask, Contract, Picture, Reply, Text, Variant
from ...core.exam import Question
from ...core.marks import Criterion, Mark
from ...core.protocol import Evidence, Protocol, Reading, Row, Score
from . import analysis
from .data import MODALITIES, REGIMES, Atom, Atoms
from .scores import (
    LAYOUT,
    PARTS,
    PARTS_OF,
    TITLES,
    UNEXPECTED,
    VERIFICATION,
    listed,
    normal,
    read_marks,
    score_atoms,
    verified,
)

WORDS = {
    "present": "There is: {name}",
    "count": "As many as {count}: {name}",
    "location": "At this place ({location}): {name}",
    "exact": "This text stands there, letter for letter: {text}",
    "readable": "This text can be read: {text}",
    "attached": "This text belongs to {attached_to}: {text}",
    "satisfied": "There is the relation: {source} — {type} — {target}",
    "type": "The relation is of the type {type}: {source} — {target}",
    "direction": "The relation runs the right way ({direction}): {source} — {type} — {target}",
    "panel_structure": "The panels are these: {panel_structure}",
    "panel_count": "The number of panels is {panel_count}",
    "global_layout": "The whole is laid out so: {global_layout}",
}
"""What each flag says, in the words of an atom's fields."""


class FEPBench(Protocol[Atoms]):
    """See the module."""

    scored = (
        Score("if", 1, "instruction faithfulness: mean of its four parts", digits=3),
        Score("re", 1, "reasoning enrichment: mean of its three parts", digits=3),
        Score("sp", 1, "semantic precision: mean of its parts that are defined", monotone=False, digits=3),
        *(Score(name, 1, about, not name.startswith("sp"), digits=3, main=False) for name, about in PARTS_OF.items()),
    )
    variants = ("paper", "ocr")
    draw_options: Mapping[str, tuple[str, ...]] = {"regime": ("both", *REGIMES)}
    selecting = frozenset({"regime"})
    reasons = False
    label_kinds = frozenset({"exact", "readable"})
    breakdowns = ("regime", "domain", "panel_type", "aspect", "regime_domain")
    dimensions = ("if", "re", "sp", *PARTS_OF)
    titles = TITLES
    reply_tokens: Mapping[str, int] = {"verify": 4000, "unexpected": 1500}

    def takes(self, question: Question[Atoms], options: Mapping[str, str]) -> bool:
        """Return the questions of the wanted regime, or all."""
        return options.get("regime", "both") in ("both", question.tags.get("regime"))

    def cluster(self, question: Question[Atoms]) -> str:
        """Return the sample: its two drawings are no two independent cases."""
        return question.tags.get("sample", question.id)

    def criteria(self, question: Question[Atoms]) -> list[Criterion]:
        """Three flags an atom, three of the layout, and for each modality that nothing is unexpected."""
        atoms, found = question.rubric, []
        times = Counter(normal(atom.text) for atom in atoms.text)
        for modality in MODALITIES:
            for atom in atoms.of(modality):
                fields = atom.model_dump()
                label = fields.get("text")
                # Of words that belong to two places, reading them once says too little.
                again = "repeated " if label and times[normal(label)] > 1 else ""
                for part in PARTS[modality]:
                    id, text = f"{modality}/{atom.id}/{part}", WORDS[part].format(**fields)
                    found.append(Criterion(id, text, again + part, labels=(label,) if label else (), exact=bool(label)))
        layout = atoms.layout.model_dump()
        found += [Criterion(f"layout/{part}", WORDS[part].format(**layout), "layout") for part in LAYOUT]
        return found + [Criterion(f"unexpected/{m}", f"No {m} content is unexpected", "unexpected") for m in MODALITIES]

    def templates(self, variant: Variant) -> tuple[str, ...]:
        """Return the two verifiers', and the piece on what is given of the drawing."""
        return ("verify", "unexpected", f"drawing-{variant.name}")

    def needed(self, variant: Variant) -> frozenset[str]:
        """Return the lines of text in the drawing, where the judge is told them."""
        return frozenset({"ocr"}) if variant.name == "ocr" else self.needs

    def asks(self, question: Question[Atoms], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        """Return the atom verifier sees the drawing and the atoms; the precision verifier sees the prompt too."""
        atoms, fill, fields = question.rubric, variant.prompts.fill, {}
        if variant.name == "ocr":
            lines = [" ".join(line["text"].split()) for line in evidence["ocr"]["value"]]
            fields["lines"] = "\n".join(f"- {line}" for line in lines) or "- (none)"
        # Where the recogniser's lines are told, they are more than wording.
        spare = ["drawing"] if variant.name == "paper" else []
        shown = {"drawing": fill(f"drawing-{variant.name}", **fields).strip()}
        shown |= {modality: _lines(atoms.of(modality)) for modality in MODALITIES}
        layout = json.dumps(atoms.layout.model_dump(), ensure_ascii=False)
        verify = Text(fill("verify", spare=spare, **shown, layout=layout)), Picture(image)
        unexpected = Text(fill("unexpected", spare=spare, **shown, prompt=question.prompt)), Picture(image)
        split = self.criteria(question)
        gold, rest = (tuple(c for c in split if (c.kind == "unexpected") == last) for last in (False, True))
        return [
            Ask("verify", verify, gold, Contract(lambda reply: verified(atoms, reply), VERIFICATION)),
            Ask("unexpected", unexpected, rest, Contract(listed, UNEXPECTED)),
        ]

    def marks(self, question: Question[Atoms], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        """Both replies, read alike in every reading: the authors have released no reader to copy."""
        gold = read_marks("verify", replies, lambda text: verified(question.rubric, text))
        extra = read_marks("unexpected", replies, listed)
        if isinstance(gold, str):
            # Without the gold atoms there is no score at all, not even precision.
            return [Mark.unread(criterion.id, gold) for criterion in self.criteria(question)]
        if isinstance(extra, str):
            return [*gold, *(Mark.unread(f"unexpected/{modality}", extra) for modality in MODALITIES)]
        return [*gold, *extra]

    def scores(self, question: Question[Atoms], marks: Sequence[Mark], evidence: Evidence) -> dict[str, float | None]:
        """Return the paper's equations; None where marks are missing, and for a precision of nothing."""
        return {**dict.fromkeys(self.dimensions), **score_atoms(question.rubric, marks)}

    def analyses(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Scores by atom count, correlations of the dimensions, gaps between regimes and panel types."""
        return {
            "complexity": analysis.complexity(rows),
            "correlations": analysis.correlations(rows),
            "gaps": analysis.gaps(rows, self),
            "undefined_sp": analysis.undefined(rows),
        }

    def remarks(self, rows: Sequence[Row]) -> list[str]:
        """Where precision is undefined, and whether both regimes have the same share."""
        return analysis.remarks(rows)


def _lines(atoms: Sequence[Atom]) -> str:
    """Atoms as the judge sees them: one a line, without saying which of them the prompt asks for."""
    return "\n".join(json.dumps(atom.model_dump(exclude={"role"}), ensure_ascii=False) for atom in atoms)
