from __future__ import annotations

import pytest

from limner.core.errors import UsageError
from limner.train.settings import PAPER, TrainSettings, parse


def test_defaults_match_paper() -> None:
    usual = TrainSettings()
    assert {name: getattr(usual, name) for name in PAPER} == {
        "steps": 10_000, "size": 1024, "tokens": 2048, "seed": 42, "guidance": 3.5,
    }  # fmt: skip
    assert usual.to_json()["paper"] == list(PAPER)


def test_settings_are_parsed_from_strings() -> None:
    found = parse({"rank": "16", "learning_rate": "3e-4", "recompute": "0.5", "modules": "attn.to_q,attn.to_k"})
    assert (found.rank, found.learning_rate, found.recompute, found.modules) == (
        16, 3e-4, 0.5, ("attn.to_q", "attn.to_k"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ranks": "1"}, "--set ranks: no such setting; available: steps, size"),
        ({"rank": "x"}, "--set rank=x: Input should be a valid integer"),
        ({"rank": "0"}, "--set rank=0: Input should be greater than 0"),
        ({"tokens": "4096"}, "--set tokens=4096: Input should be less than or equal to 2048"),
        ({"compiled": "maybe"}, "--set compiled=maybe: Input should be a valid boolean"),
        ({"recompute": "2"}, "less than or equal to 1"),
        ({"held_out": "1"}, "--set held_out=1: Input should be less than 1"),
        ({"learning_rate": "nan"}, "greater than 0"),
        ({"precision": "fp8"}, "--set precision=fp8: Input should be 'bf16' or 'no'"),
        ({"schedule": "linear"}, "'constant' or 'cosine'"),
        ({"time_sampling": "beta"}, "'uniform' or 'logit-normal'"),
        ({"shift": "3"}, "'resolution' or 'none'"),
    ],
)
def test_invalid_settings_are_reported(given: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(given)
