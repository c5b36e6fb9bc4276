"""The painter ``diffusers/REPO_OR_PATH``: a local pipeline, drawn in batches by one worker process per device."""

from ..base import PainterInputs, PainterKind
from .options import READERS
from .painter import DiffusersPainter


def _open(given: PainterInputs) -> DiffusersPainter:
    facts = given.settings.painters.get(given.spec)
    return DiffusersPainter(given.name, given.spec, given.blobs, given.options, facts)


DIFFUSERS = PainterKind(
    "diffusers/REPO_OR_PATH", "running a diffusers pipeline on your own GPUs", _open, devices=True,
    takes=lambda _: READERS,
)  # fmt: skip
