"""docs/svg.md tells the truth about the limits."""

from __future__ import annotations

from dataclasses import asdict

from limner.strategies.svg import SvgLimits
from limner.strategies.svg.clean import FILTER_REACH, PRIMITIVE_COST
from limner.strategies.svg.document import ALLOWED
from limner.strategies.svg.values import GEOMETRY
from tests.docs.blocks import ROOT
from tests.docs.tables import code, number, table

PAGE = ROOT / "docs" / "svg.md"


def test_documented_limits_match_code() -> None:
    rows = table(PAGE, "limit", "at most").rows
    assert {code(name): number(value) for name, value, _ in rows} == asdict(SvgLimits())


def test_documented_numbers_match_code() -> None:
    words = " ".join(PAGE.read_text("utf-8").split())
    assert f"each step of a filter as {PRIMITIVE_COST}," in words
    assert f"a reach of {FILTER_REACH} times" in words
    assert "blur 500, morphology 20, turbulence 8 octaves, convolution 9 by 9" in words
    limits = ALLOWED["filter_limits"].values()
    assert sorted(most for row in limits for most in row.values()) == [8, 9, 20, 500, 500]
    assert ", ".join(f"`{name}`" for name in ("x", "y", "width", "height", "cx", "cy", "r", "rx", "ry")) in words
    assert len(GEOMETRY) == 9
