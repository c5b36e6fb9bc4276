"""FEPBench: scientific figures, verified atom by atom."""

from pathlib import Path

from .. import Kind
from .analysis import PLOTS, count_atoms
from .data import Atoms, read, read_results, write
from .protocol import FEPBench

_HERE = Path(__file__).parent

FEPBENCH = Kind(
    name="fepbench",
    title="FEPBench: natural-science figures from two kinds of prompt, verified atom by atom",
    rubric=Atoms,
    protocol=FEPBench(),
    read=read,
    prompts=_HERE / "prompts",
    sample=_HERE / "sample",
    presets=_HERE / "presets.toml",
    download=_HERE / "download.toml",
    read_results=read_results,
    paper=_HERE / "paper",
    studies=_HERE / "studies",
    plots=PLOTS,
    statistics={"atoms": count_atoms},
    recipe=_HERE / "recipe",
    write=write,
)
