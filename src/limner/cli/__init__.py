"""The command line: the commands by group, and the program's entry point.

Only click is imported here, besides the errors; each command loads what it needs when it runs.
"""

from __future__ import annotations

import gc
import os
import select
import shutil
import signal
import sys
import threading
import tomllib
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ..core.errors import LimnerError

if TYPE_CHECKING:
    from ..report.tables.model import Table
    from ..running.progress import Progress

HELP: dict[str, Any] = tomllib.loads(Path(__file__).with_name("help.toml").read_text("utf-8"))
GROUPS: dict[str, dict[str, str]] = HELP["commands"]
COMMANDS = {name: help for group in GROUPS.values() for name, help in group.items()}
STORE = "limner.store"
"""The name under which a command's context keeps the address of its store."""
UNDECODABLE = "Could not decode to UTF-8"
"""The beginning of SQLite's complaint about a text that is damaged."""


def say(text: str = "", *, err: bool = False, nl: bool = True, over: bool = False) -> None:
    """Print a text, made safe for the terminal; there, long messages are wrapped between words.

    Args:
        text: The text, of any origin.
        err: Whether to print to standard error.
        nl: Whether to end the line.
        over: Whether to overwrite the current line of the terminal.
    """
    from ..core.redaction import printable

    shown = printable(text)
    if err and not over and sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        shown = "\n".join(
            fill(line, width, break_long_words=False, break_on_hyphens=False) for line in shown.split("\n")
        )
    click.echo(("\r\033[K" if over else "") + printable(shown), err=err, nl=nl)


def show(form: str, tables: Callable[[], Iterable[Table]], **how: Any) -> None:
    """Print a result in the requested form; see `limner.report.tables.render.show`."""
    from ..report.tables.render import show

    show(form, tables, **how)


def say_first(lines: Sequence[str], most: int, *, indent: str = "", err: bool = False) -> None:
    """Print the first of these lines, and the number of the others."""
    for line in lines[:most]:
        say(f"{indent}{line}", err=err)
    if len(lines) > most:
        say(f"{indent}… and {len(lines) - most:,} more", err=err)


def say_failures(progress: Progress) -> None:
    """Print what failed, by cause, and what to do about it."""
    for line in progress.failure_lines():
        say(line, err=True)


class LazyGroup(click.Group):
    """A group that loads a command's module when the command is used."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; if damaged rows of the store break it, name them, and show what the other rows have."""

        words = [*ctx._protected_args, *ctx.args]
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, OSError):
            raise
        except Exception as error:
            if isinstance(error, LimnerError) and UNDECODABLE not in str(error):
                raise
            self._leave_out_damage(words, ctx.meta.get(STORE, ()), error)
            raise

    def _leave_out_damage(self, words: list[str], stores: Sequence[str], error: Exception) -> None:
        """Name the damaged rows of the stores, if there are any, and run the command without them if it only reads."""
        from tempfile import TemporaryDirectory

        from .store import copy_undamaged_of, reads_only

        with TemporaryDirectory(prefix="limner-") as folder:
            copy, message = copy_undamaged_of(stores, folder)
            if not message:
                return
            if copy is None or not reads_only(words):
                raise LimnerError(f"{message}; restore the store from a backup, or delete these rows") from error
            say(f"limner: {message}. They are left out, with all that needs them:", err=True)
            try:
                self.main([*words, "--store", copy], prog_name="limner", standalone_mode=False)
            except LimnerError:
                raise
            except Exception:
                raise LimnerError(message) from error
        sys.exit(3)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, from the module of its group."""
        if cmd_name not in COMMANDS:
            return None
        group = next(group for group, inside in GROUPS.items() if cmd_name in inside)
        module = import_module(f".{HELP['modules'].get(group, group.lower())}", __name__)
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, without loading any: those of every day first, then the others by group."""
        width = max(map(len, COMMANDS))
        groups = {"Every day": HELP["everyday"]} | {group: tuple(inside) for group, inside in GROUPS.items()}
        for group, names in groups.items():
            shown = [name for name in names if group == "Every day" or name not in HELP["everyday"]]
            if shown:
                with formatter.section(group):
                    formatter.write_dl([(name.ljust(width), COMMANDS[name]) for name in shown])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="limner")
def limner() -> None:
    """Examine text-to-image models on knowledge.

    Can they draw what a textbook would show, and draw it right?

    Exit codes: 0 done, 1 error, 2 usage, 3 partly done (failures are stored), 4 budget reached, 130 interrupted.
    """


def main() -> NoReturn:
    """Run the command line; turn errors meant for users into one message and an exit code."""
    from ..core.redaction import printable

    count_interrupts()
    gc.set_threshold(50_000)  # Scores hold a million objects: the default of 700 collects garbage far too often.
    if "_LIMNER_COMPLETE" in os.environ:
        from . import complete as complete  # It handles how bash splits words.
    try:
        limner.main(prog_name="limner", standalone_mode=False)
    except LimnerError as error:
        say(f"limner: {error}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        # Usage and hints around the message are Limner's own words.
        vars(error)["message"] = printable(error.message)
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        say("limner: interrupted; run the same command again to resume", err=True)
        sys.exit(130)
    except click.exceptions.Exit as request:
        sys.exit(request.exit_code)
    except OSError as error:
        say(f"limner: {error}", err=True)
        sys.exit(1)
    sys.exit(0)


GRACE_S = 1.5
"""Seconds after the second signal in which the process may stop its workers and store faults."""
INTERRUPTED = 130
_watching = False


def count_interrupts() -> None:
    """Start a thread that counts interrupts; the second one ends the process.

    Signal handlers run only in the main thread, and not while it waits for a library, a database or other threads. The
    interpreter writes the number of every signal into a pipe at once.
    """
    global _watching
    if _watching or os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return
    _watching = True
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_wait_for_second, args=(reader,), name="limner-interrupts", daemon=True).start()


def _wait_for_second(reader: int) -> None:
    left = 2
    while left > 0:
        left -= sum(number in (signal.SIGINT, signal.SIGTERM) for number in os.read(reader, 64))
    end = threading.Timer(GRACE_S, _end_now)
    end.daemon = True
    end.start()


def _end_now() -> None:
    if (pools := sys.modules.get("multiprocessing")) is not None:
        # Limner's own workers stop when it is gone; those of a pool do not.
        for child in pools.active_children():
            child.kill()
    # A live progress line hides the cursor. If nobody reads standard error, writing would block.
    message = b"\x1b[?25h\n" if os.isatty(2) else b""
    message += b"limner: ended at once; run the same command again to resume\n"
    if select.select([], [2], [], 0)[1]:
        os.write(2, message)
    os._exit(INTERRUPTED)
