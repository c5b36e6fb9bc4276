"""The line about a judge that passes wrong drawings stands wherever its scores stand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from limner.store import Store
from tests.cli.invoke import limner
from tests.conformance.verdicts import verdicts, write_replay
from tests.scoring.compare.desk import Desk
from tests.support import write_exam

LINE = "This judge passes wrong drawings: another question's drawing scores 92.3, the reference 100.0."
FAIR, BLIND = "fair", "blind"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two painters and two controls under a judge that sees and one that does not; shared, so only to be read."""
    folder = tmp_path_factory.mktemp("blind") / "store"
    with Store(folder) as store:
        desk = Desk(store, "sample/genexam")
        for n, question in enumerate(desk.exam.questions):
            nothing, everything = (desk.marks(question, lambda top, of=of: top * of) for of in (0, 1))  # type: ignore[misc]
            for painter, right in (("alpha", n < 9), ("beta", n < 3), ("control/reference", True)):
                for judge in (FAIR, BLIND):
                    desk.put(painter, question, everything if right else nothing, judge=judge)
            desk.put("control/shuffled", question, nothing, judge=FAIR)
            desk.put("control/shuffled", question, everything if n else nothing, judge=BLIND)
        other = Desk(store, "sample/fepbench")
        for question in other.exam.questions:
            for painter in ("alpha", "beta"):
                other.put(painter, question, other.random(question, 0.5, painter), judge=BLIND)
    return folder


def said(stored: Path, *words: str) -> str:
    """What a command prints about the sample, without its line breaks."""
    return " ".join(limner(*words, "--store", stored).out.split())


@pytest.mark.parametrize("more", [(), ("--painter", "alpha")])
def test_scores(stored: Path, more: tuple[str, ...]) -> None:
    assert said(stored, "scores", "sample/genexam", "--judge", BLIND, *more).count(LINE) == 1
    assert "passes wrong" not in said(stored, "scores", "sample/genexam", "--judge", FAIR, *more)


@pytest.mark.parametrize("more", [(), ("--score", "relaxed")])
def test_compare(stored: Path, more: tuple[str, ...]) -> None:
    assert said(stored, "compare", "sample/genexam", "--judge", BLIND, *more).count(LINE) == 1
    assert "passes wrong" not in said(stored, "compare", "sample/genexam", "--judge", FAIR, *more)


@pytest.mark.parametrize("form", ["text", "html"])
def test_table(stored: Path, form: str) -> None:
    words = ("table", "genexam:table2", "--exam", "sample/genexam", "--no-published", "--format", form)
    told = "passes wrong drawings: another question"
    assert said(stored, *words).count(told) == 1
    assert said(stored, *words, "--judge", BLIND, "--painter", "alpha").count(told) == 1
    assert told not in said(stored, *words, "--judge", FAIR)


def test_several_exams(stored: Path) -> None:
    words = ("compare", "--exams", "sample/genexam,sample/fepbench", "--judge", BLIND)
    assert said(stored, *words).count(f"sample/genexam: {LINE}") == 1
    first, second = json.loads(said(stored, *words, "--format", "json"))["exams"]
    assert first["passes_wrong_drawings"]["words"] == LINE
    assert second["passes_wrong_drawings"] is None


def test_the_end_of_a_run(tmp_path: Path) -> None:
    """The controls were drawn in an earlier run; the line stands below the run of a painter alone too."""
    small = write_exam(tmp_path, 10)
    rows = verdicts(small.rows, 5)
    names = ("control/reference", "control/shuffled", "mine")
    judge = f"replay/{write_replay(tmp_path / 'replies.jsonl', dict.fromkeys(names, rows))}"
    asked = ("--data", small.data, "--judge", judge, "--store", tmp_path / "store")
    both = limner("run", "genexam", "--painter", names[0], "--painter", names[1], *asked).out
    alone = limner("run", "genexam", "--painter", f"mine=folder/{small.drawings}", *asked).out
    strict = 10 * sum(row.strict for row in rows)
    line = f"another question's drawing scores {strict:.1f}, the reference {strict:.1f}."
    assert strict > 0
    assert line in " ".join(both.split())
    assert line in " ".join(alone.split())
