"""The help of long commands: options in sections, and examples that are right."""

from __future__ import annotations

import shlex

import click
import pytest

from limner.cli import limner as group
from limner.cli.options import REST, Sectioned, _help
from tests.cli.invoke import limner

LONG = ("run", "draw", "mark", "scores", "compare", "agree", "table", "plot", "report")
EXAMPLES = [(about, words) for each in _help()["examples"].values() for about, words in each.items()]


def command(name: str) -> click.Command:
    found = group.get_command(click.Context(group), name)
    assert found is not None
    return found


def test_all_long_commands_have_sections_and_examples() -> None:
    assert set(_help()["examples"]) == set(LONG)
    assert all(isinstance(command(name), Sectioned) for name in LONG)


@pytest.mark.parametrize("name", LONG)
def test_every_option_stands_in_one_section(name: str) -> None:
    said = limner(name, "--help").out
    assert REST not in said, "an option that no section of help.toml names"
    body = said.partition("\nExamples:")[0]
    for param in command(name).params:
        if isinstance(param, click.Option) and not param.hidden:
            shown = [line for line in body.splitlines() if line.strip().split(" ")[0].rstrip(",") in param.opts]
            assert len(shown) == 1, param.opts
    assert said.index("\nStore and output:") < said.index("\nExamples:")


def test_sections_name_only_what_there_is() -> None:
    there = {param.name for name in LONG for param in command(name).params} | {"_click_default_help"}
    named = [name for names in _help()["sections"].values() for name in names]
    assert set(named) <= there
    assert len(named) == len(set(named))


@pytest.mark.parametrize(("about", "words"), EXAMPLES, ids=[words for _, words in EXAMPLES])
def test_examples_are_commands_that_can_be_given(about: str, words: str) -> None:
    program, name, *rest = shlex.split(words)
    assert program == "limner"
    # Under the program's own context, as it is started: a command remembers which words ask it for help.
    command(name).make_context(name, rest, parent=click.Context(group, **group.context_settings))
    assert f"  {about}:\n    {words}\n" in limner(name, "--help").out, "whole, to be copied"
