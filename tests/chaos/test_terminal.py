"""Ids, prompts, reasons, faults and names full of escape sequences, through the commands that show them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from tests.chaos.server import Misbehaving, Seen, chat_reply, says
from tests.cli.invoke import limner
from tests.core.test_terminal import BIDI, controls
from tests.fakes.truth import count_points, verdict
from tests.support import write_exam

NASTY = "\x1b]0;owned\x07\x1b[31m\x9b2J\u202egnp.exe\x7f"
COMMANDS = (
    ("scores", "genexam"), ("scores", "genexam", "--format", "json"), ("scores", "genexam", "--format", "csv"),
    ("scores", "genexam", "--format", "md"), ("scores", "genexam", "--by", "subject"),
    ("show", "genexam", "{id}"), ("show", "genexam", "{id}", "--json"), ("export", "genexam"),
    ("export", "genexam", "--format", "csv"), ("spend",), ("spend", "--json"), ("compare", "genexam"),
)  # fmt: skip


def spoil(folder: Path, words: str) -> list[str]:
    """Put the words into ids, prompts and tags of an exam's data; returns the ids."""
    file = folder / "annotations" / "All_Subjects.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for row in rows:
        row["prompt"] += words
        row["taxonomy"] = f"{row['taxonomy']}{words}"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return [row["id"] for row in rows]


def all_shown(here: Path, words: str) -> list[str]:
    """What every command says of a store that is full of the words."""

    def behave(seen: Seen) -> object:
        text = seen.json["messages"][0]["content"][0]["text"]
        if seen.number == 0:
            return says({"error": {"message": f"no {words}", "code": words}}, 400)
        said = verdict(text, b"", count_points(text), 1)
        for answer in said["answers"]:
            answer["reasoning"] = f"because {words}"
        return says(chat_reply(json.dumps(said)))

    here.mkdir(parents=True)
    exam = write_exam(here, 2)
    ids = spoil(exam.data, words)
    store = ("--store", str(here / "store"))
    with Misbehaving(behave) as server:  # type: ignore[arg-type]
        toml = (
            f'[providers.fake]\nbase_url = "{server.url}"\n[models."fake/judge"]\ninput_price = 1\noutput_price = 1\n'
        )
        Path("limner.toml").write_text(toml, "utf-8")
        name = f"mine{words}=folder/{exam.drawings}".replace("=", "_", 0)
        run = limner(
            "run", "genexam", "--data", exam.data, "--painter", name, "--judge", "fake/judge", *store, code=None
        )
    found = [run.out + run.err]
    for command in COMMANDS:
        said = limner(*(word.format(id=ids[1]) for word in command), *store, code=None)
        found.append(said.out + said.err)
    return found


def test_no_escape_sequence_gets_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = all_shown(tmp_path / "run", NASTY)
    assert [controls(text) - {"\n", "\t"} for text in shown] == [set()] * len(shown)
    assert r"\u001b]0;owned\u0007" in "".join(shown).replace("\n", "")


@pytest.mark.slow
def test_no_control_character_gets_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    odd = st.one_of(st.characters(max_codepoint=0x9F, exclude_characters="=\0/"), st.sampled_from(sorted(BIDI)))
    count = iter(range(10**6))

    @profile(max_examples=8, suppress_health_check=list(HealthCheck))
    @given(st.text(odd, min_size=1, max_size=12))
    def check(words: str) -> None:
        for text in all_shown(tmp_path / str(next(count)), words):
            assert controls(text) <= {"\n", "\t"}, repr(text)

    check()
