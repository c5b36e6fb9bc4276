"""Bodies are the JSON that they would be anyway."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from limner.core.prepared import PlainText
from limner.transport.bodies import json_bytes

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
PICTURES = st.binary().map(lambda data: PlainText(f"data:image/png;base64,{data.hex()}"))
BODIES = st.recursive(
    SCALARS | PICTURES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4) | st.tuples(inner, inner),
    max_leaves=8,
)


@settings(max_examples=40)
@given(BODIES)
def test_pictures_change_nothing_of_the_bytes(body: Any) -> None:
    assert json_bytes(body) == json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
