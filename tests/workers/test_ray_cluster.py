"""How much of a cluster workers take, by what its nodes have and what the user says; without a cluster."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from limner.core.errors import UsageError
from limner.workers import Recipe, WorkerUnfit
from limner.workers.ray import RayCluster, cluster, parse_gpus

OCR = Recipe("rapidocr", "none")
MODEL = Recipe("diffusers", "none", single=False, gpu=True)
SAM = Recipe("sam2.1-large", "none", single=False, gpu=True)


class FakeRay:
    """Knows its nodes."""

    def __init__(self, *nodes: dict[str, float]) -> None:
        self._nodes = [{"Alive": True, "Resources": node} for node in nodes]
        self._nodes.append({"Alive": False, "Resources": {"CPU": 99.0, "GPU": 99.0}})

    def nodes(self) -> Any:
        return self._nodes

    def remote(self, kind: Any) -> Any:
        return kind


def counts(nodes: list[dict[str, float]], words: list[str], workers: int | None = None) -> list[int | str]:
    there = RayCluster(FakeRay(*nodes), parse_gpus(words), workers)
    numbers: list[int | str] = []
    for recipe in (OCR, MODEL, SAM):
        try:
            numbers.append(there.count(recipe))
        except WorkerUnfit as error:
            numbers.append(str(error))
    return numbers


BIG = {"CPU": 16.0, "GPU": 4.0}
SMALL = {"CPU": 3.0}


@pytest.mark.parametrize(
    ("nodes", "words", "expected"),
    [
        ([BIG, SMALL], [], [19, 4, 4]),
        ([BIG, SMALL], ["0.5"], [19, 8, 8]),
        ([BIG, SMALL], ["0.3333"], [19, 12, 12]),
        ([BIG, SMALL], ["2", "sam2.1-large=0.25"], [19, 2, 16]),
        # Without a GPU a model uses all cores of its node.
        ([BIG, SMALL], ["diffusers=0"], [19, 2, 4]),
        ([SMALL], [], [3, 1, 1]),
    ],
)
def test_worker_count_follows_from_resources_of_nodes(
    nodes: list[dict[str, float]], words: list[str], expected: list[int]
) -> None:
    assert counts(nodes, words) == expected
    assert counts(nodes, words, 5) == [5, 5, 5]


def test_resources_missing_on_all_nodes_are_reported() -> None:
    message = "diffusers: no node of the Ray cluster has 8 GPU; add --ray-gpus diffusers=0 to run it on CPUs"
    assert counts([BIG], ["diffusers=8"]) == [16, message, 4]


def test_devices_are_assigned_by_ray() -> None:
    there = RayCluster(FakeRay(BIG, SMALL), {"": 0.5})
    assert there.devices("diffusers", (None,)) == [None] * 8
    assert there.devices("diffusers", ("cpu",)) == ["cpu"] * 2
    with pytest.raises(UsageError, match="devices=cuda:0, cuda:1 are this machine's"):
        there.devices("diffusers", ("cuda:0", "cuda:1"))


@pytest.mark.parametrize("word", ["half", "1.5", "-1", "diffusers=", "nan", "inf"])
def test_invalid_gpu_shares_are_refused(word: str) -> None:
    with pytest.raises(UsageError, match=f"--ray-gpus {word}: give a share of a GPU"):
        parse_gpus([word])


def test_missing_ray_error_names_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"pip install 'limner\[ray\]'"), cluster("auto"):
        pass
