"""What the word EXAM stands for, and how an exam of one's own is named and started."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

from limner import exams
from limner.core.errors import DataError, UsageError
from limner.core.evaluator import Evaluator, EvaluatorFilter
from limner.core.registry import Registration
from limner.exams import SHIPPED, ExamSource, kind, read, resolve, write_starter
from limner.exams.genexam import GENEXAM
from limner.exams.mmmg import graph
from limner.exams.mmmg.graph import resolve_graph
from limner.exams.released import is_shipped, wording_names
from limner.judges import make_variant


def test_exam_that_is_not_installed_is_usage_error() -> None:
    with pytest.raises(UsageError, match=r"no exam 'genexm'; installed: .*genexam.*\. A file exam\.toml works too"):
        resolve("genexm")


def register(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    known = (*exams.EXAMS.entries(), Registration(name, value, "limner-odd", "1.0"))
    monkeypatch.setattr(exams.EXAMS, "entries", lambda: known)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "limner_no_such_module:EXAM",
            r"the exam 'odd' of limner-odd 1\.0 \(limner_no_such_module:EXAM\) is broken: ModuleNotFoundError",
        ),
        ("limner.exams:nothing", "is broken: AttributeError"),
        ("limner.exams:SAMPLE", r"is broken: it is not a limner\.exams\.Kind"),
    ],
)
def test_broken_exam_is_named(monkeypatch: pytest.MonkeyPatch, value: str, message: str) -> None:
    register(monkeypatch, "odd", value)
    with pytest.raises(UsageError, match=message):
        kind("odd")
    assert kind("genexam") is GENEXAM


def test_exam_names_resolve_to_sources(tmp_path: Path) -> None:
    assert resolve("genexam") == ExamSource("genexam", "genexam", None)
    assert resolve("genexam", tmp_path) == ExamSource("genexam", "genexam", tmp_path)
    assert resolve("sample/genexam") == ExamSource("sample/genexam", "genexam", GENEXAM.sample)
    assert resolve("sample/genexam", tmp_path) == ExamSource("sample/genexam", "genexam", tmp_path)


def toml(folder: Path, text: str) -> str:
    path = folder / "exam.toml"
    path.write_text(text, "utf-8")
    return str(path)


def test_own_exam_toml_resolves_to_source(tmp_path: Path) -> None:
    word = toml(tmp_path, 'name = "mine"\nkind = "genexam"\ndata = "questions"\n')
    assert resolve(word) == ExamSource("mine", "genexam", tmp_path / "questions")
    assert resolve(word, tmp_path / "other") == ExamSource("mine", "genexam", tmp_path / "other")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kind = "genexam"\ndata = "."', "name: is missing"),
        ('name = "mine"\ndata = "."', "kind: is missing"),
        ('name = "mine"\nkind = "genexam"', "data: is missing"),
        ('name = 3\nkind = "genexam"\ndata = "."', "name: Input should be a valid string"),
        ("name = ", "cannot be read"),
    ],
)
def test_invalid_exam_toml_is_rejected(tmp_path: Path, text: str, message: str) -> None:
    word = toml(tmp_path, text)
    with pytest.raises(DataError, match=message) as caught:
        resolve(word)
    assert str(caught.value).startswith(word)


def test_unreadable_exam_toml_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.toml: cannot be read"):
        resolve(str(tmp_path / "nowhere.toml"))
    (tmp_path / "exam.toml").write_bytes(b"\xff")
    with pytest.raises(DataError, match=r"exam\.toml: cannot be read"):
        resolve(str(tmp_path / "exam.toml"))


def test_exam_toml_of_unknown_kind_is_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no exam 'geography'"):
        resolve(toml(tmp_path, 'name = "mine"\nkind = "geography"\ndata = "."'))


def test_missing_data_folder_is_usage_error(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="genexam: no data; get it with `limner exam get genexam`, or name the data folder with --data"
    ):
        read(ExamSource("genexam", "genexam", None))
    with pytest.raises(UsageError, match=r"mine: no such data folder: .*nowhere"):
        read(ExamSource("mine", "genexam", tmp_path / "nowhere"))


def test_starter_needs_empty_folder(tmp_path: Path) -> None:
    assert write_starter(tmp_path, "genexam").is_file()
    with pytest.raises(UsageError, match="is not empty"):
        write_starter(tmp_path, "genexam")
    with pytest.raises(UsageError, match="is a file; name a folder"):
        write_starter(tmp_path / "exam.toml", "genexam")
    with pytest.raises(UsageError, match="no exam 'nothing'"):
        write_starter(tmp_path / "new", "nothing")
    assert not (tmp_path / "new").exists()


def setup_of(variant: str | None = None, prompts: Path | None = None) -> dict[str, Any]:
    """How a judge is asked, as far as the wording goes."""
    way = make_variant(GENEXAM, variant, {}, prompts)
    templates = way.prompts.hash(*GENEXAM.protocol.templates(way))
    return {"judge": "x", "variant": way.name, "options": dict(way.options), "templates": templates}


def own_setup(folder: Path) -> dict[str, Any]:
    """The same, with a template of the user's own."""
    (folder / "shape.md").write_text("Mine. {{count}}", "utf-8")
    return setup_of(prompts=folder)


def test_shipped_wording_of_every_variant_is_recognised() -> None:
    for variant in GENEXAM.protocol.variants:
        assert wording_names(GENEXAM, setup_of(variant)) == ("shipped",)


def test_other_wordings_are_named_by_hash(tmp_path: Path) -> None:
    own = own_setup(tmp_path)
    assert not is_shipped(GENEXAM, own)
    assert wording_names(GENEXAM, own) == (f"own {own['templates'][:4]}",)
    gone = {"templates": "0123456789ab", "variant": "gone", "options": {}}
    assert wording_names(GENEXAM, gone) == ("own 0123",)


def test_judges_without_prompts_are_named_by_rules() -> None:
    assert wording_names(GENEXAM, {"judge": "ocr", "rules": "labels-1", "variant": "labels"}) == ("labels-1",)
    assert wording_names(GENEXAM, {"judge": "x", "variant": "imported", "options": {}, "origin": "import"}) == ()


def test_evaluators_are_filtered_by_wording(tmp_path: Path) -> None:
    shipped, own = setup_of(), own_setup(tmp_path)
    ways = [shipped, own, {"judge": "ocr", "rules": "labels-1"}, {"judge": "x", "variant": "imported"}]
    there = [Evaluator(str(n), way, worded=wording_names(GENEXAM, way)) for n, way in enumerate(ways)]
    for word, ids in {"shipped": ["0"], own["templates"][:5]: ["1"], "labels-1": ["2"], "release": []}.items():
        assert [each.id for each in EvaluatorFilter(wording=word).among(there)] == ids


each_exam = pytest.mark.parametrize("name", SHIPPED)


def sample_module(name: str) -> Any:
    """The module that draws the references of a sample."""
    return import_module(f"tools.samples.{name}.draw")


def questions(name: str) -> list[Any]:
    return list(read(resolve(f"sample/{name}")).questions)


def quoted(text: str) -> list[str]:
    return re.findall(r"'([^']+)'", text)


@each_exam
def test_rows_and_pictures_of_sample_correspond(name: str) -> None:
    module, exam = sample_module(name), read(resolve(f"sample/{name}"))
    assert exam.notes == ()
    ids = {question.id.removesuffix("/free").removesuffix("/structured") for question in exam.questions}
    assert ids == set(module.DRAWINGS)
    references = {question.reference.path for question in exam.questions if question.reference}
    assert references == set(module.IMAGES.rglob("*.png"))


@pytest.mark.slow
@each_exam
def test_redrawing_gives_same_pixels(name: str, tmp_path: Path) -> None:
    module = sample_module(name)
    for path in module.draw_all(tmp_path):
        with Image.open(path) as new, Image.open(module.IMAGES / path.relative_to(tmp_path)) as old:
            assert new.size == old.size
            # Releases of Pillow may shade the rim of a letter or choose a palette differently.
            difference = ImageChops.difference(new.convert("RGB"), old.convert("RGB")).convert("L")
            assert sum(difference.histogram()[48:]) <= 0.001 * new.width * new.height, path.name


@pytest.mark.parametrize("name", ["genexam", "worldgenbench"])
def test_every_quoted_label_is_drawn(name: str) -> None:
    for question in questions(name):
        words = set(sample_module(name).DRAWINGS[question.id]().words)
        rubric = question.rubric
        points = rubric.scoring_points if name == "genexam" else ()
        items = [point.question for point in points] or [entry.item for entry in rubric.checklist]
        for text in (question.prompt, *items):
            assert set(quoted(text)) <= words, text
            assert text.count("'") == 2 * len(quoted(text)), text


def test_mmmg_sample_graphs_are_valid_and_drawn() -> None:
    """Every dependency leads to entities by their exact names, and both readings of the graph agree."""
    for question in questions("mmmg"):
        rubric = question.rubric
        resolved = resolve_graph(rubric.elements, rubric.dependencies)
        assert all(resolved.edges)
        whole = graph.build(dict.fromkeys(rubric.elements, True), dict.fromkeys(rubric.dependencies, True))
        assert whole.size == resolved.size
        words = [word.lower() for word in sample_module("mmmg").DRAWINGS[question.id]().words]
        # A name may be broken over two lines.
        words += [" ".join(pair) for pair in pairwise(words)]
        assert {name.lower() for name in rubric.elements} <= set(words)


def test_fepbench_sample_texts_are_atoms_and_prompts_hide_answers() -> None:
    for question in questions("fepbench"):
        atoms = question.rubric.text
        drawn = sample_module("fepbench").DRAWINGS[question.id.partition("/")[0]]().words
        assert Counter(drawn) == Counter(atom.text for atom in atoms)
        assert set(quoted(question.prompt)) == {atom.text for atom in atoms if atom.role == "instruction"}


def test_aibench_sample_components_match_figure_and_text() -> None:
    for question in questions("aibench"):
        words = " ".join(sample_module("aibench").DRAWINGS[question.id]().words)
        for item in question.rubric.checklist:
            for name in quoted(item.question):
                there = item.dimension != "component" or item.options[item.correct_option] == "Yes"
                assert (name in words) == there
                assert item.dimension != "component" or (name in question.prompt) == there
