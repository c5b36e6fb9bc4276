"""The far end of UniPercept: loads its model, then rates one image after another.

Run by the Python that has the package ``unipercept-reward``, which may know nothing of Limner: apart from that
package and what it brings along, the standard library is enough.
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Callable
from typing import Any

KEY = "iaa"
"""Of its three ratings, the one of image aesthetics."""


def rater(device: str = "cuda", model: str | None = None) -> Callable[[bytes], dict[str, float]]:
    """Return what a worker rates images with."""
    from unipercept_reward import UniPerceptRewardInferencer

    inferencer = UniPerceptRewardInferencer(model_path=model, device=device)

    def rate(data: bytes) -> dict[str, float]:
        with tempfile.TemporaryDirectory(prefix="limner-") as folder:
            path = os.path.join(folder, "drawing.png")
            _upright(data).save(path)
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                found = inferencer.reward(image_paths=[path])
        if not isinstance(found, list) or len(found) != 1 or not isinstance(found[0], dict):
            # It prints what went wrong and gives nothing.
            raise RuntimeError(f"no rating: {said.getvalue().strip() or 'it does not say why'}")
        ratings = {key: float(value) for key, value in found[0].items()}
        if not 0 <= ratings[KEY] <= 100:
            raise RuntimeError(f"a rating of {ratings[KEY]}, where 0 to 100 is wanted")
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
