"""Making exams: build list, new, run, status, review, export."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from . import options, running
from .say import say, say_failures

chosen = options.together(
    click.option("--set", "settings", multiple=True, metavar="STEP.SETTING=VALUE",
                 help="A setting of a step; kept for later runs. Repeatable."),
    click.option("-S", "roles", multiple=True, metavar="ROLE=PROVIDER/MODEL",
                 help="Whom to ask: annotator=openai/gpt-5; ROLE.ARGUMENT=VALUE goes along. Kept, repeatable."),
    click.option("--prompts", type=options.FOLDER, metavar="DIR", help="Folder with your own wording; kept."),
)  # fmt: skip


@click.group("build")
def build_command() -> None:
    """Make an exam by a recipe: from your images, topics or papers."""


@build_command.command("list")
@options.store
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_command(store: str, form: str) -> None:
    """List recipes with their steps and roles, and the builds in the store."""
    from ..build.recipe import recipes
    from ..build.records import load_builds
    from ..store.store import open_or_empty

    with open_or_empty(store) as opened:
        builds = load_builds(opened)
    found = list(recipes())
    if form == "json":
        told = [
            {"recipe": one.name, "exam": one.exam, "title": one.title, "roles": dict(one.roles),
             "steps": [{"name": place.name, "step": place.step.name, "about": place.step.about,
                        "settings": place.settings.model_dump(mode="json")} for place in one.places]}
            for one in found
        ]  # fmt: skip
        say(json.dumps({"recipes": told, "builds": [{"name": b.name, "recipe": b.recipe} for b in builds]}))
        return
    for one in found:
        say(f"{one.name}: {one.title}")
        for role, about in one.roles.items():
            say(f"    -S {role}=PROVIDER/MODEL: {about}")
        for place in one.places:
            say(f"    {place.name}: {place.step.about}")
            settings = place.settings.model_dump(mode="json", exclude_defaults=False)
            for name, value in settings.items():
                say(f"        --set {place.name}.{name}={json.dumps(value, ensure_ascii=False)}")
    for build in builds:
        say(f"build {build.name}: recipe {build.recipe}")


@build_command.command("new")
@click.argument("name")
@click.option("--recipe", required=True, metavar="NAME|EXAM=FOLDER", help="See `limner build list`.")
@chosen
@options.store
def new_command(name: str, recipe: str, settings: tuple[str, ...], roles: tuple[str, ...], prompts: Path | None,
                store: str) -> None:  # fmt: skip
    """Start a build called NAME, which is also the name of the exam that it makes."""
    from ..build.open import new_build
    from ..store import store_exists
    from ..store.store import open_or_empty, open_store

    given: dict[str, Any] = {"settings": settings, "roles": options.pairs(roles, "-S"), "prompts": prompts}
    if not store_exists(store):
        with open_or_empty(store) as empty:
            new_build(empty, name, recipe, **given)
    with open_store(store, create=True) as opened:
        builder = new_build(opened, name, recipe, **given)
    say(f"build {name} by the recipe {builder.recipe.name}: {', '.join(p.name for p in builder.recipe.places)}")
    say(f"    limner build run {name}")


@build_command.command("run")
@click.argument("name")
@chosen
@click.option("--until", metavar="STEP", help="Go no further than this step.")
@options.store
@running.how
def run_command(name: str, **given: Any) -> None:
    """Carry a build on: every step does what it has not done yet. Run it again to resume.

    A step that gets other settings, another model or other wording does its items anew; the others do only what changes
    for them. --dry-run says what it would cost at most.
    """
    from ..build.engine import Spending, build_estimate, empty_sources
    from ..build.open import change_build, with_models
    from ..build.records import load_build
    from ..core import settings
    from ..report.tables.costs import estimate_table
    from ..report.tables.render import show
    from ..report.tables.status import funnel_rows, funnel_table
    from ..running.setup import service_limits
    from ..store.store import open_store

    known, form = settings.load(), "json" if given["as_json"] else "text"
    with open_store(given["store"]) as store:
        change: dict[str, Any] = {"settings": given["settings"], "prompts": given["prompts"]}
        change |= {"roles": options.pairs(given["roles"], "-S"), "keep": not given["dry_run"]}
        builder = with_models(change_build(store, load_build(store, name), **change), known)
        if given["dry_run"]:
            found = build_estimate(builder, known)
            for place in empty_sources(builder):
                how_to = f"`limner build run {name} --until {place}` lets what comes after it be counted"
                say(f"note: step {place} has taken nothing in yet; {how_to}", err=True)
            items = max((one.steps for one in found), default=0)
            body = {"build": name, "estimates": [one.to_json() for one in found]}
            show(form, lambda: [estimate_table(f"build {name}, at most", items, found)], body=lambda: body)
            return
        names = ("budget", "purse", "change_purse", "concurrency", "retry_failed")
        how = Spending(**{word: given[word] for word in names}, limits=service_limits(known))
        with running.shown() as watch:
            progress = builder.run(how, given["until"], watch)
        counts, _ = builder.look()
        if given["as_json"]:
            told = {"build": name, "failed": progress.failed, "asked_again": progress.asked_again,
                    "spent": round(progress.spent, 6), "unpriced_calls": progress.unpriced,
                    "interrupted": progress.interrupted, "steps": funnel_rows(builder.recipe, counts)}  # fmt: skip
            say(json.dumps(told))
        else:
            say_failures(progress)
            show("text", lambda: [funnel_table(name, builder.recipe, counts)])
            if progress.interrupted:
                say("interrupted; run the same command again to go on", err=True)
    sys.exit(running.exit_code(progress.interrupted, progress.failed))


@build_command.command("status")
@click.argument("name")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Also draw the funnel beside the paper's; the file's name ends in .svg, .pdf or .png.")  # fmt: skip
@click.option("--items", metavar="STEP", help="List the items that this step took out, with why.")
@options.store
@click.option("--format", "form", type=click.Choice(["text", "json", "md", "csv"]), default="text", show_default=True)
def status_command(name: str, output: Path | None, items: str | None, store: str, form: str) -> None:
    """Show what each step of a build let through and why not, beside the paper's own counts."""
    from ..build.open import open_build
    from ..build.records import load_rows
    from ..report.tables.render import show
    from ..report.tables.status import funnel_rows, funnel_table
    from ..store.store import open_store

    with open_store(store) as opened:
        builder = open_build(opened, name)
        counts, _ = builder.look(items)
        if items is not None:
            for id, row in load_rows(opened, name, items).items():
                if row.status != "done":
                    say(f"{id}: {row.status}: {row.reason}")
            return
        rows = funnel_rows(builder.recipe, counts)
        body = {"build": name, "recipe": builder.recipe.name, "steps": rows,
                "paper": [mile.model_dump() for mile in builder.recipe.paper]}  # fmt: skip
        show(form, lambda: [funnel_table(name, builder.recipe, counts)], body=lambda: body)
        if output is not None:
            from ..report.plots.counts import plot_funnel

            plot_funnel(name, builder.recipe, rows, output)
            say(f"drawn in {output}", err=True)


@build_command.command("review")
@click.argument("name")
@click.option("--reviewer", "reviewers", multiple=True, metavar="NAME", help="Who reviews; gets a link. Repeatable.")
@click.option("--adjudicator", "adjudicators", multiple=True, metavar="NAME",
              help="Who decides where reviewers disagree; gets a link. Repeatable.")  # fmt: skip
@click.option("--new-links", is_flag=True, help="Make new links for those named; their old ones no longer work.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; 0.0.0.0 lets others in.")
@click.option("--port", default=8101, show_default=True, help="0 takes a free one.")
@click.option("--write", "to", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Serve nothing; write what waits for this reviewer into a .csv or .jsonl file.")  # fmt: skip
@click.option("--read", "source", type=click.Path(path_type=Path, dir_okay=False, exists=True), metavar="FILE",
              help="Serve nothing; keep what the reviewer has filled in there.")  # fmt: skip
@options.store
def review_command(name: str, reviewers: tuple[str, ...], adjudicators: tuple[str, ...], to: Path | None,
                   source: Path | None, store: str, **served: Any) -> None:  # fmt: skip
    """Review what a build has made: accept, edit, add, reject, comment.

    Serves a page until Ctrl-C; each reviewer has a link of their own. For people who review elsewhere, --write and
    --read go by a file: set action to accept, edit, add, reject, comment or settle; change holds the new fields.
    """
    from ..build.open import open_build
    from ..build.review_files import read_review, write_review
    from ..store.store import open_store

    if to is None and source is None:
        serve_review(store, name, reviewers, adjudicators, **served)
        return
    people = (*reviewers, *adjudicators)
    if (to is not None and source is not None) or len(people) != 1:
        raise click.UsageError("give one --reviewer, and --write FILE or --read FILE")
    with open_store(store) as opened:
        builder = open_build(opened, name)
        if to is not None:
            say(f"{write_review(builder, to, people[0])} items wait for {people[0]}, in {to}")
        elif source is not None:
            kept = read_review(opened, name, source, people[0])
            say(f"{kept} reviews of {people[0]} kept; `limner build run {name}` applies them")


@build_command.command("export")
@click.argument("name")
@click.argument("folder", type=options.FOLDER)
@click.option("--licence", "--license", metavar="SPDX", default="CC-BY-4.0", show_default=True,
              help="Of the questions and points; each picture keeps its own.")  # fmt: skip
@click.option("--version", default="1.0.0", show_default=True, help="Of the data set.")
@click.option("--pass-on", multiple=True, metavar="LICENCE",
              help="A further licence under which pictures may be passed on. Repeatable.")  # fmt: skip
@click.option("--train", "training", is_flag=True,
              help="Write the training part instead: train.jsonl and images/, for limner train.")  # fmt: skip
@options.store
def export_command(name: str, folder: Path, licence: str, version: str, pass_on: tuple[str, ...], training: bool,
                   store: str) -> None:  # fmt: skip
    """Write what a build has made into FOLDER: an exam that `limner run` takes at once.

    Pictures whose licence does not let them be passed on are listed with where they come from, and not copied.
    """
    from ..build.export import export
    from ..build.open import open_build
    from ..store.store import open_store

    if training:
        from ..build.train_files import export_training

        with open_store(store) as opened:
            written = export_training(open_build(opened, name), folder)
        say(f"{written.samples} samples of {written.concepts} concepts are now in {folder}")
        say(f"    limner train flux-reason --data {folder} --base FOLDER")
        return
    with open_store(store) as opened:
        made = export(open_build(opened, name), folder, licence=licence, version=version, pass_on=pass_on)
    say(f"{made.questions} questions and {made.pictures} pictures are now in {folder}")
    if made.withheld:
        say(f"{made.withheld} pictures may not be passed on: {folder / 'recover.csv'} lists where they come from")
    say(f"    limner exam check {folder / 'exam.toml'}")
    say(f"    limner run {folder / 'exam.toml'} --painter control/reference --judge ocr")


def serve_review(
    store: str, build: str, reviewers: Sequence[str], adjudicators: Sequence[str], new_links: bool, host: str, port: int
) -> None:
    """Serve a build's review until interrupted; tells the links of those who had none."""
    from ..build.open import open_build
    from ..build.reviews import Reviewer, load_reviewers, save_reviewer
    from ..core.errors import UsageError
    from ..store.store import open_store

    try:
        from ..build.review_page import review_app
        from ..core.redaction import new_token, token_hash
        from ..serve.base import serve
    except ModuleNotFoundError as error:
        raise UsageError(
            f"serving a review needs {error.name}: pip install 'limner[web]'; without it: --write and --read FILE"
        ) from error

    with open_store(store) as opened:
        open_build(opened, build)
        there, links = load_reviewers(opened, build), dict[str, str]()
        for name in (*reviewers, *adjudicators):
            if name in there and not new_links:
                say(f"{name} has a link already; --new-links makes another")
                continue
            links[name] = new_token()
            save_reviewer(opened, build, Reviewer(name, token_hash(links[name]), name in adjudicators))
        if not load_reviewers(opened, build):
            raise UsageError(f"nobody reviews {build} yet: name each with --reviewer NAME")

        def ready(address: str) -> None:
            for name, token in links.items():
                say(f"{name}: {address}/r/{token}/")
            say(f"serving the review of {build} at {address}; Ctrl-C ends it. `limner build run {build}` applies it")

        serve(review_app(opened, build), host, port, ready=ready)
