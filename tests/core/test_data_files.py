"""Data files, references and prompts: read whole, or named with what is wrong."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from limner.core.asks import Prompts
from limner.core.data_files import find_reference, parse_row, read_questions
from limner.core.data_rows import MAX_PROBLEMS_SHOWN, MAX_TEXT_SHOWN, Problems, Rows, shorten, stream_lines
from limner.core.errors import DataError, UsageError
from limner.core.exam import Question, Reference
from limner.core.schema import FrozenModel, Id, StrictModel, Words, first_error, read_model, read_toml
from tests.support import picture


class Line(StrictModel):
    """A row of the files here."""

    id: Id
    words: str = ""


def questions(row: Line, file: Path) -> list[Question[Line]]:
    if row.words == "bad":
        raise ValueError("cannot be drawn")
    return [Question(row.id, f"{row.words} in {file.name}", row)]


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines), "utf-8")
    return path


def told(path: Path, **how: object) -> list[str]:
    with pytest.raises(DataError) as caught:
        read_questions(path, Line, questions, **how)  # type: ignore[arg-type]
    return [line.strip().replace(f"{path.parent}/", "") for line in str(caught.value).splitlines()]


def test_rows_become_questions(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"id": "x", "words": "One"}', "", '{"id": "y"}')
    assert [(q.id, q.prompt) for q in read_questions(path, Line, questions)] == [
        ("x", "One in a.jsonl"),
        ("y", " in a.jsonl"),
    ]


def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl", '{"id": "x"}', '{"id": "x"}', "{", "7", '{"id": "y", "words": "bad"}', '{"no": 1}'
    )
    assert told(path) == [
        "6 problems:",
        "a.jsonl:2: id x: this id is already used in line 1",
        "a.jsonl:3: not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        "a.jsonl:4: expected a JSON object, not int",
        "a.jsonl:5: id y: cannot be drawn",
        "a.jsonl:6: id: Field required; the columns are no",
        "a.jsonl:6: no: Extra inputs are not permitted",
    ]


def test_rows_may_use_another_key_for_their_id(tmp_path: Path) -> None:
    class Keyed(StrictModel):
        """A row that calls its id a key."""

        key: Id

    def rows(file: Path, problems: Problems) -> Rows:
        yield from enumerate([{"key": "x"}, {"key": "x"}, {"key": "y", "more": 1}], 1)

    with pytest.raises(DataError) as caught:
        read_questions(tmp_path, Keyed, lambda row, _: [Question(row.key, "", row)], rows=rows, key="key")
    assert f"{tmp_path}:2: id x: this key is already used in line 1" in str(caught.value)
    assert f"{tmp_path}:3: id y: more: Extra inputs are not permitted" in str(caught.value)


@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\n", codec="utf-8"), max_size=5), max_size=6))
def test_streamed_lines_equal_lines_of_whole_file(lines: list[str]) -> None:
    data = "\n".join(lines)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(b"\xef\xbb\xbf" + data.encode())
        streamed, whole = [*stream_lines(path)], data.split("\n")
    # An empty last line is no line.
    assert streamed == whole or (streamed == whole[:-1] and not whole[-1])


def test_line_that_is_not_utf8_is_reported_with_byte_offset(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"one\ntw\xff\n")
    with pytest.raises(DataError, match=r"not UTF-8 \(byte 6\)") as error:
        list(stream_lines(tmp_path / "x"))
    assert error.value.line == 2


FILE = Path("a.jsonl")


class Part(FrozenModel):
    """Something in a row."""

    points: int


class Lined(FrozenModel):
    """A row."""

    id: Id
    parts: tuple[Part, ...] = ()


def test_single_problem_is_raised_unchanged() -> None:
    problems = Problems()
    problems.add("is odd", FILE, 3, "x")
    with pytest.raises(DataError) as caught:
        problems.settle()
    assert caught.value is problems.found[0]
    assert str(caught.value) == "a.jsonl:3: id x: is odd"


def test_only_first_of_many_problems_are_shown() -> None:
    problems = Problems()
    for line in range(1, MAX_PROBLEMS_SHOWN + 4):
        problems.add(f"is odd by {line}", FILE, line)
    with pytest.raises(DataError) as caught:
        problems.settle()
    first, *shown, last = str(caught.value).splitlines()
    assert (first, len(shown), last.strip()) == (
        f"{MAX_PROBLEMS_SHOWN + 3} problems:",
        MAX_PROBLEMS_SHOWN,
        "… and 3 more",
    )


def test_problems_that_are_alike_leave_room_for_others() -> None:
    problems = Problems()
    for line in range(1, 40):
        problems.add("is odd", FILE, line)
    problems.add("is blue", FILE, 40)
    with pytest.raises(DataError) as caught:
        problems.settle()
    lines = str(caught.value).splitlines()
    assert [sum(word in line for line in lines) for word in ("is odd", "is blue")] == [3, 1]
    assert (lines[0], lines[-1].strip()) == ("40 problems:", "… and 36 more like these")


def test_list_items_are_identified_by_id_or_index() -> None:
    problems = Problems()
    row = {"id": "x", "parts": [{"id": "first", "points": "no"}, {"points": "no"}]}
    assert parse_row(Lined, row, problems, FILE, 7) is None
    assert [str(problem).partition(": Input")[0] for problem in problems.found] == [
        "a.jsonl:7: id x: parts.first.points",
        "a.jsonl:7: id x: parts.1.points",
    ]


def test_long_text_in_messages_is_shortened() -> None:
    assert shorten("x" * MAX_TEXT_SHOWN) == "x" * MAX_TEXT_SHOWN
    assert shorten("x" * 5000) == "x" * MAX_TEXT_SHOWN + "… (5,000 characters)"


class Entry(StrictModel):
    """What the files here say."""

    id: Id = "x"
    words: Words = ""


def wrong(**fields: object) -> str:
    with pytest.raises(ValidationError) as caught:
        Entry.model_validate(fields)
    return first_error(caught.value)


@pytest.mark.parametrize("id", ["", "a//b", "../a", "a/.", " a", "a\\b", "a\nb", "a\u200bb"])
def test_ids_unusable_as_file_names_are_rejected(id: str) -> None:
    assert wrong(id=id).startswith("id: Value error, an id is used as a file name: no ")


def test_valid_ids_and_words_are_accepted() -> None:
    entry = Entry(id="Biology/Biology 97.b", words="two\nlines\tand é")
    assert (entry.id, entry.words) == ("Biology/Biology 97.b", "two\nlines\tand é")


def test_words_with_control_characters_are_rejected() -> None:
    assert wrong(words="a\x1b[1m") == "words: Value error, it contains the control character U+001B"
    assert wrong(words="\ud800") == "words: Value error, it contains half of a surrogate pair"


def test_unreadable_toml_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("a = ", "utf-8")
    with pytest.raises(DataError, match=r"a\.toml: cannot be read as TOML: "):
        read_toml(path)
    with pytest.raises(DataError, match="cannot be read: "):
        read_toml(tmp_path / "nowhere.toml")
    path.write_text("a = 1", "utf-8")
    assert read_toml(path) == {"a": 1}
    with pytest.raises(DataError, match=r"a\.toml:1: a: no such key; choose from: id, words"):
        read_model(path, Entry)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of images beside a file that is not for it."""
    (tmp_path / "images" / "a").mkdir(parents=True)
    (tmp_path / "images" / "a" / "x.png").write_bytes(picture(1))
    (tmp_path / "outside.png").write_bytes(picture(2))
    return tmp_path / "images"


def test_reference_is_found_or_absent(folder: Path) -> None:
    assert find_reference(folder, "a/x.png") == Reference("a/x.png", folder / "a" / "x.png")
    assert find_reference(folder, "a/y.png") == Reference("a/y.png")


@pytest.mark.parametrize("name", ["../outside.png", "a/../../outside.png", "/etc/x.png", "a\\x.png", "a\0", ""])
def test_reference_name_outside_folder_is_rejected(folder: Path, name: str) -> None:
    with pytest.raises(ValueError, match="leaves the folder"):
        find_reference(folder, name)


def test_reference_link_outside_folder_is_rejected(folder: Path) -> None:
    (folder / "out.png").symlink_to(folder.parent / "outside.png")
    (folder / "in.png").symlink_to(folder / "a" / "x.png")
    with pytest.raises(ValueError, match=r"leaves the folder .* through a link"):
        find_reference(folder, "out.png")
    assert find_reference(folder, "in.png").path == folder / "in.png"


def test_invalid_reference_image_or_name_is_rejected(folder: Path) -> None:
    (folder / "words.png").write_text("words")
    with pytest.raises(ValueError, match=r"image .*words\.png: not an image"):
        find_reference(folder, "words.png")
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        find_reference(folder, "\ud800.png")


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    folder = tmp_path / "shipped"
    folder.mkdir()
    (folder / "mark.md").write_text("Look at {{thing}}.\n{{thing}} again, {{count}} times.", "utf-8")
    (folder / "shape.md").write_text("One object.", "utf-8")
    return folder


@given(st.text(), st.text())
def test_braces_in_values_are_not_expanded(tmp_path_factory: pytest.TempPathFactory, one: str, other: str) -> None:
    """Braces in a value, even another field's name, stay words."""
    folder = tmp_path_factory.mktemp("prompts")
    (folder / "t.md").write_text("<{{a}}|{{b}}>", "utf-8")
    assert Prompts(folder).fill("t", a=one + "{{b}}", b=other) == f"<{one}{{{{b}}}}|{other}>"


def test_field_missing_from_template_is_usage_error(shipped: Path) -> None:
    with pytest.raises(UsageError, match=r"prompt template shape\.md lacks the field \{\{count\}\}"):
        Prompts(shipped).fill("shape", count="3")


def test_missing_template_is_usage_error(shipped: Path) -> None:
    with pytest.raises(UsageError, match=r"no prompt template caption\.md"):
        Prompts(shipped).text("caption")


def test_own_wording_overrides_shipped_wording(shipped: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "shape.md").write_text("My own.", "utf-8")
    prompts = Prompts(shipped, own)
    assert (prompts.text("shape"), prompts.text("mark")) == ("My own.", Prompts(shipped).text("mark"))
    assert prompts.hash("shape") != Prompts(shipped).hash("shape")
    assert prompts.hash("mark") == Prompts(shipped).hash("mark")


def test_own_wording_must_be_folder_of_text_files(shipped: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        Prompts(shipped, tmp_path / "nowhere")
    (tmp_path / "shape.md").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"shape\.md: cannot be read"):
        Prompts(shipped, tmp_path).text("shape")


def test_hash_depends_on_template_names_and_not_on_order(shipped: Path) -> None:
    prompts = Prompts(shipped)
    assert prompts.hash("mark", "shape") == prompts.hash("shape", "mark") != prompts.hash("mark")
