"""Keys are known from the moment they are there."""

from __future__ import annotations

import pytest

from limner.core import redaction
from limner.core.redaction import name_key, redacted, without_secrets


def test_a_key_is_known_once_it_is_set_and_no_longer_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"told": "it was first-value-1, then other-value-2"}
    assert without_secrets(said) == said
    monkeypatch.setenv("SOME_API_KEY", "first-value-1")
    assert without_secrets(said) == {"told": "it was ***, then other-value-2"}
    monkeypatch.setenv("SOME_API_KEY", "other-value-2")
    assert without_secrets(said) == {"told": "it was first-value-1, then ***"}
    monkeypatch.delenv("SOME_API_KEY")
    assert without_secrets(said) == said


def test_a_variable_that_is_named_later_is_a_key_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_named", set())
    monkeypatch.setenv("PLAIN_NAME", "value-of-mine")
    assert redacted("value-of-mine") == "value-of-mine"
    name_key("PLAIN_NAME")
    assert redacted("value-of-mine") == "***"
