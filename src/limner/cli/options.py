"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from . import HELP, STORE, complete, say

if TYPE_CHECKING:
    from ..api import Asking
    from ..core.exam import Selection
    from ..evidence.backends import Measuring

F = TypeVar("F", bound=Callable[..., Any])
FOLDER = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
OWN_SECTION = "Options"
"""The section for options that no other section names."""
PLACEHOLDER = re.compile(r"\{(\w+)(?:\.(\w+))?\}")


class ListingOption(click.Option):
    """An option whose help lists registered names: ``{painters}``, ``{evidence}``, or ``{probes.ocr}`` for one kind."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the help with the installed names filled in; nothing is loaded for it."""
        self.help = PLACEHOLDER.sub(_names, self.help or "")
        return super().get_help_record(ctx)


def _names(match: re.Match[str]) -> str:
    from ..core.registry import names

    if match[1] == "evidence":
        return ", ".join(dict.fromkeys(name.partition(".")[0] for name in names("limner.probes")))
    listed, only = names(f"limner.{match[1]}"), f"{match[2]}." if match[2] else ""
    shown = [name.removeprefix(only) for name in listed if name.startswith(only)]
    # A chat model is named by its provider.
    return ", ".join(name for name in shown if name != "model")


class SectionedCommand(click.Command):
    """A command whose help groups its options in sections and ends with examples, as ``help.toml`` defines.

    ``--help`` leaves out options that few people need; ``--help-all`` shows all.
    """

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters and the option ``--help-all``."""
        about = "Show all options, also those that few people need, and exit."
        option = click.Option(
            ["--help-all"], help=about, is_flag=True, is_eager=True, expose_value=False, callback=_show_all
        )
        return [*super().get_params(ctx), option]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options section by section, those of no section first."""
        titles = {name: title for title, names in HELP["sections"].items() for name in names}
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in (OWN_SECTION, *HELP["sections"])}
        rare = () if ctx.meta.get(ALL) else HELP["rare"]
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and param.name not in rare and (record := param.get_help_record(ctx)):
                sections[titles.get(param.name or "", OWN_SECTION)].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples; each command stays on one line, ready to copy."""
        if examples := HELP["examples"].get(self.name):
            with formatter.section("Examples"):
                for about, words in examples.items():
                    formatter.write(f"{'':>{formatter.current_indent}}{about}:\n")
                    formatter.write(f"{'':>{formatter.current_indent + 2}}{words}\n")


ALL = "limner.help_all"
"""Whether help shows all options, in a context's ``meta``."""


def _show_all(ctx: click.Context, param: click.Parameter, given: bool) -> None:
    if given:
        ctx.meta[ALL] = True
        say(ctx.get_help())
        ctx.exit()


def combine_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Combine several options into one decorator, listed in the given order."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


exam = click.argument("exam", shell_complete=complete.exams)


def _remember_store(context: click.Context, _option: click.Parameter, store: str) -> str:
    """Keep the store's address for messages about damage; see `limner.cli.LazyGroup`."""
    context.meta[STORE] = (store,)
    return store


store = click.option(
    "--store", envvar="LIMNER_STORE", callback=_remember_store, default="limner-store", show_default=True,
    metavar="URL", help="The store: a folder, sqlite:///FILE.db, or postgresql://…?blobs=FOLDER.",
)  # fmt: skip


def open_store(function: F) -> F:
    """Add the option ``--store``, and pass the command the open store."""

    @wraps(function)
    def run(*args: Any, store: str, **given: Any) -> Any:
        from ..store.store import open_store

        with open_store(store) as opened:
            return function(*args, store=opened, **given)

    return store(cast(F, run))


def _use_columns(context: click.Context, _option: click.Parameter, words: tuple[str, ...]) -> None:
    if not words:
        return
    from ..core.errors import UsageError
    from ..exams import COLUMNS

    pairs = [word.partition("=")[::2] for word in words]
    if not all(name and column for name, column in pairs):
        raise UsageError("--columns takes NAME=COLUMN, such as prompt=Text")
    token = COLUMNS.set(dict(pairs))
    context.call_on_close(lambda: COLUMNS.reset(token))


data = combine_options(
    click.option("--data", type=FOLDER, metavar="DIR", help="The exam's data: a folder, or a file."),
    click.option(
        "--columns", multiple=True, metavar="NAME=COLUMN", expose_value=False, callback=_use_columns,
        help="The name of a column in your data, such as prompt=T2I_Prompt. Repeatable.",
    ),
)  # fmt: skip
painters = click.option(
    "--painter", "painters", cls=ListingOption, multiple=True, metavar="[NAME=]SPEC", shell_complete=complete.painters,
    help="A painter: PROVIDER/MODEL, such as openai/gpt-image-2, or KIND/…, such as folder/PATH or "
    "python/MODULE:FUNCTION, where KIND is one of {painters}. NAME=SPEC gives it a short name. Repeatable.",
)  # fmt: skip
only_painters = click.option(
    "--painter", "painters", multiple=True, metavar="NAME", shell_complete=complete.painters,
    help="Only drawings by this painter. Repeatable.",
)  # fmt: skip
painter_args = click.option(
    "--painter-arg", "painter_args", multiple=True, metavar="KEY=VALUE",
    help="An option for the painters, such as quality=high. Repeatable.",
)  # fmt: skip
strategies = combine_options(
    click.option(
        "--strategy", "strategies", cls=ListingOption, multiple=True, metavar="NAME[+NAME…]",
        shell_complete=complete.strategies,
        help="How to draw: {strategies}; combine several with +, as in rewrite+best-of-4. Repeatable; direct by "
        "default.",
    ),
    click.option(
        "-S", "strategy_options", multiple=True, metavar="KEY=VALUE",
        help="An option for the strategies, such as planner=openai/gpt-6.1-sol, chooser=…, critic=…, coder=…, "
        "editor=…. Repeatable.",
    ),
)  # fmt: skip
measuring = combine_options(
    click.option(
        "--regions", cls=ListingOption, metavar="BACKEND",
        help="How regions are counted: {probes.regions}, or none; classical by default.",
    ),
    click.option(
        "--aesthetics", cls=ListingOption, metavar="BACKEND",
        help="How aesthetics are rated: {probes.aesthetics}, or PROVIDER/MODEL.",
    ),
)  # fmt: skip
devices = click.option(
    "--devices",
    metavar="0,1|cpu",
    help="Devices for local painters (diffusers/…, transformers/…, worker/…), with one worker on each. Does not change "
    "drawings.",
)
require_all = click.option(
    "--require-all", is_flag=True, help="Count a question without an image in a folder as a failure."
)
drawing = combine_options(painters, painter_args, devices, require_all)
"""The options on who draws."""
selection = combine_options(
    click.option("--subset", metavar="NAME", help="Only the questions of this subset of the exam, such as mini."),
    click.option("--ids", metavar="A,B|@FILE", help="Only these questions."),
    click.option("--where", multiple=True, metavar="TAG=VALUE", help="Only questions with this tag. Repeatable."),
    click.option("--limit", type=int, metavar="N", help="Only the first N questions."),
    click.option("--sample", type=int, metavar="N", help="Only a sample of N questions, in the exam's proportions."),
    click.option("--sample-seed", type=int, metavar="N", help="Seed of the sample; 0 by default."),
)
exam_options = click.option(
    "-O", "exam_options", multiple=True, metavar="KEY=VALUE", help="An option of the exam. Repeatable."
)
prompts = click.option(
    "--prompts", metavar="DIR|release:FOLDER",
    help="A folder with your own prompts for judges and painters, or release: and your clone of the exam's release.",
)  # fmt: skip
own_prompts = click.option("--prompts", type=FOLDER, metavar="DIR", help="A folder with your own prompts.")
judge_args = click.option(
    "--judge-arg", "judge_args", multiple=True, metavar="KEY=VALUE", help="An argument of each judge call. Repeatable."
)
judge_settings = combine_options(
    judge_args,
    click.option(
        "--preset", shell_complete=complete.presets,
        help="Named settings of the exam, such as paper; your own options override them.",
    ),
    click.option("--variant", help="How the judge is asked; see `limner exams`."),
    click.option("--reference", metavar="image|none|caption|both", help="How the judge sees the reference image."),
    exam_options,
    prompts,
)  # fmt: skip
judge_options = combine_options(
    click.option(
        "--judge", "judges", cls=ListingOption, multiple=True, metavar="SPEC", shell_complete=complete.judges,
        help="A judge: PROVIDER/MODEL, such as openai/gpt-6.1-sol, or one of {judges}, such as replay/FILE. "
        "Repeatable.",
    ),
    judge_settings,
)  # fmt: skip
score_options = click.option(
    "-O", "score_options", multiple=True, metavar="KEY=VALUE",
    help="Only marks requested with this option (reference=none), or a constant of the scores (n_max=200). Repeatable.",
)  # fmt: skip
judges = click.option(
    "--judge", "judges", multiple=True, metavar="NAME[?ARG=VALUE]", shell_complete=complete.judges,
    help="Only this judge; 'openai/gpt-6.1-sol?reasoning_effort=low' only as called with this argument. Repeatable.",
)  # fmt: skip
without = click.option(
    "--without", multiple=True, metavar="PAINTER", shell_complete=complete.painters,
    help="Leave this painter out. Repeatable.",
)  # fmt: skip
mark_filters = combine_options(
    score_options,
    click.option("--variant", help="Only marks requested in this variant; see `limner exams`."),
    click.option(
        "--wording",
        metavar="HASH|shipped|release",
        help="Only marks requested with these prompts: the beginning of their hash, the shipped ones, or the "
        "release's.",
    ),
)
on = click.option(
    "--on", type=click.Choice(["common", "all"]), default="common",
    help="Compare painters on the questions that all of them have (common, the default), or each on all of its own.",
)  # fmt: skip
exclude_flagged = click.option(
    "--exclude-flagged", is_flag=True,
    help="Leave out drawings with text that addresses the examiner; this lowers coverage.",
)  # fmt: skip
reading = click.option(
    "--reading", type=click.Choice(["careful", "paper", "release"]), default="careful", show_default=True,
    help="The rules that turn stored replies into marks.",
)  # fmt: skip
marks = combine_options(only_painters, without, judges, on, reading, mark_filters)
"""The options on which marks about which painters are used."""


def form_option(*forms: str, default: str | None = "table", help: str | None = None) -> Callable[[F], F]:
    """Return the option ``--format`` with these choices, the same for all commands."""
    return click.option(
        "--format", "form", type=click.Choice(forms), default=default, show_default=default is not None, help=help
    )


form = form_option("table", "json", "csv", "md", "latex")
notes = click.option("--notes", is_flag=True, help="Show all notes below tables, not only the three that matter most.")
table_or_json = form_option("table", "json")


def parse_pairs(words: tuple[str, ...], option: str) -> dict[str, str]:
    """Parse ``KEY=VALUE`` words into a mapping."""
    pairs = {}
    for word in words:
        key, sep, value = word.partition("=")
        if not (sep and key):
            raise click.UsageError(f"{option} takes KEY=VALUE, not {word!r}")
        pairs[key] = value
    return pairs


def make_selection(given: dict[str, Any]) -> Selection:
    """Return the selection of questions that a command's arguments define."""
    from ..core.exam import Selection

    names = ("subset", "ids", "where", "limit", "sample", "sample_seed")
    return Selection.parse(**{name: given[name] for name in names})


def parse_values(words: tuple[str, ...], option: str) -> dict[str, Any]:
    """Parse ``KEY=VALUE`` words into a mapping; values that are JSON are parsed as JSON."""
    from ..core.settings import parse_value

    return {key: parse_value(value) for key, value in parse_pairs(words, option).items()}


def split_score_options(words: tuple[str, ...]) -> dict[str, Any]:
    """Split ``KEY=VALUE`` words into options of requests and numeric constants of the scores."""
    pairs = parse_pairs(words, "-O")
    numbers: dict[str, float] = {}
    for key, value in pairs.items():
        try:
            numbers[key] = float(value)
        except ValueError:
            continue
        if not isfinite(numbers[key]):
            raise click.UsageError(f"-O {key} takes a number, not {value!r}")
    return {"options": {k: v for k, v in pairs.items() if k not in numbers}, "constants": numbers}


def group_filters(given: dict[str, Any]) -> dict[str, Any]:
    """Return the filters that a command's arguments define, for `limner.api.groups`."""
    names = ("painters", "without", "judges", "variant", "wording", "reading", "exclude_flagged")
    filters = {name: given[name] for name in names if name in given}
    filters |= split_score_options(given.get("score_options", ()))
    return filters | {"selection": make_selection(given)} if "subset" in given else filters


def make_measuring(given: dict[str, Any]) -> Measuring | None:
    """Return the measurements that a command's arguments ask for beyond what the exam needs."""
    from ..evidence.backends import Measuring

    words = {name: given[name] for name in ("regions", "aesthetics") if given.get(name)}
    return Measuring(words) if words else None


def make_asking(given: dict[str, Any]) -> Asking:
    """Return the judges and their settings that a command's arguments define."""
    from ..api import Asking

    options = parse_pairs(given["exam_options"], "-O")
    if "judges" not in given:
        return Asking(options=options, prompts=given.get("prompts"))
    if given["reference"] is not None:
        options["reference"] = given["reference"]
    args = parse_values(given["judge_args"], "--judge-arg")
    return Asking(given["judges"], args, given["variant"], options, given["preset"], given["prompts"])
