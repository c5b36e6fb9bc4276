"""docs/svg.md tells the truth about the limits."""

from __future__ import annotations

from dataclasses import asdict

from limner.strategies.svg import SvgLimits
from limner.strategies.svg.values import GEOMETRY
from tests.docs.blocks import ROOT
from tests.docs.tables import code, number, table

PAGE = ROOT / "docs" / "svg.md"


def test_documented_limits_match_code() -> None:
    rows = table(PAGE, "limit", "at most").rows
    assert {code(name): number(value) for name, value, _ in rows} == asdict(SvgLimits())


def test_documented_geometry_matches_code() -> None:
    words = " ".join(PAGE.read_text("utf-8").split())
    assert ", ".join(f"`{name}`" for name in ("x", "y", "width", "height", "cx", "cy", "r", "rx", "ry")) in words
    assert len(GEOMETRY) == 9
