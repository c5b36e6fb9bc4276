"""Tab completion of names, without loading anything heavy or opening a store."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, get_completion_class

from ..core.registry import entries
from ..core.registry import names as registered

CORE = Path(__file__).parents[1] / "core"
SHIPPED = (CORE / "providers.toml", CORE / "services.toml", CORE / "models.toml")
OWN_SETTINGS = "limner.toml"
CONTROLS = ("reference", "blank", "text", "shuffled", "erased", "swapped", "unchanged")
EXAMINERS = ("ocr", "ocr/mentions")
SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_LIMNER_COMPLETE"
"""The environment variable that the shell sets when Tab is pressed."""
BREAKS = ":="
"""Characters at which bash splits a word in two."""


class LimnerBash(BashComplete):
    """Completion for bash that rejoins words which bash splits at ``:`` and ``=``, as in ``genexam:table2``."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the word being typed."""
        words = click.shell_completion.split_arg_string(os.environ["COMP_WORDS"])
        at = int(os.environ["COMP_CWORD"])
        joined: list[str] = []
        open_end = False
        for word in words[1 : at + 1]:
            if joined and (open_end or word in BREAKS):
                joined[-1] += word
            else:
                joined.append(word)
            open_end = word in tuple(BREAKS)
        if at >= len(words) and not open_end:
            joined.append("")
        self._before = ""
        if joined:
            self._before = joined[-1][: max(joined[-1].rfind(mark) for mark in BREAKS) + 1]
        return joined[:-1], joined[-1] if joined else ""

    def format_completion(self, item: CompletionItem) -> str:
        """Return the text that replaces what follows the last break."""
        value = str(item.value).removeprefix(self._before) if self._before else item.value
        return super().format_completion(CompletionItem(value, item.type, item.help))


add_completion_class(LimnerBash)


def exams(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str | CompletionItem]:
    """Return installed exams, their samples, and exam files in this folder."""
    installed = registered("limner.exams")
    files = sorted(str(path) for path in Path().glob("*.toml") if path.name != OWN_SETTINGS)
    return _matching([*installed, *(f"sample/{name}" for name in installed), *files], incomplete)


def painters(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str | CompletionItem]:
    """Return controls, kinds of painters, and models that draw."""
    name, equals, _ = incomplete.partition("=")
    kinds = [f"{kind}/" for kind in registered("limner.painters") if kind != "control"]
    specs = [*(f"control/{control}" for control in CONTROLS), *kinds, *_models("painters")]
    return _matching([f"{name}={spec}" for spec in specs] if equals else specs, incomplete)


def judges(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str | CompletionItem]:
    """Return the examiners, kinds of judges, panels, and models that see pictures."""
    kinds = [f"{kind}/" for kind in registered("limner.judges") if kind not in ("ocr", "model", "panel")]
    panels = [f"panel/{name}" for file in _settings() for name in file.get("panels", {})]
    return _matching([*EXAMINERS, *panels, *kinds, *_models("models")], incomplete)


def presets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str | CompletionItem]:
    """Return the presets of the named exam, or of all exams."""
    exam = _exam(ctx).removeprefix("sample/")
    folders = dict(_exam_folders())
    chosen = [folders[exam]] if exam in folders else list(folders.values())
    tables = ((_toml(folder / "presets.toml"), _toml(folder / "exam.toml").get("presets", {})) for folder in chosen)
    return _matching([name for pair in tables for presets in pair for name in presets], incomplete)


def tables(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str | CompletionItem]:
    """Return the tables of papers, as ``exam:table``."""
    names = []
    for exam, folder in _exam_folders():
        names += [f"{exam}:{name}" for name in _toml(folder / "paper" / "tables.toml").get("tables", {})]
    return _matching(names, incomplete)


def strategies(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str | CompletionItem]:
    """Return the strategies; after a ``+``, the next one."""
    before, plus, _ = incomplete.rpartition("+")
    return _matching([f"{before}{plus}{name}" for name in registered("limner.strategies")], incomplete)


def _exam(ctx: click.Context) -> str:
    """Return the named exam; click does not parse it while an option still lacks its value."""
    exam = ctx.params.get("exam") or next((word for word in ctx.args if not word.startswith("-")), "")
    return exam if isinstance(exam, str) else ""


def _matching(names: Iterable[str], incomplete: str) -> list[str | CompletionItem]:
    """Return the names that begin with the typed text, each once; names that could control a terminal are left out."""
    return list(dict.fromkeys(name for name in names if name and name.startswith(incomplete) and name.isprintable()))


def _models(sort: str) -> list[str]:
    """Return the models in the settings that draw (``painters``), or chat models (``models``)."""
    names = [name for file in _settings() for name in file.get(sort, {}) if "/" in name]
    drawing = {name for file in _settings() for name in file.get("painters", {})} if sort == "models" else set()
    return [name for name in names if name not in drawing and not name.startswith("weights/")]


def _settings() -> list[dict[str, Any]]:
    return [_toml(file) for file in (*SHIPPED, Path(OWN_SETTINGS))]


def _toml(file: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):  # The commands that need the file report its errors.
        return tomllib.loads(file.read_text("utf-8"))
    return {}


def _exam_folders() -> Iterator[tuple[str, Path]]:
    """Yield installed exams with their modules' folders, without loading them."""
    for entry in entries("limner.exams"):
        module, _, name = entry.value.partition(":")
        top, *rest = module.split(".")
        spec = find_spec(top)
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            for folder in (Path(place, *rest), Path(place, *rest[:1], name)):
                if folder.is_dir():
                    yield entry.name, folder


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def completion_command(shell: str) -> None:
    """Print the setup that lets Tab complete commands, options and names.

    \b
    bash:  add to ~/.bashrc    eval "$(limner completion bash)"
    zsh:   add to ~/.zshrc     eval "$(limner completion zsh)"
    fish:  limner completion fish > ~/.config/fish/completions/limner.fish
    """
    from . import say

    context = click.get_current_context().find_root()
    completion = get_completion_class(shell)
    assert completion is not None
    say(completion(context.command, {}, "limner", VARIABLE).source())
