"""The checklist: what is counted, what it costs, and what is said where nothing can be done."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from limner.core.errors import UsageError
from limner.report.reproduce import Reproduction, make_checklist
from limner.report.reproduce.document import checklist_tables, money
from limner.store import Store
from tests.cli.invoke import limner

SAMPLE = "sample/worldgenbench"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_checklist_creates_no_store_and_its_commands_run(tmp_path: Path) -> None:
    body = limner("reproduce", SAMPLE, "--store", "my store", "--format=json").json()
    assert not (tmp_path / "my store").exists()
    steps = {step["row"]: step for step in body["steps"]}
    words = shlex.split(steps["FLUX.1-dev"]["command"])
    assert words[:3] == ["limner", "run", SAMPLE]
    assert words[-2:] == ["--store", "my store"]
    dry = limner(*words[1:], "--dry-run").out
    assert dry.startswith("to do for 12 questions: 12 drawings, 12 markings")
    assert steps["FLUX.1-dev"]["steps"] == 24


@pytest.mark.slow
def test_unknown_prices_are_reported_as_unknown_not_zero() -> None:
    body = limner("reproduce", SAMPLE, "--painter", "Ideogram 2.0", "--format=json").json()
    assert body["unknown_prices"] == ["ideogram/v2"]
    (step,) = body["steps"]
    assert (step["dollars"], step["calls"]) == (None, 24)
    assert {item["dollars"] for item in body["items"] if item["name"] == "Table 1"} == {None}
    output = limner("reproduce", SAMPLE, "--painter", "Ideogram 2.0").out
    assert "plus the unknown price of ideogram/v2" in output
    assert money(None) == "unknown"


def test_calls_and_prices_are_unknown_without_data() -> None:
    body = limner("reproduce", "worldgenbench", "--format=json").json()
    assert (body["calls"], body["dollars"]) == (None, None)
    assert "name the data folder with --data" in body["notes"][0]
    assert all("--data DIR" in step["command"] for step in body["steps"] if not step["cannot"])
    output = limner("reproduce", "worldgenbench", "--run", "--budget", "1", code=2).err
    assert "name the data folder with --data" in output


@pytest.mark.slow
def test_retired_models_are_reported_with_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMNER_TODAY", "2026-11-16")
    body = limner("reproduce", SAMPLE, "--format=json").json()
    steps = {step["row"]: step for step in body["steps"]}
    gone = steps["GPT-4o"]
    assert gone["cannot"].startswith(
        "openai/gpt-image-1 has been gone since 2026-10-23; its successor is openai/gpt-image-2.5"
    )
    assert "--painter 'GPT-4o=SPEC'" in gone["cannot"]
    assert gone["command"] == ""
    assert "no service offers" in steps["Show-o-512"]["cannot"]
    # After its end the paper's judge stops every row, unless another one marks.
    monkeypatch.setenv("LIMNER_TODAY", "2027-02-01")
    late = limner("reproduce", SAMPLE, "--format=json").json()
    assert all(step["cannot"] for step in late["steps"])
    other = limner("reproduce", SAMPLE, "--judge", "openai/gpt-6.1-sol", "--format=json").json()
    assert not all(step["cannot"] for step in other["steps"])


def test_custom_painter_is_included_in_every_table(store: Store) -> None:
    found = make_checklist(Reproduction(SAMPLE, painters=("mine=control/text",), judges=("ocr",)), store)
    (step,) = found.steps
    assert "--painter mine=control/text" in step.command
    assert set(step.items) == {"Table 1", "Table 2", "Figure 5", "Figure 6", "Figure 7"}
    with pytest.raises(UsageError, match=r"the paper has no such model; it has: FLUX\.1-dev"):
        make_checklist(Reproduction(SAMPLE, painters=("nobody",)), store)


def test_stored_drawings_under_another_name_are_reused(store: Store) -> None:
    from limner import run

    run("sample/mmmg", painters=["truth=control/reference"], store=store)
    asked = Reproduction("sample/mmmg", painters=("Reference images",), judges=("ocr",), regions="classical")
    (step,) = make_checklist(asked, store).steps
    assert "--painter truth=control/reference" in step.command


def test_drawings_marked_by_two_judges_are_paid_once(store: Store) -> None:
    asked = Reproduction("sample/mmmg", painters=("FLUX.1-[pro]=bfl/flux-pro-1.1",), regions="classical")
    found = make_checklist(asked, store)
    drawn = [one for step in found.steps for one in step.found or () if one.role == "painter"]
    assert len(drawn) == 1
    assert sorted(step.command.split()[1] for step in found.steps if step.step.cannot is None) == [
        "mark",
        "mark",
        "run",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--run",), "--run spends money: set a limit with --budget DOLLARS"),
        (("--budget", "1"), "--budget, --purse and --retry-failed need --run"),
        (("--item", "Table 77"), "the paper has no 'Table 77'"),
    ],
)
def test_invalid_arguments_are_usage_errors(words: tuple[str, ...], message: str) -> None:
    assert message in limner("reproduce", SAMPLE, *words, code=2).err


def test_unknown_exam_is_usage_error(tmp_path: Path) -> None:
    output = limner("reproduce", "nothing", code=2).err
    assert "nothing" in output


def test_lists_of_steps_name_the_paper_s_judges(store: Store) -> None:
    asked = Reproduction("sample/genexam", painters=("GPT-Image-1=control/text",), items=("Table 4",))
    checklist = make_checklist(asked, store)
    to_run, lacking = (
        [(row.label, *(cell.text for cell in row.cells)) for sheet in table.sheets for row in sheet.rows()]
        for table in checklist_tables(checklist)[1:]
    )
    judges = [judge for _, judge, *_ in (*to_run, *lacking)]
    assert len(judges) == len(set(judges)) > 15
    (why,) = [row for row in lacking if "Intern-S1 (241B, thinking) / Img" in row]
    assert "no service offers it" in why[-1]
