"""The pages list what Limner itself registers, in its own words; what other packages add is theirs to document."""

from __future__ import annotations

import re

import pytest

from limner.evidence.probe import PROBES
from limner.judges import JUDGES
from limner.painters import PAINTERS
from limner.strategies import STRATEGIES
from tests.docs.blocks import ROOT
from tests.docs.tables import table

DOCS = ROOT / "docs"


def plain(cell: str) -> str:
    """A cell without its links."""
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", cell)


def test_registered_painters_are_documented() -> None:
    rows = {row[0]: row[1] for row in table(DOCS / "painters.md", "`--painter`", "draws by").rows}
    services = [cell for cell in rows if "/…" in cell]
    assert [plain(rows.pop(cell)) for cell in services] == ["calling an image service"]
    own = {f"`{PAINTERS.usage(name)}`": PAINTERS.about(name) for name in PAINTERS.own()}
    assert {cell: plain(about) for cell, about in rows.items()} == own


def test_registered_judges_are_documented() -> None:
    rows = table(DOCS / "choose.md", "`--judge`", "how it marks").rows
    documented = {", ".join(re.findall(r"`([^`]+)`", cell)): about for cell, about in rows}
    assert documented == {JUDGES.usage(name): JUDGES.about(name) for name in JUDGES.own()}


def test_registered_strategies_are_documented() -> None:
    rows = table(DOCS / "strategies.md", "strategy", "what happens", "asks").rows
    documented = {plain(name): (about, re.findall(r"`([^`]+)`", asks)) for name, about, asks in rows}
    own = {name: STRATEGIES.get(name) for name in STRATEGIES.own() if name != "direct"}
    assert documented == {name: (stage.about, list(stage.roles)) for name, stage in own.items()}


@pytest.mark.parametrize(
    ("evidence", "page", "head"),
    [
        ("ocr", "evidence.md", ("`--ocr`", "what it is")),
        ("regions", "evidence.md", ("`--regions`", "what it is")),
        ("aesthetics", "evidence.md", ("`--aesthetics`", "what it is")),
    ],
)
def test_registered_probes_are_documented(evidence: str, page: str, head: tuple[str, str]) -> None:
    rows = {row[0]: row[1] for row in table(DOCS / page, *head).rows}
    own = [name for name in PROBES.own() if name.startswith(f"{evidence}.")]
    assert own
    for name in own:
        first = PROBES.usage(name).split(", ")[0]
        (documented,) = [
            about for cell, about in rows.items() if f"`{first}`" in cell and about.startswith(PROBES.about(name))
        ]
        assert documented
