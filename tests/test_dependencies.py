"""What Limner imports is declared, and what it installs by itself has a licence that asks nothing of its users."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CORE = frozenset(canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"])
EXTRAS = frozenset(
    canonicalize_name(Requirement(line).name)
    for name, lines in PROJECT["optional-dependencies"].items()
    if name not in ("dev", "docs", "oracles", "sdks")
    for line in lines
)
"""Of users' extras; those of developers are not there when Limner runs."""

ALLOWED = frozenset(
    {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "MIT", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib"}
)
"""GPL, AGPL and SSPL would reach Limner itself. LGPL would not, but whoever ships Limner inside another program
would have to let its users exchange that part; nothing in the core needs it, so it is not allowed either. MPL asks
for changes to its own files alone."""
SPELLINGS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""How packages write these licences in free text and in classifiers."""
SILENT = {"resvg-py": "MIT"}
"""Packages whose metadata names no licence. resvg-py: the file LICENSE in its distribution has the MIT licence."""

DISTRIBUTIONS = {"PIL": "pillow", "cv2": "opencv-python-headless"}
"""Imports that have another name than the package they come with."""
ELSEWHERE = {
    "_typeshed": "known to type checkers only",
    "unipercept_reward": "runs in an environment of its own, as docs/evidence.md says",
}


def licence(about: PackageMetadata) -> str | None:
    """Find a package's licence in its expression, its one line of free text or its classifiers, in that order."""
    if expression := about.json.get("license_expression"):
        return str(expression)
    text = str(about.json.get("license") or "").strip()
    # Some packages put the whole licence there.
    if text and "\n" not in text:
        return SPELLINGS.get(text, text)
    classifiers = [line.split(" :: ") for line in about.get_all("Classifier") or []]
    names = [parts[-1] for parts in classifiers if parts[0] == "License" and parts[-1] != "OSI Approved"]
    return " AND ".join(SPELLINGS.get(name, name) for name in names) or None


def is_allowed(expression: str) -> bool:
    """Whether every part of an SPDX expression is allowed, or has an alternative that is."""
    parts = re.split(r"\s+AND\s+", expression.replace("(", "").replace(")", ""))
    return all(any(name.strip() in ALLOWED for name in re.split(r"\s+OR\s+", part)) for part in parts)


def installed_with(lines: list[str]) -> set[str]:
    """Names of all packages that these requirements bring on this machine."""
    names: set[str] = set()
    waiting = [(Requirement(line), "") for line in lines]
    seen: set[tuple[str, str]] = set()
    while waiting:
        wanted, extra = waiting.pop()
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(wanted.name)
        names.add(name)
        for asked in {"", *wanted.extras}:
            if (name, asked) not in seen:
                seen.add((name, asked))
                waiting += [(Requirement(line), asked) for line in requires(name) or []]
    return names


def test_every_locked_archive_has_a_hash() -> None:
    """uv checks the hashes of a constraint, so what has none would be installed unchecked."""
    entries = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text("utf-8").strip())
    unchecked = [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry]
    assert (len(entries) > 200, unchecked) == (True, [])
    steps = [line for line in (ROOT / "Makefile").read_text("utf-8").splitlines() if line.startswith("\t@$(PIP)")]
    assert all("--require-hashes" in line or "--no-deps torch==" in line for line in steps), steps


def test_licences_of_core_dependencies_are_allowed() -> None:
    licences = {}
    for name in sorted(installed_with(PROJECT["dependencies"])):
        stated = licence(metadata(name))
        assert (stated is None) == (name in SILENT), f"{name}: its metadata says {stated}; see SILENT"
        licences[name] = stated or SILENT[name]
    assert len(licences) > len(CORE)
    assert {name: stated_licence for name, stated_licence in licences.items() if not is_allowed(stated_licence)} == {}


@pytest.mark.parametrize(
    "stated",
    ["GPL-3.0-or-later", "AGPL-3.0-only", "SSPL-1.0", "LGPL-2.1-only", "MIT AND GPL-2.0-only", "Somebody's own",
     "GNU General Public License v3 (GPLv3)", "UNKNOWN"],
)  # fmt: skip
def test_restrictive_licences_are_refused(stated: str) -> None:
    assert not is_allowed(stated)


@pytest.mark.parametrize("stated", ["MIT", "Apache-2.0 OR GPL-2.0-only", "(MIT OR GPL-2.0-only) AND BSD-3-Clause"])
def test_permissive_licences_are_allowed(stated: str) -> None:
    assert is_allowed(stated)


def test_missing_package_is_named() -> None:
    with pytest.raises(PackageNotFoundError, match="no-such-package"):
        installed_with(["no-such-package"])


def imports(tree: ast.AST) -> Iterator[str]:
    """Top-level names of all packages that a module imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]


def imported() -> dict[str, str]:
    """Each package from elsewhere that Limner imports, and a file that does."""
    files: dict[str, str] = {}
    for file in sorted((ROOT / "src").rglob("*.py")):
        for name in imports(ast.parse(file.read_text("utf-8"))):
            if name not in sys.stdlib_module_names and name != "limner" and name not in ELSEWHERE:
                files.setdefault(name, str(file.relative_to(ROOT)))
    return files


def distribution(name: str) -> str:
    """The package that an import comes with."""
    return DISTRIBUTIONS.get(name, canonicalize_name(name))


def test_imported_packages_are_declared() -> None:
    packages = imported()
    assert {"cv2", "polars", "numpy", "torch"} <= packages.keys()
    assert {name: file for name, file in packages.items() if distribution(name) not in CORE | EXTRAS} == {}


LOADED = """
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys({absent!r}))
import limner.api, limner.cli, limner.doctor
places = {places!r} + [each.name for each in pkgutil.walk_packages(limner.cli.__path__, "limner.cli.")]
for place in places:
    module, _, name = place.partition(":")
    found = importlib.import_module(module)
    assert not name or getattr(found, name) is not None, place
print(len(places))
"""


def test_package_loads_without_extras() -> None:
    """Every command and every part that is registered can be loaded where only the core is installed."""
    absent = sorted(name for name in imported() if distribution(name) not in CORE)
    assert "polars" in absent
    places = [place for group in PROJECT["entry-points"].values() for place in group.values()]
    script = LOADED.format(absent=absent, places=places)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > len(places)
