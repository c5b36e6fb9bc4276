"""Builds the wheel and the source distribution and tries both: ``python -m tools.package [FOLDER]``.

They are built from a copy, so that nothing left over in the working tree gets in, and tried where the repository is
out of reach: installed for each Python there is, and run in an empty folder.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tools.size import PACKAGE

ROOT = PACKAGE.parents[1]
PAGES = ROOT / "docs"
PARTS = (
    "src", "docs", "setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE",
)  # fmt: skip
PYTHONS = ("3.11", "3.12", "3.13")
LEFT_OVER = ("__pycache__", "*.egg-info")
TRIED = (
    ("--version",),
    ("exams",),
    ("run", "sample/genexam", "--painter", "control/reference", "--judge", "ocr", "--limit", "2"),
    ("docs", "tutorial"),
    ("report", "-o", "site"),
)
"""What a newcomer does first."""
MOST = 565_000_000
"""Bytes that the core may take with all that it needs."""
NOT_COUNTED = re.compile(r"(pip|setuptools|pkg_resources|_distutils_hack)(-|$)|distutils-precedence\.pth$")
"""What an environment has by itself."""


@dataclass(frozen=True)
class Built:
    """What `build` has made.

    Attributes:
        direct: A wheel made from the working tree's files, without the detour over the source distribution.
    """

    sdist: Path
    wheel: Path
    direct: Path


def build(folder: Path) -> Built:
    """Both distributions into `folder`, and the wheel a second time by the direct way."""
    copy = folder / "tree"
    copy.mkdir(parents=True)
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns(*LEFT_OVER))
        else:
            shutil.copy(ROOT / part, copy / part)
    _uv("build", "--out-dir", folder / "dist", cwd=copy)
    _uv("build", "--wheel", "--out-dir", folder / "direct", cwd=copy)
    (sdist,), (wheel,) = (folder / "dist").glob("*.tar.gz"), (folder / "dist").glob("*.whl")
    return Built(sdist, wheel, folder / "direct" / wheel.name)


def contents(wheel: Path) -> dict[str, int]:
    """The files in a wheel with their checksums; its list of files is left out, as it has no order."""
    with zipfile.ZipFile(wheel) as archive:
        return {each.filename: each.CRC for each in archive.infolist() if not each.filename.endswith("/RECORD")}


def packaged() -> set[str]:
    """The package's files as a wheel must have them: code, prompts, settings, tables, samples, pages, fonts."""
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    pages = {str(Path("limner/docs") / page.relative_to(PAGES)) for page in PAGES.rglob("*.md")}
    return pages | {str(path.relative_to(PACKAGE.parent)) for path in files}


def interpreter(version: str) -> Path | None:
    """A Python of this version on this machine: the running one, one of pyenv's, or the path's."""
    if version == "{}.{}".format(*sys.version_info):
        return Path(sys.executable)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = sorted((pyenv / "versions").glob(f"{version}.*/bin/python"))
    # A name on the path may be a shim of pyenv's, which is no Python.
    on_path = [Path(word) for word in [shutil.which(f"python{version}")] if word and "shims" not in Path(word).parts]
    return next(iter([*found[::-1], *on_path]), None)


def install(distribution: Path, python: Path, folder: Path) -> Path:
    """A new environment with this distribution and what it asks for; gives the ``limner`` in it."""
    _uv("venv", "--quiet", "--python", python, folder, cwd=folder.parent)
    _uv("pip", "install", "--quiet", "--python", folder / "bin" / "python", distribution, cwd=folder.parent)
    return folder / "bin" / "limner"


def installed_size(folder: Path) -> int:
    """Add up the bytes of an environment's packages, without compiled files, pip and setuptools."""
    (packages,) = folder.glob("lib/python*/site-packages")
    files = (path for path in packages.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return sum(file.stat().st_size for file in files if not NOT_COUNTED.match(file.relative_to(packages).parts[0]))


def first_steps(limner: Path, folder: Path) -> list[str]:
    """Run what is tried first in this folder, and give what each command prints."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LIMNER", "COLUMNS"))}
    return [_run([str(limner), *words], folder, kept) for words in TRIED]


def _uv(*words: str | Path, cwd: Path) -> None:
    _run([sys.executable, "-m", "uv", *map(str, words)], cwd, dict(os.environ) | {"UV_PYTHON_DOWNLOADS": "never"})


def _run(words: list[str], cwd: Path, env: dict[str, str]) -> str:
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Build, compare, try with every Python found, and leave the two files in the folder named."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = build(folder)
        if contents(built.wheel) != contents(built.direct) or packaged() - contents(built.wheel).keys():
            raise SystemExit("the wheel lacks files of the package, or the one from the sdist is another")
        for version in PYTHONS:
            python = interpreter(version)
            if python is None:
                print(f"Python {version}: not on this machine, not tried")
                continue
            empty = folder / f"empty-{version}"
            empty.mkdir()
            place = folder / f"venv-{version}"
            told = first_steps(install(built.wheel, python, place), empty)
            size = installed_size(place)
            print(f"Python {version}: {told[0].strip()}; {told[-1].strip()}; installed {size / 1e6:.0f} MB")
            if size > MOST:
                raise SystemExit(f"the core takes {size / 1e6:.0f} MB, and at most {MOST / 1e6:.0f} are wanted")
        out = Path(sys.argv[1] if len(sys.argv) > 1 else "dist")
        out.mkdir(parents=True, exist_ok=True)
        for file in (built.sdist, built.wheel):
            print(shutil.copy(file, out))


if __name__ == "__main__":
    main()
