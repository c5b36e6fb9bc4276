"""What is measured on drawings: evidence."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from . import options, running
from .say import say

if TYPE_CHECKING:
    from ..core.exam import Selection
    from ..evidence.metrics import LocalMetric
    from ..running.plan import Plan
    from ..store import Store


@click.command("evidence")
@options.exam
@click.option(
    "--probe", "probes", cls=options.Listing, multiple=True, metavar="NAME[=WORD][,NAME]",
    help="What to measure: {evidence}; a WORD after the = names what measures it. By default what the exam "
    "needs, or else ocr.",
)  # fmt: skip
@click.option(
    "--ocr", cls=options.Listing, metavar="WORD",
    help="What reads text: {probes.ocr}, or PROVIDER/MODEL; rapidocr by default.",
)  # fmt: skip
@options.measuring
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME:WEIGHTS|FILE.csv",
    help="A metric with weights of your own, such as clip-score:FOLDER, or a table of one computed elsewhere: "
    "id,painter,strategy,seed,metric,value. Repeatable.",
)  # fmt: skip
@options.painters
@options.selection
@options.store
@running.how
def evidence_command(exam: str, **given: Any) -> None:
    """Measure stored drawings: text, regions, aesthetics. Run it again to resume. Needs only the store.

    --regions and --aesthetics also take FILE.csv or NAME=FILE.csv, a table of values that were measured elsewhere:
    id, painter and count or score. --metric makes evaluators of clip-score, pickscore, vqa-score, aesthetic-clip,
    aesthetic-siglip, fid and frechet, with weights that you have, or of any table.
    """
    from ..store.store import open_store

    with open_store(given["store"]) as store:
        if not given["metrics"]:
            sys.exit(_measure(exam, given, store))
        asked = ("ocr", "regions", "aesthetics", "probes")
        code = measure_metrics(exam, given, store)
        sys.exit(max(code, _measure(exam, given, store)) if any(given[name] for name in asked) else code)


def _measure(exam: str, given: dict[str, Any], store: Store) -> int:
    from .. import api
    from ..core.evidence import EVIDENCE
    from ..evidence.backends import Measuring, is_table
    from ..evidence.probe import evidence_names
    from ..running.runner import Runner

    named = dict(word.partition("=")[::2] for words in given["probes"] for word in words.split(","))
    for name in named:
        if name not in evidence_names():
            raise click.UsageError(f"--probe {name}: there is {', '.join(evidence_names())}")
    probes, words = tuple(named), {name: word for name, word in named.items() if word}
    given |= {name: words.pop(name) for name in EVIDENCE if name in words}
    selection, brought = options.make_selection(given), 0
    for name in EVIDENCE:
        if is_table(given[name]):
            brought += _bring(exam, name, given[name], store, selection, given["dry_run"])
            given[name], probes = None, tuple(probe for probe in probes if probe != name)
    wanted = Measuring(probes, given["ocr"], given["regions"], given["aesthetics"], words)
    if brought and not probes and not wanted.named:
        if given["as_json"]:
            say(json.dumps({"values": brought}))
        return 0
    how = {name: given[name] for name in ("painters", "concurrency", "retry_failed", "budget", "purse", "change_purse")}
    plan = api.plan(exam, store, selection=selection, measuring=wanted, draw=False, **how)
    if not plan.probes:
        only = replace(wanted, probes=("ocr",))
        plan = api.plan(exam, store, selection=selection, measuring=only, draw=False, **how)
    runner = Runner(plan, store)
    runner.check()
    for probe in plan.probes:
        say(f"{probe.evidence}: {probe.name}", err=True)
    if given["dry_run"]:
        counts = {probe.evidence: 0 for probe in plan.probes}
        for probe, _ in runner.backlog.missing_evidence():
            counts[probe.evidence] += 1
        told = ", ".join(f"{count} {name}" for name, count in counts.items())
        say(json.dumps(counts) if given["as_json"] else f"to measure: {told}")
        return 0
    progress = running.watched(runner)
    running.close(given, progress)
    return running.exit_code(progress.interrupted, progress.failed)


def _bring(exam: str, name: str, word: str, store: Store, selection: Selection, dry: bool) -> int:
    """Take values from a table; returns how many."""
    from .. import exams
    from ..core.errors import UsageError
    from ..evidence.backends import table_of
    from ..evidence.imported import COLUMNS, read_table
    from ..scoring.groups import stored_exam
    from ..store.records import load_drawings, load_exam

    if name not in COLUMNS:
        raise UsageError(f"--{name} {word}: only tables of {' and '.join(COLUMNS)} are taken")
    named = stored_exam(exam, store)
    kind = exams.kind(named.kind)
    chosen = load_exam(store, named.name, kind.rubric).select(selection, kind.protocol.breakdowns)
    ids = {question.id for question in chosen.questions}
    drawings = [drawing for drawing in load_drawings(store, named.name) if drawing.question_id in ids]
    label, path = table_of(word)
    found = read_table(name, path, drawings, label)
    if not dry:
        found.save(store).result()
    say(f"{name}: {len(found.values)} values from {path}, as {found.backend}", err=True)
    return len(found.values)


def measure_metrics(exam: str, given: dict[str, Any], store: Store) -> int:
    """Every metric that is asked for; the exit code."""
    from .. import api
    from ..evidence.backends import is_table
    from ..evidence.metrics import open_metric

    words = given["metrics"]
    opened = {word: open_metric(word) for word in words if not is_table(word)}
    how = {name: given[name] for name in ("painters", "concurrency", "retry_failed", "budget", "purse", "change_purse")}
    plan = api.plan(exam, store, selection=options.make_selection(given), draw=False, **how)
    for metric in opened.values():
        metric.check()
    codes = [_bring_table(plan, word, given, store) for word in words if is_table(word)]
    codes += [_compute(plan, metric, given, store) for metric in opened.values()]
    return max(codes)


def _bring_table(plan: Plan, word: str, given: dict[str, Any], store: Store) -> int:
    from ..evidence.backends import table_of
    from ..evidence.imported import read_metrics
    from ..store.records import load_drawings

    label, path = table_of(word)
    found = read_metrics(path, plan.exam.name, load_drawings(store, plan.exam.name), label)
    if not given["dry_run"]:
        found.save(store)
    told = f"{len(found.ratings)} numbers of drawings, {len(found.painters)} of painters"
    say(f"{', '.join(found.names)}: {told} from {path}", err=True)
    if given["as_json"]:
        say(json.dumps({"metrics": found.names, "drawings": len(found.ratings), "painters": len(found.painters)}))
    return 0


def _compute(plan: Plan, metric: LocalMetric, given: dict[str, Any], store: Store) -> int:
    from ..running.rate import MetricRunner, set_distances

    name = metric.kind.name
    if metric.kind.sets:
        if given["dry_run"]:
            say(f"{name}: of every painter's drawings together")
            return 0
        found = set_distances(plan, store, metric)
        for each in found:
            say(f"{name} of {each.words}", err=given["as_json"])
        if given["as_json"]:
            say(json.dumps([{**vars(each), "metric": name} for each in found]))
        return 0
    runner = MetricRunner(plan, store, metric)
    runner.check()
    if given["dry_run"]:
        say(f"{name}: of {runner.backlog.count} drawings")
        return 0
    progress = running.watched(runner)
    if runner.cut:
        say(f"note: {name} read only the beginning of the prompt of {runner.cut} drawings", err=True)
    running.close(given, progress)
    return running.exit_code(progress.interrupted, progress.failed)
