"""The documentation tells the truth: its commands run and print what is shown, its links and options exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from pydoc import locate

import click
import pytest

from limner.cli import limner
from limner.core.faults import KINDS, RETRIED_NEXT_RUN, STOPPING
from limner.core.images import MAX_PIXELS
from limner.exams.key import PAINTERS
from tests.docs.blocks import PAGES, ROOT, Session, blocks

SLOW = {
    "README.md", "tutorial.md", "statistics.md", "baselines.md", "cost.md", "site.md",
    "evidence.md", "fepbench.md", "tables.md", "painters.md", "screen.md", "python.md", "strategies.md",
    "trust.md", "choose.md", "reproduce.md", "models.md",
    "many-machines.md", "build.md", "services.md",
}  # fmt: skip
LINK = re.compile(r"\]\(([^)\s]+)\)")
INLINE = re.compile(r"`([^`\n]+)`")

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
runnable = [
    pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.name in SLOW else [])
    for page in PAGES
    if any(block.language in ("console", "python") and block.runs for block in blocks(page))
]


@pytest.mark.parametrize("page", runnable)
def test_examples_run_and_print_output_shown(page: Path, tmp_path: Path) -> None:
    with Session(tmp_path, loaded=page.name != "README.md") as session:
        for block in blocks(page):
            place = f"{page.name}:{block.line}"
            if "file" in block.notes:
                session.save(block)
            if not block.runs:
                continue
            if block.language == "python":
                code, printed = session.python(block.text)
                assert code == 0, f"{place}: {printed}"
            elif block.language == "console":
                session.follow(block, place)


def test_demo_of_tutorial_ranks_painters() -> None:
    console = [block for block in blocks(ROOT / "docs" / "tutorial.md") if block.language == "console"]
    (shown,) = [command.shown for block in console for command in block.commands() if command.words == "limner demo"]
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown if line.startswith("│")]
    assert [row[0] for row in rows] == [*PAINTERS]
    for scores in zip(*(row[1:] for row in rows), strict=True):
        values = [float(score) for score in scores]
        assert values == sorted(values, reverse=True)
        assert values[0] > values[1]


@each_page
def test_link_targets_exist(page: Path) -> None:
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


@each_page
def test_commands_and_options_exist(page: Path) -> None:
    for words in _command_lines(page):
        _check(words)


@each_page
def test_options_named_in_text_exist(page: Path) -> None:
    known = {option for command in _commands(limner) for option in _options(command)} | {"--help"}
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for span in INLINE.findall(text):
        if re.match(r"--?[A-Za-z]", span) and not span.endswith(".md"):
            assert span.split()[0].split("=")[0] in known, span


def _command_lines(page: Path) -> Iterator[list[str]]:
    """Every `limner …` of the page, in blocks and in running text."""
    text = page.read_text("utf-8")
    lines = [command.words for block in blocks(page) if block.language == "console" for command in block.commands()]
    lines += INLINE.findall(re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    for line in lines:
        for part in re.split(r"[|;]|&&|\\\n", line.split(" #")[0]):
            words = shlex.split(part) if "limner" in part else []
            if "limner" in words:
                yield words[words.index("limner") + 1 :]


def _check(words: list[str]) -> None:
    command: click.Command = limner
    context = click.Context(limner)
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        inner = command.get_command(context, words[0])
        assert inner is not None, f"no command {words[0]}"
        command, words = inner, words[1:]
    known = {*_options(command), "--help", "-h", "--version"}
    for word in words:
        if word.startswith("-") and word != "-":
            assert word.split("=")[0] in known, f"{command.name}: no option {word}"


def _options(command: click.Command) -> set[str]:
    """Every option of a command, those that switch something off among them."""
    return {option for param in command.params for option in (*param.opts, *param.secondary_opts)}


def _commands(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command)
        if command is not None:
            yield command


@each_page
def test_modules_and_objects_named_in_text_exist(page: Path) -> None:
    for name in re.findall(r"`(limner(?:\.\w+){2,})", page.read_text("utf-8")):
        assert locate(name) is not None, name


@each_page
def test_limit_of_pixels_is_that_of_the_code(page: Path) -> None:
    for millions in re.findall(r"(\d+) million\s+pixels", page.read_text("utf-8")):
        assert int(millions) == MAX_PIXELS // 10**6


@each_page
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for target in re.findall(r"(?:^\$ |`)make ([\w-]+)", page.read_text("utf-8"), re.MULTILINE):
        assert target in targets, target


def test_signatures_shown_exist_in_source() -> None:
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


def test_every_fault_is_documented_with_its_retry_rule() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .+? \| (.+?) \|$", (ROOT / "docs" / "store.md").read_text("utf-8"), re.MULTILINE)
    documented = {kind: when for kind, when in rows if kind in KINDS}
    assert set(documented) == set(KINDS)
    for kind, when in documented.items():
        if kind != "not_applicable":
            assert ("--retry-failed" in when) == (kind not in RETRIED_NEXT_RUN), kind
        assert ("stops the run" in when) == (kind in STOPPING), kind


@each_page
def test_pages_contain_no_local_paths(page: Path) -> None:
    assert not re.search(r"(?<![\w.])/(?:work|root|tmp|mnt)/", page.read_text("utf-8"))
