"""Every plot with few and many painters, to look at: ``python -m tests.report.plots.every FOLDER [PLOT…]``.

Writes each as SVG, PDF and PNG, one and two columns wide. `test_catalogue.py` measures the same figures.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from limner.core.errors import UsageError
from limner.exams import SHIPPED
from limner.report.plots import PlotChoice, load_plots
from limner.report.plots.catalogue import DRAW_FUNCTIONS
from limner.report.plots.source import StoreSource, load_source
from limner.report.plots.style import FORMATS, WIDTHS, Sketch, compose, look, write_figure
from limner.store import Store
from tests.report.plots import made_up
from tests.report.tables import synthetic
from tests.report.tables.synthetic import PAINTERS, Pretended

LONG = (
    Pretended("lab/a-diffusion-transformer-fine-tuned-on-textbook-figures-2026-11-large", "lab/long", 0.61, 0.05),
    Pretended("studio/another-model-whose-name-does-not-fit-a-line?quality=high&size=1536x1024", "lab/o", 0.45, None),
)
CASTS: dict[str, list[Pretended]] = {
    "1": [LONG[0]],
    "3": [PAINTERS[0], PAINTERS[3], LONG[1]],
    "25": synthetic.cast(25),
}
"""How many painters -> who; those of three with a control beside them."""
QUESTIONS = {"genexam": 20, "mmmg": 18, "worldgenbench": 14, "fepbench": 16, "aibench": 6}
FEW = {"genexam": 3, "mmmg": 3, "worldgenbench": 2, "fepbench": 4, "aibench": 2}
"""Questions of the three painters."""
JUDGES = ("openai/gpt-5", "gemini/gemini-2.5-pro", "ocr")
EXAMS = {
    "overall": "genexam", "difference": "genexam",
    "categories": "genexam", "heatmap": "genexam", "profile": "fepbench", "levels": "mmmg", "distribution": "fepbench",
    "failures": "mmmg", "cost": "genexam", "judges": "genexam", "by-judge": "genexam", "people": "mmmg",
    "drawings": "genexam", "atoms": "fepbench", "if-re": "fepbench", "panels": "fepbench", "regimes": "fepbench",
    "logic-aesthetics": "aibench", "regions": "mmmg", "dispersion": "fepbench", "correlations": "fepbench",
    "checklist": "worldgenbench", "graphs": "mmmg",
}  # fmt: skip
"""Plot -> an exam that has it. The plot of data has no painters: it is drawn for every exam."""
FURTHER = (("drawings", "fepbench"), ("people", "aibench"), ("levels", "aibench"), ("failures", "genexam"),
           ("profile", "genexam"), ("distribution", "genexam"), ("heatmap", "worldgenbench"),
           ("categories", "worldgenbench"), ("by-judge", "aibench"))  # fmt: skip
"""The same plots of exams where they look unlike the first."""


@dataclass
class Stores:
    """Stores of made-up results by exam and number of painters, and what plots read from them, each made once."""

    folder: Path
    stores: dict[tuple[str, str], Store] = field(default_factory=dict)
    sources: dict[tuple[str, str], StoreSource] = field(default_factory=dict)

    def store(self, exam: str, count: str) -> Store:
        if (exam, count) not in self.stores:
            store = self.stores[exam, count] = Store(self.folder / f"{exam}-{count}")
            painters, questions = CASTS[count], (FEW if count == "3" else QUESTIONS)[exam]
            if exam == "mmmg":
                made_up.rated(store, painters, questions)
            elif exam == "aibench":
                made_up.compared(store, painters, questions)
            else:
                judges = JUDGES if exam == "genexam" else JUDGES[:1]
                controls = ["control/reference"] if count == "3" else []
                synthetic.fill(store, exam, painters=painters, questions=questions, judges=judges, controls=controls)
        return self.stores[exam, count]

    def source(self, exam: str, count: str) -> StoreSource:
        if (exam, count) not in self.sources:
            judges = {"genexam": JUDGES[:1], "aibench": ("openai/gpt-5.1",)}.get(exam, ())
            self.sources[exam, count] = load_source(exam, PlotChoice(store=self.store(exam, count), judges=judges))
        return self.sources[exam, count]

    def frame(self, name: str, exam: str, count: str) -> Any:
        """A plot's numbers: `PlotKind.frame` with the source shared by all plots."""
        kind = load_plots()[name]
        if kind.compared and kind.usual:
            return kind.usual(exam, PlotChoice(store=self.store(exam, count)))
        source = self.source(exam, count)
        own = kind.own.get(exam)
        if own is not None:
            return own.frame(source)
        assert kind.usual is not None
        return kind.usual(source)

    def close(self) -> None:
        for store in self.stores.values():
            store.close()


def drawn(name: str, exam: str, frame: Any, width: str) -> Any:
    """The figure of a frame."""
    kind = load_plots()[name]
    with look():
        sketch: Sketch = (kind.draw if kind.usual else DRAW_FUNCTIONS[kind.own[exam].draw])(frame, width)
    return compose([sketch], width)


def figures(stores: Stores, names: list[str]) -> Iterator[tuple[str, Any]]:
    """File names without an ending, and figures or why there is none."""
    for name, exam in (*EXAMS.items(), *FURTHER):
        for count in CASTS if not names or name in names else ():
            for width in WIDTHS:
                file = f"{name}-{exam}-{count}-{width}"
                try:
                    yield file, drawn(name, exam, stores.frame(name, exam, count), width)
                except UsageError as error:
                    yield file, str(error)
    for exam in SHIPPED if not names or "data" in names else ():
        sheet = load_plots()["data"]
        for width in WIDTHS:
            make = partial(sheet.frame, f"sample/{exam}", PlotChoice(store="nowhere"))
            try:
                yield f"data-{exam}-sample-{width}", drawn("data", exam, make(), width)
            except UsageError as error:
                yield f"data-{exam}-sample-{width}", str(error)


def main(folder: Path, names: list[str]) -> None:
    """Write them all and say what is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        stores = Stores(Path(place))
        for file, figure in figures(stores, names):
            print(file, figure if isinstance(figure, str) else "", flush=True)
            for form in FORMATS if not isinstance(figure, str) else ():
                write_figure(figure, folder / f"{file}.{form}", form)
        stores.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
