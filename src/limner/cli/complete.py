"""What the shell offers when Tab is pressed: names, found without loading anything heavy.

Files that say the names are read as they stand; a store's names are asked of its SQLite file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

Complete = Callable[[click.Context, click.Parameter, str], list[str | CompletionItem]]
CORE = Path(__file__).parents[1] / "core"
SHIPPED = (CORE / "providers.toml", CORE / "services.toml", CORE / "models.toml")
OWN = "limner.toml"
CONTROLS = ("reference", "blank", "text", "shuffled", "erased", "swapped")
EXAMINERS = ("ocr", "ocr/mentions")
SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_LIMNER_COMPLETE"
"""Set by the shell's function when Tab is pressed."""
BREAKS = ":="
"""Where bash takes one word for two."""


class LimnerBash(BashComplete):
    """Bash breaks words at ``:`` and ``=``, as in ``genexam:table2``: they are one word again here."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, and the one that is being written."""
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
        """What bash is to put in place of what stands behind the last break."""
        value = str(item.value).removeprefix(self._before) if self._before else item.value
        return super().format_completion(CompletionItem(value, item.type, item.help))


add_completion_class(LimnerBash)


def exams(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str | CompletionItem]:
    """Exams of the store, installed ones and their samples, and files that describe one."""
    found = [*_asked(ctx, "select distinct name from exams"), *_registered("limner.exams")]
    found += [f"sample/{name}" for name in _registered("limner.exams")]
    files = sorted(str(path) for path in Path().glob("*.toml") if path.name != OWN)
    return _beginning([*found, *files], incomplete)


def painters(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str | CompletionItem]:
    """Painters that the store has drawings by, controls, kinds of painters, and models that draw."""
    name, equals, _ = incomplete.partition("=")
    kinds = [f"{kind}/" for kind in _registered("limner.painters") if kind != "control"]
    specs = [*(f"control/{control}" for control in CONTROLS), *kinds, *_models("painters")]
    if equals:
        return _beginning([f"{name}={one}" for one in specs], incomplete)
    return _beginning([*stored_painters(ctx), *specs], incomplete)


def drawn_painters(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str | CompletionItem]:
    """Painters that the store has drawings by."""
    return _beginning(stored_painters(ctx), incomplete)


def judges(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str | CompletionItem]:
    """Judges that have marked, the examiners, kinds of judges, panels, and models that see pictures."""
    stored = _asked(ctx, "select distinct json_extract(body, '$.judge') from setups")
    kinds = [f"{kind}/" for kind in _registered("limner.judges") if kind not in ("ocr", "model", "panel")]
    panels = [f"panel/{name}" for file in _settings() for name in file.get("panels", {})]
    return _beginning([*stored, *EXAMINERS, *panels, *kinds, *_models("models")], incomplete)


def presets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str | CompletionItem]:
    """Presets of the exam that is named, or of all."""
    exam = _exam(ctx).removeprefix("sample/")
    folders = dict(_exam_folders())
    chosen = [folders[exam]] if exam in folders else list(folders.values())
    return _beginning([name for folder in chosen for name in _toml(folder / "presets.toml")], incomplete)


def tables(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str | CompletionItem]:
    """Tables of papers, as ``exam:table``."""
    found = []
    for exam, folder in _exam_folders():
        found += [f"{exam}:{name}" for name in _toml(folder / "paper" / "tables.toml").get("tables", {})]
    return _beginning(found, incomplete)


def strategies(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str | CompletionItem]:
    """Strategies; behind a ``+`` the next one."""
    before, plus, _ = incomplete.rpartition("+")
    return _beginning([f"{before}{plus}{name}" for name in _registered("limner.strategies")], incomplete)


def stored_painters(ctx: click.Context) -> list[str]:
    """Names of painters in the store, of the exam that is named."""
    if (exam := _exam(ctx)) and not exam.endswith(".toml"):
        return _asked(ctx, "select distinct painter from drawings where exam = ?", exam)
    return _asked(ctx, "select distinct painter from drawings")


def _exam(ctx: click.Context) -> str:
    """The exam that is named; an option that still lacks its value keeps click from taking it as the argument."""
    found = ctx.params.get("exam") or next((word for word in ctx.args if not word.startswith("-")), "")
    return found if isinstance(found, str) else ""


def _beginning(names: Iterable[str], incomplete: str) -> list[str | CompletionItem]:
    """Those that begin so, each once; what could drive a terminal is no name to be offered."""
    found = dict.fromkeys(name for name in names if name and name.startswith(incomplete) and name.isprintable())
    return list(found)


def _registered(group: str) -> list[str]:
    from ..core.registry import names

    return names(group)


def _models(sort: str) -> list[str]:
    """Models that draw (``painters``), or chat models (``models``), that the settings know."""
    found = [name for file in _settings() for name in file.get(sort, {}) if "/" in name]
    drawing = {name for file in _settings() for name in file.get("painters", {})} if sort == "models" else set()
    return [name for name in found if name not in drawing and not name.startswith("weights/")]


def _settings() -> list[dict[str, Any]]:
    return [_toml(file) for file in (*SHIPPED, Path(OWN))]


def _toml(file: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):  # A wrong file is told by the commands that need it.
        return tomllib.loads(file.read_text("utf-8"))
    return {}


def _exam_folders() -> Iterator[tuple[str, Path]]:
    """Installed exams with the folders their modules stand in; none of them is loaded."""
    from importlib.util import find_spec

    from ..core.registry import entries

    for entry in entries("limner.exams"):
        top, *rest = entry.value.partition(":")[0].split(".")
        spec = find_spec(top)
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            if (folder := Path(place, *rest)).is_dir():
                yield entry.name, folder


def _asked(ctx: click.Context, query: str, *values: str) -> list[str]:
    """The first column of what a store's file says; nothing where there is no file, or no such table."""
    import sqlite3

    url = str(ctx.params.get("store") or os.environ.get("LIMNER_STORE") or "limner-store")
    scheme, _, rest = url.partition("://")
    if rest and scheme.partition("+")[0] != "sqlite":
        return []  # To ask another database needs its driver.
    file = Path(rest.removeprefix("/")) if rest else Path(url) / "limner.db"
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=0.2)) as connection:
            return [str(row[0]) for row in connection.execute(query, values) if row[0]]
    except (sqlite3.Error, OSError, ValueError):
        return []


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def completion_command(shell: str) -> None:
    """Print what makes Tab complete commands, options and names.

    \b
    bash:  add to ~/.bashrc    eval "$(limner completion bash)"
    zsh:   add to ~/.zshrc     eval "$(limner completion zsh)"
    fish:  limner completion fish > ~/.config/fish/completions/limner.fish
    """
    from click.shell_completion import get_completion_class

    from .say import say

    context = click.get_current_context().find_root()
    found = get_completion_class(shell)
    assert found is not None
    say(found(context.command, {}, "limner", VARIABLE).source())
