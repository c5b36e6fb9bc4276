"""Metrics on tiny random weights, each against another implementation of the same."""

from __future__ import annotations

import base64
import io
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from limner.evidence import metrics
from limner.evidence.metrics import Moments, frechet_distance
from tests.evidence.metrics import tiny

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("torch") is None or find_spec("transformers") is None, reason="torch is not installed"
    ),
]
PROMPT = "draw a plant cell"


def png(seed: int, size: tuple[int, int] = (40, 32)) -> bytes:
    shades = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(shades).save(buffer, "PNG")
    return buffer.getvalue()


def tensor(data: bytes) -> Any:
    import torch

    return torch.from_numpy(np.array(Image.open(io.BytesIO(data)))).permute(2, 0, 1)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.clip(tmp_path_factory.mktemp("clip"))


def embeddings(folder: Path, data: bytes, text: str) -> tuple[Any, Any, Any]:
    """Of both towers, each run by itself; and the model."""
    import torch
    from transformers import AutoImageProcessor, AutoTokenizer, CLIPModel

    model = CLIPModel.from_pretrained(folder).eval()
    pixels = AutoImageProcessor.from_pretrained(folder)(images=Image.open(io.BytesIO(data)), return_tensors="pt")
    words = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt", truncation=True, max_length=12)
    with torch.no_grad():
        image = model.visual_projection(model.vision_model(**pixels).pooler_output)
        said = model.text_projection(model.text_model(**words).pooler_output)
    return image, said, model


def test_clip_score_matches_torchmetrics(clip: Path) -> None:
    torchmetrics = pytest.importorskip("torchmetrics.multimodal")
    from transformers import CLIPModel, CLIPProcessor

    class Towers(CLIPModel):  # type: ignore[misc]
        """Its features as plain tensors, as torchmetrics takes them."""

        def get_image_features(self, *given: Any, **named: Any) -> Any:
            found = super().get_image_features(*given, **named)
            return getattr(found, "pooler_output", found)

        def get_text_features(self, *given: Any, **named: Any) -> Any:
            found = super().get_text_features(*given, **named)
            return getattr(found, "pooler_output", found)

    loaded = Towers.from_pretrained(clip).eval(), CLIPProcessor.from_pretrained(clip)
    theirs = torchmetrics.CLIPScore(model_name_or_path=lambda: loaded)
    measure, seen = metrics.text_image(str(clip)), []
    for seed in range(4):
        theirs.reset()
        theirs.update(tensor(png(seed)), PROMPT)
        seen.append(measure(png(seed), PROMPT)["value"])
        assert seen[-1] == pytest.approx(float(theirs.compute()), abs=1e-3)
    assert len(set(seen)) == 4


def test_pickscore_is_cosine_times_model_scale(clip: Path) -> None:
    import torch

    image, text, model = embeddings(clip, png(1), PROMPT)
    cosine = torch.nn.functional.cosine_similarity(image, text).item()
    expected = cosine * model.logit_scale.exp().item()
    assert metrics.text_image(str(clip), scaled=True)(png(1), PROMPT)["value"] == pytest.approx(expected, abs=1e-4)


def test_truncated_prompt_reports_token_counts(clip: Path) -> None:
    found = metrics.text_image(str(clip))(png(1), " ".join(["cell"] * 40))
    assert (found["tokens"], found["read"]) == (42, 12)


@pytest.mark.parametrize(("kind", "inputs", "prefix"), [("clip", 24, "layers."), ("siglip", 16, "scoring_head.")])
def test_aesthetic_heads_match_released_predictors(kind: str, inputs: int, prefix: str, tmp_path: Path) -> None:
    """The released head is a sequence of linear layers with dropout between, over the normalised embedding."""
    import torch
    from transformers import AutoImageProcessor, AutoModel

    folder, head = getattr(tiny, kind)(tmp_path / kind), tiny.head(tmp_path / "head.pth", inputs, prefix)
    layers: list[Any] = []
    for one, other in ((inputs, 8), (8, 4), (4, 1)):
        layers += [torch.nn.Linear(one, other), torch.nn.Dropout(0.5)]
    network = torch.nn.Sequential(*layers[:-1]).eval()
    network.load_state_dict({name.removeprefix(prefix): value for name, value in torch.load(head).items()})
    model = AutoModel.from_pretrained(folder).eval()
    pixels = AutoImageProcessor.from_pretrained(folder)(images=Image.open(io.BytesIO(png(2))), return_tensors="pt")
    with torch.no_grad():
        pooled = model.vision_model(**pixels).pooler_output
        pooled = model.visual_projection(pooled) if kind == "clip" else pooled
        expected = network(torch.nn.functional.normalize(pooled)).item()
    assert metrics.looks(str(folder), str(head))(png(2))["value"] == pytest.approx(expected, rel=1e-4)


def test_invalid_head_is_rejected(clip: Path, tmp_path: Path) -> None:
    import torch

    for state, message in (
        ({"norm": torch.ones(3)}, "norm is not a linear layer"),
        ({"0.weight": torch.ones(3)}, "layer 0 is not linear"),
        ({"0.weight": torch.ones(2, 24), "0.bias": torch.ones(2)}, "must give one number"),
    ):
        torch.save(state, tmp_path / "bad.pth")
        with pytest.raises(RuntimeError, match=message):
            metrics.looks(str(clip), str(tmp_path / "bad.pth"))
    with pytest.raises(RuntimeError, match="the head takes 5 features; the model gives 24"):
        metrics.looks(str(clip), str(tiny.head(tmp_path / "other.pth", 5)))(png(0))


def test_vqa_score_is_probability_of_yes(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    folder = tiny.llava(tmp_path / "llava")
    question = "is this picture of a {text} ?"
    found = metrics.answer_chance(str(folder), question=question)(png(3), "plant cell")["value"]
    model, processor = AutoModelForImageTextToText.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
    content = [{"type": "image"}, {"type": "text", "text": "is this picture of a plant cell ?"}]
    asked = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    given = processor(images=Image.open(io.BytesIO(png(3))), text=asked, return_tensors="pt")
    said = model.generate(**given, max_new_tokens=1, do_sample=False, output_scores=True, return_dict_in_generate=True)
    yes = processor.tokenizer.convert_tokens_to_ids("Yes")
    assert found == pytest.approx(torch.softmax(said.scores[0][0].float(), -1)[yes].item(), rel=1e-4)
    other = metrics.answer_chance(str(folder), question=question, answer="No")(png(3), "plant cell")["value"]
    assert other != found


def test_fid_matches_torchmetrics(tmp_path: Path) -> None:
    """The same network inside torchmetrics' own computation of the distance."""
    import torch

    fid = pytest.importorskip("torchmetrics.image.fid")
    file = tiny.inception(tmp_path / "inception.pt")

    class Features(torch.nn.Module):  # type: ignore[misc]
        num_features = 6

        def __init__(self) -> None:
            super().__init__()
            self.network = torch.jit.load(str(file))

        def forward(self, pixels: torch.Tensor) -> torch.Tensor:
            return self.network(pixels, return_features=True)

    theirs = fid.FrechetInceptionDistance(feature=Features(), normalize=False)
    measure, sides = metrics.features(str(file)), (Moments(), Moments())
    for seed in range(40):
        data = png(seed) if seed % 2 else png(seed, (36, 36))
        theirs.update(tensor(data)[None], real=bool(seed % 2))
        row = np.frombuffer(base64.b64decode(measure(data)["value"]), dtype="<f4")
        sides[seed % 2].add(row.astype(np.float64))
    assert frechet_distance(*sides) == pytest.approx(float(theirs.compute()), rel=1e-3)
