"""UniPercept behind its package's interface, by a stand-in of the same shape: in a Python of its own, and in ours."""

from __future__ import annotations

import asyncio
import io
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from limner.calls import Calls, Fault
from limner.core import settings
from limner.core.errors import UsageError
from limner.core.evidence import is_paper_backend
from limner.core.images import Preparer
from limner.evidence import backends
from limner.evidence.backends import UniPercept
from limner.evidence.probe import Finding, Probe
from limner.store import Store
from tests.support import picture

STAND_IN = '''
import os
from PIL import Image

class UniPerceptRewardInferencer:
    """As the package has it: takes paths, prints what goes wrong, gives None for such an image."""

    def __init__(self, model_path=None, device="cuda", dtype=None):
        self.model_path = model_path if model_path is not None else "Thunderbolt215215/UniPercept"
        print(f"Loading UniPercept model from: {self.model_path} ...")
        if device == "tpu":
            raise RuntimeError("no such device")
        self.device = device

    def reward(self, image_paths):
        results = []
        for path in image_paths:
            if not os.path.exists(path):
                print(f"Warning: File {path} not found.")
                results.append(None)
                continue
            try:
                image = Image.open(path).convert("RGB")
                width, height = image.size
                if width == 13:
                    raise ValueError("thirteen")
                if width == 17:
                    os._exit(5)
                iaa = 1000.0 if width == 19 else image.getpixel((0, 0))[0] / 255 * 100
                results.append({"iaa": iaa, "iqa": float(width), "ista": float(height)})
            except Exception as error:
                print(f"Error processing {path}: {error}")
                results.append(None)
        return results
'''


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of modules that holds the stand-in, as pip would have put it there."""
    package, facts = tmp_path / "site" / "unipercept_reward", tmp_path / "site" / "unipercept_reward-1.0.3.dist-info"
    package.mkdir(parents=True)
    facts.mkdir()
    (package / "inferencer.py").write_text(STAND_IN)
    (package / "__init__.py").write_text("from .inferencer import UniPerceptRewardInferencer\n")
    (facts / "METADATA").write_text("Metadata-Version: 2.4\nName: unipercept-reward\nVersion: 1.0.3\n")
    return package.parent


@pytest.fixture
def python(tmp_path: Path, site: Path) -> Path:
    """A Python that has the stand-in, and is not ours."""
    script = tmp_path / "bin" / "python"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{site}" exec "{sys.executable}" "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


def open_probe(word: str, store: Store) -> Probe:
    return backends.open_probe("aesthetics", word, settings.load(), Preparer(store.blobs.get))


def measure(probe: Probe, data: bytes, store: Store) -> Finding:
    async def run() -> Finding:
        async with Calls(store) as calls:
            return await probe.measure(data, calls)

    return asyncio.run(run())


def image(size: tuple[int, int], mode: str = "RGB", colour: Any = (51, 0, 0), kind: str = "PNG", **how: Any) -> bytes:
    buffer = io.BytesIO()
    Image.new(mode, size, colour).save(buffer, kind, **how)
    return buffer.getvalue()


def test_unipercept_runs_in_separate_python(python: Path, store: Store) -> None:
    probe = open_probe(f"unipercept:{python}?device=cpu", store)
    probe.check()
    assert probe.name == "unipercept/1.0.3 iaa model=Thunderbolt215215/UniPercept"
    assert is_paper_backend("aesthetics", probe.name)
    found = measure(probe, image((20, 10)), store)
    assert (found.value, found.backend) == (pytest.approx(20.0), probe.name)
    assert measure(probe, image((20, 10)), store).call == found.call


def test_unipercept_runs_in_limner_environment(site: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(site))
    probe = open_probe("unipercept?device=cpu&model=/weights", store)
    probe.check()
    assert probe.name == "unipercept/1.0.3 iaa model=/weights"
    assert measure(probe, image((20, 10)), store).value == pytest.approx(20.0)


def test_probe_sees_same_image_as_judges(python: Path, store: Store) -> None:
    """Upright, and transparent parts white."""
    probe = open_probe(f"unipercept:{python}?device=cpu", store)
    assert measure(probe, image((8, 8), "RGBA", (0, 0, 0, 0)), store).value == pytest.approx(100.0)
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = Image.new("RGB", (20, 10), "black")
    turned.paste((255, 255, 255), (0, 5, 5, 10))
    buffer = io.BytesIO()
    turned.save(buffer, "PNG", exif=exif)
    # The lower left corner, white, is the upper left one of the upright image.
    assert measure(probe, buffer.getvalue(), store).value == pytest.approx(100.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "message"),
    [
        (13, r"no rating: Error processing .+: thirteen"),
        (17, r"unipercept: the worker died \(exit code 5\)"),
        (19, "a rating of 1000.0 is not within 0 to 100"),
    ],
)
def test_worker_failure_is_fault_of_image(python: Path, store: Store, width: int, message: str) -> None:
    probe = open_probe(f"unipercept:{python}?device=cpu", store)
    with pytest.raises(Fault, match=message) as caught:
        measure(probe, picture(1, size=(width, 9)), store)
    assert caught.value.kind == "probe"
    assert measure(probe, image((20, 10)), store).value == pytest.approx(20.0)


def test_model_that_cannot_be_loaded_is_fault(python: Path, store: Store) -> None:
    with pytest.raises(Fault, match=r"unipercept: it cannot be started: RuntimeError\('no such device'\)"):
        measure(open_probe(f"unipercept:{python}?device=tpu", store), picture(1), store)


def test_python_without_unipercept_is_usage_error(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not installed with Limner; make an environment for it"):
        open_probe("unipercept", store).check()
    with pytest.raises(UsageError, match="no such program"):
        open_probe(f"unipercept:{tmp_path}/none", store).check()
    with pytest.raises(UsageError, match="has no package unipercept-reward"):
        open_probe(f"unipercept:{sys.executable}", store).check()
    with pytest.raises(UsageError, match="no option speed; choose from: device, model"):
        open_probe("unipercept?speed=fast", store)
    assert UniPercept(sys.executable).seconds > 60
    assert os.access(sys.executable, os.X_OK)


def test_image_limits_are_checked_first(python: Path, store: Store) -> None:
    with pytest.raises(Fault, match="image: not an image"):
        measure(open_probe(f"unipercept:{python}", store), b"no image", store)
