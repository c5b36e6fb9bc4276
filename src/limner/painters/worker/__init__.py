"""Models outside diffusers, drawn in batches by one worker per device: ``worker/…`` and ``transformers/…``."""

from ..base import PainterInputs, PainterKind
from .custom import WorkerPainter
from .ready import TransformersPainter


def _open_worker(given: PainterInputs) -> WorkerPainter:
    return WorkerPainter(given.name, given.spec, given.blobs, given.options, given.settings.painters.get(given.spec))


def _open_transformers(given: PainterInputs) -> TransformersPainter:
    facts = given.settings.painters.get(given.spec)
    return TransformersPainter(given.name, given.spec, given.blobs, given.options, facts)


WORKER = PainterKind(
    "worker/MODULE:FACTORY", "running your own model in batches on your own GPUs", _open_worker, devices=True
)
TRANSFORMERS = PainterKind(
    "transformers/REPO_OR_PATH", "running Janus-Pro or Emu3 on your own GPUs", _open_transformers, devices=True
)
