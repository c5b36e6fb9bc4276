"""The command: samples that give the exam away are refused or told, pictures on the way are drawn and marked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from limner.core.errors import UsageError
from limner.core.training import read_samples
from limner.painters.diffusers.text_encoding import SEPARATOR, reason_text, token_counter
from limner.store import Store
from limner.store.records import load_drawings
from limner.train import start
from limner.train.settings import parse
from limner.train.start import Watched, train
from tests.cli.invoke import limner
from tests.fakes.json_server import json_server
from tests.train.conftest import make_flux, write_samples

FEW = {"steps": "2", "size": "16", "tokens": "64", "rank": "2", "alpha": "2", "accumulate": "1", "recompute": "0"}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    make_flux().save_pretrained(tmp_path / "base")
    return tmp_path / "base"


def command(data: Path, base: Path, out: str | Path, settings: dict[str, str] = FEW) -> list[str | Path]:
    pairs = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return ["train", "flux-reason", "--data", data, "--base", base, "--out", out, *pairs]


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
    trace = "Walls hold a cell together and water fills it up."
    traces.write_text(json.dumps({"id": "PhD_Biology_1", "trace": trace, "final_prompt": "A cell."}), "utf-8")
    words = command(data, base, tmp_path / "out")
    words += ["--exam", "mmmg", "--exam-data", exam, "--allow-overlap", "--look-every", "2", "--traces", traces]
    result = limner(*words, "--judge", "ocr", "--save-every", "1")
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
    with Store(tmp_path / "store") as store:
        (drawing,) = load_drawings(store, "mmmg")
    # The samples are cut by the same function with the pipeline's own tokenizer; an estimate would cut nothing.
    assert drawing.prompt_sent == reason_text(trace, "A cell.", 64, token_counter(make_flux().tokenizer_2))
    assert drawing.prompt_sent.startswith("Walls hold a cell")
    assert not drawing.prompt_sent.startswith(trace)
    overlap_note = "trained on 1 concepts that occur in 1 questions of mmmg (--allow-overlap)"
    assert overlap_note in " ".join(drawn.out.split())
    assert overlap_note in " ".join(limner("scores", "mmmg", "--store", tmp_path / "store").out.split())
    assert overlap_note in limner("table", "mmmg:table2", "--store", tmp_path / "store", "--format", "md").out


@pytest.mark.slow
def test_two_processes_match_one_with_two_accumulation_steps(data: Path, base: Path, tmp_path: Path) -> None:
    settings = FEW | {"steps": "12", "warmup": "8", "precision": "no", "learning_rate": "0.01", "schedule": "cosine",
                      "held_out": "0.25"}  # fmt: skip
    train(data, str(base), tmp_path / "one", parse(settings | {"accumulate": "2"}), say=lambda _: None)
    # `accelerate launch` starts several processes on GPUs alone; this is what it starts them with.
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python"]
    launch += ["limner", *map(str, command(data, base, tmp_path / "two", settings))]
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
    assert two[-1]["held-out loss"] == pytest.approx(one[-1]["held-out loss"], rel=1e-4)
    for value in ("loss", "gradient norm", "learning rate"):
        assert [line[value] for line in two] == pytest.approx([line[value] for line in one], rel=1e-4), value
    from safetensors.torch import load_file

    weights = [load_file(tmp_path / name / "flux-reason.safetensors") for name in ("one", "two")]
    assert weights[0].keys() == weights[1].keys()
    for name, tensor in weights[0].items():
        assert weights[1][name].numpy() == pytest.approx(tensor.numpy(), abs=1e-5), name


def test_validation_needs_traces(data: Path, base: Path) -> None:
    words: list[str | Path] = ["train", "flux-reason", "--data", data, "--base", base, "--look-every", "2"]
    alone = limner(*words, code=2)
    assert "--look-every: no traces to draw from. Hold out samples (--held-out 0.02 of 4 is none)" in alone.err
    judged = limner(*words, "--held-out", "0.5", "--exam", "sample/mmmg", "--judge", "ocr", code=2)
    assert "--judge marks questions of --exam: give traces for them with --planner or --traces" in judged.err


TRACE, THINKING = "A cell has walls. They hold it together.", "Okay so the user wants a cell. Hmm, wait."


def reply_as_r1(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """A planner whose service sends raw thinking beside the answer."""
    message = {"content": f"{TRACE}\n{SEPARATOR}\nA cell with walls.", "reasoning_content": THINKING}
    return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {}}


def record_texts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """The id and both texts of each validation picture, drawn in one step."""
    texts = []

    class Recorder(start.PipelinePainter):
        def draw(self, id: str, words: str, short: str) -> Any:
            texts.append((id, words, short))
            return super().draw(id, words, short)

    monkeypatch.setattr(start, "DRAWING_STEPS", 1)
    monkeypatch.setattr(start, "PipelinePainter", Recorder)
    return texts


@pytest.mark.slow
def test_planner_writes_traces_and_marked_pictures_reach_tensorboard(
    data: Path, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = record_texts(monkeypatch)
    exam = exam_data(tmp_path / "exam", "Draw a bare cell.")
    words = command(data, base, "out")
    words += ["--set", "tokens=256", "--exam", "mmmg", "--exam-data", exam, "--look-every", "1", "--held-out", "0.5"]
    with json_server(reply_as_r1) as (address, seen):
        Path("limner.toml").write_text(f'[providers.thinker]\nbase_url = "{address}"\n')
        result = limner(*words, "--planner", "thinker/r1", "--judge", "ocr", "--log", "tensorboard")
    assert len(seen) == 1, "traces are written once, not at every look"
    assert [words for _, words, _ in texts] == [f"{TRACE}\n\n{SEPARATOR}\n\nA cell with walls."] * 2
    assert "step-000002: 1 pictures in" in result.out
    scalars, images = events(tmp_path / "out")
    assert {"loss", "gradient norm", "learning rate", "held-out loss"} <= scalars.keys()
    assert [name for name in scalars if name.startswith("ocr/")], scalars
    assert images == {"validation/PhD_Biology_1": [1, 2]}
    assert [step for step, _ in scalars["held-out loss"]] == [2]
    assert all(value > 0 for _, value in scalars["gradient norm"])


@pytest.mark.slow
def test_training_survives_planner_without_traces(
    data: Path, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exam = exam_data(tmp_path / "exam", "Draw a bare cell.")
    words = [*command(data, base, "out"), "--exam", "mmmg", "--exam-data", exam, "--look-every", "2"]
    message = {"choices": [{"message": {"content": "A cell."}, "finish_reason": "stop"}], "usage": {}}
    with json_server(lambda *_: message) as (address, _):
        Path("limner.toml").write_text(f'[providers.thinker]\nbase_url = "{address}"\n')
        result = limner(*words, "--planner", "thinker/r1")
    assert "step-000002: 1 failed (unreadable): " in result.out
    assert "step-000002: 0 pictures in" in result.out
    assert (tmp_path / "out" / "flux-reason.safetensors").is_file()


def events(out: Path) -> tuple[dict[str, list[tuple[int, float]]], dict[str, list[int]]]:
    """What TensorBoard shows: numbers and pictures by name, with their steps."""
    EventAccumulator = import_module("tensorboard.backend.event_processing.event_accumulator").EventAccumulator  # noqa: N806

    (file,) = out.rglob("events.out.tfevents.*.0")
    log = EventAccumulator(str(file), size_guidance={"images": 0}).Reload()
    scalars = {name: [(event.step, event.value) for event in log.Scalars(name)] for name in log.Tags()["scalars"]}
    return scalars, {
        name.removesuffix("/image/0"): [event.step for event in log.Images(name)] for name in log.Tags()["images"]
    }


@pytest.mark.slow
def test_held_out_samples_are_drawn_with_their_traces(
    data: Path, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = record_texts(monkeypatch)
    settings = parse(FEW | {"held_out": "0.25", "tokens": "256"})
    train(data, str(base), tmp_path / "out", settings, watched=Watched(every=2), say=lambda _: None)
    ((id, words, short),) = texts
    row = next(sample for sample in read_samples(data) if sample.id == id)
    assert words == f"{row.rubric.trace}\n\n{SEPARATOR}\n\n{row.rubric.final_prompt}"
    assert short == row.prompt
    assert (tmp_path / "out" / "validation" / "step-000002" / f"{id}.png").is_file()


def test_fast_compiles_and_recomputes_fifth(data: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from limner.train import start

    given: list[Any] = []
    monkeypatch.setattr(start, "train", lambda *words, **_: given.append(words[3]))
    words: list[str | Path] = ["train", "flux-reason", "--data", data, "--base", base, "--fast"]
    limner(*words)
    limner(*words, "--set", "recompute=0.4", "--held-out", "0.1")
    assert [(each.compiled, each.recompute, each.held_out) for each in given] == [(True, 0.2, 0.02), (True, 0.4, 0.1)]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("modules=attn.to_q,nosuch", "--set modules=nosuch: no linear layer has this name; the blocks have "),
        ("tokens=4096", "--set tokens=4096: Input should be less than or equal to 2048"),
    ],
)
def test_wrong_setting_is_named_without_traceback(
    data: Path, base: Path, tmp_path: Path, word: str, message: str
) -> None:
    result = limner(*command(data, base, tmp_path / "out"), "--set", word, code=2)
    assert message in result.err
    assert "Traceback" not in result.err


def test_corrupt_picture_is_named_with_its_sample(data: Path, base: Path, tmp_path: Path) -> None:
    picture = data / "images/2.png"
    picture.write_bytes(picture.read_bytes()[:60])
    result = limner(*command(data, base, tmp_path / "out"), code=1)
    assert "images/2.png: id s2: " in " ".join(result.err.split())
    assert "replace the picture or remove the sample" in " ".join(result.err.split())


def test_unknown_log_is_reported(data: Path, base: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--log nosuch: Unsupported logging capability"):
        train(data, str(base), tmp_path / "out", parse(FEW), trackers=["nosuch"])


def test_missing_packages_are_reported(data: Path, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from limner.train import start

    monkeypatch.setattr(start, "find_spec", lambda name: None if name == "peft" else object())
    with pytest.raises(UsageError, match=r"training needs peft: install them with pip install 'limner\[train\]'"):
        train(write_samples(tmp_path / "more"), str(base), tmp_path / "out", parse(FEW))
