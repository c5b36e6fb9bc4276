"""Makes the picture of docs/svg.md: ``python -m tests.svg.pictures``."""

from __future__ import annotations

import io
import math
from pathlib import Path

from PIL import Image

from limner.svg import clean, extract, render

TARGET = Path(__file__).resolve().parents[2] / "docs" / "images" / "svg.png"
RAYS = "".join(
    f'<line x1="{80 + 42 * math.cos(at * math.pi / 6):.1f}" y1="{95 + 42 * math.sin(at * math.pi / 6):.1f}" '
    f'x2="{80 + 58 * math.cos(at * math.pi / 6):.1f}" y2="{95 + 58 * math.sin(at * math.pi / 6):.1f}"/>'
    for at in range(12)
)
REPLY = f"""Here is the diagram:

```svg
<svg width="160mm" height="100mm" viewBox="0 0 640 400" style="background: #f4faff; font-family: Arial">
  <defs>
    <radialGradient id="sun">
      <stop offset="0" stop-color="#fff3b0"/><stop offset="1" stop-color="#f5b700"/>
    </radialGradient>
    <linearGradient id="leaf" gradientTransform="rotate(35)">
      <stop offset="0" stop-color="#9bd770"/><stop offset="1" stop-color="#3b8132"/>
    </linearGradient>
    <filter id="soft" x="-10%" y="-10%" width="125%" height="130%">
      <feDropShadow dx="3" dy="4" stdDeviation="3"/>
    </filter>
    <marker id="tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7" orient="auto">
      <path d="M0 0L10 5L0 10z" fill="context-stroke"/></marker>
  </defs>
  <style>
    .gas {{ fill: none; stroke: #2a6f97; stroke-width: 4; marker-end: url(#tip) }}
    .name {{ font-size: 20px; font-weight: bold }} .gas:hover {{ stroke: red }}
  </style>
  <text x="370" y="40" text-anchor="end" font-size="28" font-weight="bold">Photosynthesis</text>
  <text x="390" y="40" font-size="28">光合作用</text>
  <g stroke="#f5b700" stroke-width="4" onclick="shine()">
    <circle cx="80" cy="95" r="34" fill="url(#sun)"/>{RAYS}</g>
  <path d="M140 115L235 165" stroke="#f5b700" stroke-width="6" stroke-dasharray="10 6" marker-end="url(#tip)"/>
  <path filter="url(#soft)" fill="url(#leaf)" d="M240 255C230 150 330 105 470 120C465 235 390 320 262 282
    Q300 230 400 165Q290 215 248 300L232 312Z"/>
  <path class="gas" d="M90 255H215"/><path class="gas" d="M470 200H570"/>
<path class="gas" d="M180 370Q215 350 228 325"/>
  <text class="name" x="90" y="240" fill="#2a6f97">CO<tspan baseline-shift="sub" font-size="14">2</tspan></text>
  <text class="name" x="520" y="185" fill="#2a6f97">O₂</text>
  <text class="name" x="120" y="378" fill="#2a6f97">H₂O</text>
  <text x="95" y="175" font-style="italic">light, <tspan font-family="Times">E = hν</tspan></text>
  <text x="620" y="330" text-anchor="end" font-size="22" font-family="Times New Roman">
    6 CO₂ + 6 H₂O → C₆H₁₂O₆ + 6 O₂</text>
  <text x="620" y="365" text-anchor="end" font-size="15" font-family="monospace">ΔG° ≈ +2870 kJ/mol</text>
</svg>
```
"""


def main() -> None:
    """From a reply to the picture, as a strategy does it."""
    image = Image.open(io.BytesIO(render(clean(extract(REPLY)), 800))).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(TARGET, optimize=True)
    print(f"{TARGET.name}: {image.width} x {image.height}, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
