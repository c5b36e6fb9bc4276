from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from limner.train.settings import MAX_ASPECT, bucket, buckets, order


@given(st.integers(64, 2048), st.sampled_from([16, 32, 64]))
def test_buckets_nearly_reach_area_and_never_exceed_it(size: int, step: int) -> None:
    found = buckets(size, step)
    assert found
    for width, height in found:
        assert width % step == height % step == 0
        assert width * height <= size * size or (width, height) == (step, step)
        assert width * (height + step) > size * size
        assert 1 / MAX_ASPECT <= width / height <= MAX_ASPECT


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_picture_is_assigned_to_nearest_shape(width: int, height: int) -> None:
    chosen = bucket(width, height, 1024, 64)
    assert chosen in buckets(1024, 64)
    assert (chosen[0] > chosen[1]) <= (width >= height)
    assert bucket(1000, 1000, 1024, 64) == (1024, 1024)


@given(
    st.lists(st.sampled_from([(64, 64), (32, 128), (128, 32)]), min_size=1, max_size=30),
    st.integers(1, 5),
    st.integers(0, 9),
)
def test_epoch_has_every_sample_in_batches_of_equal_shape(groups: list[tuple[int, int]], batch: int, seed: int) -> None:
    found = order(groups, batch, seed, 0)
    assert all(len(each) == batch and len({groups[n] for n in each}) == 1 for each in found)
    counts = Counter(n for each in found for n in each)
    assert set(counts) == set(range(len(groups)))
    assert found == order(groups, batch, seed, 0)
    assert sum(counts.values()) < len(groups) + 3 * batch
