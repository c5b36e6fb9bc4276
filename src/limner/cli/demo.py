"""Commands for first steps: demo, docs, doctor, trust."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from shutil import which
from typing import Any

import click

from . import options, running, say, show
from .complete import completion_command as completion_command


@click.command("demo")
@click.option("--store", default="demo-store", show_default=True, metavar="URL", help="The store for the results.")
@click.option(
    "-o", "--output", default="demo-site", show_default=True, type=options.FOLDER, metavar="DIR", help="The site."
)
@click.option("--open", "shown", is_flag=True, help="Open the site in a browser.")
def demo_command(store: str, output: Path, shown: bool) -> None:
    """Rank right and damaged drawings of the bundled samples by their answer key, offline, and build the site."""
    from .. import api
    from ..core.evidence import REGIONS
    from ..evidence.backends import Measuring
    from ..exams import SHIPPED, kind, read, resolve
    from ..exams.key import PAINTERS
    from ..report.site import build
    from ..report.tables.status import demo_sentences, demo_table, ocr_sentence
    from ..store.store import open_store

    standings, code = {}, 0
    painters = [f"{name}=sample/{name.replace(' ', '-')}" for name in PAINTERS]
    with open_store(store, create=True) as opened:
        for name in SHIPPED:
            how: dict[str, Any] = {"judges": ["key"], "store": opened}
            measuring = Measuring({REGIONS: "key"}) if REGIONS in kind(name).protocol.needs else None
            with running.show_progress() as watch:
                progress = api.run(f"sample/{name}", painters=painters, watch=watch, measuring=measuring, **how)
            standings[name] = api.scores(f"sample/{name}", painters=list(PAINTERS), **how)
            code = max(code, running.exit_code(progress))
            if progress.interrupted:
                break
    show("table", lambda: [demo_table(standings)])
    if not progress.interrupted:
        say("\n".join(["", *demo_sentences(standings), ocr_sentence(), ""]))
        site = build(output, store=store)
        say(f"Site:    {site.index.absolute()}")
        if shown:
            click.launch(str(site.index))
    say(f"Results: {Path(store).absolute() if '://' not in store else store}")
    first, second = (f"sample/{name}" for name in SHIPPED[:2])
    question = read(resolve(first)).questions[0].id
    activate = Path(sys.prefix, "bin", "activate")
    if which("limner") is None and activate.is_file():
        say(f"First:   source {activate}")
    say(f"Next:    limner scores {first} --store {store}")
    say(f"         limner compare {second} --store {store}")
    say(f"         limner show {first} {question} --painter '{PAINTERS[2]}' --store {store}")
    say("         limner docs tutorial")
    sys.exit(code)


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


@click.command("trust")
def trust_command() -> None:
    """Trust this folder's limner.toml to send keys to hosts that Limner does not know, until it is changed."""
    from ..core import settings
    from ..core.errors import UsageError
    from ..core.settings import distrust_message, trust

    path = Path.cwd() / settings.OWN
    if not path.is_file():
        raise UsageError(f"there is no {settings.OWN} in {Path.cwd()}")
    routes = settings.foreign_routes(settings.load(path))
    if not routes:
        say(f"{path} sends no key to a host that Limner does not know; there is nothing to trust")
        return
    trust(path)
    say(f"{distrust_message(path, routes)}. Trusted until the file is changed.")
