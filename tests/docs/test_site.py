"""The documentation as a site: every page has its place, and it is built without a warning and found by its search."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tools.docs_site import DOCS, glossary, linked, make, navigation, pages

import limner
from limner.cli import limner as commands
from tests.browser import new_context, new_page
from tests.docs.blocks import ROOT
from tests.needs import need

KINDS = ["Learn", "Do", "Understand", "Look up"]


def test_every_page_is_in_navigation_once() -> None:
    parts = navigation(set(pages()))
    assert [title for title, _ in parts] == KINDS
    placed = Counter(name for _, rows in parts for row in rows for name in row)
    assert sorted(pages().keys() - placed.keys() - {"index.md"}) == [], "docs/nav.toml has no place for these"
    assert sorted(placed.keys() - pages().keys()) == [], "docs/nav.toml names pages that are not there"
    assert {name: count for name, count in placed.items() if count > 1} == {}


def test_links_are_rewritten_relative_to_page() -> None:
    text = "[a](docs/choose.md#evaluators) [b](https://example.org) [c](#here)\n```\n[d](docs/choose.md)\n```\n"
    rewritten = linked(text, ROOT / "README.md", "deep/start.md")
    assert rewritten == text.replace("[a](docs/choose.md#", "[a](../choose.md#")
    back = linked("[a](../../CONTRIBUTING.md) ![b](../images/controls.png)", DOCS / "deep/x.md", "deep/x.md")
    assert back == "[a](../contributing.md) ![b](../images/controls.png)"


def test_link_to_file_that_is_not_a_page_is_refused() -> None:
    with pytest.raises(ValueError, match=r"README\.md: pyproject\.toml leads to no page"):
        linked("[a](pyproject.toml)", ROOT / "README.md", "start.md")


def test_each_glossary_term_is_explained_once() -> None:
    text = (DOCS / "words.md").read_text("utf-8")
    rendered = glossary(text)
    terms = re.findall(r"^(?!```)(\S.*)$", rendered[rendered.index("```{glossary}") :], re.MULTILINE)
    assert {term: count for term, count in Counter(terms).items() if count > 1} == {}
    assert {"painter", "judge", "rubric", "criterion", "coverage"} <= {*terms}
    assert rendered.count("\n  ") == len(re.findall(r"^\| (?!word \|)", text, re.MULTILINE))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("docs", find_spec("sphinx") is not None, "the extra docs is not installed")
    out = tmp_path_factory.mktemp("docs") / "site"
    assert make(out) == ""
    return out


@pytest.mark.slow
def test_every_page_is_built(site: Path) -> None:
    missing = [name for name in pages() if not (site / name).with_suffix(".html").is_file()]
    assert missing == []
    front = (site / "index.html").read_text("utf-8")
    assert [kind for kind in KINDS if f">{kind}<" not in front] == []
    # The pages open from disk: nothing is fetched from elsewhere.
    assert re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(?:https?:)?//[^"]*"', front) == []


@pytest.mark.slow
def test_commands_and_python_api_are_documented_from_code(site: Path) -> None:
    python = (site / "api.html").read_text("utf-8")
    assert [name for name in limner.__all__ if f'id="limner.{name}"' not in python] == []
    page = (site / "commands.html").read_text("utf-8")
    assert [name for name in commands.commands if f'id="limner-{name}"' not in page] == []


FINDS = {"download": "index", "data": "data", "key": "index", "budget": "cost", "resum": "store", "cost": "cost"}
"""What newcomers search for, as the index has it (``resum`` for resume), and a page with a heading that says it."""


@pytest.mark.slow
def test_search_finds_what_newcomers_look_for(site: Path) -> None:
    script = (site / "searchindex.js").read_text("utf-8")
    index = json.loads(script[script.index("{") : script.rindex("}") + 1])
    found = {}
    for word in FINDS:
        places = index["titleterms"].get(word, [])
        found[word] = {index["docnames"][place] for place in (places if isinstance(places, list) else [places])}
    assert {word: page for word, page in FINDS.items() if page not in found[word]} == {}


@pytest.mark.slow
def test_search_works_from_disk(site: Path, chromium: Any) -> None:
    word, page = "abstain", "words"
    window = new_page(new_context(chromium))
    window.goto((site / "index.html").as_uri())
    window.locator("input[name=q]").first.fill(word)
    window.keyboard.press("Enter")
    # Hits come one by one.
    window.locator(f"#search-results li a[href^='{page}.html']").first.wait_for()
    window.context.close()


@pytest.mark.slow
def test_no_page_is_wider_than_phone_screen(site: Path, chromium: Any) -> None:
    window = new_page(new_context(chromium, width=390, height=800))
    wide = {}
    for name in ("index", "tutorial", "commands", "api", "words", "exams", "start"):
        window.goto((site / f"{name}.html").as_uri())
        width = window.evaluate("document.documentElement.scrollWidth")
        if width > 390:
            wide[name] = width
    window.context.close()
    assert wide == {}
