"""Every exam reads its data in any format, with columns of any name."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars
import pytest

from limner import exams
from limner.core.errors import DataError, UsageError
from limner.core.exam import Exam
from limner.exams import COLUMNS
from tests.cli.invoke import limner

Rows = Sequence[Mapping[str, Any]]


def texts(rows: Rows) -> list[dict[str, str]]:
    """Rows whose lists and objects are JSON text."""
    return [
        {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in row.items()
            if value is not None
        }
        for row in rows
    ]


def write_table(file: Path, rows: Rows) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(stream, names, delimiter="\t" if file.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(texts(rows))


def write_nested(file: Path, rows: Rows) -> None:
    polars.DataFrame(list(rows), infer_schema_length=None, strict=False).write_parquet(file)


WRITERS: dict[str, Callable[[Path, Rows], None]] = {
    ".csv": write_table,
    ".tsv": write_table,
    ".json": lambda file, rows: void(file.write_text(json.dumps(rows, indent=1), "utf-8")),
    ".parquet": lambda file, rows: write_nested(file, texts(rows)),
    "nested.parquet": write_nested,
}


def void(_: object) -> None:
    """Nothing."""


def convert(name: str, folder: Path, ending: str, change: Callable[[Any], Any] = lambda row: row) -> Path:
    """Copy an exam's sample, with its data files in another format."""
    sample = exams.kind(name).sample
    assert sample is not None
    shutil.copytree(sample, folder)
    for file in [*folder.rglob("*.jsonl")]:
        rows = [change(json.loads(line)) for line in file.read_text("utf-8").splitlines()]
        WRITERS[ending](file.with_suffix(f".{ending.rpartition('.')[2]}"), rows)
        file.unlink()
    return folder


def whole(exam: Exam[Any]) -> dict[str, str]:
    return {question.id: question.hash for question in exam.questions}


# Columns of Parquet have one type, which those of the two other exams do not.
NESTED = ("genexam", "mmmg", "worldgenbench")


FORMS = [(name, ending) for name in exams.SHIPPED for ending in WRITERS if ending[0] == "." or name in NESTED]


@pytest.mark.parametrize(("name", "ending"), FORMS)
def test_all_formats_make_the_same_questions(tmp_path: Path, name: str, ending: str) -> None:
    read = exams.read(exams.resolve(name, convert(name, tmp_path / "data", ending)))
    assert whole(read) == whole(exams.read(exams.resolve(f"sample/{name}")))


PROMPTS = dict.fromkeys(exams.SHIPPED, "prompt") | {"aibench": "method_text", "fepbench": "prompts"}


@pytest.mark.parametrize("name", exams.SHIPPED)
def test_columns_may_have_other_names(tmp_path: Path, name: str) -> None:
    prompt = PROMPTS[name]
    folder = convert(
        name, tmp_path / "data", ".csv", lambda row: {"T2I " * (key == prompt) + key.upper(): row[key] for key in row}
    )
    expected = whole(exams.read(exams.resolve(f"sample/{name}")))
    out = limner("exam", "check", name, "--data", str(folder), "--columns", f"{prompt}=t2i {prompt}").out
    assert f"{name}: {len(expected)} questions" in out
    assert COLUMNS.get() == {}
    (tmp_path / "exam.toml").write_text(
        f'name = "mine"\nkind = "{name}"\ndata = "data"\n[columns]\n{prompt} = "T2I {prompt.upper()}"\n', "utf-8"
    )
    assert whole(exams.read(exams.resolve(str(tmp_path / "exam.toml")))) == expected


def test_wrong_columns_are_named(tmp_path: Path) -> None:
    folder = convert("genexam", tmp_path / "data", ".csv")
    told = limner("exam", "check", "genexam", "--data", str(folder), "--columns", "prompt=Words", code=1).err
    assert "no row has a column 'Words'" in told
    told = limner("exam", "check", "genexam", "--data", str(folder), "--columns", "Words", code=2).err
    assert "--columns takes NAME=COLUMN" in told
    with pytest.raises(UsageError, match="no column 'words' is needed; choose from: "):
        exams.kind("genexam").read(folder, "x", {"words": "y"})
    with pytest.raises(DataError, match=r"All_Subjects\.csv:2: .*prompt: Field required; the columns are "):
        exams.kind("genexam").read(
            convert("genexam", tmp_path / "less", ".csv", lambda row: {**row, "prompt": None, "words": "x"}), "x"
        )
