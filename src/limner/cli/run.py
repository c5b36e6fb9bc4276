"""Commands that draw, mark and measure: run, draw, mark, import, rate, evidence."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from . import options, running, say, say_first

if TYPE_CHECKING:
    from ..evidence.metrics import LocalMetric
    from ..running.plan import Plan
    from ..store import Store


@click.command("run", cls=options.SectionedCommand)
@options.exam
@options.drawing
@running.plan_options
@running.all_run_options
def run_command(exam: str, **given: Any) -> None:
    """Draw what is missing, mark what is unmarked, show the scores. Run it again to resume.

    EXAM is an installed exam (see `limner exams`), sample/NAME for its bundled sample, or the path of an exam.toml.
    """
    sys.exit(running.carry_out(exam, given, draw=True))


@click.command("draw", cls=options.SectionedCommand)
@options.exam
@options.drawing
@options.strategies
@options.exam_options
@options.prompts
@running.questions
@running.drawings
@running.all_run_options
def draw_command(exam: str, **given: Any) -> None:
    """Draw what is missing, without marking. Run it again to resume."""
    sys.exit(running.carry_out(exam, given, draw=True))


@click.command("mark", cls=options.SectionedCommand)
@options.exam
@options.only_painters
@options.judge_options
@options.measuring
@running.questions
@running.repeats
@running.all_run_options
def mark_command(exam: str, **given: Any) -> None:
    """Mark stored drawings. Reads only the store, not --data. Run it again to resume."""
    sys.exit(running.carry_out(exam, given, draw=False))


@click.command("import")
@options.exam
@options.data
@click.option(
    "--results", type=options.FOLDER, required=True, metavar="DIR", help="The output of the benchmark's scorer."
)
@click.option("--images", type=options.FOLDER, metavar="DIR", help="The drawings, as <id>.png, if you have them.")
@click.option("--regions", type=options.FOLDER, metavar="FILE", help="Region counts, for exams that use them.")
@click.option("--painter", required=True, metavar="NAME", help="The model that drew.")
@click.option("--judge", required=True, metavar="NAME", help="The model that marked.")
@options.store
@options.table_or_json
def import_command(exam: str, form: str, **given: Any) -> None:
    """Import results of a benchmark's own scorer, to score and compare them like any others."""
    from ..running.import_results import import_results

    imported = import_results(exam, **given)
    if form == "json":
        body = {"results": imported.results, "images": imported.images, "failures": dict(imported.failures)}
        say(json.dumps(body))
    else:
        unread, unmeasured = imported.failures["unreadable"], imported.failures["probe"]
        failures = f", {unread} of them unreadable" if unread else ""
        failures += f", {unmeasured} with a failed measurement" if unmeasured else ""
        say(
            f"{imported.results} results imported into {given['store']}, {imported.images} with their drawing{failures}"
        )
        say_first([f"note: {detail}" for detail in imported.details], 5, err=True)
    sys.exit(3 if imported.failures else 0)


@click.command("rate", cls=options.SectionedCommand)
@options.exam
@click.option(
    "--as", "baseline", required=True, type=click.Choice(["score", "looks", "arena", "wiscore"]),
    help="score: a number for each drawing; looks: one for its looks alone; arena: the better of two, in both orders; "
    "wiscore: WISE's score.",
)  # fmt: skip
@click.option(
    "--judge",
    required=True,
    metavar="PROVIDER/MODEL",
    help="The model that rates, such as openai/gpt-5; or replay/FILE.",
)
@options.judge_args
@options.own_prompts
@click.option(
    "--against", metavar="PAINTER", help="With arena: only pairs with this painter, such as control/reference."
)
@options.only_painters
@options.selection
@options.open_store
@running.run_options
def rate_command(exam: str, store: Store, **given: Any) -> None:
    """Rate stored drawings with a model but without the exam's rubric, as a baseline. Run it again to resume.

    Each baseline by each model is a separate evaluator, which `limner agree` compares with judges and people. Needs
    only the store.
    """
    from ..core import settings
    from ..core.asks import Prompts
    from ..core.images import Preparer
    from ..judges.baselines import SHIPPED, find_baseline
    from ..models import open_model
    from ..running.rate import RatingRunner
    from ..store.records import known_painters

    if given["against"] and given["baseline"] != "arena":
        raise click.UsageError("--against needs --as arena")
    plan = running.make_plan(exam, store, given, draw=False, measuring=None)
    if given["against"]:
        known_painters(store, plan.exam.name, [given["against"]])
    args = options.parse_values(given["judge_args"], "--judge-arg")
    model = open_model(given["judge"], args, settings.load(), Preparer(store.blobs.get))
    prompts = Prompts(SHIPPED, given["prompts"])
    runner = RatingRunner(plan, store, find_baseline(given["baseline"]), model, prompts, given["against"])
    runner.check()
    if not given["dry_run"]:
        sys.exit(running.exit_code(running.run_with_progress(runner, given)))
    asks, dollars = len(runner.items), runner.estimate()
    if given["form"] == "json":
        return say(json.dumps({"asks": asks, "estimate": dollars}))
    price = "at an unknown price" if dollars is None else f"for about ${dollars:.4f}, by a rule of thumb"
    say(f"{asks} requests to {model.name}, {price}; stored answers cost nothing")


@click.command("evidence", cls=options.SectionedCommand)
@options.exam
@click.option(
    "--probe", "probes", cls=options.ListingOption, multiple=True, metavar="NAME[=BACKEND][,NAME]",
    help="What to measure: {evidence}; BACKEND says how. By default what the exam needs, or else ocr.",
)  # fmt: skip
@click.option(
    "--ocr", cls=options.ListingOption, metavar="BACKEND",
    help="How text is read: {probes.ocr}, or PROVIDER/MODEL; rapidocr by default.",
)  # fmt: skip
@options.measuring
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME:WEIGHTS|FILE.csv",
    help="A metric with your own weights, such as clip-score:FOLDER, or a table of values computed elsewhere with the "
    "columns id,painter,strategy,seed,metric,value. Repeatable.",
)  # fmt: skip
@options.only_painters
@options.selection
@options.open_store
@running.run_options
def evidence_command(exam: str, store: Store, **given: Any) -> None:
    """Measure stored drawings: text, regions, aesthetics. Run it again to resume. Needs only the store.

    --regions and --aesthetics also take FILE.csv or NAME=FILE.csv, a table of values measured elsewhere, with the
    columns id, painter, and count or score. --metric adds evaluators: clip-score, pickscore, vqa-score, aesthetic-clip,
    aesthetic-siglip, fid and frechet, with your own weights, or any table.
    """

    if not given["metrics"]:
        sys.exit(_measure(exam, given, store))
    others = ("ocr", "regions", "aesthetics", "probes")
    code = measure_metrics(exam, given, store)
    sys.exit(max(code, _measure(exam, given, store)) if any(given[name] for name in others) else code)


def _measure(exam: str, given: dict[str, Any], store: Store) -> int:
    from ..core.evidence import EVIDENCE
    from ..evidence.backends import Measuring, is_table
    from ..evidence.probe import evidence_names
    from ..running.runner import Runner

    named = dict(word.partition("=")[::2] for words in given["probes"] for word in words.split(","))
    for name in named:
        if name not in evidence_names():
            raise click.UsageError(f"--probe {name}: no such measurement; available: {', '.join(evidence_names())}")
    probes, words = tuple(named), {name: word for name, word in named.items() if word}
    given |= {name: words.pop(name) for name in EVIDENCE if name in words}
    imported = 0
    for name in EVIDENCE:
        if is_table(given[name]):
            imported += _import_values(exam, name, given[name], given, store)
            given[name], probes = None, tuple(probe for probe in probes if probe != name)
    words |= {name: given[name] for name in EVIDENCE if given[name] is not None}
    wanted = Measuring(words, probes)
    if imported and not probes and not words:
        if given["form"] == "json":
            say(json.dumps({"values": imported}))
        return 0
    plan = running.make_plan(exam, store, given, draw=False, measuring=wanted)
    if not plan.probes:
        plan = running.make_plan(exam, store, given, draw=False, measuring=replace(wanted, probes=("ocr",)))
    runner = Runner(plan, store)
    runner.check()
    for probe in plan.probes:
        say(f"{probe.evidence}: {probe.name}", err=True)
    if given["dry_run"]:
        counts = {probe.evidence: 0 for probe in plan.probes}
        for probe, _ in runner.backlog.missing_evidence():
            counts[probe.evidence] += 1
        summary = ", ".join(f"{count} {name}" for name, count in counts.items())
        say(json.dumps(counts) if given["form"] == "json" else f"to measure: {summary}")
        return 0
    return running.exit_code(running.run_with_progress(runner, given))


def _import_values(exam: str, name: str, word: str, given: dict[str, Any], store: Store) -> int:
    """Import values from a table, and return their number."""
    from ..core.errors import UsageError
    from ..evidence.backends import table_of
    from ..evidence.imported import COLUMNS, read_table
    from ..store.records import load_drawings

    if name not in COLUMNS:
        raise UsageError(f"--{name} {word}: only tables of {' and '.join(COLUMNS)} can be imported")
    plan = running.make_plan(exam, store, given, draw=False, measuring=None)
    ids = {question.id for question in plan.exam.questions}
    drawings = [drawing for drawing in load_drawings(store, plan.exam.name) if drawing.question_id in ids]
    label, path = table_of(word)
    table = read_table(name, path, drawings, label)
    if not given["dry_run"]:
        table.save(store).result()
    say(f"{name}: {len(table.values)} values from {path}, as {table.backend}", err=True)
    return len(table.values)


def measure_metrics(exam: str, given: dict[str, Any], store: Store) -> int:
    """Measure or import every requested metric, and return the exit code."""
    from ..evidence.backends import is_table
    from ..evidence.metrics import open_metric

    words = given["metrics"]
    opened = {word: open_metric(word) for word in words if not is_table(word)}
    plan = running.make_plan(exam, store, given, draw=False, measuring=None)
    for metric in opened.values():
        metric.check()
    codes = [_import_metrics(plan, word, given, store) for word in words if is_table(word)]
    codes += [_compute_metric(plan, metric, given, store) for metric in opened.values()]
    return max(codes)


def _import_metrics(plan: Plan, word: str, given: dict[str, Any], store: Store) -> int:
    from ..evidence.backends import table_of
    from ..evidence.imported import read_metrics
    from ..store.records import load_drawings

    label, path = table_of(word)
    table = read_metrics(path, plan.exam.name, load_drawings(store, plan.exam.name), label)
    if not given["dry_run"]:
        table.save(store)
    counts = f"{len(table.ratings)} values of drawings and {len(table.painters)} of painters"
    say(f"{', '.join(table.names)}: {counts} from {path}", err=True)
    if given["form"] == "json":
        say(json.dumps({"metrics": table.names, "drawings": len(table.ratings), "painters": len(table.painters)}))
    return 0


def _compute_metric(plan: Plan, metric: LocalMetric, given: dict[str, Any], store: Store) -> int:
    from ..running.rate import MetricRunner, set_distances

    name = metric.kind.name
    if metric.kind.sets:
        if given["dry_run"]:
            say(f"{name}: one value for each painter's drawings")
            return 0
        distances = set_distances(plan, store, metric)
        for distance in distances:
            say(f"{name} of {distance.words}", err=given["form"] == "json")
        if given["form"] == "json":
            say(json.dumps([{**vars(distance), "metric": name} for distance in distances]))
        return 0
    runner = MetricRunner(plan, store, metric)
    runner.check()
    if given["dry_run"]:
        say(f"{name}: {runner.backlog.count} drawings to measure")
        return 0
    progress = running.run_with_progress(runner, given)
    if runner.cut:
        say(f"note: {name} read only the beginning of the prompt for {runner.cut} drawings", err=True)
    return running.exit_code(progress)
