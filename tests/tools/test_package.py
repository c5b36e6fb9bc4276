"""What is uploaded is whole: the wheel has every file, and works where the repository is out of reach."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from tools.package import (
    PYTHONS,
    Built,
    build,
    contents,
    packaged,
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("package"))


def test_tested_python_versions_equal_declared_ones() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    promised = tuple(version for version in PYTHONS if f'"Programming Language :: Python :: {version}"' in project)
    assert promised == PYTHONS
    assert f'requires-python = ">={PYTHONS[0]}"' in project


def test_package_data_patterns_cover_all_file_kinds() -> None:
    """If a kind of file is new, the pattern of package data in ``pyproject.toml`` must name it."""
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    kinds = {Path(name).suffix for name in packaged()} - {".py", ".typed"}
    assert {".md", ".toml", ".csv", ".jsonl", ".png", ".js", ".css", ".html", ".ttf"} <= kinds
    assert [kind for kind in sorted(kinds) if f'"**/*{kind}"' not in project] == []


@pytest.mark.slow
def test_wheel_contains_exactly_the_package_files(built: Built) -> None:
    files = {name for name in contents(built.wheel) if ".dist-info/" not in name}
    assert files == packaged()


@pytest.mark.slow
def test_sdist_builds_same_wheel(built: Built) -> None:
    assert contents(built.wheel) == contents(built.direct)
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "CITATION.cff", "CHANGELOG.md", "pyproject.toml"} <= names
    assert "docs/tutorial.md" in names
    assert not {name for name in names if name.startswith("tests") or (name.endswith(".png") and "docs" in name)}
