"""What may stand in a picture: elements, attributes and properties as plain tables, limits, and the error past them."""

from __future__ import annotations

from dataclasses import dataclass


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


SHAPES = words("rect circle ellipse line polyline polygon path")
TEXT = words("text tspan textPath")
PRIMITIVES = words(
    """feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap
    feDropShadow feFlood feGaussianBlur feImage feMerge feMorphology feOffset feSpecularLighting feTile
    feTurbulence"""
)
KEPT = (
    SHAPES
    | TEXT
    | PRIMITIVES
    | words(
        """svg g defs symbol use switch a marker mask clipPath pattern linearGradient radialGradient stop image filter
        feFuncA feFuncB feFuncG feFuncR feMergeNode feDistantLight fePointLight feSpotLight style title desc"""
    )
)

DROPPED = words(
    """metadata animate animateColor animateMotion animateTransform set discard mpath view cursor color-profile font
    font-face font-face-format font-face-name font-face-src font-face-uri glyph missing-glyph
    hkern vkern"""
)
"""Elements that a still picture does not show."""

REFUSED = {
    "script": "scripts are not run: write out the shapes that it would draw",
    "foreignObject": "HTML inside SVG is not drawn: use text and tspan, one line of words each",
}

PROPERTIES = words(
    """alignment-baseline background-color baseline-shift clip-path clip-rule color color-interpolation
    color-interpolation-filters direction display dominant-baseline fill fill-opacity fill-rule filter flood-color
    flood-opacity font font-family font-kerning font-size font-size-adjust font-stretch font-style font-variant
    font-weight glyph-orientation-vertical image-rendering isolation kerning letter-spacing lighting-color marker
    marker-end marker-mid marker-start mask mask-type mix-blend-mode opacity overflow paint-order shape-rendering
    stop-color stop-opacity stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin
    stroke-miterlimit stroke-opacity stroke-width text-anchor text-decoration text-rendering transform
    transform-origin unicode-bidi visibility white-space word-spacing writing-mode"""
)
"""What a style may set; each is an attribute too."""

GEOMETRY = words("x y width height cx cy r rx ry")
"""Attributes that CSS may set as well, though the renderer looks for them among the attributes only."""

ATTRIBUTES = (
    PROPERTIES
    | GEOMETRY
    | words(
        """id class href xml:space xml:lang lang systemLanguage requiredFeatures requiredExtensions
        viewBox preserveAspectRatio x1 y1 x2 y2 fx fy fr d points pathLength dx dy rotate textLength lengthAdjust
        startOffset method spacing side path
        gradientUnits gradientTransform spreadMethod offset patternUnits patternContentUnits patternTransform
        clipPathUnits maskUnits maskContentUnits markerUnits markerWidth markerHeight refX refY orient
        filterUnits primitiveUnits in in2 result mode type values tableValues slope intercept amplitude exponent
        operator k1 k2 k3 k4 order kernelMatrix divisor bias targetX targetY edgeMode preserveAlpha
        kernelUnitLength surfaceScale diffuseConstant specularConstant specularExponent azimuth elevation z
        pointsAtX pointsAtY pointsAtZ limitingConeAngle scale xChannelSelector yChannelSelector stdDeviation
        radius baseFrequency numOctaves seed stitchTiles"""
    )
)

FUNCTIONS = {
    name.lower(): name
    for name in words(
        """url rgb rgba hsl hsla matrix translate translateX translateY scale scaleX scaleY rotate skewX skewY blur
        brightness contrast drop-shadow grayscale hue-rotate invert opacity saturate sepia"""
    )
}
"""Functions in values that are drawn as meant, by their names in small letters."""

FILTER_LIMITS = {
    ("feMorphology", "radius"): 20.0,
    ("feTurbulence", "numOctaves"): 8.0,
    ("feConvolveMatrix", "order"): 9.0,
    ("feGaussianBlur", "stdDeviation"): 500.0,
    ("feDropShadow", "stdDeviation"): 500.0,
}
"""The largest numbers taken where a larger one costs time and shows nothing more."""


class BadSvg(ValueError):
    """No picture, a broken one, or one that is not taken. The message says where and what; a model can mend by it."""

    def __init__(self, message: str, line: int | None = None) -> None:
        self.line = line
        super().__init__(f"line {line}: {message}" if line else message)


@dataclass(frozen=True)
class SvgLimits:
    """What one file may hold and its rendering may use. Sides are in pixels of 1/96 inch, or units of the viewBox."""

    bytes: int = 2 * 2**20
    elements: int = 20_000
    depth: int = 100
    path_chars: int = 400_000
    """Of the path data or points of one element."""
    text_chars: int = 20_000
    css_chars: int = 100_000
    css_rules: int = 1_000
    longest_side: float = 100_000
    shortest_side: float = 0.01
    proportion: float = 50
    """The longer side of the picture over the shorter one."""
    drawn: int = 200_000
    """Elements, once every reference is written out. Long paths, long texts and filters count as several."""
    image_bytes: int = 2**20
    """Of all pictures inside the file together."""
    image_pixels: int = 4_000_000
    seconds: int = 4
    """Processor time for one rendering."""
    memory: int = 2**30
    """Address space of the process that renders."""
    rendered_side: int = 4096


LIMITS = SvgLimits()
