"""``--prompts release:FOLDER``: the judge gets the very words of the clone, and every table says so."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.asks import Ask, Picture, Prompts, Template, Text, Unreadable
from limner.core.errors import DataError, UsageError
from limner.core.exam import Question
from limner.exams import kind, read, resolve
from limner.exams.genexam import GENEXAM
from limner.exams.genexam.protocol import release_loads
from limner.exams.released import (
    MAX_FILE_BYTES,
    ReleasedText,
    _read_f_string,
    _template,
    read_release,
    read_texts,
    release_folder,
    release_of,
    wording_names,
)
from limner.judges import make_variant
from tests.cli.invoke import limner
from tests.exams import clones
from tests.exams.aibench.rows import question as choices
from tests.exams.genexam.replies import RATINGS, SHA, question, reply
from tests.exams.mmmg.cases import question as graph
from tests.fakes import ChatServer
from tests.needs import need
from tests.support import JUDGE, SmallExam, write_settings

DRAWING = "1" * 64
QUESTIONS: dict[str, Question[Any]] = {"genexam": question(0.5, 0.5), "mmmg": graph(), "aibench": choices()}
each_release = pytest.mark.parametrize("name", QUESTIONS)


def asks(name: str, folder: Path, **how: Any) -> list[Ask]:
    exam = kind(name)
    way = make_variant(exam, how.get("variant"), how.get("options", {}), f"release:{folder}")
    return exam.protocol.asks(QUESTIONS[name], DRAWING, {}, way)


def told(ask: Ask) -> str:
    (text,) = (part.text for part in ask.shown if isinstance(part, Text))
    return text


def test_genexam_judge_gets_wording_of_clone(tmp_path: Path) -> None:
    (ask,) = asks("genexam", clones.clone(tmp_path, "genexam"))
    scope: dict[str, str] = {}
    exec(clones.GENEXAM, scope)
    points = ["Is part 1 there?", "Is part 2 there?"]
    assert told(ask) == scope["prompt_for_eval"].format(prompt="Draw a thing.", scoring_points=points)
    assert ask.shown[1:] == (Picture(DRAWING, 768, "high"), Picture(SHA, 768, "high"))
    assert ask.system is None


def test_mmmg_judge_gets_wording_of_clone(tmp_path: Path) -> None:
    (ask,) = asks("mmmg", clones.clone(tmp_path, "mmmg"))
    scope: dict[str, str] = {}
    exec(clones.MMMG, scope)
    head, tail = scope["instruction_prompt"].split("[ELEM_DEPEND]")
    text = told(ask)
    assert text.startswith(head)
    assert text.endswith(tail)
    body, _, annotation = text.removeprefix(head).removesuffix(tail).partition("\n")
    rubric = graph().rubric
    assert json.loads(body) == {"elements": [*rubric.elements], "dependencies": [*rubric.dependencies]}
    assert annotation == rubric.annotation
    assert ask.shown[1:] == (Picture(DRAWING),)
    assert ask.name == "checklist"


def test_aibench_judge_gets_wording_of_clone(tmp_path: Path) -> None:
    found = asks("aibench", clones.clone(tmp_path, "aibench"))
    items = choices().rubric.checklist
    assert len(found) == len(items)
    for ask, item in zip(found, items, strict=True):
        options = "\n".join(f"{letter}. {item.options[letter]}" for letter in sorted(item.options))
        assert told(ask) == f"Asked: {item.question}\nChoices:\n{options}\n\nSay which, by its letter."
        assert ask.system == "You answer questions."
        assert ask.shown[0] == Picture(DRAWING)


@each_release
def test_wording_hash_depends_only_on_text(name: str, tmp_path: Path) -> None:
    """The same words from another folder are the same wording; another letter is another."""
    exam, file = kind(name), clones.FILES[name][0]
    one, same = clones.clone(tmp_path / "a", name), clones.clone(tmp_path / "b", name)
    other = clones.clone(tmp_path / "c", name)
    (other / file).write_text(
        clones.FILES[name][1].replace("Task", "Job").replace("Describe", "Tell").replace("Asked", "Told")
    )
    hashes = []
    for folder in (one, same, other):
        way = make_variant(exam, None, {}, f"release:{folder}")
        hashes.append(way.prompts.hash(*exam.protocol.templates(way)))
    assert hashes[0] == hashes[1] != hashes[2]
    shipped = make_variant(exam, None, {})
    assert shipped.prompts.hash(*exam.protocol.templates(shipped)) not in hashes
    setup = {"judge": "x", "templates": hashes[0], "prompts": "release"}
    assert wording_names(exam, setup) == (f"release {hashes[0][:4]}", "release")


@each_release
def test_release_wording_uses_release_variant_and_options(name: str, tmp_path: Path) -> None:
    exam, release, folder = kind(name), release_of(kind(name)), clones.clone(tmp_path, name)
    assert release is not None
    way = make_variant(exam, None, {}, f"release:{folder}")
    assert way.name == release.variant
    assert {**way.options, **release.options} == dict(way.options)
    assert make_variant(exam, release.variant, release.options, f"release:{folder}").options == way.options
    other = next(variant for variant in exam.protocol.variants if variant != release.variant)
    with pytest.raises(UsageError, match=f"the release uses --variant {release.variant}.*, not --variant {other}"):
        make_variant(exam, other, {}, f"release:{folder}")
    for option, usual in release.options.items():
        wrong = next(value for value in exam.protocol.options[option] if value != usual)
        with pytest.raises(UsageError, match=f"not -O {option}={wrong}"):
            make_variant(exam, None, {option: wrong}, f"release:{folder}")


@pytest.mark.parametrize("name", ["fepbench", "worldgenbench"])
def test_exams_without_released_wording_are_usage_errors(name: str, tmp_path: Path) -> None:
    assert release_of(kind(name)) is None
    with pytest.raises(
        UsageError, match=f"{name}: the authors have not released their judge's wording; use --prompts DIR"
    ):
        make_variant(kind(name), None, {}, f"release:{tmp_path}")


def test_invalid_release_folder_is_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"no such folder; clone https://github\.com/OpenGVLab/GenExam there"):
        make_variant(GENEXAM, None, {}, f"release:{tmp_path / 'none'}")
    with pytest.raises(UsageError, match="release:FOLDER: give the folder"):
        make_variant(GENEXAM, None, {}, "release:")
    with pytest.raises(DataError, match=r"eval_prompt\.py: cannot be read: No such file"):
        make_variant(GENEXAM, None, {}, f"release:{tmp_path}")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert release_folder("release:~/clone") == tmp_path / "clone"
    assert release_folder(tmp_path) is release_folder(None) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{prompt}", "the text has no place for scoring_points"),
        ("{prompt} {scoring_points} {answer}", r"the place \{answer\} cannot be filled"),
        ("{prompt!r} {scoring_points}", "has a format, which is not supported"),
        ("{prompt} {scoring_points} {", "prompt_for_eval: "),
        ("{prompt} {scoring_points} \ud800", "half of a surrogate pair"),
    ],
)
def test_text_that_cannot_be_filled_is_rejected(tmp_path: Path, text: str, message: str) -> None:
    folder = clones.clone(tmp_path, "genexam", f"\n\nprompt_for_eval = {text!a}\n")
    with pytest.raises(DataError, match=message) as caught:
        read_release(GENEXAM, folder)
    assert (caught.value.file, caught.value.line) == (folder / "eval_prompt.py", 3)
    assert "check out the release's file again, or write your own" in str(caught.value)


FIELDS = st.dictionaries(st.sampled_from(["prompt", "points"]), st.text(), min_size=2)
WORDS = st.lists(st.sampled_from(["{{", "}}", "{prompt}", "{points}", "a", "\n", "[X]", "{{prompt}}"]), max_size=12)


@given(WORDS, FIELDS)
def test_texts_are_filled_like_str_format(words: list[str], fields: dict[str, str]) -> None:
    text = "".join([*words, "{prompt}{points}"])
    assert _template(text, ReleasedText(variable="x", format=("prompt", "points"))).fill(fields) == text.format(
        **fields
    )


@given(WORDS, st.text(), st.text())
def test_positional_fields_and_markers_are_filled(words: list[str], one: str, other: str) -> None:
    plain = [word for word in words if "prompt" not in word and "points" not in word]
    text = "".join([*plain, "{}", *plain, "{}"])
    fields = {"prompt": one, "points": other}
    assert _template(text, ReleasedText(variable="x", format=("prompt", "points"))).fill(fields) == text.format(
        one, other
    )
    text = "".join([*words, "[X]"])
    assert _template(text, ReleasedText(variable="x", replace={"[X]": "points"})).fill(fields) == text.replace(
        "[X]", other
    )


F_STRING = '''
def ask(data):
    other = f"{data}"
    words = f"""Rate {{it}}: {data['Prompt']} by {why}."""
    return [{"text": f"{data['Prompt']}, {why!r}"}]
'''
"""A release that fills its words inside a function."""


def f_string(folder: Path, **given: Any) -> Template:
    (folder / "judge.py").write_text(F_STRING, "utf-8")
    places = {"data['Prompt']": "prompt", "why": "reason"}
    return _read_f_string(folder, "judge.py", ReleasedText(**{"function": "ask", "places": places, **given}))


def test_f_string_in_function_is_filled(tmp_path: Path) -> None:
    template = f_string(tmp_path, variable="words")
    assert template.fill({"prompt": "A {tree}", "reason": "x"}) == "Rate {it}: A {tree} by x."
    assert f_string(tmp_path) == template, "the only text with both places, and without a format"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"function": "nothing"}, "has no text with the places data.*in nothing"),
        ({"variable": "other"}, "has no text with the places"),
        ({"places": {"why": "reason"}}, "has no text with the places why in ask"),
    ],
)
def test_other_f_string_is_rejected(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        f_string(tmp_path, **given)


def test_placeholders_are_renamed_and_text_is_added() -> None:
    template = _template("Do {it}.", ReleasedText(variable="x", format={"it": "prompt"}))
    assert template.fill({"prompt": "this"}) == "Do this."
    template = _template("Keep {braces}.", ReleasedText(variable="x", format=("prompt",), then="\nPrompt: {prompt}"))
    assert template.fill({"prompt": "this"}) == "Keep {braces}.\nPrompt: this"


PLAIN = {"answers": [{"answer": 1}, {"answer": 0}], "global_evaluation": {name: {"score": 2} for name in RATINGS}}
"""A reply without anything that we ask for beyond the marks."""


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(PLAIN),
        f"Thinking aloud.\n```json\n{json.dumps(PLAIN, indent=4)}\n```",
        repr(PLAIN),
        json.dumps(PLAIN)[:-1] + ', "description": "one", "description": "two"}',
    ],
)
def test_reply_in_release_form_is_accepted(text: str, tmp_path: Path) -> None:
    """The last one is a reply that the released reader takes and the careful one does not: it is no fault."""
    (ask,) = asks("genexam", clones.clone(tmp_path, "genexam"))
    assert [mark.value for mark in ask.contract.parse(text)] == [1, 0, 2, 2, 2]
    assert release_loads(text)
    with pytest.raises(Unreadable):
        ask.contract.parse(text.replace('"answer"', '"reply"').replace("'answer'", "'reply'"))


def test_own_templates_need_only_question_fields(tmp_path: Path) -> None:
    """A prompt that says itself how to reply needs none of our pieces; what is asked about it must have."""
    (tmp_path / "mark-release.md").write_text("Draw: {{prompt}}\nAsk: {{points}}\nReply as you like.", "utf-8")
    way = make_variant(GENEXAM, None, {}, tmp_path)
    (ask,) = GENEXAM.protocol.asks(question(1.0), DRAWING, {}, way)
    assert told(ask) == "Draw: Draw a thing.\nAsk: 1. Is part 1 there?\nReply as you like."
    (tmp_path / "mark-release.md").write_text("Draw: {{prompt}}", "utf-8")
    with pytest.raises(UsageError, match=r"mark-release\.md lacks the field \{\{points\}\}"):
        GENEXAM.protocol.asks(question(1.0), DRAWING, {}, make_variant(GENEXAM, None, {}, tmp_path))
    (tmp_path / "mark-release.md").write_text("{{prompt}} {{points}}", "utf-8")
    captioned = make_variant(GENEXAM, None, {"reference": "caption"}, tmp_path)
    with pytest.raises(UsageError, match=r"lacks the field \{\{reference\}\}"):
        GENEXAM.protocol.asks(question(1.0), DRAWING, {"caption": "It."}, captioned)


@pytest.mark.slow
def test_run_uses_clone_wording_and_notes_it_everywhere(
    small_exam: SmallExam, tmp_path: Path, chat: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_settings(tmp_path, chat.base_url)
    clones.clone(tmp_path, "genexam")
    words = ["genexam", "--painter", f"mine=folder/{small_exam.drawings}", "--data", str(small_exam.data)]
    words += ["--limit", "1", "--judge", JUDGE]
    limner("run", *words)
    points = small_exam.rows[0]["scoring_points"]
    chat.configure(reply=json.dumps(reply([1] * len(points), [2, 2, 2])))
    asked = chat.counts()["total"]
    counts = limner("run", *words, "--prompts", "release:genexam", "--format=json").json()
    assert (counts["done"], chat.counts()["total"]) == (1, asked + 1)
    assert limner("run", *words, "--prompts", "release:./genexam", "--format=json").json()["done"] == 0
    rows = {row["setup"].get("prompts"): row for row in limner("scores", "genexam", "--format", "json").json()}
    assert {*rows} == {None, "release"}
    assert rows["release"]["evaluator"] == "judge · prompts release"
    assert "prompts" not in rows[None]["setup"]
    asked_so = "asked: variant release, options reference=image, prompts release"
    assert asked_so in limner("scores", "genexam", "--notes").out
    hash = rows["release"]["setup"]["templates"][:4]
    noted = f"prompts in the release's own wording (eval_prompt.py, {hash})"
    assert noted in limner("table", "genexam:table2", "--wording", "release").out
    only = limner("scores", "genexam", "--wording", "release", "--format", "json").json()
    assert [row["setup"]["prompts"] for row in only] == ["release"]
    own = limner("run", *words, "--preset", "release", "--prompts", "release:genexam", "--dry-run").err
    assert "judge fake/judge" in own
    assert "prompts" not in own, "the release's own words are what its preset asks in"


VARIABLE = "LIMNER_RELEASES"


@each_release
def test_real_clone_texts_match_python(name: str) -> None:
    """With a folder of clones, called as the repositories are: Limner has the very texts that Python has."""
    release = release_of(kind(name))
    assert release is not None
    folder = Path(os.environ.get(VARIABLE, "none")) / release.repository.rpartition("/")[2]
    need("releases", folder.is_dir(), f"{VARIABLE} names no folder with a clone of {release.repository}")
    _, prompts = read_release(kind(name), folder)
    tree = ast.parse((folder / release.file).read_text("utf-8"))
    for template, one in release.templates.items():
        owner, _, attribute = one.variable.rpartition(".")
        scope: dict[str, Any] = {}
        for node in tree.body:
            named = [getattr(target, "id", "") for target in getattr(node, "targets", [])]
            if getattr(node, "name", None) == owner or attribute in named:
                exec(compile(ast.Module([node], []), release.file, "exec"), scope)
        truth = getattr(scope[owner](), attribute) if owner else scope[attribute]
        assert prompts.text(template) == truth
        marked = {field: f"<{field}>" for field in [*one.format, *one.replace.values()]}
        if one.format:
            truth = truth.format(*marked.values(), **marked)
        for mark, field in one.replace.items():
            truth = truth.replace(mark, marked[field])
        assert prompts.fill(template, **marked) == truth
        assert len(truth) > 20
    assert isinstance(prompts, Prompts)
    for ask in asks(name, folder):
        assert told(ask)


@pytest.mark.parametrize("name", ["wise", "corebench", "krisbench", "risebench", "grade"])
def test_real_clone_of_declared_exam_fills_all_templates(name: str) -> None:
    """Every template has a text in the clone, and what is asked holds the question's words."""
    release = release_of(kind(name))
    assert release is not None
    folder = Path(os.environ.get(VARIABLE, "none")) / release.repository.rpartition("/")[2]
    need("releases", folder.is_dir(), f"{VARIABLE} names no folder with a clone of {release.repository}")
    exam = kind(name)
    way = make_variant(exam, None, {}, f"release:{folder}")
    for each in read(resolve(f"sample/{name}")).questions:
        for ask in exam.protocol.asks(each, DRAWING, {}, way):
            words = "".join(part.text for part in ask.shown if isinstance(part, Text))
            assert len(words) > 100
            assert "{{" not in words
            fields = [field for pieces in way.prompts.released.values() for field in pieces.pieces[1::2]]
            assert "prompt" in fields


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
def test_text_equals_python_value(tmp_path: Path, source: str, text: str, line: int) -> None:
    assert found(tmp_path, source) == (text, line)


CLASS = """class Words:
    kind = "x"
    def __init__(self):
        self.first = "one"
        self.second = (
            "two {}"
        )
"""


def test_class_attributes_are_read(tmp_path: Path) -> None:
    assert found(tmp_path, CLASS, "Words.first") == ("one", 4)
    assert found(tmp_path, CLASS, "Words.second") == ("two {}", 5)
    assert found(tmp_path, CLASS, "Words.kind") == ("x", 2)


def test_source_is_not_executed(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    source = f"open({str(mark)!r}, 'w').close()\nraise SystemExit(3)\nwords = 'one'\n"
    assert found(tmp_path, source) == ("one", 3)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("x = 1\nwords = f'one {x}'\n", 2, "made with f'one {x}', and no code is run; write it as a plain text"),
        ("words = HEAD + 'two'\n", 1, "made with HEAD"),
        ("words = ''.join(['a'])\n", 1, r"made with ''\.join"),
        ("words = b'one'\n", 1, "made with b'one'"),
        ("words = 'one'\nwords = 'two'\n", 2, r"set more than once \(lines 1 and 2\)"),
        ("words = 'one'\nif x:\n    words = 'two'\n", 3, "set more than once"),
        ("words = 'one'\ndef words(): pass\n", 2, "set more than once"),
        ("words, more = 'one', 'two'\n", 1, "not simply set to a text; write it as one"),
        ("other = 'one'\n", None, "does not set words; check out the release's file, or name its folder"),
        ("words = 'one\n", 1, "is not Python: .*; check out the release's file again"),
        (b"x = 1\nwords = '\xff'\n", 2, r"not UTF-8 \(byte 15\); save it as UTF-8"),
        ("words = 'one'\0", None, "null bytes|cannot be parsed"),
        ("words = " + "(" * 5000, 1, "is not Python: too many nested parentheses"),
        ("words = " + "'a' + " * 60_000 + "'b'", None, "cannot be parsed: it is nested too deeply"),
    ],
)  # fmt: skip
def test_text_requiring_execution_is_rejected(
    tmp_path: Path, source: str | bytes, line: int | None, message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        found(tmp_path, source)
    assert (caught.value.file, caught.value.line) == (tmp_path / "file.py", line)


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        (CLASS, "Other.first", "has no class Other; it must have one"),
        (CLASS + CLASS, "Words.first", "has 2 class Words; it must have one"),
        (CLASS, "Words.third", r"does not set Words\.third"),
        (CLASS.replace('"one"', "make()"), "Words.first", r"made with make\(\)"),
        (CLASS + "    def set(self):\n        self.first = ''\n", "Words.first", r"more than once \(lines 4 and 9\)"),
    ],
)
def test_missing_or_duplicate_class_is_rejected(tmp_path: Path, source: str, name: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        found(tmp_path, source, name)


def test_huge_file_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"file\.py: has 1,000,014 bytes, more than 1,000,000; copy the release's own"):
        found(tmp_path, "words = 'one'\n" + "#" * MAX_FILE_BYTES)


def test_links_are_not_followed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "file.py").write_text("words = 'one'\n", "utf-8")
    clone = tmp_path / "clone"
    clone.mkdir()
    os.symlink(real / "file.py", clone / "file.py")
    os.symlink(real, clone / "inner")
    for file in ("file.py", "inner/file.py"):
        with pytest.raises(DataError, match="is a link, which is not followed; copy the file itself there"):
            read_texts(clone, file, ["words"])
    # The folder itself is the user's own to name.
    os.symlink(real, tmp_path / "way")
    assert read_texts(tmp_path / "way", "file.py", ["words"]) == {"words": ("one", 1)}


def test_missing_or_irregular_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"file\.py: cannot be read: No such file"):
        read_texts(tmp_path, "file.py", ["words"])
    (tmp_path / "file.py").mkdir()
    with pytest.raises(DataError, match="is not a regular file"):
        read_texts(tmp_path, "file.py", ["words"])
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(DataError, match="is not a regular file"):
        read_texts(tmp_path, "pipe.py", ["words"])
