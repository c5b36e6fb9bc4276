"""First steps: demo, doctor."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from . import options
from .complete import completion_command as completion_command
from .say import say

NOTES = """
What this shows
  Every question is drawn by controls: painters whose right result is known. Two built-in examiners, which need no
  network, read the words in each picture: "ocr" accepts words only as labels, "ocr/mentions" accepts them anywhere.
  They decide only what words can prove and abstain from the rest: "decided" is the share of criteria they could
  decide, "met of decided" how many of those are fulfilled. Coverage is something else: the share of questions that
  have a score at all. What words cannot decide is shown as the lowest and the highest value it could have.

  Look at control/text: it draws nothing, it prints the question's words, and the examiner that accepts words anywhere
  gives it credit for most of what it decides. It can even beat the reference, because it prints the
  prompt's words (on 97 questions of GenExam it does: 13 points to 11). And control/swapped, where two labels have
  changed places, gets the same marks as the reference from both. That is why judges must be examined too.
"""


@click.command("demo")
@click.option("--store", default="demo-store", show_default=True, metavar="URL", help="The store for the results.")
def demo_command(store: str) -> None:
    """Run the bundled sample exams offline, with controls, and show the scores."""
    from .. import api
    from ..exams import SHIPPED
    from ..painters import CONTROLS
    from ..store.open import open_store
    from ..tables.render import show
    from ..tables.scores import standing_tables
    from .running import shown

    exam, failed, interrupted = f"sample/{SHIPPED[0]}", 0, False
    with open_store(store, create=True) as opened:
        for kind in SHIPPED:
            first = f"sample/{kind}" == exam
            controls = CONTROLS if first else ("reference", "text", "blank")
            judges = ["ocr", "ocr/mentions"] if first else ["ocr"]
            painters = [f"control/{name}" for name in controls]
            with shown() as watch:
                progress = api.run(f"sample/{kind}", painters=painters, judges=judges, store=opened, watch=watch)
            found = api.scores(f"sample/{kind}", store=opened)
            show("text", partial(standing_tables, found, kind))
            failed, interrupted = failed + progress.failed, progress.interrupted
            if interrupted:
                break
    say(NOTES)
    say(f"Results: {Path(store).absolute() if '://' not in store else store}")
    say(f"Next:    limner scores {exam} --by subject --store {store}")
    say(f"         limner show {exam} Sample_Biology_1 --painter control/swapped --store {store}")
    sys.exit(130 if interrupted else 3 if failed else 0)


@click.command("doctor")
@options.store
def doctor_command(store: str) -> None:
    """Check that this machine and this store are ready to use."""
    from ..doctor import examine

    fit = True
    for check in examine(store):
        fit = fit and check.state != "bad"
        say(f"{check.state:>4}  {check.name}: {check.detail}")
    sys.exit(0 if fit else 1)
