"""Commands on exams and judges: exams, exam get, check, new, prove, rename, stats; examine-judge."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..core.errors import LimnerError, UsageError
from . import complete, options, running, say, say_failures, show

if TYPE_CHECKING:
    from ..certify.proof import ProofRun
    from ..core.exam import Exam
    from ..core.marks import Criterion
    from ..core.protocol import Protocol
    from ..running.progress import Progress
    from ..store import Store

SHOWN_LINTS = 20
"""The most criteria to look at that `exam check` lists."""


@click.command("exams")
@click.argument("exam", required=False, shell_complete=complete.exams)
@options.table_or_json
def exams_command(exam: str | None, form: str) -> None:
    """List installed exams, with state and licence of their data; of one EXAM, scores, variants and presets."""
    from ..exams import kind, resolve
    from ..report.tables.status import exams_table, list_exams

    if exam is None:
        rows = list_exams()
        show(form, lambda: [exams_table(rows)], body=lambda: rows)
        return
    exam_kind = kind(resolve(exam).kind)
    protocol = exam_kind.protocol
    say(f"{exam_kind.name}: {exam_kind.title}")
    for score in protocol.scored:
        say(f"    {score.name} (0-{score.top:g}): {score.about}")
    say(f"    variants: {', '.join(protocol.variants)}")
    for option, values in {**protocol.options, **protocol.draw_options}.items():
        say(f"    -O {option}={'|'.join(values)}")
    for constant, number in protocol.constants.items():
        say(f"    -O {constant}={number:g} with scores, show and export")
    for preset, body in exam_kind.all_presets.items():
        say(f"    --preset {preset}: {_describe_preset(body)}")
    if exam_kind.sample is not None:
        say(f"    bundled sample: sample/{exam_kind.name}")


def _describe_preset(body: Mapping[str, Any]) -> str:
    """Describe a preset in one line: judge and arguments, variant, options, reading, drawing."""
    args = [f"{key}={value}" for key, value in body.get("judge_args", {}).items()]
    options = [f"{key}={value}" for key, value in body.get("options", {}).items()]
    drawn = {**body.get("painter_args", {}), **body.get("draw_options", {})}
    drawing = [f"{key}={value}" for key, value in drawn.items()]
    parts = [
        " ".join([f"judge {body['judge']}", *args]) if "judge" in body else "",
        f"variant {body['variant']}" if "variant" in body else "",
        " ".join(options),
        f"reading {body['reading']}" if "reading" in body else "",
        f"seed {body['seed']}" if "seed" in body else "",
        " ".join(["drawing", *drawing]) if drawing else "",
    ]
    return ", ".join(part for part in parts if part)


@click.group("exam")
def exam_command() -> None:
    """Check an exam's data and its rubric, or start an exam of your own."""


@exam_command.command("prove", cls=options.SectionedCommand)
@click.argument("exam")
@options.judge_options
@click.option("--seed", default=0, show_default=True, help="Seed of the places of the corruptions.")
@click.option("--every-fault", is_flag=True, help="Ask about every corruption, even if the first ones were enough.")
@options.data
@options.selection
@options.store
@running.run_options_without_purse
@click.option("-o", "--output", type=options.FILE, metavar="FILE.html", help="Also write a page with pictures.")
def prove(exam: str, **given: Any) -> None:
    """Prove with a judge's marks that EXAM's rubric works, and list the criteria to fix.

    The reference must pass; a white sheet, the typed prompt and another question's reference must fail; and some
    corruption of the reference must make each criterion fail. The judge is also asked without a picture, and twice
    about the same one. Stored replies cost nothing: run it again to resume. --dry-run reads the references and shows
    what the rest would cost at most.
    """
    from ..certify.examine import open_judge_exam
    from ..certify.proof import open_proof
    from ..core import settings
    from ..store.store import open_or_empty, open_store

    if len(given["judges"]) != 1:
        raise UsageError("name one judge with --judge, such as ocr or openai/gpt-6.1-sol")
    form = given["form"]
    asking = options.make_asking(given)
    opening = open_or_empty(given["store"]) if given["dry_run"] else open_store(given["store"], create=True)
    with opening as store:
        selection = options.make_selection(given)
        opened = open_judge_exam(given["judges"][0], exam, store, asking, given["data"], selection)
        if not given["dry_run"]:
            opened.check(given["budget"])
        run = open_proof(opened, given["seed"], given["every_fault"])
        if given["dry_run"]:
            estimate = run.estimate(settings.load(), given["retry_failed"])
            return running.show_estimate(form, opened.exam.name, len(opened.exam.questions), estimate)
        progress = _carry_out(run, store, form, given)
    for part in progress:
        say_failures(part)
    sys.exit(max(map(running.exit_code, progress)))


def _carry_out(run: ProofRun, store: Store, form: str, given: dict[str, Any]) -> list[Progress]:
    from ..build.criterion_words import criterion_faults
    from ..build.lint import lint_exam
    from ..report.tables.certificates import proof_tables

    how = {name: given[name] for name in ("budget", "concurrency", "retry_failed")}
    lints = lint_exam(run.opened.exam, run.opened.protocol)

    def words(question: str, criterion: Criterion) -> list[tuple[str, str]]:
        return [*criterion_faults(criterion.text), *lints.get((question, criterion.id), ())]

    with running.show_progress() as watch:
        proof, progress = run.prove(words, watch=watch, **how)
    body = run.describe(proof, given["seed"])
    show(form, lambda: proof_tables(body), body=lambda: body)
    if given["output"] is not None:
        from ..report.site.single_page import proof_page

        _write(given["output"], proof_page(body, proof, run.opened.protocol, store.blobs))
    return progress


def _write(path: Path, page: str) -> None:
    path.write_text(page, encoding="utf-8")
    say(f"written: {path}", err=True)


@exam_command.command("stats", cls=options.SectionedCommand)
@click.argument("exam")
@options.marks
@click.option("--flagged", is_flag=True, help="Show only questions and criteria worth a look.")
@options.selection
@options.open_store
@options.form
@click.option("-o", "--output", type=options.FILE, metavar="FILE.html", help="Also write a page with pictures.")
def stats(exam: str, store: Store, **given: Any) -> None:
    """Show which questions and criteria of EXAM discriminate between painters, by the marks in a store.

    For each judge: the share correct, the correlation with the rest of the exam (point-biserial), the difference
    between the best and the worst painters; criteria that no painter or every painter meets; and criteria on which
    judges disagree. Controls count only if there are no other painters.
    """
    from .. import api, exams
    from ..report.tables.analyses import item_tables, items_csv
    from ..report.tables.model import nothing_marked
    from ..scoring import ON
    from ..scoring.items import item_statistics

    kind, groups = api.groups(exam, store=store, **options.group_filters(given))
    name, protocol = exams.stored_name(exam), kind.protocol
    on = next(word for word in ON if word == given["on"])
    statistics = item_statistics(groups, protocol, on)
    show(
        given["form"],
        lambda: item_tables(statistics, name, given["flagged"]) or [nothing_marked()],
        body=lambda: {"exam": name, "judges": [judge.to_json() for judge in statistics]},
        records=lambda: items_csv(statistics),
    )
    if given["output"] is not None:
        from ..report.site.single_page import item_page

        _write(given["output"], item_page(name, statistics, protocol, store.blobs))


@exam_command.command("get")
@click.argument("name", metavar="EXAM")
@click.option("--accept-licence", is_flag=True, help="Accept the data's licence, and download.")
def get(name: str, accept_licence: bool) -> None:
    """Download an exam's released data, so that no command needs --data for it.

    First shows where the data is, how large it is and under which licence. A broken download continues where it
    stopped. The data is kept in the folder LIMNER_DATA, by default ~/.cache/limner.
    """
    from ..exams import data_folder, downloaded_data, how_to_get, kind, read, resolve
    from ..running.get_data import download, look_up

    source = kind(name).data_source
    if source is None or not source.files:
        raise UsageError(f"{name} cannot be downloaded: {how_to_get(name, source)}")
    folder = data_folder(name)
    if downloaded_data(name) is None:
        by_hand = f"To get it by hand, download it from {source.page} and put {source.layout} into {folder}"
        try:
            release = look_up(source)
            size = "" if release.size is None else f", {release.size / 1e6:,.1f} MB"
            licence = f"licence {release.licence}" if release.licence else "no licence stated"
            say(f"{name}: {source.questions:,} questions{size}, {licence}; see {source.page}")
            if not accept_licence:
                raise UsageError("read the licence there, then add --accept-licence to download")
            download(release, folder, _show_arrival)
        except UsageError:
            raise
        except (LimnerError, OSError) as error:
            raise LimnerError(f"{error}. {by_hand}") from error
    exam = read(resolve(name))
    say(f"{name}: {len(exam.questions):,} questions in {folder}; to use them: limner run {name} --painter … --judge …")


def _show_arrival(file: str, arrived: int, size: int | None) -> None:
    if sys.stderr.isatty():
        whole = "" if size is None else f" of {size / 1e6:,.1f}"
        say(f"{file}: {arrived / 1e6:,.1f}{whole} MB", err=True, nl=False, over=True)


@exam_command.command("check")
@options.exam
@options.data
@click.option("--model", metavar="PROVIDER/MODEL", help="Also ask this model which criteria contradict each other.")
@running.budget
@options.store
def check(exam: str, data: Path | None, model: str | None, budget: float | None, store: str) -> None:
    """Read an exam's data and list all problems, with file, line and id.

    Criteria of one question that ask the same, or that yes or no does not answer, are listed too. With --model, whose
    calls are kept in the store, also criteria that contradict each other.
    """
    from collections import Counter

    from ..build.lint import lint_exam
    from ..exams import kind, read, resolve

    loaded = read(resolve(exam, data))
    exam_kind = kind(loaded.kind)
    lints = lint_exam(loaded, exam_kind.protocol)
    if model is not None:
        for place, reasons in _ask_about_pairs(loaded, exam_kind.protocol, model, budget, store).items():
            lints.setdefault(place, []).extend(reasons)
    said = f"{len(lints)} criteria to look at" if lints else "all well-formed"
    say(f"{loaded.name}: {len(loaded.questions)} questions, {said}")
    for (question, criterion), reasons in list(lints.items())[:SHOWN_LINTS]:
        for word, detail in reasons:
            say(f"    {question}, {criterion}: {word}: {detail}")
    if len(lints) > SHOWN_LINTS:
        say(f"    … and {len(lints) - SHOWN_LINTS} more")
    for tag in exam_kind.protocol.breakdowns:
        counts = Counter(question.tags.get(tag, "(none)") for question in loaded.questions)
        shown = ", ".join(f"{value} {count}" for value, count in counts.most_common(12))
        say(f"    {tag}: {shown}" + (" …" if len(counts) > 12 else ""))
    for name, ids in loaded.subsets.items():
        say(f"    subset {name}: {len(ids)}")
    for note in loaded.notes:
        say(f"note: {note}")


def _ask_about_pairs(
    exam: Exam[Any], protocol: Protocol[Any], model: str, budget: float | None, store: str
) -> dict[tuple[str, str], list[tuple[str, str]]]:
    from ..build.lint import ask_about_pairs
    from ..calls import Budget, Calls
    from ..core import settings
    from ..core.images import Preparer
    from ..core.loops import run_to_end
    from ..models import open_model
    from ..running.setup import service_limits
    from ..store.store import open_store

    loaded = settings.load()
    with open_store(store, create=True) as opened:
        opened_model = open_model(model, {}, loaded, Preparer(opened.blobs.get))
        opened_model.check()
        if budget is not None and (why := opened_model.unpriced()):
            raise UsageError(f"--budget cannot be enforced: {why}")

        async def ask() -> dict[tuple[str, str], list[tuple[str, str]]]:
            async with Calls(opened, budget=Budget(budget), limits=service_limits(loaded)) as calls:
                return await ask_about_pairs(exam, protocol, opened_model, calls)

        return run_to_end(ask())


@exam_command.command("rename")
@options.exam
@click.argument("folder", type=options.FOLDER)
@options.data
@options.store
def rename(exam: str, folder: Path, data: Path | None, store: str) -> None:
    """List files in FOLDER that look misnamed, as shell commands that rename them.

    Nothing is renamed: check the list, then run it in a shell. EXAM is read from --data or from the store.
    """
    from shlex import join

    from ..painters import FolderPainter
    from ..painters.folder import tags_by_id
    from ..running.setup import load_exam_or_data

    questions = load_exam_or_data(exam, data, store)[1].questions
    ids = [question.id for question in questions]
    painter = FolderPainter(str(folder), f"folder/{folder}", folder, tags_by_id(questions))
    renames = painter.misnamed(ids, ids)
    for old, new in renames:
        if not (target := folder / new).parent.is_dir():
            say(join(["mkdir", "-p", "--", str(target.parent)]))
        say(join(["mv", "-n", "--", str(folder / old), str(target)]))
    missing = [id for id in ids if painter.lacks(id)]
    say(f"{len(missing)} of {len(ids)} questions have no image; renaming would fix {len(renames)}", err=True)


@exam_command.command("new")
@click.argument("folder", type=options.FOLDER)
@click.option(
    "--like", metavar="EXAM", show_default="genexam",
    help="The exam whose rules and sample are the starting point; rubric for rules of your own, without code.",
)  # fmt: skip
def new(folder: Path, like: str | None) -> None:
    """Write a small valid exam into FOLDER, for you to edit."""
    from ..exams import SHIPPED, write_starter

    like = like or SHIPPED[0]
    path = write_starter(folder, like)
    say(f"a small exam like {like} is now in {folder}; edit it, then run:")
    say(f"    limner exam check {path}")
    say(f"    limner run {path} --painter control/reference --judge ocr")


@click.command("examine-judge", cls=options.SectionedCommand)
@click.argument("judge")
@click.option("--exam", required=True, metavar="EXAM", help="The exam whose references are used.")
@click.option("--again", is_flag=True, help="Repeat the gold set of its certificate: has the judge drifted?")
@click.option("--questions", type=click.IntRange(2), help="The number of questions.  [default: 50; 20 with --quick]")
@click.option("--quick", is_flag=True, help="Only what the tests need most, about 200 markings.")
@click.option("--seed", default=0, show_default=True, help="Seed of the choice of questions and places.")
@click.option("--detail", is_flag=True, help="Also print what was seen at each dose of each fault.")
@options.judge_settings
@options.data
@options.selection
@options.store
@running.run_options_without_purse
@click.option(
    "-o", "--output", type=options.FILE, metavar="FILE.html",
    help="Also write the certificate as a page, with a picture of each fault and the answers.",
)  # fmt: skip
def examine_judge_command(judge: str, **given: Any) -> None:
    """Examine JUDGE on references with faults of known effect, and store its certificate.

    Stored replies cost nothing: run it again to resume. --dry-run reads the references and shows what the rest would
    cost, and how small a fault of the judge each test would find. --again repeats a gold set, and a sequential test
    shows whether the judge has drifted; for a retired judge, its successor is examined.
    """
    from ..certify.certificate import DEFAULT_QUESTIONS, QUICK_QUESTIONS, certify
    from ..certify.examine import open_judge_exam
    from ..certify.planted import power
    from ..certify.watch import rewatch
    from ..core import settings
    from ..report.tables.certificates import certificate_tables, drift_table, power_table
    from ..report.tables.status import estimate_table
    from ..store.store import open_or_empty, open_store

    form = given["form"]
    asking = options.make_asking({**given, "judges": (judge,)})
    how = {name: given[name] for name in ("budget", "concurrency", "retry_failed")}
    opening = open_or_empty(given["store"]) if given["dry_run"] else open_store(given["store"], create=True)
    with opening as store:
        if given["again"]:
            again = rewatch(judge, given["exam"], store, asking, given["data"])
            if given["dry_run"]:
                estimate = again.estimate(given["retry_failed"])
                count = len({trial["question"] for trial in again.baseline.body["gold"]})
                return running.show_estimate(form, given["exam"], count, estimate)
            with running.show_progress() as watch:
                row, progress = again.ask(watch, **how)
            show(form, lambda: [drift_table(row)], body=lambda: {"date": row.day, **row.body})
        else:
            opened = open_judge_exam(judge, given["exam"], store, asking, given["data"], options.make_selection(given))
            if not given["dry_run"]:
                opened.check(given["budget"])
            extent = {name: given[name] for name in ("seed", "quick")}
            questions = given["questions"] or (QUICK_QUESTIONS if given["quick"] else DEFAULT_QUESTIONS)
            steps = opened.trials(questions, **extent)
            if given["dry_run"]:
                estimate = opened.estimate(steps, settings.load(), given["retry_failed"])
                tests = power(steps, opened.protocol)
                count = min(questions, len(opened.exam.questions))
                show(
                    form, lambda: [estimate_table(given["exam"], count, [estimate]), power_table(tests)],
                    body=lambda: {**estimate.to_json(), "power": [test.to_json() for test in tests]},
                )  # fmt: skip
                return
            with running.show_progress() as watch:
                row, progress = certify(opened, steps, selected=questions, watch=watch, **extent, **how)
            show(form, lambda: certificate_tables(row, given["detail"]), body=lambda: {"date": row.day, **row.body})
            if given["output"] is not None:
                from ..report.site.single_page import certificate_page

                _write(given["output"], certificate_page(row, store.blobs))
    say_failures(progress)
    sys.exit(running.exit_code(progress))
