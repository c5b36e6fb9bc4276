"""`limner evidence --metric NAME:WEIGHTS`: in workers, resumed, with what it was computed with in the evaluator."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from limner.core.errors import UsageError
from limner.evidence import metrics
from limner.evidence.metrics import LocalMetric, open_metric
from limner.store import Store
from limner.store.markings import load_painter_metrics, load_ratings
from limner.store.records import load_setups
from tests.cli.invoke import limner
from tests.evidence.metrics import tiny

EXAM = "sample/genexam"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None or find_spec("transformers") is None, reason="torch is not installed")
def test_evidence_command_computes_clip_score_and_fid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "store"
    limner("draw", EXAM, "--painter", "control/blank", "--painter", "control/reference", "--store", store)
    clip, inception = tiny.clip(tmp_path / "clip"), tiny.inception(tmp_path / "inception.pt")
    words = ("evidence", EXAM, "--store", store, "--metric")
    first = limner(*words, f"clip-score:{clip}", "--format=json")
    done = first.json()
    assert done["failed"] == 0
    assert "read only the beginning of the prompt" in first.err
    again = limner(*words, f"clip-score:{clip}", "--format=json").json()
    assert again["failed"] == 0
    features = metrics.features(str(inception))

    async def here(self: LocalMetric, image: bytes, text: str | None = None) -> Any:
        """One worker's start is enough for a test."""
        return features(image)

    monkeypatch.setattr(LocalMetric, "compute", here)
    output = limner(*words, f"fid:{inception}").out
    assert "fid of control/reference: 0.000" in output
    assert "n = 13 drawings, 13 reference images" in output
    assert "too few" not in output, "six features need seven images"
    with Store(store) as opened:
        rows = list(load_ratings(opened, EXAM))
        assert len(rows) == done["done"]
        assert {row.scale for row in rows} == {"clip-score"}
        assert all(row.value is not None and 0 <= row.value <= 100 for row in rows)
        setup = load_setups(opened)[rows[0].setup]
        assert set(setup) == {"judge", "weights"}
        fids = {row.painter: row for row in load_painter_metrics(opened, EXAM)}
        assert fids["control/reference"].value == pytest.approx(0, abs=1e-6)
        assert fids["control/blank"].value > 0.001
        assert fids["control/blank"].body["least_n"] == 7
        assert fids["control/blank"].n == len(rows) // 2
        assert load_setups(opened)[fids["control/blank"].setup]["reference"]["n"] == len(rows) // 2


def test_wrong_metric_is_reported_before_work_starts(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    for word, message in (
        ("clip", "choose from clip-score:FOLDER, pickscore:FOLDER"),
        ("clip-score", "or FILE.csv, a table of id,painter,strategy,seed,metric,value"),
        ("clip-score:x?question=1", "no option question; choose from: device"),
    ):
        with pytest.raises(UsageError, match=message.replace("?", "\\?")):
            open_metric(word)
    for word, message in (
        (f"clip-score:{tmp_path}/none", "no such folder"),
        (f"fid:{tmp_path}/weights", "no such file"),
        (f"aesthetic-clip:{tmp_path}/weights", "it needs a head"),
        (f"aesthetic-clip:{tmp_path}/weights?head=none.pth", "none.pth: no such file"),
    ):
        with pytest.raises(UsageError, match=message):
            open_metric(word).check()


@pytest.mark.parametrize(("options", "gpu"), [("", False), ("?device=cpu", False), ("?device=cuda", True)])
def test_metric_requests_gpu_only_for_cuda_device(tmp_path: Path, options: str, gpu: bool) -> None:
    assert open_metric(f"clip-score:{tmp_path}{options}")._recipe.gpu is gpu
