"""The pages as text: what they let in, and what stands at their foot."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.evaluator import Evaluator
from limner.site.judge_data import JudgeTable
from limner.site.pages import PAGES, POLICY, Provenance, exam_page, index_page, store_name, text
from limner.store import Store
from tests.site.hostile import WORDS

anything = st.text(st.characters(exclude_categories=()), min_size=1, max_size=60)


class Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def foot(word: str) -> Provenance:
    setup = {"variant": word, "templates": word, "judge": word, word: word}
    table = JudgeTable(0, Evaluator("f", setup, word), "f" * 12, markings=3, first=0.0, last=1.0)
    return Provenance(word, word, "careful", 2, 3, 4, (0.0, 90.0), [table], {word: 7}, (0.5, 1.0))


def shape(page: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(tag, tuple(attrs)) for tag, attrs in Tags(page).tags]


@pytest.mark.slow
@given(anything | st.sampled_from(WORDS))
def test_no_word_changes_the_shape_of_a_page(word: str) -> None:
    for page in PAGES:
        made = exam_page(page, foot(word), [(word, "a"), ("x", "b")], 0, word)
        assert shape(made) == shape(exam_page(page, foot("plain"), [("plain", "a"), ("x", "b")], 0, "plain"))
        made.encode("utf-8")
    assert shape(index_page([foot(word)], 0, word)) == shape(index_page([foot("plain")], 0, "plain"))


@given(anything)
def test_words_read_back_as_they_were(word: str) -> None:
    parser = Tags(f"<p>{text(word)}</p>")
    wanted = (
        "".join("\ufffd" if ord(c) < 32 and c not in "\t\n" else c for c in word).encode("utf-8", "replace").decode()
    )
    assert "".join(parser.words) == wanted


@pytest.mark.parametrize("page", [*PAGES, "first"])
def test_nothing_stands_inside_a_page_that_its_policy_forbids(page: str) -> None:
    made = index_page([foot("x")], 0, "s") if page == "first" else exam_page(page, foot("x"), [("x", "a")], 0, "s")
    for tag, attrs in Tags(made).tags:
        assert not any(name.startswith("on") or name == "style" for name in attrs)
        assert tag != "style"
        for name in ("src", "href"):
            assert not re.match(r"\w+:|//", attrs.get(name) or "")
        if tag == "script":
            assert attrs["src"]
    policies = [
        attrs["content"] for tag, attrs in Tags(made).tags if attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policies == [POLICY]
    assert "default-src 'none'" in POLICY
    assert "unsafe" not in POLICY


def test_a_public_page_names_no_folder_above_the_store(store: Store) -> None:
    assert store_name(store) == "store"
