"""The pictures of benchmarks: few are drawn, all have hashes of their own."""

from __future__ import annotations

from benchmarks.marking import Once
from benchmarks.material import PICTURES, SIDE, picture, shown

from limner.core.images import decode, inspect, prepare


def test_pictures_differ_in_bytes_and_some_have_same_pixels() -> None:
    one, again, other = (picture(n) for n in (0, PICTURES, 1))
    assert len({one, again, other}) == 3
    assert shown(one) == shown(again) != shown(other)
    assert decode(one).tobytes() == decode(again).tobytes() != decode(other).tobytes()
    assert (inspect(again).width, inspect(again).format) == (SIDE, "PNG")


def test_cached_preparation_equals_preparing_each_picture() -> None:
    once = Once()
    for n in (0, PICTURES):
        assert once.prepare(picture(n)) == prepare(picture(n), 768)
    assert once.prepare(picture(0)).url is not once.prepare(picture(PICTURES)).url
