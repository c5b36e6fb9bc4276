"""The folder: an index, tables, figures, the site's pages, and a PDF where a browser is at hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from limner.report.reproduce.document import NoPdf, find_browser, write_pdf
from tests.cli.invoke import limner

SAMPLE = "sample/fepbench"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_missing_browser_is_reported_and_html_page_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMNER_BROWSER", "no-such-browser")
    result = limner("reproduce", SAMPLE, "--item", "Table 1", "--item", "Table 6", "-o", "paper", "--pdf", code=3)
    assert "no browser was found; install Chromium or Chrome" in result.err
    assert "LIMNER_BROWSER" in result.err
    assert not (tmp_path / "paper" / "index.pdf").exists()
    page = (tmp_path / "paper" / "index.html").read_text("utf-8")
    assert "cannot be reproduced: a survey of other papers: nothing is measured." in page
    # A table that no layout shows has the paper's own figures all the same.
    assert "1024x1024 / 1536x1024 / 1024x1536" in page
    assert "1024x1024 / 1536x1024" in (tmp_path / "paper" / "tables" / "table-6.html").read_text("utf-8")
    assert not re.search(r"(?:src|href)=\"(?!tables/|#)", page)


def test_browser_that_fails_to_print_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no display >&2\nexit 7\n", "utf-8")
    broken.chmod(0o755)
    monkeypatch.setenv("LIMNER_BROWSER", str(broken))
    assert find_browser() == str(broken)
    (tmp_path / "index.html").write_text("<p>x</p>", "utf-8")
    with pytest.raises(
        NoPdf, match=r"index\.html is complete\): .*broken did not print it: no display; install Chromium"
    ):
        write_pdf(tmp_path / "index.html", tmp_path / "index.pdf")


def test_index_includes_published_tables_without_store(tmp_path: Path) -> None:
    limner("reproduce", SAMPLE, "--item", "Table 2", "--item", "Table 5", "--store", "a<b>", "-o", "paper")
    page = (tmp_path / "paper" / "index.html").read_text("utf-8")
    assert page.count('class="limner-table"') == 4
    assert "HunyuanImage-3.0" in page
    assert "a&lt;b&gt;" in page
    assert "a<b>" not in page
    assert "The store has no row of the paper yet." in page
    assert len(set(re.findall(r' id="([^"]+)"', page))) == len(re.findall(r' id="([^"]+)"', page))
