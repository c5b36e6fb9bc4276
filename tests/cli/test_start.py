"""Starting the command line: help is quick because nothing heavy is loaded, and every command has it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import limner as package
from limner.cli import COMMANDS
from tests.cli.invoke import limner

HEAVY = {"openai", "sqlalchemy", "polars", "pydantic", "PIL", "numpy", "scipy", "rich", "onnxruntime", "limner.api"}
LOADED = """
import json, sys
sys.argv = ["limner", *{words!r}]
from limner.cli import main
try:
    main()
except SystemExit as end:
    print(json.dumps([end.code, sorted(sys.modules)]), file=sys.stderr)
"""


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["run", "--help"], ["nonsense"]], ids=" ".join)
def test_nothing_heavy_is_loaded(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(words=words)], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == (2 if words == ["nonsense"] else 0)
    assert "limner.cli" in modules
    assert not HEAVY & set(modules)


@pytest.mark.parametrize("command", [*COMMANDS, "exam check", "exam new"])
def test_every_command_has_help(command: str) -> None:
    said = limner(*command.split(), "--help")
    assert said.out.startswith(f"Usage: limner {command}")
    assert "--help" in limner(*command.split(), "-h").out


def test_the_list_of_commands_says_what_they_do() -> None:
    out = limner("--help").out
    assert all(f"\n  {name} " in out and words.rstrip(".") in " ".join(out.split()) for name, words in COMMANDS.items())
    assert "Exit codes: 0 done, 1 error, 2 usage" in out


def test_the_version() -> None:
    assert package.__version__ in limner("--version").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["scores"], "Missing argument 'EXAM'"),
        (["scores", "genexam", "--nonsense"], "No such option"),
        (["scores", "genexam", "--reading", "fast"], "'fast' is not one of"),
        (["run", "genexam", "--limit", "many"], "'many' is not a valid integer"),
        (["exam"], "Usage: limner exam"),
        ([], "Usage: limner"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_wrong_words_are_usage_errors(words: list[str], said: str) -> None:
    found = limner(*words, code=2)
    assert said in found.err
    assert "Traceback" not in found.err


def test_a_reader_that_stops_reading(tmp_path: Path) -> None:
    """As in `limner exams | head -1`: it ends quietly."""
    script = "import sys, limner.exams.genexam; from limner.cli import main; sys.argv = ['limner', 'exams']; main()"
    started = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    assert started.stdout is not None
    assert started.stderr is not None
    started.stdout.close()
    err = started.stderr.read()
    started.stderr.close()
    assert (started.wait(timeout=60), err) == (1, b"")
