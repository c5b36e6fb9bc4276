"""The first steps' commands: pages of the documentation, by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from limner.cli.demo import NOTES
from tests.cli.invoke import limner
from tests.docs.blocks import ROOT

REFERENCE = re.compile(r"limner docs ([a-z][\w/-]*)")


def test_docs_shows_the_tutorial_by_default() -> None:
    assert limner("docs").out.strip() == (ROOT / "docs" / "tutorial.md").read_text("utf-8").strip()


@pytest.mark.parametrize("name", ["judges", "docs/judges.md", "judges.md"])
def test_docs_shows_the_page_named(name: str) -> None:
    assert limner("docs", name).out.startswith("# ")


def test_docs_names_the_list_where_a_page_is_missing() -> None:
    assert "limner docs --list" in limner("docs", "nothing", code=2).err
    assert {"tutorial", "providers/openai"} <= set(limner("docs", "--list").out.split())


def test_every_page_that_a_message_names_exists() -> None:
    files = [path for kind in ("*.py", "*.toml") for path in (ROOT / "src").rglob(kind)]
    named = {page for path in files for page in REFERENCE.findall(Path(path).read_text("utf-8"))}
    assert REFERENCE.findall(NOTES) == ["tutorial"]
    assert "training" in named
    assert named <= set(limner("docs", "--list").out.split())
