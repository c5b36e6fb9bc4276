"""Reference images are looked for inside their folder only; an absent one is told apart from a broken one."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner.core.exam import Question, Reference
from limner.core.references import absent_references, find_reference
from limner.core.schema import FrozenModel
from tests.support import picture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of images beside a file that is not for it."""
    (tmp_path / "images" / "a").mkdir(parents=True)
    (tmp_path / "images" / "a" / "x.png").write_bytes(picture(1))
    (tmp_path / "outside.png").write_bytes(picture(2))
    return tmp_path / "images"


def test_there_or_absent(folder: Path) -> None:
    assert find_reference(folder, "a/x.png") == Reference("a/x.png", folder / "a" / "x.png")
    assert find_reference(folder, "a/y.png") == Reference("a/y.png")


@pytest.mark.parametrize("name", ["../outside.png", "a/../../outside.png", "/etc/x.png", "a\\x.png", "a\0", ""])
def test_no_name_leaves_the_folder(folder: Path, name: str) -> None:
    with pytest.raises(ValueError, match="leaves the folder"):
        find_reference(folder, name)


def test_no_link_leaves_the_folder(folder: Path) -> None:
    (folder / "out.png").symlink_to(folder.parent / "outside.png")
    (folder / "in.png").symlink_to(folder / "a" / "x.png")
    with pytest.raises(ValueError, match=r"leaves the folder .* through a link"):
        find_reference(folder, "out.png")
    assert find_reference(folder, "in.png").path == folder / "in.png"


def test_what_is_no_image_or_no_name(folder: Path) -> None:
    (folder / "words.png").write_text("words")
    with pytest.raises(ValueError, match=r"image .*words\.png: not an image"):
        find_reference(folder, "words.png")
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        find_reference(folder, "\ud800.png")


def test_a_reference_that_can_be_shown(tmp_path: Path) -> None:
    there = [Reference("a", tmp_path / "a.png"), Reference("b", load=lambda: b"")]
    assert absent_references(Question("q", "", FrozenModel(), {}, one) for one in (*there, Reference("c"), None)) == 2
