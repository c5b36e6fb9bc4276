"""Prompt templates: filled, hashed, in a user's own wording."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.errors import UsageError
from limner.core.prompts import Prompts


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    folder = tmp_path / "shipped"
    folder.mkdir()
    (folder / "mark.md").write_text("Look at {{thing}}.\n{{thing}} again, {{count}} times.", "utf-8")
    (folder / "shape.md").write_text("One object.", "utf-8")
    return folder


def test_fields_are_filled_everywhere(shipped: Path) -> None:
    assert Prompts(shipped).fill("mark", thing="a cat", count="3") == "Look at a cat.\na cat again, 3 times."


@given(st.text(), st.text())
def test_values_are_taken_as_they_are(tmp_path_factory: pytest.TempPathFactory, one: str, other: str) -> None:
    """Braces in a value, even another field's name, stay words."""
    folder = tmp_path_factory.mktemp("prompts")
    (folder / "t.md").write_text("<{{a}}|{{b}}>", "utf-8")
    assert Prompts(folder).fill("t", a=one + "{{b}}", b=other) == f"<{one}{{{{b}}}}|{other}>"


def test_a_field_that_the_template_lacks(shipped: Path) -> None:
    with pytest.raises(UsageError, match=r"prompt template shape\.md lacks the field \{\{count\}\}"):
        Prompts(shipped).fill("shape", count="3")


def test_a_template_that_is_not_there(shipped: Path) -> None:
    with pytest.raises(UsageError, match=r"no prompt template caption\.md"):
        Prompts(shipped).text("caption")


def test_own_wording_goes_before_the_shipped(shipped: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "shape.md").write_text("My own.", "utf-8")
    prompts = Prompts(shipped, own)
    assert (prompts.text("shape"), prompts.text("mark")) == ("My own.", Prompts(shipped).text("mark"))
    assert prompts.hash("shape") != Prompts(shipped).hash("shape")
    assert prompts.hash("mark") == Prompts(shipped).hash("mark")


def test_own_wording_must_be_a_folder_of_text(shipped: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        Prompts(shipped, tmp_path / "nowhere")
    (tmp_path / "shape.md").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"shape\.md: cannot be read"):
        Prompts(shipped, tmp_path).text("shape")


def test_the_hash_depends_on_names_and_words_not_on_order(shipped: Path) -> None:
    prompts = Prompts(shipped)
    assert prompts.hash("mark", "shape") == prompts.hash("shape", "mark") != prompts.hash("mark")
