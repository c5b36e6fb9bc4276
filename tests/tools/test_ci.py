"""What `.ci/run` runs: the README's commands first, then every make target that tests anything."""

from __future__ import annotations

import re

from tests.docs.blocks import ROOT

COMMAND = re.compile(r"^make .+", re.MULTILINE)
NOT_TESTS = {"lock", "clean"}


def commands() -> list[str]:
    return COMMAND.findall((ROOT / ".ci" / "run").read_text("utf-8"))


def test_readme_commands_run_first_word_for_word() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    block = readme.partition("```console\n")[2].partition("```")[0]
    shown = [line.removeprefix("$ ").strip() for line in block.splitlines()]
    assert len(shown) == 2
    assert commands()[: len(shown)] == shown
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    before = script.partition(shown[-1])[0]
    assert not re.search(r"apt-get|pip install|LIMNER_REQUIRE", before)


def test_every_make_target_that_tests_is_run() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    (listed,) = re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    run = {word for command in commands() for word in command.split()[1:]}
    through_others = set(re.findall(r"--jobs 3 (.+)$", makefile, re.MULTILINE)[0].split())
    assert set(listed.split()) - NOT_TESTS - through_others == run
