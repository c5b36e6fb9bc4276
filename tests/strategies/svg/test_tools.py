"""What real programs write is taken and rendered."""

from __future__ import annotations

import io
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

from limner.strategies.svg import clean_with_notes, missing_glyphs, render
from tests.needs import need
from tests.strategies.svg import harmless

GRAPHS = {
    "plain": "digraph { a -> b -> c; a -> c }",
    "styled": 'digraph { bgcolor="#eef"; node [style=filled, fillcolor="red:yellow"]; x -> y [label="α ≤ β"] }',
    "undirected": "graph { layout=neato; a -- b -- c -- a }",
    "records": 'digraph { n [shape=record, label="{<p> left|right}|below"]; n:p -> m }',
    "html": "digraph { n [shape=none, label=<<table><tr><td bgcolor='gold'>H<sub>2</sub>O</td></tr></table>>] }",
    "clusters": 'digraph { subgraph cluster_a { label="inside"; a } a -> b [style=dashed, color="#0008"] }',
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphviz_output_is_rendered(name: str) -> None:
    need("graphviz", shutil.which("dot") is not None, "Graphviz is not installed: there is no dot")
    made = subprocess.run(["dot", "-Tsvg"], input=GRAPHS[name].encode(), capture_output=True, check=True).stdout
    found = clean_with_notes(made)
    harmless.check(found.svg)
    assert missing_glyphs(found.svg) == set()
    image = Image.open(io.BytesIO(render(found.svg))).convert("RGB")
    assert max(image.size) == 1024
    assert np.asarray(image).std() > 5


@pytest.mark.slow
@pytest.mark.parametrize("fonts", ["path", "none"])
def test_matplotlib_output_is_rendered(fonts: str) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    figure_module = pytest.importorskip("matplotlib.figure")
    with matplotlib.rc_context({"svg.fonttype": fonts}):
        figure = figure_module.Figure(figsize=(4, 3))
        axes = figure.subplots()
        axes.scatter(range(50), [at**2 % 17 for at in range(50)])
        axes.set_title(r"$\alpha_i \leq \sqrt{2}$")
        file = io.BytesIO()
        figure.savefig(file, format="svg")
    found = clean_with_notes(file.getvalue())
    harmless.check(found.svg)
    image = Image.open(io.BytesIO(render(found.svg, 384))).convert("RGB")
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=96)
    theirs = np.asarray(Image.open(file).convert("RGB"), dtype=float)
    assert np.abs(np.asarray(image, dtype=float) - theirs).mean() < 12
