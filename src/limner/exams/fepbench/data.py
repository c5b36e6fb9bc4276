"""FEPBench's data: one sample per line, each an atom set with two prompts, which make two questions.

The authors have not released their format; this is ours. Its JSON schema, made by `schema`, is in ``schema.json`` next
to this file.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, StringConstraints, model_validator
from pydantic.config import JsonDict

from ...core.data_files import Columns, data_file, files_under, find_reference, note_absent, read_questions
from ...core.data_rows import Problems, json_lines
from ...core.errors import DataError
from ...core.exam import Exam, Question
from ...core.schema import Id, StrictModel, Words
from .. import ImportedReply

SAMPLES = "samples.jsonl"
SCHEMA = Path(__file__).parent / "schema.json"
Regime = Literal["free", "structured"]
Role = Literal["instruction", "reasoning"]
Modality = Literal["visual", "text", "relation"]
REGIMES: tuple[Regime, ...] = get_args(Regime)
ROLES: tuple[Role, ...] = get_args(Role)
MODALITIES: tuple[Modality, ...] = get_args(Modality)
NonEmptyText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), *Words.__metadata__]
AtomId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,40}$", description="Unique within the sample.")]
_BOTH_ROLES: JsonDict = {
    "allOf": [{"contains": {"properties": {"role": {"const": role}}, "required": ["role"]}} for role in ROLES]
}


class Atom(StrictModel):
    """One unit of meaning: requested by the prompts (instruction), or only in the reference (reasoning)."""

    id: AtomId
    role: Role


class TextAtom(Atom):
    """A text in the figure, and what it belongs to."""

    text: NonEmptyText
    attached_to: NonEmptyText = Field(description="The object or region that the text names or explains.")


class VisualAtom(Atom):
    """A visible object, its count, and its approximate location."""

    name: NonEmptyText
    count: Annotated[int, Field(strict=True, ge=1)] | NonEmptyText = Field(
        description="A number, or words such as 'several'."
    )
    location: NonEmptyText = Field(description="Coarse, such as 'upper left' or 'between the two plates'.")


class RelationAtom(Atom):
    """A relation between two things in the figure."""

    source: NonEmptyText
    target: NonEmptyText
    type: NonEmptyText = Field(description="Such as 'flows into', 'contains' or 'points to'.")
    direction: Literal["forward", "both", "none"] = Field(
        description="forward: from source to target; both: each way; none: the relation has no direction."
    )


class FigureLayout(StrictModel):
    """Three layout atoms, all of them instruction atoms."""

    panel_structure: NonEmptyText = Field(description="Which panels there are and how they are arranged and marked.")
    panel_count: int = Field(strict=True, ge=1)
    global_layout: NonEmptyText = Field(description="How the figure as a whole is composed.")


class Atoms(StrictModel):
    """The gold atom set of one figure. Every mean of the scores has something to run over."""

    visual: tuple[VisualAtom, ...] = Field(json_schema_extra=_BOTH_ROLES)
    text: tuple[TextAtom, ...] = Field(json_schema_extra=_BOTH_ROLES)
    relation: tuple[RelationAtom, ...] = Field(json_schema_extra=_BOTH_ROLES)
    layout: FigureLayout

    def of(self, modality: Modality) -> tuple[Atom, ...]:
        """Return the atoms of one modality."""
        return {"visual": self.visual, "text": self.text, "relation": self.relation}[modality]

    @property
    def count(self) -> int:
        """The number of semantic atoms, without the layout."""
        return len(self.visual) + len(self.text) + len(self.relation)

    @model_validator(mode="after")
    def _is_whole(self) -> Atoms:
        ids = Counter(atom.id for modality in MODALITIES for atom in self.of(modality))
        if twice := [id for id, count in ids.items() if count > 1]:
            raise ValueError(f"more than one atom is called {', '.join(twice[:5])}")
        present = {(modality, atom.role) for modality in MODALITIES for atom in self.of(modality)}
        for modality, role in product(MODALITIES, ROLES):
            if (modality, role) not in present:
                raise ValueError(f"the {modality} atoms include no {role} atom; the scores need at least one")
        return self


class DrawingPrompts(StrictModel):
    """Two prompts for the same figure."""

    free: NonEmptyText = Field(description="As an expert would write it.")
    structured: NonEmptyText = Field(description="The same content, ordered; nothing added, dropped or changed.")


class Sample(StrictModel):
    """One figure: its prompts, its atom set and its reference image, if there is one."""

    id: Id = Field(min_length=1, max_length=180)
    domain: NonEmptyText
    panel_type: Literal["single", "multi"]
    aspect: Literal["landscape", "portrait", "square"]
    prompts: DrawingPrompts
    image_path: NonEmptyText | None = Field(default=None, description="The reference, relative to the folder images.")
    atoms: Atoms

    @model_validator(mode="after")
    def _panels_agree(self) -> Sample:
        count = self.atoms.layout.panel_count
        if (count == 1) != (self.panel_type == "single"):
            raise ValueError(f"panel_type is {self.panel_type}, but atoms.layout.panel_count is {count}")
        return self


def read(path: Path, name: str = "fepbench", columns: Columns | None = None) -> Exam[Atoms]:
    """Read the atom sets in a folder or file.

    Raises:
        DataError: Something is wrong; the message has file, line, sample id and atom id of every problem.
    """
    questions = read_questions(
        data_file(path, SAMPLES), Sample, _questions, columns=columns, nothing="no sample in this file"
    )
    notes = note_absent(questions[:: len(REGIMES)], "judges do not need them, controls skip them", "references")
    return Exam(name, "fepbench", questions, notes=tuple(notes))


def _questions(sample: Sample, file: Path) -> list[Question[Atoms]]:
    questions, reference = [], find_reference(file.parent / "images", sample.image_path) if sample.image_path else None
    for regime in REGIMES:
        tags = {"sample": sample.id, "regime": regime, "domain": sample.domain, "panel_type": sample.panel_type}
        tags |= {"aspect": sample.aspect, "regime_domain": f"{regime} / {sample.domain}"}
        prompt = sample.prompts.free if regime == "free" else sample.prompts.structured
        questions.append(Question(f"{sample.id}/{regime}", prompt, sample.atoms, tags, reference))
    return questions


def schema() -> str:
    """Return the JSON schema of one line of the samples file."""
    body = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Sample.model_json_schema()}
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


EVIDENCE = "evidence.json"
"""The file with the words in both prompts that ask for each sample's instruction atoms."""


def write(
    folder: Path, items: Sequence[Mapping[str, Any]], save: Callable[[str, str], None]
) -> Mapping[str, Sequence[str]]:
    """Write the samples and their figures; return the ids of each item's two questions.

    Args:
        folder: The exam's data folder.
        items: Mappings with ``image``, both prompts, the atoms, ``domain``, ``panel_type`` and ``aspect``.
        save: Saves a picture in the folder, by its hash and path.
    """
    numbers: Counter[str] = Counter()
    lines, made = [], dict[str, list[str]]()
    for item in items:
        domain = re.sub(r"\W+", "_", item["domain"].partition(" & ")[0])
        numbers[domain] += 1
        id = f"{domain}_{numbers[domain]}"
        row = {name: item[name] for name in ("domain", "panel_type", "aspect")}
        row |= {"id": id, "prompts": {regime: item[f"{regime}_prompt"] for regime in REGIMES}}
        row |= {"image_path": f"{id}.png", "atoms": {name: item[name] for name in Atoms.model_fields}}
        lines.append(Sample.model_validate(row).model_dump_json())
        save(item["image"], f"images/{id}.png")
        made[item["item"]] = [f"{id}/{regime}" for regime in REGIMES]
    (folder / SAMPLES).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    evidence = {made[item["item"]][0].partition("/")[0]: list(item["evidence"]) for item in items}
    (folder / EVIDENCE).write_text(json.dumps(evidence, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return made


ASKS = ("verify", "unexpected")


def read_results(path: Path) -> Iterator[ImportedReply]:
    """Yield the result in each line of a file, or of all ``*.jsonl`` files in a folder.

    Raises:
        DataError: A line cannot belong to a question; the message has file and line of every problem.
    """
    files = files_under(path, "*.jsonl")
    if not files:
        raise DataError("no *.jsonl file in this folder", file=path)
    problems = Problems()
    replies_found = []
    for file in files:
        for line, row in json_lines(file, problems):
            id = row["id"] if "id" in row else f"{row.get('sample')}/{row.get('regime')}"
            if not isinstance(id, str) or ("id" not in row and not {"sample", "regime"} <= row.keys()):
                problems.add('a line needs a text "id", or "sample" and "regime"', file, line)
                continue
            given = {ask: row[ask] for ask in ASKS if row.get(ask) is not None}
            replies = tuple(
                (ask, reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False))
                for ask, reply in given.items()
            )
            fault = None if replies else "this line has no reply"
            replies_found.append(ImportedReply(id, replies, file, fault=fault))
    problems.settle()
    yield from replies_found
