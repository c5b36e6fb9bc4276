"""How to cite: the page, ``CITATION.cff`` and the exams' own figures name the same papers."""

from __future__ import annotations

import re
import subprocess
import sys

from ruamel.yaml import YAML

import limner
from limner.exams import EXAMS
from tests.docs.blocks import ROOT, blocks
from tests.docs.tables import code, table

PAGE = ROOT / "docs" / "exams.md"
CFF = YAML(typ="safe").load((ROOT / "CITATION.cff").read_text("utf-8"))
FIELD = re.compile(r"^  (\w+) += \{(.*?)\},?$", re.MULTILINE | re.DOTALL)


def entries() -> dict[str, dict[str, str]]:
    """The BibTeX entries of the page by their keys, with blanks as one and outer braces off."""
    text = "\n".join(block.text for block in blocks(PAGE) if block.language == "bibtex")
    matches = re.findall(r"^@\w+\{(\w+),\n(.*?)^\}$", text, re.MULTILINE | re.DOTALL)
    assert text.count("@") == len(matches)
    return {
        key: {name: " ".join(value.split()).strip("{}") for name, value in FIELD.findall(body)} for key, body in matches
    }


def test_citation_cff_is_valid() -> None:
    words = ["--builtin-schema", "vendor.citation-file-format", "CITATION.cff"]
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_version_equals_that_of_package() -> None:
    assert entries()["limner"]["version"] == CFF["version"] == limner.__version__
    assert entries()["limner"]["title"] == CFF["title"]


def test_page_citation_file_and_figures_name_same_papers() -> None:
    filed = {each["url"]: (each["title"], each["identifiers"][0]["value"]) for each in CFF["references"]}
    figures = (ROOT / "src" / "limner" / "exams" / "README.md").read_text("utf-8")
    exams = []
    for exam, paper in table(PAGE, "exam", "paper").rows:
        exams.append(code(re.sub(r"\[(.+?)\]\(.+?\)", r"\1", exam)))
        cited = re.fullmatch(r"(.+) \(\[arXiv ([\d.]+)\]\((.+)\)\)", paper)
        assert cited is not None, paper
        title, number, url = cited.groups()
        assert filed.pop(url) == (title, f"arXiv:{number}")
        assert url.endswith(f"/{number}")
        (in_figures,) = re.findall(rf"^\| {exams[-1]}/paper/published\.csv .*?arXiv ([\d.]+)", figures, re.MULTILINE)
        assert in_figures == number, exam
    assert filed == {}
    assert sorted(exams) == sorted(EXAMS.own())
