from __future__ import annotations

import numpy as np
import pytest

from limner.scoring.stats import clustered_gap, clustered_share


def test_clusters_count_and_not_answers() -> None:
    once = clustered_share([(n, n % 2) for n in range(40)])
    often = clustered_share([(n, n % 2) for n in range(40) for _ in range(10)])
    assert often.error == pytest.approx(once.error)
    assert (once.n, often.n, often.clusters) == (40, 400, 40)


def test_the_error_is_that_of_a_mean_where_clusters_have_one_answer() -> None:
    values = np.random.default_rng(1).random(50)
    found = clustered_share(enumerate(values))
    assert found.error == pytest.approx(values.std(ddof=1) / np.sqrt(50))


def test_a_gap_within_clusters_is_paired() -> None:
    level = np.random.default_rng(2).random(60)
    one, other = list(enumerate(level + 0.1)), list(enumerate(level))
    assert clustered_gap(one, other).value == pytest.approx(0.1)
    assert clustered_gap(one, other).error == pytest.approx(0.5 / 60)  # All differ alike: as if one more did not.


def test_where_all_agree_there_is_still_doubt() -> None:
    found = clustered_share([(n, 1.0) for n in range(10)]).share()
    assert found.value == found.high == 1.0
    assert found.low is not None
    assert found.low < 0.75


def test_few_clusters_have_no_interval_and_one_has_no_test() -> None:
    assert clustered_share([(n, 1.0) for n in range(4)]).interval().low is None
    assert clustered_share([("q", 1.0), ("q", 0.0)]).p() is None
    assert clustered_share([]).value is None


def test_the_test_keeps_its_level() -> None:
    rng = np.random.default_rng(3)
    p = [clustered_share(enumerate((rng.random(40) < 0.5).astype(float))).p(0.5) for _ in range(400)]
    assert sum(value is not None and value <= 0.05 for value in p) <= 32
