"""`limner evidence`."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from . import options, running

if TYPE_CHECKING:
    from ..exam import Selection
    from ..store import Store


@click.command("evidence")
@click.argument("exam")
@click.option(
    "--probe", "probes", cls=options.Listing, multiple=True, metavar="NAME[=WORD][,NAME]",
    help="What to measure: {evidence}; a WORD behind the = names what measures it. By default what the exam needs, "
    "or else ocr.",
)  # fmt: skip
@click.option(
    "--ocr", cls=options.Listing, metavar="WORD",
    help="Reads text: {probes.ocr}, or PROVIDER/MODEL; rapidocr by default.",
)  # fmt: skip
@options.measuring
@options.painters
@options.selection
@options.store
@running.how
def command(exam: str, **given: Any) -> None:
    """Measure stored drawings: text, regions, aesthetics. Run it again to resume; needs the store alone.

    --regions and --aesthetics also take FILE.csv or NAME=FILE.csv, a table of values that were measured elsewhere:
    id, painter and count or score.
    """
    from .. import api

    with api.opened(given["store"]) as store:
        sys.exit(_measure(exam, given, store))


def _measure(exam: str, given: dict[str, Any], store: Store) -> int:
    from .. import api
    from ..evidence.backends import Measuring, is_table
    from ..evidence.kinds import evidence_names
    from ..evidence.names import EVIDENCE
    from ..runner import Runner

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
            click.echo(json.dumps({"values": brought}))
        return 0
    how = {name: given[name] for name in ("painters", "concurrency", "retry_failed", "budget")}
    plan = api.plan(exam, store, selection=selection, measuring=wanted, draw=False, **how)
    if not plan.probes:
        only = replace(wanted, probes=("ocr",))
        plan = api.plan(exam, store, selection=selection, measuring=only, draw=False, **how)
    runner = Runner(plan, store)
    runner.check()
    for probe in plan.probes:
        click.echo(f"{probe.evidence}: {probe.name}", err=True)
    if given["dry_run"]:
        counts = {probe.evidence: 0 for probe in plan.probes}
        for probe, _ in runner.missing_evidence():
            counts[probe.evidence] += 1
        told = ", ".join(f"{count} {name}" for name, count in counts.items())
        click.echo(json.dumps(counts) if given["as_json"] else f"to measure: {told}")
        return 0
    with running.shown() as watch:
        runner.watch = watch
        progress = runner.run()
    running.close(given, progress)
    return 130 if progress.interrupted else 3 if progress.failed else 0


def _bring(exam: str, name: str, word: str, store: Store, selection: Selection, dry: bool) -> int:
    """Take values from a table; returns how many."""
    from .. import api, exams
    from ..errors import UsageError
    from ..evidence.backends import table_of
    from ..evidence.tables import COLUMNS, read_table
    from ..store.records import load_drawings, load_exam

    if name not in COLUMNS:
        raise UsageError(f"--{name} {word}: only tables of {' and '.join(COLUMNS)} are taken")
    named = api.stored(exam, store)
    chosen = load_exam(store, named.name, exams.kind(named.kind).rubric).select(selection)
    ids = {question.id for question in chosen.questions}
    drawings = [drawing for drawing in load_drawings(store, named.name) if drawing.question_id in ids]
    label, path = table_of(word)
    found = read_table(name, path, drawings, label)
    if not dry:
        found.save(store).result()
    click.echo(f"{name}: {len(found.values)} values from {path}, as {found.backend}", err=True)
    return len(found.values)
