"""A painter, a judge, a strategy, probes and an image service from another package go through every command."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.json_server import json_server
from tests.support import picture
from tests.third_party.drive import drive

WAY = [
    "sample/flags", "--painter", "bars=stripes/white,red", "--painter-arg", "width=2", "--strategy", "brighten",
    "--strategy", "direct", "--judge", "colours", "--regions", "stripes?least=3",
]  # fmt: skip


@pytest.mark.slow
def test_run_with_third_party_parts_completes(tmp_path: Path) -> None:
    commands = {
        "estimate": ["estimate", *WAY, "--format=json"],
        "run": ["run", *WAY, "--format=json", "--budget", "1"],
        "again": ["run", *WAY, "--format=json"],
        "scores": ["scores", "sample/flags", "--format", "json"],
        "evidence": ["evidence", "sample/flags", "--probe", "brightness", "--format=json"],
        "named": [
            "evidence",
            "sample/flags",
            "--probe",
            "brightness=mean,regions=stripes",
            "--dry-run",
            "--format=json",
        ],
        "show": ["show", "sample/flags", "europe/sweden", "--format=json"],
        "spend": ["spend", "--format=json"],
    }
    results = dict(zip(commands, drive(tmp_path, *commands.values()), strict=True))
    assert {name: code for name, (code, _, _) in results.items()} == dict.fromkeys(commands, 0), results
    outputs: dict[str, Any] = {name: json.loads(out) for name, (_, out, _) in results.items()}

    steps = [
        (one["who"], one["role"], one["steps"], one["dollars"], one["basis"]) for one in outputs["estimate"]["steps"]
    ]
    assert steps == [
        ("bars", "painter", 3, pytest.approx(0.03), "price list"),
        ("bars", "painter", 3, pytest.approx(0.03), "price list"),
        ("stripes", "probe", 6, 0.0, "free"),
        ("colours", "judge", 6, 0.0, "free"),
    ]
    assert (outputs["run"]["done"], outputs["run"]["failed"], outputs["run"]["spent"]) == (18, 0, pytest.approx(0.06))
    assert (outputs["again"]["done"], outputs["again"]["spent"]) == (0, 0)

    whole = {one["strategy"]: one["scores"]["colours"]["value"] for one in outputs["scores"]}
    # White and red are always there; yellow, which is Sweden's, by the strategy alone.
    assert whole == {"brighten": pytest.approx(500 / 7), "direct": pytest.approx(400 / 7)}
    assert outputs["evidence"]["done"] == 6
    assert outputs["named"] == {"regions": 6, "brightness": 0}
    shown = {one["strategy"]: one for one in outputs["show"]["drawings"]}
    assert "yellow" in json.dumps(shown["brighten"])
    (marked,) = [one for one in outputs["show"]["markings"] if one["strategy"] == "brighten"]
    assert marked["evidence"]["regions"] == {"value": 3, "backend": "stripes/least=3"}
    assert marked["evidence"]["brightness"]["backend"] == "mean/1"
    assert 100 < marked["evidence"]["brightness"]["value"] < 255


@pytest.mark.slow
def test_third_party_image_service_draws(tmp_path: Path) -> None:
    png = base64.b64encode(picture(3)).decode()
    with json_server(lambda path, body: {"png": png, "dollars": 0.25}) as (address, seen):
        (tmp_path / "limner.toml").write_text(
            f'[providers.shop]\nbase_url = "{address}"\nimage_shape = "stripes-json"\nseeds = true\n'
            '[painters."shop/a"]\nimage_price = 0.5\n'
        )
        way = ["sample/flags", "--painter", "shop/a", "--limit", "1"]
        estimate, wrong, drawn = drive(
            tmp_path,
            ["estimate", *way, "--format=json"],
            ["draw", *way, "--painter-arg", "shade=dark"],
            ["draw", *way, "--format=json"],
        )
    assert json.loads(estimate[1])["dollars"] == 0.5
    assert "shop/a has no option 'shade'; it has: colour, size" in wrong[2]
    assert json.loads(drawn[1])["spent"] == 0.25
    assert seen == [("/stripes", {"model": "a", "text": "The flag of Italy", "size": "8x8", "seed": 0}, None)]
