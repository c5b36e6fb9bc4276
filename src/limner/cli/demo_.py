"""`limner demo`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

NOTES = """
What this shows
  Every question is drawn by controls: painters whose right outcome is known. Two built-in examiners, which need no
  network, read the words in each picture: "ocr" wants them to stand as labels, "ocr/mentions" takes them anywhere.
  They decide only what words can prove and abstain from the rest: "decided" is the share of criteria they could
  decide (their coverage of the exam), "met of decided" how many of those are fulfilled. The other scores cannot be
  settled by words; the table shows the least and the most they could be.

  Look at control/text: it draws nothing, it prints the question's words. Under an OCR examiner that counts every
  mention it gains what a right drawing gains, and can beat the reference, which need not repeat those words. And
  control/swapped, where two labels have changed places, is marked like the reference by both. That is why judges
  need examining too, and why controls come with every exam.
"""


@click.command("demo")
@click.option("--store", default="demo-store", show_default=True, metavar="URL", help="Where results go.")
def command(store: str) -> None:
    """Run the bundled sample exam offline, with all controls, and show the scores."""
    from .. import api
    from ..painters import CONTROLS
    from ..report.tables import print_standings
    from .running import shown

    exam = "sample/genexam"
    with api.opened(store, create=True) as opened, shown() as watch:
        painters = [f"control/{name}" for name in CONTROLS]
        progress = api.run(exam, painters=painters, judges=["ocr", "ocr/mentions"], store=opened, watch=watch)
    print_standings(api.scores(exam, store=store), "genexam")
    click.echo(NOTES)
    click.echo(f"Results: {Path(store).absolute() if '://' not in store else store}")
    click.echo(f"Next:    limner scores {exam} --by subject --store {store}")
    click.echo(f"         limner show {exam} Sample_Biology_1 --painter control/swapped --store {store}")
    sys.exit(130 if progress.interrupted else 3 if progress.failed else 0)
