"""UniPercept's rating of a drawing's aesthetics, computed in workers by a Python that has the package."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cached_property
from importlib import metadata
from pathlib import Path

from ..calls import Calls, Fault
from ..core.errors import UsageError
from ..core.images import BadImage, inspect
from ..workers import Recipe, environment
from .probe import Finding, LocalProbe
from .unipercept import KEY

PACKAGE = "unipercept-reward"
MODEL = "Thunderbolt215215/UniPercept"
"""The model that the package loads by default."""
AESTHETICS_S = 600.0
"""Seconds allowed for rating one image."""
LOAD_S = 3600.0
"""Seconds allowed for loading the model, which may have to be downloaded first."""
VERSION_PROGRAM = "from importlib.metadata import version; print(version('unipercept-reward'))"
HELP = (
    f"make an environment for it (`python -m venv uni && uni/bin/pip install {PACKAGE}`) and say "
    "--aesthetics unipercept:uni/bin/python"
)


class UniPercept(LocalProbe):
    """A probe that rates aesthetics with UniPercept, from 0 to 100.

    Args:
        python: The Python that has the package; this one by default.
        device: The device of the model.
        model: A folder or repository of weights; the package's own choice by default.
        seconds: The time allowed for one image.
    """

    def __init__(
        self, python: str | None = None, device: str = "cuda", model: str | None = None, seconds: float = AESTHETICS_S
    ) -> None:
        self._python, self._model = python, model
        args = {"device": device} if model is None else {"device": device, "model": model}
        script = Path(__file__).with_name("unipercept.py")
        recipe = Recipe(
            "unipercept", f"{script}:rater", json.dumps(args, sort_keys=True),
            python=None if python is None else _find_python(python), workers=1, start_s=LOAD_S, single=False,
            gpu=device != "cpu",
        )  # fmt: skip
        super().__init__("aesthetics", "", recipe, seconds)

    @property
    def name(self) -> str:
        """The package's version, the kind of rating, and the weights."""
        return f"unipercept/{self._version} {KEY} model={self._model or MODEL}"

    def check(self) -> None:
        """Check that the package is installed; weights are checked when they are loaded."""
        _ = self._version

    @cached_property
    def _version(self) -> str:
        if self._python is None:
            try:
                return metadata.version(PACKAGE)
            except metadata.PackageNotFoundError as error:
                raise UsageError(f"{PACKAGE} is not installed with Limner; {HELP}") from error
        words = [_find_python(self._python), "-c", VERSION_PROGRAM]
        try:
            done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.SubprocessError) as error:
            raise UsageError(f"{self._python} cannot be run: {error}") from error
        if done.returncode:
            raise UsageError(f"{self._python} has no package {PACKAGE}; {HELP}")
        return done.stdout.strip()

    async def measure(self, image: bytes, calls: Calls) -> Finding:
        """See `limner.evidence.probe.Probe`."""
        try:
            inspect(image)  # The worker itself does not check limits.
        except BadImage as error:
            raise Fault("image", str(error)) from error
        ratings, call = await self.ask(image, calls)
        return Finding(ratings[KEY], self.name, call)


def _find_python(python: str) -> str:
    program = shutil.which(str(Path(python).expanduser()))
    if program is None:
        raise UsageError(f"unipercept:{python}: no such program; {HELP}")
    # Not resolved: the Python of a virtual environment is a link, and finds its packages by the link's location.
    return str(Path(program).absolute())
