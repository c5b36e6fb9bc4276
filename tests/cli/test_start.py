"""Starting the command line: help is quick because nothing heavy is loaded, and every command has it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

import limner as package
from limner.cli import COMMANDS, HELP
from limner.cli import limner as group
from limner.cli.options import OWN_SECTION, SectionedCommand
from tests.cli.invoke import limner
from tests.docs.blocks import ROOT

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
def test_start_imports_no_heavy_modules(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(words=words)], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == (2 if words == ["nonsense"] else 0)
    assert "limner.cli" in modules
    assert not HEAVY & set(modules)


@pytest.mark.parametrize("command", [*COMMANDS, "exam check", "exam new"])
def test_every_command_has_help(command: str) -> None:
    result = limner(*command.split(), "--help")
    assert result.out.startswith(f"Usage: limner {command}")
    assert "--help" in limner(*command.split(), "-h").out


def test_command_list_describes_each_command() -> None:
    out = limner("--help").out
    assert all(f"\n  {name} " in out and words.rstrip(".") in " ".join(out.split()) for name, words in COMMANDS.items())
    assert "Exit codes: 0 done, 1 error, 2 usage" in out


def test_version_option() -> None:
    assert package.__version__ in limner("--version").out


@pytest.mark.parametrize(
    ("words", "message"),
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
def test_invalid_arguments_are_usage_errors(words: list[str], message: str) -> None:
    found = limner(*words, code=2)
    assert message in found.err
    assert "Traceback" not in found.err


def test_closed_stdout_ends_command_quietly(tmp_path: Path) -> None:
    """As in `limner exams | head -1`: it ends quietly."""
    words = "sys.argv = ['limner', 'exams', 'genexam']; main()"
    script = f"import sys, limner.exams.genexam; from limner.cli import main; {words}"
    started = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    assert started.stdout is not None
    assert started.stderr is not None
    started.stdout.close()
    err = started.stderr.read()
    started.stderr.close()
    assert (started.wait(timeout=60), err) == (1, b"")


LONG = ("run", "draw", "mark", "estimate", "scores", "compare", "agree", "table", "plot", "report")
EXAMPLES = [(about, words) for each in HELP["examples"].values() for about, words in each.items()]


def command(name: str) -> click.Command:
    found = group.get_command(click.Context(group), name)
    assert found is not None
    return found


def test_all_long_commands_have_sections_and_examples() -> None:
    assert set(HELP["examples"]) == set(LONG)
    assert all(isinstance(command(name), SectionedCommand) for name in LONG)


@pytest.mark.parametrize("name", LONG)
def test_every_option_is_in_one_section(name: str) -> None:
    output = limner(name, "--help-all").out
    assert f"\n{OWN_SECTION}:" not in output, "an option that no section of help.toml names"
    body = output.partition("\nExamples:")[0]
    for param in command(name).params:
        if isinstance(param, click.Option) and not param.hidden:
            shown = [line for line in body.splitlines() if line.strip().split(" ")[0].rstrip(",") in param.opts]
            assert len(shown) == 1, param.opts
    assert output.index("\nStore and output:") < output.index("\nExamples:")


def test_help_leaves_out_what_few_people_need() -> None:
    everyday, everything = (limner("run", word).out for word in ("--help", "--help-all"))
    for option in ("--painter ", "--judge ", "--budget ", "--help-all"):
        assert option in everyday
        assert option in everything
    for option in ("--ray ", "--shard ", "--purse NAME", "--painter-arg "):
        assert option not in everyday
        assert option in everything


def test_sections_name_only_existing_options() -> None:
    there = {param.name for name in LONG for param in command(name).params} | {"_click_default_help", "help_all"}
    named = [name for names in HELP["sections"].values() for name in names]
    assert set(named) <= there
    assert len(named) == len(set(named))


@pytest.mark.parametrize(("about", "words"), EXAMPLES, ids=[words for _, words in EXAMPLES])
def test_examples_are_valid_commands(about: str, words: str) -> None:
    program, name, *rest = shlex.split(words)
    assert program == "limner"
    # Under the program's own context, as it is started: a command remembers which words ask it for help.
    command(name).make_context(name, rest, parent=click.Context(group, **group.context_settings))
    assert f"  {about}:\n    {words}\n" in limner(name, "--help").out, "whole, to be copied"


REFERENCE = re.compile(r"limner docs ([a-z][\w/-]*)")


def test_docs_shows_the_tutorial_by_default() -> None:
    assert limner("docs").out.strip() == (ROOT / "docs" / "tutorial.md").read_text("utf-8").strip()


@pytest.mark.parametrize("name", ["trust", "docs/trust.md", "trust.md"])
def test_docs_shows_the_page_named(name: str) -> None:
    assert limner("docs", name).out.startswith("# ")


def test_docs_points_to_list_if_page_is_unknown() -> None:
    assert "limner docs --list" in limner("docs", "nothing", code=2).err
    assert {"tutorial", "services"} <= set(limner("docs", "--list").out.split())


def test_every_page_named_in_messages_exists() -> None:
    files = [path for kind in ("*.py", "*.toml") for path in (ROOT / "src").rglob(kind)]
    named = {page for path in files for page in REFERENCE.findall(Path(path).read_text("utf-8"))}
    assert {"training", "tutorial"} <= named
    assert named <= set(limner("docs", "--list").out.split())
