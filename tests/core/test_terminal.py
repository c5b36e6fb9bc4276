"""No control character reaches a terminal, whatever servers, data and models say."""

from __future__ import annotations

import ast
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import limner
from limner.core.terminal import printable, visible

BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
ODD = st.text(st.one_of(st.characters(max_codepoint=0xFF), st.sampled_from(sorted(BIDI)), st.characters()))


def controls(text: str) -> set[str]:
    """What of a text drives a terminal."""
    return {one for one in text if unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") or one in BIDI}


@given(ODD)
def test_every_control_character_is_spelt_out(text: str) -> None:
    assert not controls(visible(text))
    assert controls(printable(text)) <= {"\n", "\t"}
    assert visible(visible(text)) == visible(text)


@given(ODD)
def test_json_still_says_the_same(text: str) -> None:
    shown = printable(json.dumps({"id": text}, ensure_ascii=False))
    assert not controls(shown)
    assert json.loads(shown) == {"id": text}


def test_ordinary_words_stay() -> None:
    words = "naïve 学术 \N{ZERO WIDTH JOINER} – “ok” 👩‍🔬"
    assert printable(f"{words}\n\t{words}") == f"{words}\n\t{words}"


@pytest.mark.parametrize("path", sorted(Path(limner.__file__).parent.rglob("*.py")), ids=lambda path: path.name)
def test_nothing_prints_past_it(path: Path) -> None:
    """Whoever prints wraps it in `printable`, or goes through `say`; only `say` itself echoes."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called in ("click.echo", "click.secho", "print"):
            first = ast.unparse(node.args[0]) if node.args else ""
            assert "printable(" in first, f"{path}:{node.lineno}: {called}({first})"
