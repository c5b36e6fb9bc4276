"""FEPBench: scientific figures, verified atom by atom."""

from pathlib import Path

from .. import Kind, usual_parts
from .analysis import PLOTS, count_atoms
from .data import Atoms, read, read_results, write
from .protocol import FEPBench

FEPBENCH = Kind(
    **usual_parts(Path(__file__).parent),
    name="fepbench",
    title="FEPBench: natural-science figures from two kinds of prompt, verified atom by atom",
    rubric=Atoms,
    protocol=FEPBench(),
    read=read,
    read_results=read_results,
    plots=PLOTS,
    statistics={"atoms": count_atoms},
    write=write,
)
