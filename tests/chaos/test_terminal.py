"""Ids, prompts, reasons, faults and names full of escape sequences, through the commands that show them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from tests.cli.invoke import limner
from tests.core.test_terminal import BIDI, controls
from tests.fakes.misbehaving import Answer, Misbehaving, Seen, chat_reply, says
from tests.fakes.truth import count_points, verdict
from tests.support import write_exam

NASTY = "\x1b]0;owned\x07\x1b[31m\x9b2J\u202egnp.exe\x7f"
COMMANDS = (
    ("scores", "genexam"), ("scores", "genexam", "--format", "json"), ("scores", "genexam", "--format", "csv"),
    ("scores", "genexam", "--format", "md"), ("scores", "genexam", "--by", "subject"),
    ("show", "genexam", "{id}"), ("show", "genexam", "{id}", "--format=json"), ("export", "genexam"),
    ("export", "genexam", "--format", "csv"), ("spend",), ("spend", "--format=json"), ("compare", "genexam"),
)  # fmt: skip


def spoil(store: Path, words: str) -> str:
    """Put the words into the ids, prompts and tags that a store has; returns an id."""
    with closing(sqlite3.connect(store / "limner.db")) as database, database:
        for hash, body in database.execute("SELECT hash, body FROM questions").fetchall():
            changed = json.loads(body)
            changed["prompt"] += words
            changed["tags"] = {name + words: value + words for name, value in changed["tags"].items()}
            if "id" in changed:
                changed["id"] += words
            database.execute("UPDATE questions SET body = ? WHERE hash = ?", (json.dumps(changed), hash))
        database.execute("UPDATE questions SET id = id || ?", (words,))
        database.execute("UPDATE drawings SET question_id = question_id || ?, painter = painter || ?", (words, words))
        return str(database.execute("SELECT id FROM questions ORDER BY position DESC").fetchone()[0])


def all_shown(here: Path, words: str) -> list[str]:
    """What every command says of a store that is full of the words."""

    def behave(seen: Seen) -> Answer:
        text = seen.json["messages"][0]["content"][0]["text"]
        if seen.number == 0:
            return says({"error": {"message": f"no {words}", "code": words}}, 400)
        said = verdict(text, b"", count_points(text), 1)
        for answer in said["answers"]:
            answer["reasoning"] = f"because {words}"
        return says(chat_reply(json.dumps(said)))

    here.mkdir(parents=True)
    exam = write_exam(here, 2)
    store = ("--store", str(here / "store"))
    with Misbehaving(behave) as server:
        Path("limner.toml").write_text(f'[providers.fake]\nbase_url = "{server.url}"\n', "utf-8")
        painter = ("--painter", f"mine=folder/{exam.drawings}")
        run = limner("run", "genexam", "--data", exam.data, *painter, "--judge", "fake/judge", *store, code=None)
    id = spoil(here / "store", words)
    found = [run.out + run.err]
    for command in COMMANDS:
        said = limner(*(word.format(id=id) for word in command), *store, code=None)
        found.append(said.out + said.err)
    return found


@pytest.mark.slow
def test_output_contains_no_escape_sequence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = all_shown(tmp_path / "run", NASTY)
    assert [controls(text) - {"\n", "\t"} for text in shown] == [set()] * len(shown)
    assert r"\u001b]0;owned\u0007" in "".join(shown).replace("\n", "")


@pytest.mark.slow
def test_output_contains_no_control_character(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    odd = st.one_of(st.characters(max_codepoint=0x9F, exclude_characters="=\0/"), st.sampled_from(sorted(BIDI)))
    count = iter(range(10**6))

    @profile(max_examples=2, suppress_health_check=list(HealthCheck))
    @given(st.text(odd, min_size=1, max_size=12))
    def check(words: str) -> None:
        for text in all_shown(tmp_path / str(next(count)), words):
            assert controls(text) <= {"\n", "\t"}, repr(text)

    check()
