"""Makes the picture of ``docs/trust.md`` from its own example: ``python -m tests.docs.corrected_picture``."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import limner.api as api
from limner.scoring.corrected import Corrected
from tests.docs.blocks import ROOT, Session, blocks

PAGE = ROOT / "docs" / "trust.md"
COLOURS = {"raw": "#999999", "PPI++": "#1b6ca8"}


def main() -> None:
    """Run the example and draw each painter's intervals beside the truth."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with tempfile.TemporaryDirectory() as folder, Session(Path(folder)) as session:
        session.save(next(block for block in blocks(PAGE) if block.notes.get("file") == "make_up.py"))
        _, printed = session.run("python make_up.py")
        truth = {
            name: float(value) for name, value in re.findall(r"(\w+): the true relaxed score is ([\d.]+)", printed)
        }
        rows = {row.painter: row for row in api.scores("figures", store=Path(folder) / "limner-store", study="pilot")}
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 1.6), sharey=True)
    for axis, (painter, row) in zip(axes, sorted(rows.items()), strict=True):
        assert isinstance(row.corrected, Corrected)
        estimates: dict[str, Any] = {"raw": row.scores["relaxed"], "PPI++": row.corrected.ppi["relaxed"]}
        for place, (name, each) in enumerate(estimates.items()):
            assert each.low is not None
            assert each.high is not None
            axis.plot([each.low, each.high], [place, place], color=COLOURS[name], lw=3, solid_capstyle="butt")
            axis.plot(each.value, place, "o", color=COLOURS[name], ms=7)
        axis.axvline(truth[painter], color="black", lw=1, ls="--")
        axis.set_title(f"{painter} (dashed: the truth, {truth[painter]:.1f})", fontsize=10)
        axis.set_yticks(range(2), list(COLOURS))
        axis.set_ylim(1.6, -0.6)
        axis.set_xlabel("relaxed score")
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "images" / "corrected.png", dpi=110)


if __name__ == "__main__":
    main()
