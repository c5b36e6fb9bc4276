"""Commands that build exams, and that train: build list, check, new, run, status, review, export; train flux-reason."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..core.errors import UsageError
from . import options, running, say, say_failures, show

if TYPE_CHECKING:
    from ..store import Store

build_settings = options.combine_options(
    click.option("--set", "settings", multiple=True, metavar="STEP.SETTING=VALUE",
                 help="A setting of a step; stored for later runs. Repeatable."),
    click.option("-S", "roles", multiple=True, metavar="ROLE=PROVIDER/MODEL",
                 help="The model for a role, such as annotator=openai/gpt-5; ROLE.ARGUMENT=VALUE is an argument of its "
                 "calls. Stored, repeatable."),
    click.option("--prompts", type=options.FOLDER, metavar="DIR", help="A folder with your own prompts; stored."),
)  # fmt: skip


@click.group("build")
def build_command() -> None:
    """Build an exam with a recipe: from your images, topics or papers."""


@build_command.command("list")
@options.store
@options.table_or_json
def list_command(store: str, form: str) -> None:
    """List recipes with their steps and roles, and the builds in the store."""
    from ..build.recipe import recipes
    from ..build.records import load_builds
    from ..store.store import open_or_empty

    with open_or_empty(store) as opened:
        builds = load_builds(opened)
    installed = list(recipes())
    if form == "json":
        body = [
            {"recipe": recipe.name, "exam": recipe.exam, "title": recipe.title, "roles": dict(recipe.roles),
             "steps": [{"name": place.name, "step": place.step.name, "about": place.step.about,
                        "settings": place.settings.model_dump(mode="json")} for place in recipe.places]}
            for recipe in installed
        ]  # fmt: skip
        say(json.dumps({"recipes": body, "builds": [{"name": b.name, "recipe": b.recipe} for b in builds]}))
        return
    for recipe in installed:
        say(f"{recipe.name}: {recipe.title}")
        for role, about in recipe.roles.items():
            say(f"    -S {role}=PROVIDER/MODEL: {about}")
        for place in recipe.places:
            say(f"    {place.name}: {place.step.about}")
            for name, value in place.settings.model_dump(mode="json").items():
                say(f"        --set {place.name}.{name}={json.dumps(value, ensure_ascii=False)}")
    for build in builds:
        say(f"build {build.name}: recipe {build.recipe}")


@build_command.command("check")
@click.argument("recipe", type=click.Path(path_type=Path, dir_okay=False, exists=True))
def check_command(recipe: Path) -> None:
    """Check your own recipe: its steps, replies, rules and prompts. Problems are shown with their lines."""
    from ..build.recipe import check_recipe

    checked = check_recipe(recipe)
    steps = ", ".join(entry.name for entry in checked.steps)
    say(f"{checked.name} makes exams of the kind {checked.exam}: {steps}")


@build_command.command("new")
@click.argument("name")
@click.option("--recipe", required=True, metavar="NAME|FILE", help="A recipe of `limner build list`, or your own file.")
@build_settings
@options.store
def new_command(name: str, recipe: str, store: str, **given: Any) -> None:
    """Start a build called NAME, which is also the name of its exam."""
    from ..build.engine import new_build
    from ..store import store_exists
    from ..store.store import open_or_empty, open_store

    given["roles"] = options.parse_pairs(given["roles"], "-S")
    if not store_exists(store):
        with open_or_empty(store) as empty:
            new_build(empty, name, recipe, **given)
    with open_store(store, create=True) as opened:
        builder = new_build(opened, name, recipe, **given)
    say(f"build {name} with the recipe {builder.recipe.name}: {', '.join(p.name for p in builder.recipe.places)}")
    say(f"    limner build run {name}")


@build_command.command("run", cls=options.SectionedCommand)
@click.argument("name")
@build_settings
@click.option("--until", metavar="STEP", help="Stop after this step.")
@options.open_store
@running.run_options
def run_command(name: str, store: Store, **given: Any) -> None:
    """Continue a build: every step does what is still missing. Run it again to resume.

    A step with new settings, another model or other prompts processes its items again; other steps do only what
    changes for them. --dry-run shows what it would cost at most.
    """
    from ..build.engine import Spending, change_build, with_models
    from ..build.estimate import build_estimate, empty_sources
    from ..build.records import load_build
    from ..core import settings
    from ..report.tables.status import estimate_table, funnel_rows, funnel_table
    from ..running.setup import service_limits

    loaded, form = settings.load(), given["form"]
    change: dict[str, Any] = {"settings": given["settings"], "prompts": given["prompts"]}
    change |= {"roles": options.parse_pairs(given["roles"], "-S"), "keep": not given["dry_run"]}
    builder = with_models(change_build(store, load_build(store, name), **change), loaded)
    if given["dry_run"]:
        estimates = build_estimate(builder, loaded, given["until"])
        for place in empty_sources(builder, builder.look(given["until"])[0]):
            hint = f"run `limner build run {name} --until {place}` to estimate the later steps"
            say(f"note: step {place} has no items yet; {hint}", err=True)
        items = max((estimate.steps for estimate in estimates), default=0)
        body = {"build": name, "estimates": [estimate.to_json() for estimate in estimates]}
        show(form, lambda: [estimate_table(f"build {name}, at most", items, estimates)], body=lambda: body)
        return
    names = ("budget", "purse", "change_purse", "concurrency", "retry_failed")
    how = Spending(**{word: given[word] for word in names}, limits=service_limits(loaded))
    with running.show_progress() as watch:
        progress = builder.run(how, given["until"], watch)
    counts, _ = builder.look()
    if form == "json":
        summary = {"build": name, "failed": progress.failed, "asked_again": progress.asked_again,
                "spent": round(progress.spent, 6), "unpriced_calls": progress.unpriced,
                "interrupted": progress.interrupted, "steps": funnel_rows(builder.recipe, counts)}  # fmt: skip
        say(json.dumps(summary))
    else:
        say_failures(progress)
        show("table", lambda: [funnel_table(name, builder.recipe, counts)])
        if progress.interrupted:
            say("interrupted; run the same command again to resume", err=True)
    sys.exit(running.exit_code(progress))


@build_command.command("status")
@click.argument("name")
@click.option("-o", "--output", type=options.FILE, metavar="FILE",
              help="Also plot the funnel beside the paper's, as .svg, .pdf or .png.")  # fmt: skip
@click.option("--items", metavar="STEP", help="List the items that this step removed, with the reasons.")
@options.open_store
@options.form
def status_command(name: str, output: Path | None, items: str | None, store: Store, form: str) -> None:
    """Show how many items each step of a build kept and removed, beside the paper's own counts."""
    from ..build.engine import open_build
    from ..build.records import load_rows
    from ..report.tables.status import funnel_rows, funnel_table

    builder = open_build(store, name)
    counts, _ = builder.look(items)
    if items is not None:
        for id, row in load_rows(store, name, items).items():
            if row.status != "done":
                say(f"{id}: {row.status}: {row.reason}")
        return
    rows = funnel_rows(builder.recipe, counts)
    body = {"build": name, "recipe": builder.recipe.name, "steps": rows,
            "paper": [count.model_dump() for count in builder.recipe.paper]}  # fmt: skip
    show(form, lambda: [funnel_table(name, builder.recipe, counts)], body=lambda: body)
    if output is not None:
        from ..report.plots.rows import plot_funnel

        plot_funnel(name, builder.recipe, rows, output)
        say(f"written: {output}", err=True)


@build_command.command("review")
@click.argument("name")
@click.option("--reviewer", "reviewers", multiple=True, metavar="NAME", help="A reviewer, who gets a link. Repeatable.")
@click.option("--adjudicator", "adjudicators", multiple=True, metavar="NAME",
              help="Who decides where reviewers disagree; gets a link. Repeatable.")  # fmt: skip
@click.option("--new-links", is_flag=True, help="Make new links for the named people; their old ones stop working.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on; 0.0.0.0 for all.")
@click.option("--port", default=8101, show_default=True, help="The port; 0 for a free one.")
@click.option("--write", "to", type=options.FILE, metavar="FILE",
              help="Write this reviewer's waiting items to a .csv or .jsonl file, and serve nothing.")  # fmt: skip
@click.option("--read", "source", type=click.Path(path_type=Path, dir_okay=False, exists=True), metavar="FILE",
              help="Read the reviewer's answers from this file, and serve nothing.")  # fmt: skip
@options.store
def review_command(name: str, to: Path | None, source: Path | None, **given: Any) -> None:
    """Review the items of a build: accept, edit, add, reject, comment.

    Serves a page until Ctrl-C; each reviewer has a personal link. For review outside the page, --write and --read use
    a file: set its column action to accept, edit, add, reject, comment or settle; change holds the new fields.
    """
    from ..build.engine import open_build
    from ..build.review_files import read_review, write_review
    from ..store.store import open_store

    if to is None and source is None:
        return _serve_review(name, given)
    people = (*given["reviewers"], *given["adjudicators"])
    if (to is not None and source is not None) or len(people) != 1:
        raise click.UsageError("give one --reviewer, and --write FILE or --read FILE")
    with open_store(given["store"]) as opened:
        builder = open_build(opened, name)
        if to is not None:
            say(f"{write_review(builder, to, people[0])} items wait for {people[0]}, in {to}")
        elif source is not None:
            count = read_review(builder, source, people[0])
            say(f"{count} reviews by {people[0]} stored; `limner build run {name}` applies them")


@build_command.command("export")
@click.argument("name")
@click.argument("folder", type=options.FOLDER)
@click.option("--licence", "--license", metavar="SPDX", default="CC-BY-4.0", show_default=True,
              help="Licence of the questions and points; each picture keeps its own.")  # fmt: skip
@click.option("--version", default="1.0.0", show_default=True, help="Version of the data set.")
@click.option("--pass-on", multiple=True, metavar="LICENCE",
              help="Another licence that allows passing pictures on. Repeatable.")  # fmt: skip
@click.option("--url", default="", metavar="URL", help="Where the data set will be, for its Croissant metadata.")
@click.option("--train", "training", is_flag=True,
              help="Write the training part instead: train.jsonl and images/, for `limner train`.")  # fmt: skip
@options.open_store
def export_command(name: str, folder: Path, store: Store, training: bool, **given: Any) -> None:
    """Write the result of a build to FOLDER: an exam, ready for `limner run`.

    Pictures whose licence does not allow passing them on are not copied, but listed with their sources.
    """
    from ..build.engine import open_build
    from ..build.export import export

    if training:
        builder = open_build(store, name)
        if "TRAINING" not in builder.recipe.code:
            raise UsageError(f"the recipe {builder.recipe.name} has no training part")
        written = builder.recipe.code["TRAINING"][0](builder, folder, given["licence"], given["pass_on"])
        say(f"{written.samples} samples of {written.concepts} concepts are now in {folder}")
        if written.withheld:
            say(f"{written.withheld} samples are left out: their pictures may not be passed on")
        say(f"    limner train flux-reason --data {folder} --base FOLDER")
        return
    exported = export(open_build(store, name), folder, **given)
    say(f"{exported.questions} questions and {exported.pictures} pictures are now in {folder}")
    if exported.texts:
        say(f"{exported.texts} texts may not be passed on: the questions point to their sources instead")
    if exported.withheld:
        say(f"{exported.withheld} pictures may not be passed on: {folder / 'recover.csv'} lists their sources")
    say(f"    limner exam check {folder / 'exam.toml'}")
    say(f"    limner run {folder / 'exam.toml'} --painter control/reference --judge ocr")


def _serve_review(build: str, given: dict[str, Any]) -> None:
    """Serve a build's review until interrupted; print the links of reviewers who had none."""
    from ..build.engine import open_build
    from ..build.reviews import Reviewer, load_reviewers, save_reviewer
    from ..store.store import open_store

    try:
        from ..build.review_page import review_app
        from ..core.redaction import new_token, token_hash
        from ..serve.base import serve
    except ModuleNotFoundError as error:
        raise UsageError(
            f"serving a review needs {error.name}: pip install 'limner[web]'; without it: --write and --read FILE"
        ) from error

    with open_store(given["store"]) as opened:
        open_build(opened, build)
        known_reviewers, links = load_reviewers(opened, build), dict[str, str]()
        for name in (*given["reviewers"], *given["adjudicators"]):
            if name in known_reviewers and not given["new_links"]:
                say(f"{name} already has a link; --new-links makes a new one")
                continue
            links[name] = new_token()
            save_reviewer(opened, build, Reviewer(name, token_hash(links[name]), name in given["adjudicators"]))
        if not load_reviewers(opened, build):
            raise UsageError(f"{build} has no reviewers yet: name each with --reviewer NAME")

        def ready(address: str) -> None:
            for name, token in links.items():
                say(f"{name}: {address}/r/{token}/")
            say(f"serving the review of {build} at {address}; stop with Ctrl-C. `limner build run {build}` applies it")

        serve(review_app(opened, build), given["host"], given["port"], ready=ready)


@click.group("train")
def train_command() -> None:
    """Train a painter on pictures with chains of reasoning."""


@train_command.command("flux-reason")
@click.option(
    "--data", type=options.FOLDER, required=True, metavar="DIR", help="A folder with train.jsonl and its images."
)
@click.option("--base", required=True, metavar="PATH", help="A FLUX.1 pipeline: a folder, or OWNER/NAME on the hub.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("flux-reason"),
    show_default=True,
    help="The folder for checkpoints and trained weights; run the command again to resume.",
)
@click.option(
    "--set", "given", multiple=True, metavar="NAME=VALUE", help="A setting, such as rank=16 or steps=2000. Repeatable."
)
@click.option(
    "--cache", type=click.Path(path_type=Path, file_okay=False), help="The folder for encodings; by default in --out."
)
@click.option("--no-cache", is_flag=True, help="Encode at every step: slower, but needs no disk space.")
@click.option("--save-every", type=click.IntRange(1), default=500, show_default=True, help="Steps between checkpoints.")
@click.option(
    "--keep", type=click.IntRange(1), default=1, show_default=True,
    help="Checkpoints to keep: the newest, and also the one with the lowest held-out loss.",
)  # fmt: skip
@click.option(
    "--held-out", metavar="SHARE", help="The share of samples for the held-out loss; by default 0.02, 0 for none."
)
@click.option("--fast", is_flag=True, help="Compile the blocks and recompute a fifth of them: faster, more memory.")
@click.option("--exam", help="The exam that the painter will take: training on its concepts is refused.")
@click.option("--exam-data", type=click.Path(path_type=Path, exists=True), help="The exam's data.")
@click.option("--allow-overlap", is_flag=True, help="Train on the exam's concepts anyway; tables will say so.")
@click.option("--look-every", type=click.IntRange(0), default=0, help="Draw validation pictures every so many steps.")
@click.option(
    "--look-at", type=click.IntRange(1), default=4, show_default=True, help="The number of pictures drawn then."
)
@click.option(
    "--traces",
    type=click.Path(path_type=Path, exists=True),
    help="Traces for the exam's questions: id, trace, final_prompt.",
)
@click.option(
    "--planner", metavar="MODEL", help="A model that writes these traces; without any, held-out samples are drawn."
)
@click.option("--judge", "judges", multiple=True, help="A judge of the drawn questions. Repeatable.")
@click.option(
    "--log", "trackers", multiple=True, metavar="NAME", help="tensorboard, wandb …; loss.jsonl is always written."
)
def flux_reason_command(**given: Any) -> None:
    """Fine-tune FLUX with LoRA to draw from a chain of reasoning, like MMMG's FLUX-Reason.

    Steps, size and tokens are the paper's; Limner chose what the paper leaves open. After an interruption, the same
    command resumes. For several GPUs: accelerate launch --no_python limner train flux-reason …
    """
    from ..train.settings import FAST, parse
    from ..train.start import Watched, train

    settings = parse(
        (FAST if given["fast"] else {})
        | ({"held_out": given["held_out"]} if given["held_out"] is not None else {})
        | options.parse_pairs(given["given"], "--set")
    )
    watched = Watched(given["exam"], given["exam_data"], given["look_every"], given["look_at"], given["traces"],
                      given["planner"], given["judges"])  # fmt: skip
    out: Path = given["out"]
    cache = None if given["no_cache"] else given["cache"] or out / "cache"
    train(
        given["data"], given["base"], out, settings, watched=watched, allow_overlap=given["allow_overlap"],
        cache=cache, save_every=given["save_every"], keep=given["keep"], trackers=given["trackers"], say=say,
    )  # fmt: skip
