"""Does a rubric work? exam prove, exam stats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options, running
from .say import say, say_failures

if TYPE_CHECKING:
    from ..certify.certification import ProofRun
    from ..running.progress import Progress
    from ..store import Store

PAGE = click.Path(path_type=Path, dir_okay=False)


@click.command("prove")
@click.argument("exam")
@options.asking
@click.option("--seed", default=0, show_default=True, help="Another number puts corruptions into other places.")
@click.option("--every-fault", is_flag=True, help="Ask about every corruption, also where the first ones were enough.")
@options.data
@options.selection
@options.store
@running.how
@click.option("-o", "--output", type=PAGE, metavar="FILE.html", help="Also write a page with pictures.")
def prove(exam: str, **given: Any) -> None:
    """Prove that EXAM's rubric works, by the marks of a judge, and list the criteria to mend.

    The reference must pass; a white sheet, the prompt in type and another question's reference must fail; every
    criterion must be taken away by some corruption of the reference. The judge is also asked without a picture, and
    twice about the same one. What was asked before costs nothing; run it again to resume. --dry-run reads the
    references and says what the rest would cost at most.
    """
    from ..certify.certification import open_judge_exam, open_proof
    from ..core import settings
    from ..core.errors import UsageError
    from ..report.tables.costs import estimate_table
    from ..report.tables.render import show
    from ..store.store import open_or_empty, open_store

    if given["purse"] is not None or given["change_purse"]:
        raise UsageError("--purse: exam prove takes --budget alone")
    if len(given["judges"]) != 1:
        raise UsageError("name one judge with --judge, such as ocr or openai/gpt-6-sol")
    form = "json" if given["as_json"] else "text"
    asking = options.make_asking(given)
    place = open_or_empty(given["store"]) if given["dry_run"] else open_store(given["store"], create=True)
    with place as store:
        selection = options.make_selection(given)
        found = open_judge_exam(given["judges"][0], exam, store, asking, given["data"], selection)
        if not given["dry_run"]:
            found.examination.check(given["budget"])
        run = open_proof(found, given["seed"], given["every_fault"])
        if given["dry_run"]:
            estimate = run.estimate(settings.load(), given["retry_failed"])
            count = len(found.exam.questions)
            show(form, lambda: [estimate_table(found.exam.name, count, [estimate])], body=estimate.to_json)
            return
        progress = _carry_out(run, store, form, given)
    for part in progress:
        say_failures(part)
    sys.exit(3 if any(part.failed for part in progress) else 0)


def _carry_out(run: ProofRun, store: Store, form: str, given: dict[str, Any]) -> list[Progress]:
    from ..build.criterion_words import criterion_faults
    from ..report.tables.certificates import proof_tables
    from ..report.tables.render import show

    how = {name: given[name] for name in ("budget", "concurrency", "retry_failed")}
    with running.shown() as watch:
        proof, progress = run.prove(criterion_faults, watch=watch, **how)
    body = run.told(proof, given["seed"])
    show(form, lambda: proof_tables(body), body=lambda: body)
    if given["output"] is not None:
        from ..report.site.single_page import proof_page

        _write(given["output"], proof_page(body, proof, run.found.protocol, store.blobs))
    return progress


@click.command("stats")
@click.argument("exam")
@options.painters
@options.without
@options.judges
@options.on
@click.option("--flagged", is_flag=True, help="Show only questions and criteria that are worth a look.")
@options.reading
@options.asked
@options.selection
@options.store
@options.form
@click.option("-o", "--output", type=PAGE, metavar="FILE.html", help="Also write a page with pictures.")
def stats(exam: str, **given: Any) -> None:
    """Show which questions and criteria of EXAM tell painters apart, by the marks in a store.

    For each judge: the share right, the correlation with the rest of the exam (point-biserial), the difference between
    the best and the worst painters; criteria that no painter meets or misses; and criteria on which judges differ.
    Controls count only where there is nobody else.
    """
    from .. import api, exams
    from ..report.tables.analyses import item_tables, items_csv
    from ..report.tables.model import nothing_marked
    from ..report.tables.render import show
    from ..scoring import ON
    from ..scoring.groups import stored_exam
    from ..scoring.items import item_statistics
    from ..store.store import open_store

    with open_store(given["store"]) as store:
        kind, groups = api.groups(
            exam,
            store=store,
            reading=given["reading"],
            selection=options.make_selection(given),
            **options.make_which(given),
        )
        name, protocol = stored_exam(exam, store).name, exams.kind(kind).protocol
        on = next(word for word in ON if word == given["on"])
        found = item_statistics(groups, protocol, on)
        show(
            given["form"],
            lambda: item_tables(found, name, given["flagged"]) or [nothing_marked()],
            body=lambda: {"exam": name, "judges": [one.to_json() for one in found]},
            records=lambda: items_csv(found),
        )
        if given["output"] is not None:
            from ..report.site.single_page import item_page

            _write(given["output"], item_page(name, found, protocol, store.blobs))


def _write(path: Path, page: str) -> None:
    path.write_text(page, encoding="utf-8")
    say(f"written: {path}", err=True)
