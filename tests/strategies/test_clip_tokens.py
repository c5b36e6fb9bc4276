from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.errors import UsageError
from limner.strategies.rewrite import about, counter, cut


@given(st.text(max_size=400), st.integers(0, 60))
def test_a_cut_text_fits_and_is_the_beginning(text: str, most: int) -> None:
    kept = cut(text, most)
    assert about(kept) <= most
    assert text.split()[: len(kept.split())] == kept.split() or about(text) <= most or kept == ""
    assert cut(kept, most) == kept


def test_whole_sentences_are_kept_where_one_fits() -> None:
    assert cut("Roots drink. Leaves breathe. Light feeds.", 8) == "Roots drink. Leaves breathe."
    assert cut("an endless sentence without a stop in it", 3) == "an endless"


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("cat", 1), ("photosynthesis", 3), ("42", 2), ("细胞核", 3), ("a-b", 3)]
)
def test_counts(text: str, count: int) -> None:
    assert about(text) == count


def test_english_prose_is_counted_rather_too_long_than_too_short() -> None:
    prose = "The mitochondrion is drawn as an oval with a folded inner membrane, labelled in plain letters."
    assert about(prose) >= len(prose.split()) * 1.2


def test_a_tokenizer_that_is_not_there_is_named(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    with pytest.raises(UsageError, match="cannot be read"):
        counter(str(tmp_path / "none.json"))


def test_the_encoders_own_tokenizer_counts(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    count = counter(str(tmp_path / "tokenizer.json"))
    assert count("a b photosynthesis") == 3
    assert cut("a b photosynthesis", 2, count) == "a b"
