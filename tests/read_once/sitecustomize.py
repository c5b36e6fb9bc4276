"""Lets the OCR probe's workers take the reader beside this file, in this process and in those it starts.

Python loads a module of this name at its start, wherever its folder is on the path: `tests/conftest.py` puts it there.
Without the variable `FOLDER` nothing is changed; so it is in tests of reading itself.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

FOLDER = "LIMNER_TEST_READINGS"
"""The variable that names the folder of the session's readings."""
PROBE, USUAL = "limner.evidence.probe", "limner.evidence.ocr:rapidocr_reader"
READER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reader.py:reader")


def install() -> None:
    """Change the probe's module, or see to it that it is changed once it is loaded."""
    if PROBE in sys.modules:
        _change(sys.modules[PROBE])
    elif not any(type(finder).__name__ == ProbeFinder.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, ProbeFinder())


def _change(probe: Any) -> None:
    usual = probe.Recipe
    if not isinstance(usual, type):
        return

    def recipe(label: str, factory: str, args: str = "{}", **more: Any) -> Any:
        if factory == USUAL and (folder := os.environ.get(FOLDER)):
            import json

            factory, args = READER, json.dumps({"folder": folder})
        return usual(label, factory, args, **more)

    probe.Recipe = recipe


class ProbeFinder:
    """Finds the probe's module as usual, and changes it as soon as it is loaded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        spec = PathFinder.find_spec(name, path, target) if name == PROBE else None
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            load = loader.exec_module

            def changed(module: Any) -> None:
                load(module)
                _change(module)

            loader.exec_module = changed
        return spec


if os.environ.get(FOLDER):
    install()
