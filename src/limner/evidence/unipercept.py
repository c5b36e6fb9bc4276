"""Worker side of UniPercept: loads its model, then rates one image after another.

It is run by the Python that has the package ``unipercept-reward`` but perhaps not Limner, so it uses only that package,
its dependencies and the standard library.
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Callable
from typing import Any

KEY = "iaa"
"""The name of the rating of image aesthetics, one of the model's three ratings."""


def rater(device: str = "cuda", model: str | None = None) -> Callable[[bytes], dict[str, float]]:
    """Return the function with which a worker rates images."""
    from unipercept_reward import UniPerceptRewardInferencer

    inferencer = UniPerceptRewardInferencer(model_path=model, device=device)

    def rate(data: bytes) -> dict[str, float]:
        with tempfile.TemporaryDirectory(prefix="limner-") as folder:
            path = os.path.join(folder, "drawing.png")
            _upright(data).save(path)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                results = inferencer.reward(image_paths=[path])
        if not isinstance(results, list) or len(results) != 1 or not isinstance(results[0], dict):
            # On failure it prints a message and returns nothing.
            raise RuntimeError(f"no rating: {printed.getvalue().strip() or 'it gives no reason'}")
        ratings = {key: float(value) for key, value in results[0].items()}
        if not 0 <= ratings[KEY] <= 100:
            raise RuntimeError(f"a rating of {ratings[KEY]} is not within 0 to 100")
        return ratings

    return rate


def _upright(data: bytes) -> Any:
    """Return the image as judges and other probes see it: upright, on white."""
    from PIL import Image, ImageOps

    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    if "A" in image.getbands() or "transparency" in image.info:
        ground = Image.new("RGBA", image.size, "white")
        ground.alpha_composite(image.convert("RGBA"))
        image = ground
    return image.convert("RGB")
