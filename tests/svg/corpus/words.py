"""Text in many ways."""

from __future__ import annotations

from tests.svg.corpus.page import page


def text(words: str, **attributes: str) -> str:
    said = {"x": "10", "y": "50", "font_size": "18"} | attributes
    names = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in said.items())
    return f"<text{names}>{words}</text>"


WORDS = {
    "plain": page(text("Petal Ähre")),
    "anchors": page(
        '<path d="M60 0V90" stroke="red"/>'
        + "".join(
            text("label", x="60", y=y, text_anchor=anchor)
            for y, anchor in (("20", "start"), ("50", "middle"), ("80", "end"))
        )
    ),
    "faces": page(
        text("Bold", y="20", font_weight="bold", font_family="Arial")
        + text("Slanted", y="40", font_style="italic", font_family="Helvetica")
        + text("Serif", y="60", font_family="Times New Roman")
        + text("Width 1", y="80", font_family="monospace")
    ),
    "lines": page(
        text('one<tspan x="10" dy="1.2em">two</tspan><tspan x="10" dy="1.2em" fill="red">three</tspan>', y="20")
    ),
    "indices": page(
        text('H<tspan baseline-shift="sub" font-size="12">2</tspan>O, x<tspan dy="-6" font-size="12">2</tspan>')
    ),
    "turned": page(text("y axis", transform="rotate(-90 20 80)", x="20", y="80")),
    "along": page(
        '<path id="p" d="M10 70Q60 0 110 70" fill="none" stroke="#ccc"/>'
        '<text font-size="15"><textPath href="#p" startOffset="50%" '
        'text-anchor="middle">along a curve</textPath></text>'
    ),
    "spaced": page(text("wide", letter_spacing="6", y="30") + text("as long as this", textLength="100", y="70")),
    "middle": page('<path d="M0 45H120" stroke="red"/>' + text("on it", y="45", dominant_baseline="middle")),
    "outlined": page(
        text("Aa", font_size="70", fill="gold", stroke="black", stroke_width="2", y="70", paint_order="stroke")
    ),
    "styled": page(
        '<style>text { font: italic bold 24px Georgia, serif; fill: #360 }</style><text x="8" y="52">Styled</text>'
    ),
    "mathematics": page(
        text("∑ᵢ xᵢ² ≤ √2π", y="30") + text("∫₀^∞ e⁻ˣ dx → 1", y="60") + text("α β γ Δ ∇ ∂ ∈ ℝ", y="90"),
        width=180,
        height=105,
    ),
    "arrows-signs": page(text("→ ⇌ ↑ ↓ ⟂ ∠ °C µ Ω") + text("♀ ♂ ✓ ✗ ★ ☀", y="80"), width=180),
    "cyrillic": page(text("Клетка", y="40") + text("Ελλάδα", y="70", font_family="serif")),
}

FAR_EASTERN = {
    "chinese": page(text("光合作用", y="40") + text("细胞膜 H₂O", y="70", font_family="SimSun")),
    "japanese": page(text("みかづき", y="40") + text("カタカナ漢字", y="70")),
    "korean": page(text("세포막", y="40", font_weight="bold") + text("광합성", y="70")),
}
"""Need a font of the machine."""
