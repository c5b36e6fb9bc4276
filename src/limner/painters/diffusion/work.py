"""What painter and worker say to each other, and how it is put on a pipe. Nothing here is heavy to import."""

from __future__ import annotations

import pickle
import struct
from dataclasses import dataclass, field
from typing import IO, Any

_HEAD = struct.Struct(">Q")


@dataclass(frozen=True)
class Load:
    """The pipeline a worker is to open, and where it is to run.

    Attributes:
        source: A folder, or a repository of the Hugging Face hub.
        revision: The repository's commit; None for a folder.
        device: Such as ``cuda:1``; None takes the best there is.
        offload: ``none``, ``model`` or ``sequential``; of no account without a GPU.
    """

    source: str
    revision: str | None = None
    dtype: str = "bfloat16"
    variant: str | None = None
    device: str | None = None
    offload: str = "none"


@dataclass(frozen=True)
class How:
    """Everything about a drawing but its prompt, seed and pictures: what agrees in it can be drawn in one batch.

    None leaves the choice to the pipeline.
    """

    width: int
    height: int
    steps: int | None = None
    guidance: float | None = None
    true_cfg_scale: float | None = None
    negative_prompt: str | None = None
    max_sequence_length: int | None = None
    strength: float | None = None
    editing: bool = False


@dataclass(frozen=True)
class Item:
    """One drawing to be made.

    Attributes:
        images: The bytes of the pictures to start from.
    """

    prompt: str
    seed: int
    images: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Job:
    """Drawings to be made in one go."""

    how: How
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Ready:
    """The worker has opened its pipeline."""


@dataclass(frozen=True)
class Broken:
    """Nothing can be drawn with this pipeline, or with these options: the run has to stop."""

    why: str


@dataclass(frozen=True)
class Drawn:
    """A finished drawing: raw RGB pixels, and how it came about.

    Attributes:
        place: Which of the job's items it is.
    """

    place: int
    size: tuple[int, int]
    pixels: bytes
    about: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """An item that cannot be drawn, by the kind of its fault."""

    place: int
    kind: str
    detail: str


def write(stream: IO[bytes], message: object) -> None:
    """Put one message on a pipe."""
    data = pickle.dumps(message)
    stream.write(_HEAD.pack(len(data)))
    stream.write(data)
    stream.flush()


def read(stream: IO[bytes]) -> Any:
    """The next message; only what this program's own processes wrote may be read.

    Raises:
        EOFError: The other side is gone.
    """
    (length,) = _HEAD.unpack(_exactly(stream, _HEAD.size))
    return pickle.loads(_exactly(stream, length))


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data
