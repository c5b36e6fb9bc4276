"""Commands for first steps: demo, docs, doctor."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from . import options, running
from .complete import completion_command as completion_command
from .say import say

NOTES = """
What this shows
  Controls are painters whose correct result is known: a reference must pass; a drawing of something else and a blank
  sheet must fail. The built-in examiner needs no network: it reads the text in each picture, decides what text can
  prove, and abstains from the rest. A judge that sees the whole picture decides everything. The tutorial continues
  with controls that fool examiners, and with your own images: limner docs tutorial.
"""
QUESTIONS = 1
"""The number of questions of each exam; OCR of a picture takes about a second, or two if words are missing."""


@click.command("demo")
@click.option("--store", default="demo-store", show_default=True, metavar="URL", help="The store for the results.")
@click.option(
    "-o", "--output", default="demo-site", show_default=True, type=options.FOLDER, metavar="DIR", help="The site."
)
@click.option("--open", "shown", is_flag=True, help="Open the site in a browser.")
def demo_command(store: str, output: Path, shown: bool) -> None:
    """Run the bundled sample exams offline, with controls; show the scores and build the site."""
    from .. import api
    from ..core.exam import Selection
    from ..exams import SHIPPED, kind
    from ..report.site import build
    from ..report.tables.render import show
    from ..report.tables.status import CONTROL_WORDS, demo_sentence, demo_table
    from ..store.store import open_store

    standings, failed, interrupted = {}, 0, False
    painters, some = [f"control/{name}" for name in CONTROL_WORDS], Selection(limit=QUESTIONS)
    with open_store(store, create=True) as opened:
        for name in SHIPPED:
            exam = f"sample/{name}"
            with running.show_progress() as watch:
                progress = api.run(exam, painters=painters, judges=["ocr"], store=opened, selection=some, watch=watch)
            standings[name] = api.scores(exam, painters=painters, judges=["ocr"], store=opened, selection=some)
            failed, interrupted = failed + progress.failed, progress.interrupted
            if interrupted:
                break
    show("table", lambda: [demo_table(standings)])
    for name, rows in standings.items():
        say(demo_sentence(name, kind(name).title, rows))
    say(NOTES)
    if not interrupted:
        site = build(output, store=store)
        say(f"Site:    {site.index.absolute()}")
        if shown:
            click.launch(str(site.index))
    exam = f"sample/{SHIPPED[0]}"
    say(f"Results: {Path(store).absolute() if '://' not in store else store}")
    say(f"Next:    limner scores {exam} --store {store}")
    say(f"         limner run {exam} --painter control/text --judge ocr --judge ocr/mentions --store {store}")
    sys.exit(running.exit_code(interrupted, failed))


@click.command("docs")
@click.argument("page", default="tutorial")
@click.option("--list", "listed", is_flag=True, help="List the pages.")
def docs_command(page: str, listed: bool) -> None:
    """Show a page of the documentation: PAGE is a name such as judges or services."""
    folder = _pages()
    pages = {str(path.relative_to(folder).with_suffix("")): path for path in folder.rglob("*.md")}
    if listed:
        return say("\n".join(sorted(pages)))
    name = page.removeprefix("docs/").removesuffix(".md")
    if name not in pages:
        raise click.UsageError(f"no page {page}; `limner docs --list` lists the pages")
    text = pages[name].read_text("utf-8")
    if not sys.stdout.isatty():
        return say(text)
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    with console.pager(styles=True):
        console.print(Markdown(text))


def _pages() -> Path:
    """Return the documentation folder, in the installed package or in the repository."""
    package = Path(__file__).parents[1]
    return next(folder for folder in (package / "docs", package.parents[1] / "docs") if folder.is_dir())


@click.command("doctor")
@click.option("--all", "everything", is_flag=True, help="Also show what is in order: versions, keys, plug-ins.")
@options.store
@options.table_or_json
def doctor_command(store: str, everything: bool, form: str) -> None:
    """Check that this machine and this store are ready to use; show what is wrong and what to do."""
    from ..doctor import examine

    checks = list(examine(store))
    bad = any(check.state == "bad" for check in checks)
    if form == "json":
        say(json.dumps([asdict(check) for check in checks], ensure_ascii=False, indent=2))
        sys.exit(1 if bad else 0)
    for check in checks:
        if everything or check.state != "ok":
            say(f"{check.state:>4}  {check.name}: {check.detail}")
    if not everything:
        say(f"  ok  {', '.join(check.name for check in checks if check.state == 'ok')}")
    sys.exit(1 if bad else 0)
