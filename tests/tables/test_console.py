"""The terminal: what reaches it, and how wide it is."""

from __future__ import annotations

import pytest

from limner.tables.console import NARROWEST, PLAIN_WIDTH, console, escape


def test_escape() -> None:
    assert escape("plain ✓ line\n") == "plain ✓ line\n"
    assert escape("[b]\x00\x07\x9b") == r"\[b]\u0000\u0007\u009b"


@pytest.mark.parametrize(
    ("said", "width"),
    [(None, PLAIN_WIDTH), ("", PLAIN_WIDTH), ("wide", PLAIN_WIDTH), ("80", 80), ("300", 300), ("7", NARROWEST)],
)
def test_piped_output_is_as_wide_as_columns_says(monkeypatch: pytest.MonkeyPatch, said: str | None, width: int) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if said is not None:
        monkeypatch.setenv("COLUMNS", said)
    assert console().width == width
