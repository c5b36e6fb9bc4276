"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from . import complete

if TYPE_CHECKING:
    from ..api import Asking
    from ..core.exam import Selection
    from ..evidence.backends import Measuring

F = TypeVar("F", bound=Callable[..., Any])
FOLDER = click.Path(path_type=Path)
REST = "Other options"
"""The section of what no other section names."""
LISTED = re.compile(r"\{(\w+)(?:\.(\w+))?\}")


class Listing(click.Option):
    """An option whose help lists what is registered: ``{painters}``; ``{evidence}``, and ``{probes.ocr}`` for one."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the help, with the names of what is installed; nothing of it is loaded."""
        self.help = LISTED.sub(_names, self.help or "")
        return super().get_help_record(ctx)


def _names(found: re.Match[str]) -> str:
    from ..core.registry import names

    if found[1] == "evidence":
        return ", ".join(dict.fromkeys(name.partition(".")[0] for name in names("limner.probes")))
    listed, only = names(f"limner.{found[1]}"), f"{found[2]}." if found[2] else ""
    shown = [name.removeprefix(only) for name in listed if name.startswith(only)]
    # A chat model is named by its provider.
    return ", ".join(name for name in shown if name != "model")


class Sectioned(click.Command):
    """A command whose help has its options in sections and ends with examples; ``help.toml`` says which."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One section after another; what no section names stands in the last."""
        told: dict[str, list[tuple[str, str]]] = {title: [] for title in _help()["sections"]}
        of = {name: title for title, names in _help()["sections"].items() for name in names}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None:
                told.setdefault(of.get(param.name or "", REST), []).append(record)
        for title, records in told.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What is often asked, and the words for it; lines are whole, to be copied."""
        with formatter.section("Examples"):
            for about, words in _help()["examples"].get(self.name, {}).items():
                formatter.write(f"{'':>{formatter.current_indent}}{about}:\n")
                formatter.write(f"{'':>{formatter.current_indent + 2}}{words}\n")


def _help() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(Path(__file__).with_name("help.toml").read_text("utf-8"))


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, listed in the order given."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


exam = click.argument("exam", shell_complete=complete.exams)
store = click.option(
    "--store", envvar="LIMNER_STORE", default="limner-store", show_default=True, metavar="URL",
    help="A folder, sqlite:///FILE.db, or postgresql://…?blobs=FOLDER.",
)  # fmt: skip
data = click.option("--data", type=FOLDER, metavar="DIR", help="The exam's data folder.")
painters = click.option(
    "--painter", "painters", cls=Listing, multiple=True, metavar="[NAME=]SPEC", shell_complete=complete.painters,
    help="KIND/…, such as folder/PATH or python/MODULE:FUNCTION, where KIND is one of {painters}; or PROVIDER/MODEL "
    "such as openai/gpt-image-2. NAME=SPEC gives it a short name. Repeatable.",
)  # fmt: skip
painter_args = click.option(
    "--painter-arg", "painter_args", multiple=True, metavar="KEY=VALUE",
    help="An option for the painters, such as quality=high. Repeatable.",
)  # fmt: skip
strategies = together(
    click.option(
        "--strategy", "strategies", cls=Listing, multiple=True, metavar="NAME[+NAME…]",
        shell_complete=complete.strategies,
        help="How to draw: {strategies}; join several with +, as in rewrite+best-of-4. Repeatable; direct by default.",
    ),
    click.option(
        "-S", "strategy_options", multiple=True, metavar="KEY=VALUE",
        help="An option for the strategies, such as planner=openai/gpt-6-sol, chooser=…, critic=…, coder=…, editor=…. "
        "Repeatable.",
    ),
)  # fmt: skip
measuring = together(
    click.option(
        "--regions", cls=Listing, metavar="WORD",
        help="What counts regions: {probes.regions}, or none; classical by default.",
    ),
    click.option(
        "--aesthetics", cls=Listing, metavar="WORD", help="What rates looks: {probes.aesthetics}, or PROVIDER/MODEL.",
    ),
)  # fmt: skip
devices = click.option(
    "--devices",
    metavar="0,1|cpu",
    help="Where painters that run here (diffusers/…, transformers/…, worker/…) do so, with one worker on each device. "
    "Does not change drawings.",
)
selection = together(
    click.option("--subset", help="Only the questions of this named list of the exam, such as mini."),
    click.option("--ids", metavar="A,B|@FILE", help="Only these questions."),
    click.option("--where", multiple=True, metavar="TAG=VALUE", help="Only questions with this tag. Repeatable."),
    click.option("--limit", type=int, metavar="N", help="Only the first N questions."),
    click.option("--sample", type=int, metavar="N", help="Only N questions, chosen in the exam's own proportions."),
    click.option("--sample-seed", type=int, metavar="N", help="Another number gives another sample; 0 by default."),
)
exam_options = click.option(
    "-O", "exam_options", multiple=True, metavar="KEY=VALUE", help="An option of the exam. Repeatable."
)
how_asked = together(
    click.option("--judge-arg", "judge_args", multiple=True, metavar="KEY=VALUE", help="Sent with each judge call."),
    click.option(
        "--preset", shell_complete=complete.presets,
        help="Named settings of the exam, such as paper; options that you give replace them.",
    ),
    click.option("--variant", help="In which way the judge is asked; see `limner exams`."),
    click.option("--reference", metavar="image|none|caption|both", help="What the judge sees of the reference image."),
    exam_options,
    click.option(
        "--prompts", metavar="DIR|release:FOLDER",
        help="Folder with your own prompts for the judge, or release: and your clone of the exam's release.",
    ),
)  # fmt: skip
asking = together(
    click.option(
        "--judge", "judges", cls=Listing, multiple=True, metavar="SPEC", shell_complete=complete.judges,
        help="PROVIDER/MODEL such as openai/gpt-6-sol, or one of {judges}, such as replay/FILE. Repeatable.",
    ),
    how_asked,
)  # fmt: skip
told = click.option(
    "-O", "told", multiple=True, metavar="KEY=VALUE",
    help="Only marks asked for with this option (reference=none), or a number for the scores to use (n_max=200).",
)  # fmt: skip
judges = click.option(
    "--judge", "judges", multiple=True, metavar="NAME[?ARG=VALUE]", shell_complete=complete.judges,
    help="Only this judge; 'openai/gpt-6-sol?reasoning_effort=low': only if asked with this argument. Repeatable.",
)  # fmt: skip
without = click.option(
    "--without", multiple=True, metavar="PAINTER", shell_complete=complete.painters,
    help="Leave this painter out. Repeatable.",
)  # fmt: skip
asked = together(
    told,
    click.option("--variant", help="Only marks for which the judge was asked in this variant; see `limner exams`."),
    click.option(
        "--wording",
        metavar="HASH|shipped|release",
        help="Only marks asked for with these prompts: those whose hash begins so, the shipped ones or the release's.",
    ),
)
on = click.option(
    "--on", type=click.Choice(["common", "all"]), default="common",
    help="Compare painters on the questions that all of them have (common, the default), or each on all its own.",
)  # fmt: skip
exclude_flagged = click.option(
    "--exclude-flagged", is_flag=True,
    help="Leave out drawings that contain words addressed to the examiner; this lowers coverage.",
)  # fmt: skip
reading = click.option(
    "--reading", type=click.Choice(["careful", "paper", "release"]), default="careful", show_default=True,
    help="By which rules stored replies are turned into marks.",
)  # fmt: skip
form = click.option(
    "--format", "form", type=click.Choice(["text", "json", "csv", "md"]), default="text", show_default=True
)


def pairs(words: tuple[str, ...], option: str) -> dict[str, str]:
    """``KEY=VALUE`` words as a mapping."""
    found = {}
    for word in words:
        key, sep, value = word.partition("=")
        if not (sep and key):
            raise click.UsageError(f"{option} takes KEY=VALUE, not {word!r}")
        found[key] = value
    return found


def make_selection(given: dict[str, Any]) -> Selection:
    """Return the selection among a command's arguments."""
    from ..core.exam import Selection

    names = ("subset", "ids", "where", "limit", "sample", "sample_seed")
    return Selection.parse(**{name: given[name] for name in names})


def typed(words: tuple[str, ...], option: str) -> dict[str, Any]:
    """``KEY=VALUE`` words as a mapping; values that read as JSON are taken as such."""
    from ..core.settings import parse_value as value_of

    return {key: value_of(value) for key, value in pairs(words, option).items()}


def parted(words: tuple[str, ...]) -> dict[str, Any]:
    """``KEY=VALUE`` words as options of asking, and as numbers the scores are computed with."""
    found = pairs(words, "-O")
    numbers: dict[str, float] = {}
    for key, value in found.items():
        try:
            numbers[key] = float(value)
        except ValueError:
            continue
        if not isfinite(numbers[key]):
            raise click.UsageError(f"-O {key} takes a number, not {value!r}")
    return {"options": {k: v for k, v in found.items() if k not in numbers}, "constants": numbers}


def make_which(given: dict[str, Any]) -> dict[str, Any]:
    """Whose drawings and whose marks, as `limner.api.groups` takes it, among a command's arguments."""
    names = ("painters", "without", "judges", "variant", "wording")
    return {name: given[name] for name in names if name in given} | parted(given.get("told", ()))


def make_measuring(given: dict[str, Any]) -> Measuring | None:
    """Return what is to be measured beyond what the exam needs, among a command's arguments."""
    from ..evidence.backends import Measuring

    regions, aesthetics = given.get("regions"), given.get("aesthetics")
    return Measuring(regions=regions, aesthetics=aesthetics) if regions or aesthetics else None


def make_asking(given: dict[str, Any]) -> Asking:
    """Everything about the judges among a command's arguments."""
    from ..api import Asking

    options = pairs(given["exam_options"], "-O")
    if "judges" not in given:
        return Asking(options=options)
    if given["reference"] is not None:
        options["reference"] = given["reference"]
    args = typed(given["judge_args"], "--judge-arg")
    return Asking(given["judges"], args, given["variant"], options, given["preset"], given["prompts"])
