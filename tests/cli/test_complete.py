"""Tab: commands, options and names, from the shell's own words, with nothing heavy loaded."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from click.shell_completion import ShellComplete

from limner.cli import COMMANDS, complete, limner
from limner.exams import exam_names, kind
from limner.painters import CONTROLS
from limner.report.paper import known
from tests.cli.invoke import limner as command
from tests.cli.test_start import HEAVY

SHELLS = {
    "bash": "complete -o nosort -F _limner_completion limner",
    "zsh": "#compdef limner",
    "fish": "complete --no-files",
}


def offered(*words: str) -> list[str]:
    """What is offered for the last of these words."""
    *before, incomplete = words
    found = ShellComplete(limner, {}, "limner", complete.VARIABLE).get_completions(list(before), incomplete)
    return [str(item.value) for item in found]


def test_commands_and_options_are_completed() -> None:
    assert offered("sc") == ["scores"]
    assert set(offered("")) == set(COMMANDS)
    assert offered("run", "sample/genexam", "--pur") == ["--purse"]
    assert offered("scores", "genexam", "--reading", "") == ["careful", "paper", "release"]


@pytest.mark.parametrize("name", ["run", "draw", "mark", "scores", "compare", "agree", "show", "export", "estimate"])
def test_exams_are_completed(name: str) -> None:
    assert set(offered(name, "")) >= {*exam_names(), *(f"sample/{kind}" for kind in exam_names())}
    assert offered(name, "sample/gen") == ["sample/genexam"]


def test_painters_are_completed() -> None:
    assert offered("run", "genexam", "--painter", "control/") == [f"control/{name}" for name in CONTROLS]
    assert "folder/" in offered("run", "genexam", "--painter", "")
    assert offered("run", "genexam", "--painter", "mine=fold") == ["mine=folder/"]
    assert "openai/gpt-image-1" in offered("run", "genexam", "--painter", "openai/")
    assert "openai/gpt-6.1-sol" not in offered("run", "genexam", "--painter", "openai/")
    Path("limner.toml").write_text('[painters."here/mine"]\n[panels.three]\n[models."here/judge"]\n')
    assert offered("run", "genexam", "--painter", "here") == ["here/mine"]
    assert offered("run", "genexam", "--judge", "panel") == ["panel/three"]
    assert offered("run", "genexam", "--judge", "here") == ["here/judge"]
    Path("limner.toml").write_text("[[[ not TOML")
    assert offered("run", "genexam", "--painter", "control/b") == ["control/blank"]


def test_judges_presets_strategies_and_tables_are_completed() -> None:
    assert offered("run", "genexam", "--judge", "ocr") == ["ocr", "ocr/mentions"]
    assert "openai/gpt-6.1-sol" in offered("mark", "genexam", "--judge", "openai/gpt-6")
    for name in exam_names():
        assert offered("run", f"sample/{name}", "--preset", "") == list(kind(name).all_presets), name
    assert set(offered("run", "other", "--preset", "")) == {
        one for name in exam_names() for one in kind(name).all_presets
    }
    assert offered("draw", "genexam", "--strategy", "rewrite+ed") == ["rewrite+edit"]
    assert set(offered("table", "")) == set(known())
    assert offered("table", "genexam:table2") == ["genexam:table2"]


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_script_of_each_shell(shell: str) -> None:
    output = command("completion", shell).out
    assert f"_LIMNER_COMPLETE={shell}_complete" in output
    assert SHELLS[shell] in output


@pytest.mark.parametrize(
    ("words", "at", "expected"),
    [
        ("limner table gen", 2, [f"genexam:{name}" for name in ("table1", "table2")]),
        ("limner table genexam :", 3, ["table1", "table2"]),
        ("limner table genexam : table", 4, ["table1", "table2"]),
        ("limner run genexam --painter mine = cont", 6, ["control/reference", "control/blank"]),
        ("limner run genexam --painter mine =", 5, ["control/reference", "control/blank"]),
    ],
)
def test_completion_handles_bash_word_breaks(words: str, at: int, expected: list[str]) -> None:
    variables = {"COMP_WORDS": words.replace(" ", "\n"), "COMP_CWORD": str(at)}
    with mock.patch.dict(os.environ, variables):
        shell = complete.LimnerBash(limner, {}, "limner", complete.VARIABLE)
        lines = shell.complete().splitlines()
    assert [line.removeprefix("plain,") for line in lines][:2] == expected


def test_completion_imports_no_heavy_modules() -> None:
    """Of the names that are asked for most."""
    code = (
        "import json, sys\nfrom click.shell_completion import ShellComplete\nfrom limner.cli import limner\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    assert ShellComplete(limner, {}, 'limner', 'X').get_completions(words, ''), words\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    asked: list[Any] = [["run"], ["table"]]
    asked += [["run", "genexam", f"--{name}"] for name in ("painter", "judge", "preset")]
    done = subprocess.run([sys.executable, "-c", code, json.dumps(asked)], capture_output=True, text=True, check=True)
    assert not (HEAVY | {"sqlite3"}) & set(json.loads(done.stdout))


class Terminal:
    """A real shell on a terminal of its own, in which Tab is pressed."""

    def __init__(self, command: list[str], folder: Path, **env: str) -> None:
        self._leader, follower = pty.openpty()
        self._shell = subprocess.Popen(
            command, stdin=follower, stdout=follower, stderr=follower, cwd=folder, start_new_session=True,
            env={"PATH": f"{folder}:{os.environ['PATH']}", "TERM": "dumb", "HOME": str(folder), **env},
        )  # fmt: skip
        os.close(follower)

    def until(self, wanted: str) -> str:
        """What it says until this is said; the shell that falls silent for a minute is told with what it said."""
        said = ""
        while wanted not in said:
            ready, _, _ = select.select([self._leader], [], [], 60)
            assert ready, f"{wanted!r} was never said, but: {said!r}"
            said += os.read(self._leader, 4096).decode(errors="replace")
        return said

    def type(self, keys: str, whole: str) -> str:
        """Type on an empty line; wait for what Tab makes of it."""
        os.write(self._leader, b"\x15" + keys.encode())
        return self.until(whole)

    def close(self) -> None:
        os.close(self._leader)
        self._shell.kill()
        self._shell.wait()


def program(folder: Path) -> Path:
    """``limner`` as a program in a folder."""
    made = folder / "limner"
    made.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from limner.cli import main; main()' \"$@\"\n", "utf-8")
    made.chmod(0o755)
    return made


PRESSED = (
    ("limner sco\t", "scores "),
    ("limner run sample/worl\t", "sample/worldgenbench "),
    ("limner scores genexam --without control/b\t", "--without control/blank "),
)
"""What is typed, and what stands there then."""


@pytest.mark.slow
def test_completion_in_real_bash(tmp_path: Path) -> None:
    """Press Tab in bash itself, which also splits words at colons."""
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    program(tmp_path)
    script = tmp_path / "rc"
    script.write_text(
        "PS1='> '\nbind 'set enable-bracketed-paste off'\neval \"$(limner completion bash)\"\necho ready\n"
    )
    shell = Terminal(["bash", "--rcfile", str(script), "-i"], tmp_path)
    try:
        shell.until("ready")
        for typed, whole in PRESSED:
            shell.type(typed, whole)
        assert "table3b" in shell.type("limner table genexam:table3\t\t", "table3b")
    finally:
        shell.close()
