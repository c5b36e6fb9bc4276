"""Frames: they round-trip unchanged, and invalid ones are refused before their content is read."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.workers import child as frames

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)
HEADERS = st.dictionaries(st.text().filter(lambda name: name != "sizes"), JSON)


def read(data: bytes, most: int = frames.BODIES) -> Any:
    return frames.read(io.BytesIO(data).read, most)


@given(HEADERS, st.lists(st.binary(), max_size=4))
def test_frame_round_trip_keeps_header_and_bodies(header: dict[str, Any], bodies: list[bytes]) -> None:
    assert read(b"".join(frames.packed(header, bodies))) == (header, bodies)


@given(HEADERS, st.lists(st.binary(), max_size=3), st.data())
def test_truncated_frame_reads_as_end_of_stream(
    header: dict[str, Any], bodies: list[bytes], data: st.DataObject
) -> None:
    whole = b"".join(frames.packed(header, bodies))
    assert read(whole[: data.draw(st.integers(0, len(whole) - 1))]) is None


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    whole = len(data) >= frames.LENGTHS.size
    with pytest.raises(frames.BadFrame) if whole else nullcontext():
        assert read(data) is None


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_random_header_is_refused(head: bytes, body: bytes) -> None:
    with pytest.raises(frames.BadFrame):
        read(frames.LENGTHS.pack(frames.MARK, len(head), len(body)) + head + body)


@pytest.mark.parametrize(("head", "total"), [(2**32 - 1, 0), (10, 10_000_000_000), (frames.HEADER + 1, 0), (10, 101)])
def test_lengths_are_checked_before_body_is_read(head: int, total: int) -> None:
    asked: list[int] = []

    def take(size: int) -> bytes:
        asked.append(size)
        return frames.LENGTHS.pack(frames.MARK, head, total)

    with pytest.raises(frames.BadFrame, match="bytes in one message; at most"):
        frames.read(take, 100)
    assert asked == [frames.LENGTHS.size]


@pytest.mark.parametrize(
    "head",
    [
        {"sizes": [1]},
        {"sizes": [-1, 3]},
        {"sizes": [True, True]},
        {},
        {"sizes": [2], "value": float("nan")},
    ],
)
def test_inconsistent_headers_are_refused(head: Any) -> None:
    words = json.dumps(head).encode()
    with pytest.raises(frames.BadFrame):
        read(frames.LENGTHS.pack(frames.MARK, len(words), 2) + words + b"ab")


def test_too_long_message_is_not_sent() -> None:
    with pytest.raises(frames.BadFrame, match="at most 3"):
        frames.packed({}, [b"ab", b"cd"], 3)
    with pytest.raises(frames.BadFrame):
        frames.packed({"value": "x" * frames.HEADER})
