"""The painter ``diffusers/REPO_OR_PATH``: a local pipeline, drawn in batches by one worker process per device."""

from .painter import DiffusersPainter

__all__ = ["DiffusersPainter"]
