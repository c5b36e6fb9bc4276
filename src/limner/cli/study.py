"""Commands on studies with people: study new, serve, status, link, add, forget, export, import."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..core.errors import UsageError
from . import options, say, show

if TYPE_CHECKING:
    from ..store import Store

ADDRESS = "http://127.0.0.1:8100"


@click.group("study")
def study_command() -> None:
    """Let people mark drawings: create a study, serve its page, see its progress, export and import answers."""


@study_command.command("new")
@click.argument("name")
@click.option("--exam", required=True, metavar="EXAM", help="The exam, as in `limner run`.")
@click.option("--design", required=True, metavar="NAME|FILE.toml", help="A design of the exam, or your own.")
@click.option("--painter", "painters", multiple=True, metavar="NAME", help="Only this painter's drawings. Repeatable.")
@click.option("--rater", "raters", multiple=True, metavar="NAME", help="A rater's name. Repeatable.")
@click.option("--people", type=click.IntRange(1), metavar="N", help="The number of raters, if they have no names.")
@click.option("--overlap", type=click.IntRange(1), metavar="N", help="Raters for each item.")
@click.option("--size", type=click.IntRange(1), metavar="N", help="References in all, or drawings of each painter.")
@click.option("--each", type=click.IntRange(1), metavar="N", help="Items in each cell, for designs that cross tags.")
@click.option("--by", type=click.Choice(["random", "disagreement"]), help="How items are sampled.")
@click.option("--seed", type=int, metavar="N", help="Seed of the sample; 0 by default.")
@click.option("--consent", type=options.FILE, metavar="FILE", help="A text that raters agree to before they begin.")
@click.option(
    "--completion", metavar="URL", help="Where raters are sent at the end, such as Prolific's completion link."
)
@click.option("--address", default=ADDRESS, show_default=True, metavar="URL", help="Where the page will be served.")
@options.table_or_json
@options.open_store
def new_command(name: str, store: Store, **given: Any) -> None:
    """Create a study of drawings in the store, and show its links.

    The links are shown only once: only their hashes are stored. `limner study link` makes a new one for a rater.
    """
    import json

    from ..study.new import create_study

    consent = None
    if given["consent"] is not None:
        try:
            consent = given["consent"].read_text("utf-8-sig").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--consent {given['consent']}: cannot be read: {error}") from error
    changes = {"raters": given["overlap"], **{key: given[key] for key in ("size", "each", "by", "seed")}}
    created = create_study(
        store, name, given["exam"], given["design"], painters=given["painters"], raters=given["raters"],
        people=given["people"], changes=changes, consent=consent, completion=given["completion"],
    )  # fmt: skip
    address = given["address"].rstrip("/")
    links = {rater: f"{address}/r/{token}" for rater, token in created.links.items()}
    admin, join = f"{address}/admin/{created.admin}", f"{address}/join/{created.join}"
    if given["form"] == "json":
        body = {"study": name, "items": created.items, "places": created.places, "notes": created.notes, "links": links}
        say(json.dumps(body | {"admin": admin, "join": join}, indent=2))
        return
    say(f"{name}: {created.items} items, {created.places} places for {len(links)} raters")
    for note in created.notes:
        say(f"note: {note}")
    for rater, link in links.items():
        say(f"{rater}  {link}")
    say(f"admin  {admin}")
    say(f"panel  {join}")
    say(f"Save these links: they are shown only once. Now run: limner study serve {name}")


@study_command.command("serve")
@click.argument("name")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on; 0.0.0.0 for all.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8100, show_default=True, help="The port; 0 for a free one."
)
@click.option("--behind-proxy", is_flag=True, help="Trust a proxy in front of the server to name the client.")
@options.open_store
def serve_command(name: str, store: Store, **given: Any) -> None:
    """Serve a study's page until interrupted. Every answer is stored before it is acknowledged."""

    try:
        from ..serve.base import serve
        from ..study.page import study_app
    except ModuleNotFoundError as error:
        raise UsageError(f"serving a study needs {error.name}; install it with: pip install 'limner[web]'") from error

    app = study_app(store, name)

    def ready(address: str) -> None:
        say(f"serving {name} at {address}; stop with Ctrl-C")
        sys.stdout.flush()

    serve(app, given["host"], given["port"], ready=ready, behind_proxy=given["behind_proxy"])


@study_command.command("status")
@click.argument("name", required=False)
@click.option("--close/--open", "close", default=None, help="Close the study to answers, or open it again.")
@click.option(
    "--min-attention", type=click.FloatRange(0, 1), metavar="X",
    help="Leave out raters who passed a smaller share of the attention checks, such as 0.8; 0 takes all in again.",
)  # fmt: skip
@options.form
@options.open_store
def status_command(name: str | None, store: Store, **given: Any) -> None:
    """Show a study's progress: places done, checks passed, agreement so far. Without NAME, list all studies."""
    from ..report.tables.status import agreement_table, progress_table, studies_table
    from ..study.open import open_study
    from ..study.progress import leave_out, progress_of
    from ..study.records import load_study, set_status, study_names

    if name is None:
        studies = [load_study(store, each) for each in study_names(store)]
        body = [{"study": each.name, "exam": each.exam, "status": each.status} for each in studies]
        show(given["form"], lambda: [studies_table(studies)], body=lambda: body)
        return
    if given["close"] is not None:
        set_status(store, name, "closed" if given["close"] else "open")
    study = open_study(store, name)
    if given["min_attention"] is not None:
        left = leave_out(study, given["min_attention"])
        who = "".join(f"; {each.rater} passed {each.passed} of {each.checks}" for each in left)
        say(f"{len(left)} {'rater' if len(left) == 1 else 'raters'} left out by attention checks{who}", err=True)
    progress = progress_of(study)
    about = {"study": name, "exam": study.study.exam, "status": study.study.status, "items": len(study.items)}
    show(
        given["form"],
        lambda: [progress_table(study, progress), *([agreement_table(progress)] if progress.fields else [])],
        body=lambda: about | {"notes": study.study.body.get("notes", [])} | progress.to_json(),
    )


@study_command.command("link")
@click.argument("name")
@click.argument("rater")
@click.option("--address", default=ADDRESS, show_default=True, metavar="URL", help="Where the page is served.")
@options.open_store
def link_command(name: str, rater: str, address: str, store: Store) -> None:
    """Make a new link for a rater who lost theirs; the old one stops working."""
    from ..study.new import new_link

    say(f"{rater}  {address.rstrip('/')}/r/{new_link(store, name, rater)}")


@study_command.command("add")
@click.argument("name")
@click.option("--rater", "raters", multiple=True, metavar="NAME", help="A rater's name. Repeatable.")
@click.option("--people", type=click.IntRange(1), metavar="N", help="The number of raters, if they have no names.")
@click.option("--address", default=ADDRESS, show_default=True, metavar="URL", help="Where the page is served.")
@options.open_store
def add_command(name: str, raters: tuple[str, ...], people: int | None, address: str, store: Store) -> None:
    """Add raters to a study, and show their links."""
    from ..study.progress import add_seats

    for rater, token in add_seats(store, name, raters, people).items():
        say(f"{rater}  {address.rstrip('/')}/r/{token}")


@study_command.command("forget")
@click.argument("name")
@click.argument("rater")
@click.option("--address", default=ADDRESS, show_default=True, metavar="URL", help="Where the page is served.")
@options.open_store
def forget_command(name: str, rater: str, address: str, store: Store) -> None:
    """Delete a person with all answers, marks and ratings; the seat is free for somebody else.

    Files exported earlier are not changed.
    """
    from ..study.progress import forget

    seat, token = forget(store, name, rater)
    say(f"{rater} is deleted from {name}; the free seat is:")
    say(f"{seat}  {address.rstrip('/')}/r/{token}")


@study_command.command("export")
@click.argument("name")
@options.form_option(
    "csv", "jsonl", "label-studio", "label-studio-tasks", default="csv",
    help="The answers, or with label-studio-tasks the tasks to answer.",
)  # fmt: skip
@click.option("-o", "--output", type=options.FILE, metavar="FILE", help="Write to this file.")
@click.option("--images", type=options.FOLDER, metavar="DIR", help="For Label Studio: also write the pictures here.")
@options.open_store
def export_command(name: str, store: Store, **given: Any) -> None:
    """Export a study's answers as CSV, JSON lines, or for Label Studio."""
    from ..study.answers import LEFT_OUT
    from ..study.exchange import answer_rows, write_annotations, write_answers, write_tasks
    from ..study.open import open_study
    from ..study.records import load_raters

    if given["images"] is not None and not given["form"].startswith("label-studio"):
        raise UsageError("--images needs --format label-studio or label-studio-tasks")
    study = open_study(store, name)
    if given["form"] == "label-studio-tasks":
        text = write_tasks(study, given["images"])
    elif given["form"] == "label-studio":
        text = write_annotations(study, given["images"])
    else:
        text = write_answers(answer_rows(study), study.design.unit == "pair", given["form"])
    left = ", ".join(rater.rater for rater in load_raters(store, name) if rater.body.get(LEFT_OUT))
    if left:
        say(f"without raters left out by attention checks: {left}", err=True)
    if given["output"] is None:
        say(text, nl=False)
    else:
        given["output"].write_text(text, "utf-8")
        say(f"written: {given['output']}")


@study_command.command("import")
@click.argument("name")
@click.option(
    "--file", "file", type=options.FILE, required=True, metavar="FILE", help="CSV, JSON lines, or Label Studio JSON."
)
@options.open_store
def import_command(name: str, file: Path, store: Store) -> None:
    """Import people's answers, of this study or from elsewhere.

    A CSV has the columns rater,exam,id,painter,strategy,seed,criterion,value,reason,seconds, or for pairs
    rater,exam,id,first,second,choice,shown_first. For people who rated elsewhere, a new NAME creates a study.
    """
    from ..study.import_answers import import_answers

    report = import_answers(store, name, file)
    say(
        f"{name}: {report.answers} answers by {report.raters} raters on {report.items} items; "
        f"{report.done} forms complete"
    )
    for line in report.details:
        say(line, err=True)
    sys.exit(3 if report.partial else 0)
