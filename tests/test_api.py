"""The Python API: what it takes beyond the command line's words, and what it refuses."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import Mock

import pytest

import limner
from limner.api import Asking
from limner.core.errors import NoStore, StoreError, UsageError
from limner.core.evaluator import name_and_spec
from limner.running.progress import Progress
from limner.running.setup import load_exam_or_data, preset_deviations, usual_reading
from limner.scoring import entries
from limner.scoring.groups import stored_exam
from limner.store import Store, store_exists
from limner.store.markings import marking_setups
from limner.store.records import kind_of
from limner.store.store import open_or_empty
from tests.conformance.verdicts import Verdict, verdicts, write_replay
from tests.support import SmallExam


@pytest.fixture
def verdict_set(small_exam: SmallExam) -> list[Verdict]:
    return verdicts(small_exam.rows, 5)


@pytest.fixture
def judge(small_exam: SmallExam, verdict_set: list[Verdict], tmp_path: Path) -> str:
    return f"replay/{write_replay(tmp_path / 'replies.jsonl', {'mine': verdict_set})}"


@pytest.fixture
def painter(small_exam: SmallExam) -> str:
    return f"mine=folder/{small_exam.drawings}"


def test_all_public_names_are_importable_from_package() -> None:
    for name in limner.__all__:
        assert getattr(limner, name) is not None
    with pytest.raises(AttributeError, match="module 'limner' has no attribute 'nothing'"):
        limner.nothing  # noqa: B018


@pytest.mark.slow
def test_importing_modules_does_not_shadow_public_functions() -> None:
    """Loads every module in a separate process, and then calls the functions."""
    code = (
        "import importlib, pkgutil, limner\n"
        "for module in pkgutil.walk_packages(limner.__path__, 'limner.'):\n"
        "    if module.name.rpartition('.')[2] in ('unipercept', 'child', 'worker'):\n"
        "        continue  # run as scripts, by other Pythons\n"
        "    try:\n"
        "        importlib.import_module(module.name)\n"
        "    except ImportError as error:\n"
        "        assert error.name in ('torch', 'diffusers', 'transformers'), error\n"
        "for _ in range(2):\n"
        "    limner.run('sample/genexam', painters=['control/blank'], store='s', selection=limner.Selection(limit=1))\n"
        "    limner.scores('sample/genexam', store='s')\n"
        "print(all(callable(getattr(limner, name)) for name in limner.__all__))\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.returncode) == ("True", 0), done.stderr


def test_run_stores_results_and_scores_reads_them(
    small_exam: SmallExam, painter: str, judge: str, tmp_path: Path
) -> None:
    seen: list[Progress] = []
    store = tmp_path / "new"
    progress = limner.run(
        "genexam", painters=[painter], judges=[judge], data=small_exam.data, store=store, watch=seen.append
    )
    assert (progress.done, progress.failed, len(seen)) == (8, 0, 4)
    (standing,) = limner.scores("genexam", store=store)
    assert (standing.painter, standing.judge, standing.n) == ("mine", judge, 4)
    kind, (group,) = limner.groups("genexam", store=str(store))
    assert (kind.name, len(group.entries)) == ("genexam", 4)


def test_scores_opens_the_exam_once(
    small_exam: SmallExam, painter: str, judge: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    limner.run("genexam", painters=[painter], judges=[judge], data=small_exam.data, store=store)
    kinds, setups = Mock(wraps=kind_of), Mock(wraps=marking_setups)
    monkeypatch.setattr(entries, "kind_of", kinds)
    monkeypatch.setattr(entries, "marking_setups", setups)
    assert len(limner.scores("genexam", store=store)) == 1
    assert (kinds.call_count, setups.call_count) == (1, 1)


def test_judges_argument_overrides_judges_of_asking(
    small_exam: SmallExam, painter: str, judge: str, store: Store
) -> None:
    asking = Asking(judges=["replay/nowhere"], variant="paper")
    limner.run("genexam", painters=[painter], judges=[judge], asking=asking, data=small_exam.data, store=store)
    (standing,) = limner.scores("genexam", store=store)
    assert (standing.judge, standing.setup["variant"]) == (judge, "paper")


def test_marking_without_drawing_needs_only_store(
    small_exam: SmallExam, painter: str, judge: str, store: Store
) -> None:
    limner.run("genexam", painters=[painter], data=small_exam.data, store=store)
    shutil.rmtree(small_exam.data)
    shutil.rmtree(small_exam.drawings)
    progress = limner.run("genexam", painters=["mine"], judges=[judge], store=store, draw=False)
    assert (progress.done, progress.stored, progress.failed) == (4, 4, 0)


def test_marking_drawings_of_unknown_painter_is_refused(
    small_exam: SmallExam, painter: str, judge: str, store: Store
) -> None:
    limner.run("genexam", painters=[painter], data=small_exam.data, store=store)
    with pytest.raises(UsageError, match=r"has no drawing of genexam by 'yours'; it has: mine"):
        limner.run("genexam", painters=["yours"], judges=[judge], store=store, draw=False)


def test_two_painters_of_one_name_are_refused(small_exam: SmallExam, store: Store) -> None:
    word = f"folder/{small_exam.drawings}"
    with pytest.raises(UsageError, match=r"two painters are named .*; rename one: --painter other="):
        limner.run("genexam", painters=[word, word], data=small_exam.data, store=store)


def test_empty_selection_is_refused(small_exam: SmallExam, painter: str, store: Store) -> None:
    selection = limner.Selection(where=(("subject", "Art"),))
    with pytest.raises(UsageError, match="no question is selected"):
        limner.run("genexam", painters=[painter], selection=selection, data=small_exam.data, store=store)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("mine=folder/x", "mine"),
        ("mine=folder/a=b", "mine"),
        ("folder/a=b", "folder/a=b"),
        ("control/blank", "control/blank"),
        ("mine", "mine"),
        ("mine=", "mine="),
        ("FLUX-Reason (R1)=folder/x", "FLUX-Reason (R1)"),
        ("a  b=folder/x", "a  b=folder/x"),
    ],
)
def test_name_of_painter_is_parsed(word: str, name: str) -> None:
    assert name_and_spec(word)[0] == name


def test_missing_store_is_reported_and_not_created(tmp_path: Path) -> None:
    assert not store_exists(tmp_path / "none")
    with pytest.raises(NoStore, match=r"no store at .*none; `limner run … --store .*none` creates one"):
        limner.scores("genexam", store=tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_reading_missing_store_creates_no_files(tmp_path: Path) -> None:
    with open_or_empty(tmp_path / "none") as empty, pytest.raises(StoreError, match="has no exam 'genexam'"):
        stored_exam("genexam", empty)
    assert list(tmp_path.iterdir()) == []
    assert not (Path(empty.url)).exists()


def test_existing_store_is_opened(store: Store) -> None:
    with open_or_empty(store.url) as opened:
        assert opened.url == store.url


def test_stored_exam_is_used_without_data_folder(
    small_exam: SmallExam, painter: str, tmp_path: Path, store: Store
) -> None:
    limner.run("genexam", painters=[painter], data=small_exam.data, store=store)
    shutil.rmtree(small_exam.data)
    _, exam = load_exam_or_data("genexam", None, store)
    assert [question.id for question in exam.questions] == small_exam.ids
    assert exam.subsets == {"mini": frozenset({small_exam.ids[0]})}
    with pytest.raises(UsageError, match="name the data folder with --data"):
        load_exam_or_data("genexam", None, tmp_path / "none")


@pytest.mark.parametrize(
    ("asking", "expected"),
    [
        (Asking(preset="paper"), []),
        (Asking(), []),
        (Asking(["ocr"], preset="paper"), ["judge ocr instead of openai/gpt-5-2025-08-07"]),
        (Asking(variant="release", preset="paper"), ["variant release instead of paper"]),
        (Asking(variant="paper", preset="paper"), []),
        (
            Asking(args={"reasoning_effort": "high", "seed": 1}, preset="paper"),
            ["reasoning_effort=high instead of low", "seed=1 added"],
        ),
        (Asking(options={"reference": "none"}, preset="paper"), ["reference=none instead of image"]),
        (Asking(prompts=Path("mine"), preset="paper"), ["prompts from mine"]),
        (Asking(prompts="release:clone", preset="paper"), ["prompts from release:clone"]),
        (Asking(prompts="release:clone", preset="release"), []),
    ],
)
def test_deviations_from_preset_are_listed(asking: Asking, expected: list[str]) -> None:
    assert preset_deviations("genexam", asking) == expected


def test_preset_determines_reading() -> None:
    readings = [usual_reading("genexam", Asking(preset=preset)) for preset in (None, "paper", "release")]
    assert readings == ["careful", "paper", "release"]


def test_breakdown_by_dimension_is_offered_only_if_exam_has_dimensions(store: Store) -> None:
    first = limner.Selection(limit=1)
    limner.run("sample/worldgenbench", painters=["control/blank"], judges=["ocr"], selection=first, store=store)
    with pytest.raises(UsageError, match=r"--by dimension: no such tag; available: [a-z]+, [a-z]+, [a-z]+$"):
        limner.scores("sample/worldgenbench", by=["dimension"], store=store)
