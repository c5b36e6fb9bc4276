"""What the README and GenExam's page say of the released script is so."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner import exams
from tests.cli.invoke import limner
from tests.docs.blocks import ROOT
from tests.fakes import ChatServer
from tests.support import JUDGE, write_settings


def told(page: str) -> str:
    return " ".join((ROOT / page).read_text("utf-8").split())


@pytest.mark.slow
def test_what_a_plain_judge_is_not_sent(tmp_path: Path, chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_settings(tmp_path, chat.base_url)
    limner("run", "sample/genexam", "--painter", "control/reference", "--judge", JUDGE, "--limit", "1")
    (record,) = chat.records(10)
    sent = exams.kind("genexam").preset("release")
    assert sent["judge_args"].keys() == {"reasoning_effort", "verbosity", "max_completion_tokens"}
    assert not record["body"].keys() & {*sent["judge_args"], "max_tokens"}
    assert sent["judge"].startswith("openai/gpt-5-20")
    assert "names no snapshot, and sends no reasoning effort, verbosity or token limit" in told("README.md")
    assert "`--preset release` sends what the released script sends" in told("README.md")
    assert "as GenExam's released script does" not in told("README.md")


def test_which_mean_the_released_script_prints() -> None:
    page = told("docs/genexam.md")
    assert "The released script prints this mean since March 2026" in page
    assert "released script prints the plain mean" not in page
