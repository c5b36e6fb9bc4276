"""Texts out of a Python file: read as Python would have them, never run, and refused where only running would tell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from limner.core.errors import DataError
from limner.exams.released import LARGEST, read_texts


def found(folder: Path, source: str | bytes, name: str = "words") -> tuple[str, int]:
    (folder / "file.py").write_bytes(source if isinstance(source, bytes) else source.encode("utf-8"))
    return read_texts(folder, "file.py", [name])[name]


@pytest.mark.parametrize(
    ("source", "text", "line"),
    [
        ("words = 'one'\n", "one", 1),
        ("import os\n\nwords = '''\na {x}\n'''\n", "\na {x}\n", 3),
        ("words = 'one' + (' two' + ' three')\n", "one two three", 1),
        ("def run():\n    words = 'inner'\n    return words\nwords = r'\\d'\n", "\\d", 4),
        ("\ufeffwords = 'ä\\u00e4'\n", "ää", 1),
        ("print(words.x)\nwords = 'one'\n", "one", 2),
    ],
)
def test_a_text_is_what_python_would_have(tmp_path: Path, source: str, text: str, line: int) -> None:
    assert found(tmp_path, source) == (text, line)


CLASS = """class Words:
    kind = "x"
    def __init__(self):
        self.first = "one"
        self.second = (
            "two {}"
        )
"""


def test_attributes_of_a_class(tmp_path: Path) -> None:
    assert found(tmp_path, CLASS, "Words.first") == ("one", 4)
    assert found(tmp_path, CLASS, "Words.second") == ("two {}", 5)
    assert found(tmp_path, CLASS, "Words.kind") == ("x", 2)


def test_nothing_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    source = f"open({str(mark)!r}, 'w').close()\nraise SystemExit(3)\nwords = 'one'\n"
    assert found(tmp_path, source) == ("one", 3)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("source", "line", "said"),
    [
        ("x = 1\nwords = f'one {x}'\n", 2, "made with an f-string, and nothing here is run; write it as a plain text"),
        ("words = HEAD + 'two'\n", 1, "made with the name HEAD"),
        ("words = ''.join(['a'])\n", 1, "made with a call"),
        ("words = b'one'\n", 1, r"made with what is no text \(Constant\)"),
        ("words = 'one'\nwords = 'two'\n", 2, r"set more than once \(lines 1 and 2\)"),
        ("words = 'one'\nif x:\n    words = 'two'\n", 3, "set more than once"),
        ("words = 'one'\ndef words(): pass\n", 2, "set more than once"),
        ("words, more = 'one', 'two'\n", 1, "not simply set to a text; write it as one"),
        ("other = 'one'\n", None, "does not set words; check out the release's file, or name its folder"),
        ("words = 'one\n", 1, "is no Python: .*; check out the release's file anew"),
        (b"x = 1\nwords = '\xff'\n", 2, r"not UTF-8 \(byte 15\); save it as UTF-8"),
        ("words = 'one'\0", None, "null bytes|cannot be parsed"),
        ("words = " + "(" * 5000, 1, "is no Python: too many nested parentheses"),
        ("words = " + "'a' + " * 60_000 + "'b'", None, "cannot be parsed: nested too deeply"),
    ],
)  # fmt: skip
def test_what_only_running_would_tell_is_refused(
    tmp_path: Path, source: str | bytes, line: int | None, said: str
) -> None:
    with pytest.raises(DataError, match=said) as caught:
        found(tmp_path, source)
    assert (caught.value.file, caught.value.line) == (tmp_path / "file.py", line)


@pytest.mark.parametrize(
    ("source", "name", "said"),
    [
        (CLASS, "Other.first", "has no class Other; one is wanted"),
        (CLASS + CLASS, "Words.first", "has 2 class Words; one is wanted"),
        (CLASS, "Words.third", r"does not set Words\.third"),
        (CLASS.replace('"one"', "make()"), "Words.first", "made with a call"),
        (CLASS + "    def set(self):\n        self.first = ''\n", "Words.first", r"more than once \(lines 4 and 9\)"),
    ],
)
def test_classes_that_are_not_as_wanted(tmp_path: Path, source: str, name: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        found(tmp_path, source, name)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"file\.py: has 1,000,014 bytes, more than 1,000,000; put the release's own"):
        found(tmp_path, "words = 'one'\n" + "#" * LARGEST)


def test_links_are_not_followed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "file.py").write_text("words = 'one'\n", "utf-8")
    clone = tmp_path / "clone"
    clone.mkdir()
    os.symlink(real / "file.py", clone / "file.py")
    os.symlink(real, clone / "inner")
    for file in ("file.py", "inner/file.py"):
        with pytest.raises(DataError, match="is a link, which is not followed; put the file itself there"):
            read_texts(clone, file, ["words"])
    # The folder itself is the user's own to name.
    os.symlink(real, tmp_path / "way")
    assert read_texts(tmp_path / "way", "file.py", ["words"]) == {"words": ("one", 1)}


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"file\.py: cannot be read: No such file"):
        read_texts(tmp_path, "file.py", ["words"])
    (tmp_path / "file.py").mkdir()
    with pytest.raises(DataError, match="is no plain file"):
        read_texts(tmp_path, "file.py", ["words"])
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(DataError, match="is no plain file"):
        read_texts(tmp_path, "pipe.py", ["words"])
