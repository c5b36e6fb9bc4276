"""The command: samples that give the exam away are refused or told, pictures on the way are drawn and marked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

from limner.core.errors import UsageError
from limner.train.settings import parse
from limner.train.start import train
from limner.train.validation import Watched
from tests.cli.invoke import limner
from tests.train.conftest import make_flux, write_samples

FEW = {"steps": "2", "size": "16", "tokens": "64", "rank": "2", "alpha": "2", "accumulate": "1", "recompute": "0"}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    make_flux().save_pretrained(tmp_path / "base")
    return tmp_path / "base"


def exam_data(folder: Path, prompt: str) -> Path:
    folder.mkdir()
    graph = {"elements": ["nucleus"], "dependencies": []}
    row = {"key": "PhD_Biology_1", "education": "PhD", "prompt": prompt, "knowledge_graph": graph, "annotation": ""}
    (folder / "mmmg.jsonl").write_text(json.dumps(row), "utf-8")
    return folder


def test_samples_overlapping_exam_are_refused(data: Path, base: Path, tmp_path: Path) -> None:
    watched = Watched("mmmg", exam_data(tmp_path / "exam", "Draw a plant cell with its parts."))
    with pytest.raises(UsageError, match=r"1 training concepts occur in 1 questions of mmmg: 'plant cell' \(PhD_Biol"):
        train(data, str(base), tmp_path / "out", parse(FEW), watched=watched, say=lambda _: None)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_train_command_trains_previews_marks_and_reports_overlap(data: Path, base: Path, tmp_path: Path) -> None:
    exam = exam_data(tmp_path / "exam", "Draw a plant cell with its parts.")
    traces = tmp_path / "traces.jsonl"
    traces.write_text(json.dumps({"id": "PhD_Biology_1", "trace": "Walls.", "final_prompt": "A cell."}), "utf-8")
    words: list[str | Path] = [
        "train",
        "flux-reason",
        "--data",
        data,
        "--base",
        base,
        "--out",
        tmp_path / "out",
        "--save-every",
        "1",
    ]
    words += [word for name, value in FEW.items() for word in ("--set", f"{name}={value}")]
    words += ["--exam", "mmmg", "--exam-data", exam, "--allow-overlap", "--look-every", "2", "--traces", traces]
    result = limner(*words, "--judge", "ocr")
    assert result.code == 0, result.err
    assert "step-000002: 1 pictures in" in result.out
    assert "step-000002 · ocr:" in result.out
    lora = tmp_path / "out" / "flux-reason.safetensors"
    assert lora.is_file()
    assert (tmp_path / "out" / "validation" / "step-000002" / "PhD_Biology_1.png").is_file()
    drawn = limner(
        "run", "mmmg", "--data", exam, "--painter", f"mine=diffusers/{base}", "--painter-arg", f"lora={lora}",
        "--painter-arg", "size=16x16", "--painter-arg", "steps=1", "--painter-arg", "max_sequence_length=64",
        "--painter-arg", "dtype=float32", "--strategy", "reason", "-S", f"traces={traces}", "-S", "send=trained",
        "--judge", "ocr", "--store", tmp_path / "store",
    )  # fmt: skip
    assert drawn.code == 0, drawn.err
    overlap_note = "trained on 1 concepts that occur in 1 questions of mmmg (--allow-overlap)"
    assert overlap_note in " ".join(drawn.out.split())
    assert overlap_note in " ".join(limner("scores", "mmmg", "--store", tmp_path / "store").out.split())
    assert overlap_note in limner("table", "mmmg:table2", "--store", tmp_path / "store", "--format", "md").out


@pytest.mark.slow
def test_two_processes_match_one_with_two_accumulation_steps(data: Path, base: Path, tmp_path: Path) -> None:
    settings = FEW | {"steps": "12", "warmup": "8", "precision": "no", "learning_rate": "0.01", "schedule": "cosine"}
    train(data, str(base), tmp_path / "one", parse(settings | {"accumulate": "2"}), say=lambda _: None)
    words = ["train", "flux-reason", "--data", str(data), "--base", str(base), "--out", str(tmp_path / "two")]
    words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    # `accelerate launch` starts several processes on GPUs alone; this is what it starts them with.
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python"]
    launch += ["limner", *words]
    there = Path(sys.executable).parent
    quiet = {
        **os.environ,
        "ACCELERATE_USE_CPU": "true",
        "OMP_NUM_THREADS": "1",
        "PATH": f"{there}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(launch, cwd=tmp_path, env=quiet, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("step 12 of 12") == 1
    one, two = (
        [json.loads(line) for line in (tmp_path / name / "loss.jsonl").read_text("utf-8").splitlines()]
        for name in ("one", "two")
    )
    assert len(one) == 12
    for value in ("loss", "gradient norm", "learning rate"):
        assert [line[value] for line in two] == pytest.approx([line[value] for line in one], rel=1e-4), value
    weights = [load_file(tmp_path / name / "flux-reason.safetensors") for name in ("one", "two")]
    assert weights[0].keys() == weights[1].keys()
    for name, tensor in weights[0].items():
        assert weights[1][name].numpy() == pytest.approx(tensor.numpy(), abs=1e-5), name


def test_look_every_requires_exam(data: Path, base: Path) -> None:
    result = limner("train", "flux-reason", "--data", data, "--base", base, "--look-every", "2", code=2)
    assert "--look-every needs --exam" in result.err


def test_missing_packages_are_reported(data: Path, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from limner.train import start

    monkeypatch.setattr(start, "find_spec", lambda name: None if name == "peft" else object())
    with pytest.raises(UsageError, match=r"training needs peft: install them with pip install 'limner\[train\]'"):
        train(write_samples(tmp_path / "more"), str(base), tmp_path / "out", parse(FEW))
