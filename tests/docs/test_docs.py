"""The documentation tells the truth: its commands run and print what is shown, its links and options exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from limner.cli import limner
from tests.docs.blocks import PAGES, ROOT, Block, Session, blocks, demo_table, plain

SLOW = {"tutorial.md"}
LINK = re.compile(r"\]\(([^)\s]+)\)")
INLINE = re.compile(r"`([^`\n]+)`")
LARGEST = 100_000

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
runnable = [
    pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.name in SLOW else [])
    for page in PAGES
    if any(block.language in ("console", "python") and block.runs for block in blocks(page))
]


@pytest.mark.parametrize("page", runnable)
def test_examples_run_and_print_what_is_shown(page: Path, tmp_path: Path) -> None:
    session = Session(tmp_path)
    for block in blocks(page):
        place = f"{page.name}:{block.line}"
        if name := block.notes.get("file"):
            (tmp_path / name).write_text(block.text, "utf-8")
        if not block.runs:
            continue
        if block.language == "python":
            code, printed = session.python(block.text)
            assert code == 0, f"{place}: {printed}"
        elif block.language == "console":
            _run(block, session, place)


def _run(block: Block, session: Session, place: str) -> None:
    commands = block.commands()
    for command in commands:
        code, printed = session.run(command.words)
        wanted = int(block.notes.get("exit", 0)) if command is commands[-1] else 0
        assert code == wanted, f"{place}: {command.words}: exit code {code}\n{printed}"
        if "output varies" not in block.notes:
            real = {plain(line) for line in printed.splitlines()}
            missing = [line for line in command.shown if plain(line) not in real]
            assert not missing, f"{place}: {command.words}: not printed:\n" + "\n".join([*missing, "but:", printed])


def test_the_readme_shows_the_table_of_the_tutorial() -> None:
    shown = [block.lines for block in blocks(ROOT / "README.md") if "table of the demo" in block.notes]
    assert shown == [tuple(demo_table())]
    assert sum("control/" in line for line in shown[0]) >= 6


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        assert not anchor or anchor in _anchors(file), target


def _anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def test_pictures_are_small_and_all_shown() -> None:
    shown = {
        (page.parent / target).resolve()
        for page in PAGES
        for target in LINK.findall(page.read_text("utf-8"))
        if target.endswith(".png")
    }
    pictures = set((ROOT / "docs" / "images").iterdir())
    assert len(pictures) >= 2
    assert pictures <= shown
    for picture in pictures:
        assert picture.stat().st_size <= LARGEST, picture.name


@each_page
def test_commands_and_options_exist(page: Path) -> None:
    for words in _command_lines(page):
        _check(words)


@each_page
def test_options_named_alone_exist(page: Path) -> None:
    known = {option for command in _commands(limner) for param in command.params for option in param.opts}
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for span in INLINE.findall(text):
        if re.match(r"--?[A-Za-z]", span) and not span.endswith(".md"):
            assert span.split()[0].split("=")[0] in known, span


def _command_lines(page: Path) -> Iterator[list[str]]:
    """Every `limner …` of the page, in blocks and in running text."""
    text = page.read_text("utf-8")
    found = [command.words for block in blocks(page) if block.language == "console" for command in block.commands()]
    found += INLINE.findall(re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    for line in found:
        for part in re.split(r"[|;]|&&|\\\n", line.split(" #")[0]):
            words = shlex.split(part)
            if "limner" in words:
                yield words[words.index("limner") + 1 :]


def _check(words: list[str]) -> None:
    command: click.Command = limner
    context = click.Context(limner)
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        inner = command.get_command(context, words[0])
        assert inner is not None, f"no command {words[0]}"
        command, words = inner, words[1:]
    known = {option for param in command.params for option in param.opts} | {"--help", "-h", "--version"}
    for word in words:
        if word.startswith("-") and word != "-":
            assert word.split("=")[0] in known, f"{command.name}: no option {word}"


def _commands(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command)
        elif command is not None:
            yield command


@each_page
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for target in re.findall(r"(?:^\$ |`)make ([\w-]+)", page.read_text("utf-8"), re.MULTILINE):
        assert target in targets, target


def test_seams_stand_in_the_source() -> None:
    files = sorted((ROOT / "src" / "limner").rglob("*.py"))
    source = _flat("\n".join(file.read_text("utf-8") for file in files))
    seams = [block for page in PAGES for block in blocks(page) if "seam" in block.notes]
    assert seams
    for block in seams:
        for definition in re.findall(r"(?:async )?def .+?:$", block.text, re.MULTILINE | re.DOTALL):
            assert _flat(definition) in source, definition
        for name in re.findall(r"^class .+:$", block.text, re.MULTILINE):
            assert _flat(name) in source, name


def _flat(text: str) -> str:
    """Without blanks and trailing commas, which a formatter may set either way."""
    return re.sub(r"\s+", "", text).replace(",)", ")")


@each_page
def test_no_path_of_a_real_machine(page: Path) -> None:
    assert not re.search(r"(?<![\w.])/(?:work|root|tmp|mnt)/", page.read_text("utf-8"))
