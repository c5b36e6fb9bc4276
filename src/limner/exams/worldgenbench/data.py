"""WorldGenBench's data: prompts with checklists, in a file or a folder of files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ...core.data_files import Columns, files_under, find_reference, note_absent, read_questions, write_json_lines
from ...core.data_rows import Problems, Rows, read_rows
from ...core.exam import Exam, Question
from ...core.schema import FrozenModel, Id, Words

DOMAINS = {"humanities": "Humanities", "nature": "Nature"}
CONTINENTS = {
    "AF": "Africa",
    "AN": "Antarctica",
    "AS": "Asia",
    "EU": "Europe",
    "NA": "North America",
    "OC": "Oceania",
    "SA": "South America",
}
DISCIPLINES = {
    "ASTR": "Astronomy",
    "BIO&MED": "Biology & Medicine",
    "CHEM": "Chemistry",
    "EASC": "Earth Sciences",
    "PHYS": "Physics",
    "XDIS": "Cross-Disciplinary",
}
"""The paper's abbreviations -> full names."""
FIELDS: Mapping[str, Mapping[str, str]] = {"domain": DOMAINS, "continent": CONTINENTS, "discipline": DISCIPLINES}


def _normalize(text: str) -> str:
    return re.sub(r"[\W_]+", "", re.sub(r"\band\b", "&", text.casefold()).replace("&", "n"))


_ABBREVIATIONS = {
    field: {_normalize(spelling): short for short, name in names.items() for spelling in (short, name)}
    for field, names in FIELDS.items()
}
"""Field -> normalised name -> abbreviation."""


def _abbreviate(field: str) -> BeforeValidator:
    def shortened(value: object) -> object:
        if isinstance(value, str) and _normalize(value) not in _ABBREVIATIONS[field]:
            raise ValueError(f"{value[:40]!r} is not one of: {', '.join(FIELDS[field].values())}")
        return _ABBREVIATIONS[field][_normalize(value)] if isinstance(value, str) else value

    return BeforeValidator(shortened)


Domain = Annotated[Literal["humanities", "nature"], _abbreviate("domain")]
Continent = Annotated[str, _abbreviate("continent")]
Discipline = Annotated[str, _abbreviate("discipline")]


class ChecklistItem(FrozenModel):
    """An item of a checklist, with its explanation."""

    item: Words = Field(min_length=1)
    explanation: Words


def _require_item(items: tuple[ChecklistItem, ...]) -> tuple[ChecklistItem, ...]:
    if not items:
        raise ValueError("it has no item")
    return items


class ChecklistRubric(FrozenModel):
    """The checklist for marking a drawing."""

    checklist: Annotated[tuple[ChecklistItem, ...], AfterValidator(_require_item)]


class PromptRow(ChecklistRubric):
    """One prompt of the data."""

    id: Id = Field(min_length=1, max_length=200)
    prompt: Words = Field(min_length=1)
    domain: Domain
    country: Words | None = None
    continent: Continent | None = None
    discipline: Discipline | None = None
    image_path: Words | None = None

    @model_validator(mode="after")
    def _has_its_place(self) -> PromptRow:
        if self.domain == "nature" and (self.country or self.continent or not self.discipline):
            raise ValueError("a prompt of the domain nature has a discipline, and no country or continent")
        if self.domain == "humanities" and (self.discipline or not (self.country or self.continent)):
            raise ValueError("a prompt of the domain humanities has a country or continent, and no discipline")
        return self


def read(path: Path, name: str = "worldgenbench", columns: Columns | None = None) -> Exam[ChecklistRubric]:
    """Read the exam from a file, or from all data files under a folder.

    Raises:
        DataError: Something is wrong; the message has file, line and id of every problem.
    """
    folder = path if path.is_dir() else path.parent

    def rows(file: Path, problems: Problems) -> Rows:
        within = file.relative_to(folder).with_suffix("")
        for number, (line, row) in enumerate(read_rows(file, problems), 1):
            yield line, _fill_defaults({column.casefold(): value for column, value in row.items()}, within, number)

    questions = read_questions(
        path,
        PromptRow,
        lambda entry, _: [_question(entry, folder)],
        files=files_under(path),
        rows=rows,
        columns=columns,
        nothing="no prompt found; expected data files with prompts",
    )
    return Exam(name, "worldgenbench", questions, notes=tuple(_notes(questions)))


def _fill_defaults(row: dict[str, Any], within: Path, number: int) -> dict[str, Any]:
    """Return the row with defaults from its file's name, such as ``nature/Physics.json``: an id and other fields."""
    filled: dict[str, Any] = {"id": f"{within.as_posix()}_{number}"}
    for part in within.parts:
        name = _normalize(part)
        filled |= {field: names[name] for field, names in _ABBREVIATIONS.items() if name in names}
    filled |= row
    if "domain" not in filled and any(filled.get(field) for field in ("country", "continent", "discipline")):
        filled["domain"] = "nature" if filled.get("discipline") else "humanities"
    return filled


def _question(entry: PromptRow, folder: Path) -> Question[ChecklistRubric]:
    reference = find_reference(folder / "images", entry.image_path) if entry.image_path else None
    tags = {name: getattr(entry, name) for name in ("domain", "continent", "discipline", "country")}
    present = {name: value for name, value in tags.items() if value}
    return Question(entry.id, entry.prompt, ChecklistRubric(checklist=entry.checklist), present, reference)


def _notes(questions: Sequence[Question[ChecklistRubric]]) -> list[str]:
    notes = note_absent([q for q in questions if q.reference is not None], "controls skip those questions")
    placeless = sum(not question.tags.keys() & {"continent", "discipline"} for question in questions)
    if placeless:
        notes.append(f"{placeless} of {len(questions)} prompts have no continent: --by continent lists them as (none)")
    return notes


def write(
    folder: Path, items: Sequence[Mapping[str, Any]], save: Callable[[str, str], None]
) -> Mapping[str, Sequence[str]]:
    """Write a file for each domain, without pictures; return each item's question id.

    Args:
        folder: The exam's data folder.
        items: Mappings with ``prompt``, ``checklist``, ``domain``, and ``country`` and ``continent`` or ``discipline``.
        save: Unused.
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    for item in items:
        row = {"id": item["item"], "prompt": item["prompt"], "domain": item["domain"]}
        row |= {name: item[name] for name in ("country", "continent", "discipline") if item.get(name)}
        row["checklist"] = [{name: entry[name] for name in ("item", "explanation")} for entry in item["checklist"]]
        PromptRow.model_validate(row)
        rows.setdefault(item["domain"], []).append(row)
    for domain in DOMAINS:
        if domain in rows:
            write_json_lines(folder / f"{domain}.jsonl", rows[domain])
    return {item["item"]: [item["item"]] for item in items}
