"""What is uploaded is whole: the wheel has every file, and works where the repository is out of reach."""

from __future__ import annotations

import sys
import tarfile
from pathlib import Path

import pytest
from tools.package import (
    MOST,
    PYTHONS,
    TRIED,
    Built,
    build,
    contents,
    first_steps,
    install,
    installed_size,
    interpreter,
    packaged,
)

import limner
from limner.exams import EXAMS
from tests.needs import need


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("package"))


def test_the_running_python_is_found() -> None:
    assert interpreter("{}.{}".format(*sys.version_info)) == Path(sys.executable)
    assert interpreter("2.99") is None


def test_the_versions_tried_are_those_promised() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    promised = tuple(version for version in PYTHONS if f'"Programming Language :: Python :: {version}"' in project)
    assert promised == PYTHONS
    assert f'requires-python = ">={PYTHONS[0]}"' in project


def test_what_a_package_has_besides_code() -> None:
    """If a kind of file is new, the pattern of package data in ``pyproject.toml`` must name it."""
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    kinds = {Path(name).suffix for name in packaged()} - {".py", ".typed"}
    assert {".md", ".toml", ".csv", ".jsonl", ".png", ".js", ".css", ".html", ".ttf"} <= kinds
    assert [kind for kind in sorted(kinds) if f'"**/*{kind}"' not in project] == []


def test_the_size_of_an_environment_is_that_of_its_packages(tmp_path: Path) -> None:
    sizes = {
        "numpy/core.py": 1, "numpy/__pycache__/core.pyc": 10, "numpy-2.dist-info/RECORD": 100, "pipeline/a.so": 1000,
        "pip/main.py": 10, "pip-23.dist-info/RECORD": 10, "setuptools/a.py": 10, "_distutils_hack/a.py": 10,
    }  # fmt: skip
    for name, size in sizes.items():
        file = tmp_path / "lib" / "python3.11" / "site-packages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * size)
    assert installed_size(tmp_path) == 1101


@pytest.mark.slow
def test_the_wheel_has_every_file_and_no_other(built: Built) -> None:
    files = {name for name in contents(built.wheel) if ".dist-info/" not in name}
    assert files == packaged()


@pytest.mark.slow
def test_the_sdist_gives_the_same_wheel(built: Built) -> None:
    assert contents(built.wheel) == contents(built.direct)
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "CITATION.cff", "CHANGELOG.md", "pyproject.toml"} <= names
    assert "docs/tutorial.md" in names
    assert not {name for name in names if name.startswith("tests") or (name.endswith(".png") and "docs" in name)}


@pytest.mark.slow
@pytest.mark.parametrize("version", PYTHONS)
def test_it_works_in_an_empty_folder(version: str, built: Built, tmp_path: Path) -> None:
    python = interpreter(version)
    need("pythons", python is not None, f"Python {version} is not on this machine")
    assert python is not None
    program = install(built.wheel, python, tmp_path / "venv")
    empty = tmp_path / "empty"
    empty.mkdir()
    told = dict(zip([words[0] for words in TRIED], first_steps(program, empty), strict=True))
    assert told["--version"] == f"limner, version {limner.__version__}\n"
    assert [name for name in EXAMS.own() if f"{name}: " not in told["exams"]] == []
    assert "control/reference" in told["run"]
    assert 100_000_000 < installed_size(tmp_path / "venv") <= MOST
    assert "1 exam, 2 drawings" in told["report"]
    assert sorted(path.name for path in empty.iterdir()) == ["limner-store", "site"]
    assert (empty / "site" / "index.html").is_file()
