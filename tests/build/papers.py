"""Small papers for tests: LaTeX with \\input, macros and several figures, and what a good annotator makes of them."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from limner.exams.aibench.recipe.graph_svg import to_svg
from limner.exams.aibench.recipe.logic_graph import LogicGraph
from limner.strategies.svg.rendering import render

ABSENT = "component.values.absent=3"
"""The setting with which the papers' annotator also asks about parts that are not there."""
PREAMBLE = r"""
\documentclass{article}
\usepackage{graphicx,xspace}
\usepackage{ours} %% our own package
\newcommand{\method}{\textsc{%(title)s}\xspace}
\newcommand{\code}[2][h]{$#1_{#2}$}
\def\part#1{\emph{#1}}
\graphicspath{{figs/}}
"""
INTRO = r"""
\section{Introduction}
Forecasts matter~\cite{a}. \begin{figure}[t]\includegraphics[width=\linewidth]{results_plot}
\caption{Qualitative results and accuracy curves.}\end{figure}
We present \method, which is new. % and good
\section{Related Work}
Others have done otherwise.
"""
METHOD = r"""
\section{%(heading)s}
\label{sec:method}
\begin{figure*}[t]
  \centering
  \includegraphics[width=\textwidth]{%(figure)s}
  \caption{Overview of \method: the pipeline of our proposed method.}
\end{figure*}
\method takes two sources that see different things. The \part{%(left)s} give a series of readings, and the
\part{%(right)s} gives a stack of maps of the same hours; neither is enough alone. %% they differ
\paragraph{Encoding.} Each source has an encoder of its own. The \part{%(left_model)s}, a gated recurrent network, maps
the readings to \code{a}. The \part{%(right_model)s}, a small convolutional network, maps the maps to \code{b}. The two
run side by side and share no weights, so that each can be trained by itself before they are joined for good.
\paragraph{%(phase)s.} The \part{Fusion Block} joins both codes by attention over time, and yields one code for every
hour of the day. From it the \part{%(head)s} predicts the \part{%(out)s} of the next six hours, for each place alike.
Where the forecast is in doubt the \part{Fusion Block} is run again, at most three times, with the codes of the hours
before, until the two last outcomes differ by less than a small bound that is found on held-out data of earlier years.
Training goes on in two turns: first both encoders by themselves, then all parts together with a lower rate.
"""
REST = r"""
\section{Experiments}
We measure a lot. \begin{figure}\includegraphics{detail}\caption{A closer look at the proposed gate.}\end{figure}
\section{Conclusion}
It works.
\bibliography{refs}
\appendix
\section{Method details}
Nothing of note.
"""


@dataclass(frozen=True)
class Theme:
    """One paper's names."""

    id: str
    title: str
    left: str
    right: str
    left_model: str
    right_model: str
    head: str
    out: str
    phase: str = "Forecasting"
    heading: str = "Method"
    figure: str = "overview.png"

    @property
    def graph(self) -> dict[str, Any]:
        """The logic graph of its method."""
        names = {"l": self.left, "r": self.right, "le": self.left_model, "re": self.right_model, "f": "Fusion Block",
                 "h": self.head, "o": self.out}  # fmt: skip
        late, data = ("f", "h", "o"), ("l", "r", "o")
        nodes = [
            {"id": id, "label": label, "phase_id": "p2" if id in late else "p1",
             "type": "data" if id in data else "model", "icon_hint": "box"}
            for id, label in names.items()
        ]  # fmt: skip
        pairs = [("l", "le", "readings"), ("r", "re", "maps"), ("le", "f", ""), ("re", "f", ""), ("f", "h", ""),
                 ("h", "o", "")]  # fmt: skip
        edges = [{"source": a, "target": b, "label": label} for a, b, label in pairs]
        phases = [{"id": "p1", "label": "Encoding"}, {"id": "p2", "label": self.phase}]
        return {"title": self.title, "layout_direction": "Left-to-Right", "phases": phases, "nodes": nodes,
                "edges": edges}  # fmt: skip

    @property
    def log(self) -> dict[str, Any]:
        """The execution log of its method."""
        return {
            "steps": [
                {"name": self.left_model, "action": "encodes", "input": [self.left], "output": ["$h_a$"],
                 "next_logic": "to the Fusion Block"},
                {"name": self.right_model, "action": "encodes", "input": [self.right], "output": ["$h_b$"],
                 "next_logic": "to the Fusion Block"},
                {"name": "Fusion Block", "action": "joins both codes", "input": ["codes"], "output": ["one code"],
                 "next_logic": f"IF in doubt repeat; ELSE to the {self.head}"},
                {"name": self.head, "action": "predicts", "input": ["one code"], "output": [self.out]},
            ]
        }  # fmt: skip

    def questions(self, level: str) -> list[dict[str, Any]]:
        """A level's questions, all with the right answer at A, as a lazy annotator writes them."""
        return {"component": self._component, "topology": self._topology, "phase": self._phase,
                "semantics": self._semantics}[level]()  # fmt: skip

    def _component(self) -> list[dict[str, Any]]:
        found = []
        labels = {node["id"]: node["label"] for node in self.graph["nodes"]}
        for id, track in (("le", "A"), ("re", "A"), ("f", "A"), ("h", "B")):
            short = "".join(word[0] for word in labels[id].split())
            found.append(
                {"question": f"Is the '{labels[id]}' component present (by this name, or by an abbreviation such as "
                 f"{short})?", "options": {"A": "Yes", "B": "No"}, "correct_option": "A", "rationale": "it is a node",
                 "track": track, "nodes": [id], "part": labels[id], "synonyms": [short]}
            )  # fmt: skip
        for name, short in (("Memory Bank", "MB"), ("Discriminator", "critic network"), ("Tokenizer", "word splitter")):
            found.append(
                {"question": f"Is the '{name}' component present (by this name, or by an abbreviation such as "
                 f"{short})?", "options": {"A": "No", "B": "Yes"}, "correct_option": "A", "rationale": "not there",
                 "track": "absent", "part": name, "synonyms": [short]}
            )  # fmt: skip
        return found

    def _topology(self) -> list[dict[str, Any]]:
        g = {node["id"]: node["label"] for node in self.graph["nodes"]}

        def which(about: str, node: str, right: str, *wrong: str) -> dict[str, Any]:
            says = "directly receives the output of" if about == "next" else "directly gives its output to"
            return {"question": f"In this method, which part {says} the '{g[node]}'?", "correct_option": "A",
                    "options": dict(zip("ABCD", (g[right], *(g[one] for one in wrong)), strict=True)),
                    "rationale": "Track A: main flow", "track": "A", "about": about, "nodes": [node]}  # fmt: skip

        def path(one: str, other: str, yes: bool) -> dict[str, Any]:
            return {"question": f"Does something flow directly from the '{g[one]}' to the '{g[other]}'?",
                    "options": {"A": "Yes" if yes else "No", "B": "No" if yes else "Yes"}, "correct_option": "A",
                    "rationale": "Track B: needed", "track": "B", "about": "path", "nodes": [one, other]}  # fmt: skip

        return [
            which("next", "l", "le", "re", "r", "f"), which("next", "re", "f", "le", "h", "l"),
            which("previous", "h", "f", "o", "le", "re"), path("f", "h", True), path("l", "h", False),
        ]  # fmt: skip

    def _phase(self) -> list[dict[str, Any]]:
        g = {node["id"]: node["label"] for node in self.graph["nodes"]}
        rest = {"B": "No, one follows the other", "C": "No, they are one block", "D": "No, one of them is not there"}
        no = {"A": "No, everything flows one way", "B": "Yes, from the outcome to the sources",
              "C": "Yes, from the joined code to the encoders", "D": "Yes, within the encoders"}  # fmt: skip
        return [
            {"question": f"While the sources are encoded, are '{g['le']}' and '{g['re']}' parallel branches?",
             "options": {"A": "Yes, side by side", **rest}, "correct_option": "A", "rationale": "no edge",
             "about": "parallel", "nodes": ["le", "re"], "holds": True},
            {"question": f"Do the outputs of both encoders converge into '{g['f']}'?",
             "options": {"A": "Yes, into this one", **rest}, "correct_option": "A", "rationale": "two edges",
             "about": "fan-in", "nodes": ["f", "le", "re"], "holds": True},
            {"question": f"Is there a feedback loop from '{g['o']}' to '{g['l']}'?", "options": no,
             "correct_option": "A", "rationale": "none", "about": "feedback", "nodes": ["o", "l"], "holds": False},
            {"question": f"Does '{g['h']}' branch out to several parts that come after it?", "options": no,
             "correct_option": "A", "rationale": "one edge", "about": "fan-out", "nodes": ["h"], "holds": False},
        ]  # fmt: skip

    def _semantics(self) -> list[dict[str, Any]]:
        asked = {
            "What kind of data goes in?": ("modality", "Time series and maps", "Text", "Speech", "Point clouds"),
            "What kind of data comes out?": ("modality", "A forecast series", "A sentence", "A mesh", "A sound"),
            "What does the whole do?": ("task", "It forecasts from two sources", "It translates", "It sorts pictures",
                                        "It finds objects"),
            "What is the task of this pipeline's last part?": ("task", "To predict", "To cluster", "To compress",
                                                               "To align"),
            "What is the idea at its heart?": ("mechanism", "Fusion of two codes by attention", "Diffusion in steps",
                                               "Tree search", "Contrast of pairs"),
        }  # fmt: skip
        return [
            {"question": question, "options": dict(zip("ABCD", rest, strict=True)), "correct_option": "A",
             "rationale": "the graph says so", "about": about}
            for question, (about, *rest) in asked.items()
        ]  # fmt: skip


TIDE = Theme("CVPR_2025/2501.00001v1", "Tidewatch", "River Gauges", "Rain Radar", "Gauge Encoder", "Radar Encoder",
             "Forecast Head", "Water Level")  # fmt: skip
FROST = Theme("ICCV_2025/2502.00002v2", "Frostline", "Soil Probes", "Cloud Camera", "Probe Encoder", "Camera Encoder",
              "Frost Head", "Ground Frost", heading="Frostline", figure="framework")  # fmt: skip
GRID = Theme("ICLR_2025/2503.00003v1", "Gridcast", "Smart Meters", "Weather Feed", "Meter Encoder", "Feed Encoder",
             "Load Head", "Power Demand", heading="Gridcast in Detail")  # fmt: skip
PLOT = Theme("NeurIPS_2025/2504.00004v1", "Plotter", "Ice Cores", "Dust Counts", "Core Encoder", "Dust Encoder",
             "Age Head", "Ice Age")  # fmt: skip
SAND = Theme("NeurIPS_2025/2505.00005v3", "Sandman", "Dune Scans", "Wind Masts", "Scan Encoder", "Mast Encoder",
             "Drift Head", "Dune Drift")  # fmt: skip
LIAR = Theme("ICLR_2025/2506.00006v1", "Liarbird", "Bird Calls", "Nest Cameras", "Call Encoder", "Nest Encoder",
             "Brood Head", "Brood Size")  # fmt: skip
THEMES = (TIDE, FROST, GRID, PLOT, SAND, LIAR)
"""Plain; found by its place, with a PDF figure; found by a model; no diagram; bad questions; a hostile annotator."""


@cache
def figure_png(theme: Theme) -> bytes:
    """The method figure: its graph, drawn."""
    if theme == PLOT:
        return plot_png(4)
    return render(to_svg(LogicGraph.model_validate(theme.graph)), side=1500)


@cache
def plot_png(seed: int) -> bytes:
    """A picture of results."""
    picture, chance = Image.new("RGB", (640, 400), "white"), random.Random(seed)
    draw = ImageDraw.Draw(picture)
    draw.line([(20 + 6 * n, 380 - 3 * n - chance.randrange(40)) for n in range(100)], fill="navy", width=3)
    return _saved(picture, "PNG")


def _saved(picture: Image.Image, kind: str) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind)
    return out.getvalue()


def files(theme: Theme) -> dict[str, bytes]:
    """A paper's files."""
    words = {name: getattr(theme, name) for name in ("title", "left", "right", "left_model", "right_model", "head",
                                                     "out", "phase", "heading", "figure")}  # fmt: skip
    main = (PREAMBLE % words) + (
        "\\begin{document}\n\\title{\\method: forecasts}\n\\input{sections/intro}\n\\input sections/method.tex\n"
        "\\include{sections/rest}\n\\iffalse \\section{Method} old \\fi\n\\end{document}\n"
    )
    png = figure_png(theme)
    rest = REST.replace("\\section{Experiments}", "\\section{What We Found}") if theme == GRID else REST
    found = {
        "main.tex": main.encode(),
        "ours.sty": rb"\newcommand{\unused}[1]{#1}",
        "sections/intro.tex": INTRO.encode(),
        "sections/method.tex": (METHOD % words).encode(),
        "sections/rest.tex": rest.encode(),
        "figs/results_plot.png": plot_png(1),
        "figs/detail.jpg": _saved(Image.open(io.BytesIO(plot_png(2))), "JPEG"),
    }
    if theme == FROST:
        found["figs/framework.pdf"] = _saved(Image.open(io.BytesIO(png)).convert("RGB"), "PDF")
    else:
        found["figs/overview.png"] = png
    return found


def packed(contents: dict[str, bytes]) -> bytes:
    """A tar.gz as arXiv gives it, always the same bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0)


def write_papers(folder: Path, themes: tuple[Theme, ...] = THEMES) -> Path:
    """A folder of papers: archives, one as a folder, one with no LaTeX at all, and the table."""
    for theme in themes:
        place = folder / theme.id
        place.parent.mkdir(parents=True, exist_ok=True)
        if theme == FROST:
            for name, data in files(theme).items():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(data)
        else:
            place.with_name(place.name + ".tar.gz").write_bytes(packed(files(theme)))
    (folder / "CVPR_2025").mkdir(exist_ok=True)
    (folder / "CVPR_2025" / "2599.00009v1.tar.gz").write_bytes(packed({"paper.pdf": b"%PDF-1.5 no LaTeX"}))
    (folder / "papers.csv").write_text(
        f"id,title,url,licence\n{TIDE.id},Tidewatch: forecasts,https://arxiv.org/abs/2501.00001,CC-BY-4.0\n"
        f"{FROST.id},Frostline,https://arxiv.org/abs/2502.00002,arXiv\n{GRID.id},Gridcast,,CC-BY-4.0\n", "utf-8"
    )  # fmt: skip
    return folder
