"""FEPBench's protocol: one call verifies the gold atoms, another lists unexpected content; IF, RE and SP from both."""

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
    normalize_text,
    read_marks,
    read_unexpected,
    read_verification,
    score_atoms,
)

WORDS = {
    "present": "Shown: {name}",
    "count": "Number shown is {count}: {name}",
    "location": "Location is {location}: {name}",
    "exact": "Text written exactly like this: {text}",
    "readable": "Text is readable: {text}",
    "attached": "Text belongs to {attached_to}: {text}",
    "satisfied": "Relation shown: {source} — {type} — {target}",
    "type": "Relation has the type {type}: {source} — {target}",
    "direction": "Relation has the right direction ({direction}): {source} — {type} — {target}",
    "panel_structure": "Panels: {panel_structure}",
    "panel_count": "Number of panels is {panel_count}",
    "global_layout": "Overall layout: {global_layout}",
}
"""The template of each flag's criterion, to be filled with an atom's fields."""


class FEPBench(Protocol[Atoms]):
    """FEPBench's protocol: one call verifies the gold atoms, another lists unexpected content."""

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
        """Return whether the question's regime is the requested one."""
        return options.get("regime", "both") in ("both", question.tags.get("regime"))

    def cluster(self, question: Question[Atoms]) -> str:
        """Return the name of the sample, because drawings of its two questions are not independent."""
        return question.tags.get("sample", question.id)

    def criteria(self, question: Question[Atoms]) -> list[Criterion]:
        """Return three flags per atom, three for the layout, and one per modality for unexpected content."""
        atoms, criteria = question.rubric, []
        counts = Counter(normalize_text(atom.text) for atom in atoms.text)
        for modality in MODALITIES:
            for atom in atoms.of(modality):
                fields = atom.model_dump()
                label = fields.get("text")
                # Words that belong in two places must appear twice.
                again = "repeated " if label and counts[normalize_text(label)] > 1 else ""
                for part in PARTS[modality]:
                    id, text = f"{modality}/{atom.id}/{part}", WORDS[part].format(**fields)
                    labels = (label,) if label else ()
                    criteria.append(Criterion(id, text, again + part, labels=labels, exact=bool(label)))
        layout = atoms.layout.model_dump()
        criteria += [Criterion(f"layout/{part}", WORDS[part].format(**layout), "layout") for part in LAYOUT]
        return criteria + [
            Criterion(f"unexpected/{m}", f"No {m} content is unexpected", "unexpected") for m in MODALITIES
        ]

    def templates(self, variant: Variant) -> tuple[str, ...]:
        """Return the templates of the two verifiers and of the note on the drawing."""
        return ("verify", "unexpected", f"drawing-{variant.name}")

    def needed(self, variant: Variant) -> frozenset[str]:
        """Return ``ocr``, lines of text in the drawing, if the judge is shown them."""
        return frozenset({"ocr"}) if variant.name == "ocr" else self.needs

    def asks(self, question: Question[Atoms], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        """Return two asks: for the atom verifier, and for the precision verifier, which also sees the prompt."""
        atoms, fill, fields = question.rubric, variant.prompts.fill, {}
        if variant.name == "ocr":
            lines = [" ".join(line["text"].split()) for line in evidence["ocr"]["value"]]
            fields["lines"] = "\n".join(f"- {line}" for line in lines) or "- (none)"
        # In other variants this field has recognised lines of text, which are more than wording.
        spare = ["drawing"] if variant.name == "paper" else []
        shown = {"drawing": fill(f"drawing-{variant.name}", **fields).strip()}
        shown |= {modality: _lines(atoms.of(modality)) for modality in MODALITIES}
        layout = json.dumps(atoms.layout.model_dump(), ensure_ascii=False)
        verify = Text(fill("verify", spare=spare, **shown, layout=layout)), Picture(image)
        unexpected = Text(fill("unexpected", spare=spare, **shown, prompt=question.prompt)), Picture(image)
        split = self.criteria(question)
        gold, rest = (tuple(c for c in split if (c.kind == "unexpected") == last) for last in (False, True))
        return [
            Ask("verify", verify, gold, Contract(lambda reply: read_verification(atoms, reply), VERIFICATION)),
            Ask("unexpected", unexpected, rest, Contract(read_unexpected, UNEXPECTED)),
        ]

    def marks(self, question: Question[Atoms], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        """Return the marks from both replies, the same in every reading, because the authors released no parser."""
        gold = read_marks("verify", replies, lambda text: read_verification(question.rubric, text))
        extra = read_marks("unexpected", replies, read_unexpected)
        if isinstance(gold, str):
            # Without the gold atoms' marks there is no score, not even precision.
            return [Mark.unread(criterion.id, gold) for criterion in self.criteria(question)]
        if isinstance(extra, str):
            return [*gold, *(Mark.unread(f"unexpected/{modality}", extra) for modality in MODALITIES)]
        return [*gold, *extra]

    def scores(self, question: Question[Atoms], marks: Sequence[Mark], evidence: Evidence) -> dict[str, float | None]:
        """Return the scores by the paper's equations; None if marks are missing or nothing was drawn."""
        return {**dict.fromkeys(self.dimensions), **score_atoms(question.rubric, marks)}

    def analyses(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return scores by atom count, correlations, and gaps between regimes and panel types."""
        return {
            "complexity": analysis.complexity(rows),
            "correlations": analysis.correlations(rows),
            "gaps": analysis.gaps(rows, self),
            "undefined_sp": analysis.count_undefined(rows),
        }

    def remarks(self, rows: Sequence[Row]) -> list[str]:
        """Return remarks on undefined precision and on unequal shares of the regimes."""
        return analysis.remarks(rows)


def _lines(atoms: Sequence[Atom]) -> str:
    """Return atoms in the form shown to the judge: one per line, without their roles."""
    return "\n".join(json.dumps(atom.model_dump(exclude={"role"}), ensure_ascii=False) for atom in atoms)
