"""SAM 2.1 as used in the paper, with the release's settings and weights from a folder or the hub's cache."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import UsageError
from .base import Regions, file_hash, merge_regions, read_config, tensor_names
from .boxes import RELEASE, MaskSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PIL.Image import Image

    from ...core.evidence import TextLine
    from .masks import MaskGenerator

LARGE = "facebook/sam2.1-hiera-large"
FILES = ("config.json", "model.safetensors")
SIZES = {
    (96, (1, 2, 7, 2)): "tiny",
    (96, (1, 2, 11, 2)): "small",
    (112, (2, 3, 16, 3)): "base-plus",
    (144, (2, 6, 36, 4)): "large",
}
"""The names of the released models, by the width and blocks of their encoder."""
ONLY_2_1 = "occlusion_spatial_embedding_parameter"
"""A tensor that distinguishes weights of SAM 2.1 from those of SAM 2."""
BATCH = {"bfloat16": 1024, "float32": 256}
PRECISIONS = tuple(BATCH)


class SamCounter:
    """A counter that uses a SAM 2 model of transformers.

    Args:
        weights: A folder with ``config.json`` and ``model.safetensors``, or a repository in the hub's cache.
        settings: The settings; the release's by default.
        device: The device; by default a GPU if there is one.
        precision: The precision; by default ``bfloat16`` on a GPU and ``float32`` elsewhere.
        batch: Prompts that go through the decoder together; 1,024 in ``bfloat16`` and 256 in ``float32`` by default.
        compiled: Whether the model is compiled first, which takes about a minute.
    """

    def __init__(
        self,
        weights: str = LARGE,
        settings: MaskSettings = RELEASE,
        *,
        device: str | None = None,
        precision: str | None = None,
        batch: int | None = None,
        compiled: bool = False,
    ) -> None:
        if precision not in (None, *PRECISIONS):
            raise UsageError(f"precision must be {' or '.join(PRECISIONS)}, not {precision!r}")
        if batch is not None and (not isinstance(batch, int) or batch < 1):
            raise UsageError(f"batch must be a whole number of at least 1, not {batch!r}")
        if not isinstance(compiled, bool):
            raise UsageError(f"compiled must be true or false, not {compiled!r}")
        self._weights, self._settings, self._batch, self._compiled = weights, settings, batch, compiled
        self._asked_device, self._asked_precision = device, precision
        self._lock = threading.Lock()
        self._made: MaskGenerator | None = None

    @property
    def name(self) -> str:
        """The model, weights, settings and precision."""
        how = f"{self._precision} compiled" if self._compiled else self._precision
        return f"{self._model_name}/{file_hash(self._folder / FILES[1])[:12]}/{self._settings}/{how}"

    def check(self) -> None:
        """Check that packages and weights are installed."""
        _packages()
        _ = self._folder, self._device

    def count(self, image: Image, lines: Sequence[TextLine]) -> Regions:
        """Return the regions of an image whose text has been read already."""
        with self._lock:
            if self._made is None:
                self._made = self._load()
            boxes = self._made.boxes(image)
        return merge_regions(boxes, lines)

    @cached_property
    def _folder(self) -> Path:
        return weights_folder(self._weights)

    @cached_property
    def _model_name(self) -> str:
        return model_name(self._folder)

    @cached_property
    def _device(self) -> str:
        _packages()
        import torch

        has_gpu = torch.cuda.is_available()
        if self._asked_device is None:
            return "cuda" if has_gpu else "cpu"
        if self._asked_device.startswith("cuda") and not has_gpu:
            raise UsageError(f"device {self._asked_device}: torch finds no GPU; leave out the device, or use cpu")
        return self._asked_device

    @property
    def _precision(self) -> str:
        return self._asked_precision or ("bfloat16" if self._device.startswith("cuda") else "float32")

    def _load(self) -> MaskGenerator:
        self.check()
        from transformers import Sam2Model

        from .masks import MaskGenerator

        kind: Any = Sam2Model
        with _silent():
            model, loading = kind.from_pretrained(self._folder, local_files_only=True, output_loading_info=True)
        if lacking := sorted(map(str, [*loading["missing_keys"], *loading["mismatched_keys"]])):
            # They would be initialised randomly, which would make the counts random.
            raise UsageError(f"{self._folder / FILES[1]} lacks {len(lacking)} tensors, such as {lacking[0]}")
        return MaskGenerator(
            model,
            self._settings,
            device=self._device,
            precision=self._precision,
            batch=self._batch or BATCH[self._precision],
            compiled=self._compiled,
        )


def weights_folder(weights: str) -> Path:
    """Return the folder with a model's files.

    Raises:
        UsageError: They are neither in the folder nor in the hub's cache.
    """
    folder = Path(weights).expanduser()
    if folder.is_dir():
        missing = [name for name in FILES if not (folder / name).is_file()]
        if missing:
            raise UsageError(
                f"{folder} lacks {' and '.join(missing)}; it must hold a SAM 2 model as transformers saves it, "
                f"such as the repository {LARGE}"
            )
        return folder
    _packages()
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        cached = [try_to_load_from_cache(weights, name) for name in FILES]
    except HFValidationError:
        raise UsageError(f"{weights}: no such folder") from None
    if not all(isinstance(file, str) for file in cached):
        raise UsageError(
            f"the weights of {weights} are missing. Get them with `hf download {weights} {' '.join(FILES)}`, or use "
            "sam2.1:FOLDER for a folder with these files; sam2-tiny and classical need less"
        )
    return Path(str(cached[0])).parent


def model_name(folder: Path) -> str:
    """Return the name of a released model, recognised by the shape of its encoder and its tensors."""
    vision: dict[str, Any] = read_config(folder).get("vision_config") or {}
    encoder: dict[str, Any] = vision.get("backbone_config") or {}
    shape = (encoder.get("hidden_size", 96), tuple(encoder.get("blocks_per_stage") or (1, 2, 7, 2)))
    release = "2.1" if ONLY_2_1 in tensor_names(folder / FILES[1]) else "2"
    return f"sam{release}-{SIZES.get(shape, 'other')}"


def _packages() -> None:
    missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if missing:
        raise UsageError(f"SAM 2.1 needs {' and '.join(missing)}: pip install 'limner[gpu]'")


@contextmanager
def _silent() -> Iterator[None]:
    """Suppress the progress bars and reports of loading."""
    from transformers.utils import logging as typed

    logging: Any = typed
    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()
