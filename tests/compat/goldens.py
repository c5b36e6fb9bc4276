"""What is printed over the kept store: each golden's command, how its output is read, and where it is kept."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.invoke import limner

EXAMS = ("sample/genexam", "sample/mmmg", "sample/worldgenbench", "sample/fepbench", "sample/aibench", "genexam")
SITE = "site/data.json.gz"


@dataclass(frozen=True)
class Golden:
    """One output.

    Attributes:
        file: Where it is kept below ``goldens``; what its name ends in says how the output is read.
        words: The command, without its store.
    """

    file: str
    words: tuple[str, ...]

    @property
    def folder(self) -> str:
        return self.file.partition("/")[0]

    def compute(self, store: str) -> Any:
        """What the command says now, parsed and normalised."""
        if self.file == SITE:
            return normalise(_site(self.words, store), store)
        out = limner(*self.words, "--store", store).out
        name = self.file.removesuffix(".gz")
        if name.endswith(".jsonl"):
            found: Any = [json.loads(line) for line in out.split("\n") if line]
        elif name.endswith(".csv"):
            found = list(csv.DictReader(io.StringIO(out)))
        else:
            found = json.loads(out)
        return normalise(found, store)


def normalise(value: Any, store: str) -> Any:
    """The one place where what may differ from day to day and machine to machine is made alike.

    The store's place becomes ``<store>`` and Limner's own version ``limner <version>``. Times, seconds and costs need
    nothing: those that are printed stand in the store. No field is left out.
    """
    if isinstance(value, dict):
        return {key: normalise(item, store) for key, item in value.items()}
    if isinstance(value, list):
        return [normalise(item, store) for item in value]
    if not isinstance(value, str):
        return value
    if "/" in store:
        value = value.replace(store, "<store>")
    return re.sub(r"\b([Ll]imner) \d+\.\d+(\.\w+)*", r"\1 <version>", value)


def _site(words: tuple[str, ...], store: str) -> dict[str, Any]:
    """The data of the site's pages: what each file of it hands over, by the file's name."""
    folder = Path(tempfile.mkdtemp(prefix="limner-site-"))
    try:
        limner(*words, "-o", folder / "site", "--store", store)
        return {
            file.relative_to(folder / "site").as_posix(): [
                _handed(line) for line in file.read_text().split("\n") if line
            ]
            for file in sorted((folder / "site").rglob("data/**/*.js"))
        }
    finally:
        shutil.rmtree(folder)


def _handed(line: str) -> Any:
    """What a line ``limner('name','JSON')`` hands over."""
    found = re.fullmatch(r"limner\('[^']*','(.*)'\);?", line)
    assert found is not None, line[:80]
    return json.loads(re.sub(r"\\(.)", r"\1", found[1]))


def write(folder: Path, file: str, value: Any) -> None:
    """Keep a golden as it was computed; lists a record to a line, so that it can be read and compared."""
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    if file.endswith(".csv"):
        text = io.StringIO()
        rows = csv.DictWriter(text, list(value[0]), lineterminator="\n")
        rows.writeheader()
        rows.writerows(value)
        data = text.getvalue()
    elif file.endswith(".jsonl"):
        data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in value)
    else:
        data = json.dumps(value, ensure_ascii=False, indent=None if file.endswith(".gz") else 1) + "\n"
    path.write_bytes(gzip.compress(data.encode(), 9, mtime=0) if file.endswith(".gz") else data.encode())


def read(folder: Path, file: str) -> Any:
    """A golden as it was kept."""
    data = (folder / file).read_bytes()
    text = (gzip.decompress(data) if file.endswith(".gz") else data).decode()
    if file.endswith(".csv"):
        return list(csv.DictReader(io.StringIO(text)))
    if file.endswith(".jsonl"):
        return [json.loads(line) for line in text.split("\n") if line]
    return json.loads(text)


def _slug(exam: str) -> str:
    return exam.replace("/", "-")


def _tables() -> list[Golden]:
    wanted = {
        "sample/genexam": "genexam:table2 genexam:table4 genexam:table6 genexam:table9",
        "genexam": "genexam:table2 genexam:table4 genexam:table7",
        "sample/mmmg": "mmmg:table2 mmmg:table5 mmmg:table16 mmmg:table17",
        "sample/worldgenbench": "worldgenbench:table2",
        "sample/fepbench": "fepbench:table2",
        "sample/aibench": "aibench:table3",
    }
    found = []
    for exam, names in wanted.items():
        for name in names.split():
            file = f"table/{_slug(exam)}-{name.partition(':')[2]}.csv"
            found.append(Golden(file, ("table", name, "--exam", exam, "--format", "csv")))
    return found


def _goldens() -> list[Golden]:
    def scores(exam: str, file: str, *more: str) -> Golden:
        return Golden(f"scores/{_slug(exam)}{file}.json", ("scores", exam, "--format", "json", *more))

    found = [scores(exam, "") for exam in EXAMS]
    for exam in ("sample/genexam", "sample/mmmg", "genexam"):
        found += [scores(exam, f"-{reading}", "--reading", reading) for reading in ("paper", "release")]
    found += [
        scores("sample/genexam", "-by", "--by", "subject", "--by", "dimension"),
        scores("genexam", "-by", "--by", "subject", "--by", "difficulty", "--by", "dimension"),
        scores("sample/mmmg", "-by", "--by", "level", "--by", "discipline"),
        scores("sample/mmmg", "-n_max", "-O", "n_max=200"),
        scores("genexam", "-mini", "--subset", "mini", "--exclude-flagged"),
        Golden("scores/genexam.csv", ("scores", "genexam", "--format", "csv", "--by", "subject")),
    ]
    for exam in ("sample/genexam", "sample/mmmg", "genexam"):
        for command in ("compare", "agree"):
            found.append(Golden(f"{command}/{_slug(exam)}.json", (command, exam, "--format", "json")))
        found.append(Golden(f"compare/{_slug(exam)}.csv", ("compare", exam, "--format", "csv")))
        found.append(Golden(f"agree/{_slug(exam)}.csv", ("agree", exam, "--format", "csv")))
    found += [
        Golden("compare/genexam-by.json", ("compare", "genexam", "--by", "subject", "--format", "json")),
        Golden("compare/exams.json", ("compare", "--exams", "sample/genexam,sample/mmmg", "--format", "json")),
        Golden("spend/all.json", ("spend", "--json")),
        Golden("spend/painters.json", ("spend", "--by", "kind", "--by", "painter", "--json")),
        Golden("show/sample-genexam.json", ("show", "sample/genexam", "Sample_Biology_1", "--json")),
        Golden("show/sample-mmmg.json", ("show", "sample/mmmg", "preschool_Biology_1", "--json")),
        Golden("show/genexam-first.json", ("show", "genexam", "Biology_0", "--json")),
        Golden("show/genexam-faults.json", ("show", "genexam", "Mathematics_1", "--json")),
    ]
    found += [Golden(f"export/{_slug(exam)}.jsonl", ("export", exam)) for exam in EXAMS]
    found.append(Golden("export/genexam.csv", ("export", "genexam", "--format", "csv")))
    return [*found, *_tables(), Golden(SITE, ("report", "--no-images"))]


GOLDENS = tuple(_goldens())
QUICK = sorted({golden.folder for golden in GOLDENS} - {"site"})
