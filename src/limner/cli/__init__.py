"""The command line. Only click is imported here; each command loads what it needs when it runs."""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import threading
from importlib import import_module
from typing import NoReturn

import click

from .say import say

GROUPS: dict[str, dict[str, str]] = {
    "Draw and mark": {
        "run": "Draw what is missing, mark what is unmarked, show the scores.",
        "draw": "Only draw what is missing.",
        "mark": "Only mark stored drawings.",
        "rate": "Let a model rate stored drawings without a rubric, as a baseline.",
        "import": "Import results of a benchmark's own scorer.",
    },
    "Scores": {
        "scores": "Show scores from a store.",
        "compare": "Compare painters: who is better, and how certain that is.",
        "agree": "Compare judges on the same drawings.",
        "show": "Show one question: prompt, drawings, every mark with its reason.",
        "modes": "Let a chat model sort what painters got wrong into modes of failure.",
        "export": "Write one row per drawing and judge.",
    },
    "Judges": {
        "examine-judge": "Examine a judge on faults of known effect; ask it again to see whether it has moved.",
    },
    "People": {
        "study": "Let people mark drawings: make a study, serve its page, take answers out and in.",
    },
    "Publish": {
        "table": "Show a paper's table, with the published figures and your own.",
        "plot": "Draw a plot of scores for print: SVG, PDF or PNG.",
        "report": "Build a site of static pages: leaderboards, painters, questions, gallery.",
        "reproduce": "Make a paper's tables and figures anew: what is there, what the rest costs, one document.",
    },
    "Cost": {
        "estimate": "Say what a run would still cost.",
        "spend": "Say what was spent, by painter, judge and exam.",
        "batches": "Show the batches that services have, or cancel one.",
    },
    "Models": {
        "models": "Show what is known of models: dates, prices, successors; refresh it.",
    },
    "Exams": {
        "exams": "List installed exams.",
        "exam": "Check an exam's data, prove its rubric, or start an exam of your own.",
    },
    "Build": {
        "build": "Make an exam by a recipe: from your images, topics or papers.",
    },
    "Train": {
        "train": "Train FLUX-Reason: a painter that draws from chains of reasoning.",
    },
    "Evidence": {
        "evidence": "Measure stored drawings: text, regions, aesthetics.",
    },
    "Store": {
        "verify": "Check a store: its database, every image against its hash, orphans.",
        "merge": "Bring stores together: nothing lost, nothing doubled.",
    },
    "First steps": {
        "demo": "Run the bundled samples offline, with controls.",
        "docs": "Show a page of the documentation, such as the tutorial.",
        "doctor": "Check that this machine and this store are ready to use.",
        "completion": "Print what makes Tab complete commands, options and names in bash, zsh or fish.",
    },
}
COMMANDS = {name: help for group in GROUPS.values() for name, help in group.items()}
_FILES = {"Draw and mark": "run", "Judges": "certify", "First steps": "demo", "People": "study", "Models": "cost"}
"""The module with a group's commands, where it is not called like the group."""


class Lazy(click.Group):
    """Loads a command's module when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, from the module of its group."""
        if cmd_name not in COMMANDS:
            return None
        group = next(group for group, inside in GROUPS.items() if cmd_name in inside)
        module = import_module(f".{_FILES.get(group, group.lower())}", __name__)
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without loading any."""
        width = max(map(len, COMMANDS))
        for group, inside in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), help) for name, help in inside.items()])


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="limner")
def limner() -> None:
    """Examines text-to-image models on knowledge: can they draw what a textbook would show, and draw it right?

    Exit codes: 0 done, 1 error, 2 usage, 3 done in part (failures are stored), 4 budget reached, 130 interrupted.
    """


def main() -> NoReturn:
    """Run the command line; errors meant for users become one message and an exit code."""
    from ..core.errors import LimnerError
    from ..core.redaction import printable

    watch()
    gc.set_threshold(50_000)  # Scores hold a million objects: the usual 700 searches them for garbage far too often.
    if "_LIMNER_COMPLETE" in os.environ:
        from . import complete as complete  # It knows how bash breaks words.
    try:
        limner.main(prog_name="limner", standalone_mode=False)
    except LimnerError as error:
        say(f"limner: {error}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        # In its own frame of usage and hints, which are Limner's words.
        vars(error)["message"] = printable(error.message)
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        say("limner: interrupted; run the same command again to go on", err=True)
        sys.exit(130)
    except click.exceptions.Exit as request:
        sys.exit(request.exit_code)
    except OSError as error:
        say(f"limner: {error}", err=True)
        sys.exit(1)
    sys.exit(0)


GRACE_S = 1.5
"""After the second signal the process may use so long to end in order: workers stopped, faults stored."""
INTERRUPTED = 130
_watching = False


def watch() -> None:
    """Count interrupts from now on, in a thread of its own; the second one is the last.

    Handlers run in the main thread only, and not while that waits in a library, for a database or for other threads.
    The interpreter writes the number of every signal into a pipe at once.
    """
    global _watching
    if _watching or os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return
    _watching = True
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_count, args=(reader,), name="limner-interrupts", daemon=True).start()


def _count(reader: int) -> None:
    left = 2
    while left > 0:
        left -= sum(number in (signal.SIGINT, signal.SIGTERM) for number in os.read(reader, 64))
    end = threading.Timer(GRACE_S, _end)
    end.daemon = True
    end.start()


def _end() -> None:
    if (pools := sys.modules.get("multiprocessing")) is not None:
        # Limner's own workers end by themselves when they lose sight of it; those of a pool do not.
        for child in pools.active_children():
            child.kill()
    # A live progress line hides the cursor. Nobody may be reading: then nothing is said.
    words = b"\x1b[?25h\n" if os.isatty(2) else b""
    words += b"limner: ended at once; run the same command again to go on\n"
    if select.select([], [2], [], 0)[1]:
        os.write(2, words)
    os._exit(INTERRUPTED)
