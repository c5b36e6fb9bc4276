"""Files made to harm: each must be refused with these words, or come out harmless."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 100 100">'
FULL = '<rect width="100" height="100" fill="red" filter="url(#f)"/>'
FORBIDDEN = (
    "<script", "<foreignobject", "<!entity", "<!doctype", "javascript:", "onload", "onclick", "http:", "https:",
    "file:", "@import", "expression(", "<animate", "<set", "<iframe", "svg+xml", "text/html", "xlink", "//",
)  # fmt: skip
"""Never in a clean file, in small letters, once the one namespace is taken away."""


@dataclass(frozen=True)
class Case:
    """How the file is made, and what is said of it; without words it is rendered, harmless."""

    make: Callable[[], str | bytes]
    refused: str | None = None


def _in(body: str) -> Callable[[], str]:
    return lambda: f"{HEAD}{body}</svg>"


def _filter(steps: str, region: str = "") -> Callable[[], str]:
    return _in(f'<filter id="f" {region}>{steps}</filter>{FULL}')


def _laughs() -> str:
    entities = "".join(f'<!ENTITY a{at + 1} "{f"&a{at};" * 10}">' for at in range(9))
    return f'<!DOCTYPE svg [<!ENTITY a0 "ha">{entities}]>{HEAD}<text>&a9;</text></svg>'


def _uses(width: int, depth: int, wrap: str = "g") -> str:
    levels = "".join(f'<{wrap} id="a{at}">' + f'<use href="#a{at + 1}"/>' * width + f"</{wrap}>" for at in range(depth))
    return f'{HEAD}{levels}<g id="a{depth}"><rect width="1" height="1"/></g><use href="#a0"/></svg>'


def _patterns() -> str:
    filled = '<rect width="9" height="9" fill="url(#p{})"/>'
    levels = "".join(
        f'<pattern id="p{at}" width=".1" height=".1">{filled.format(at + 1) * 12}</pattern>' for at in range(8)
    )
    return f'{HEAD}{levels}<pattern id="p8"/><rect width="100" height="100" fill="url(#p0)"/></svg>'


def _attributes() -> str:
    many = " ".join(f"a{at}='1'" for at in range(100_000))
    return f"{HEAD}<g {many}/></svg>"


def _points(count: int) -> str:
    return "".join(f"L{at % 100} {at * 7 % 100}" for at in range(count))


def _css(rule: str) -> Callable[[], str]:
    return _in(f"<style>{rule}</style><rect width='50' height='50'/>")


NESTED_SVG = base64.b64encode(f"{HEAD}<script>alert(1)</script></svg>".encode()).decode()
DTD = '<!DOCTYPE svg SYSTEM "file:///etc/passwd">'

HOSTILE = {
    "entity bomb": Case(_laughs, "DOCTYPE"),
    "quadratic entity": Case(
        lambda: f'<!DOCTYPE svg [<!ENTITY a "{"x" * 100_000}">]>{HEAD}{"&a;" * 10_000}</svg>', "DOCTYPE"
    ),
    "external entity": Case(
        lambda: f'<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>{HEAD}<text>&x;</text></svg>', "DOCTYPE"
    ),
    "parameter entity": Case(
        lambda: f'<!DOCTYPE svg [<!ENTITY % x SYSTEM "http://a.example/"> %x;]>{HEAD}</svg>', "DOCTYPE"
    ),
    "external DTD": Case(lambda: f"{DTD}{HEAD}<rect width='9' height='9'/></svg>"),
    "entity of an external DTD": Case(lambda: f"{DTD}{HEAD}<text>&secret;</text></svg>", "entity"),
    "undeclared entity": Case(_in("<text>&nbsp;</text>"), "entity"),
    "stylesheet instruction": Case(lambda: f'<?xml-stylesheet href="http://a.example/a.css"?>{HEAD}</svg>'),
    "remote image": Case(_in('<image href="https://a.example/a.png" width="9" height="9"/>'), "image"),
    "remote image by xlink": Case(_in('<image xlink:href="//a.example/a.png" width="9" height="9"/>'), "image"),
    "image of a file": Case(_in('<image href="file:///etc/passwd" width="9" height="9"/>'), "image"),
    "image by path": Case(_in('<image href="/etc/passwd" width="9" height="9"/>'), "image"),
    "image by relative path": Case(_in('<image href="../../secret.png" width="9" height="9"/>'), "image"),
    "SVG in an image": Case(
        _in(f'<image href="data:image/svg+xml;base64,{NESTED_SVG}" width="9" height="9"/>'), "image"
    ),
    "SVG called PNG": Case(_in(f'<image href="data:image/png;base64,{NESTED_SVG}" width="9" height="9"/>'), "image"),
    "HTML in an image": Case(_in('<image href="data:text/html,&lt;script&gt;" width="9" height="9"/>'), "image"),
    "remote use": Case(_in('<use href="https://a.example/a.svg#x"/>'), "outside"),
    "use of a file": Case(_in('<use xlink:href="file:///etc/x.svg#x"/>'), "outside"),
    "remote gradient": Case(_in('<linearGradient id="a" href="http://a.example/#b"/>'), "outside"),
    "remote paint": Case(_in('<rect width="9" height="9" fill="url(http://a.example/#x)"/>'), "outside"),
    "remote paint, not closed": Case(_in('<rect width="9" height="9" style="fill:url(//a.example/#x"/>'), "outside"),
    "remote filter picture": Case(_filter('<feImage href="http://a.example/a.png"/>'), "image"),
    "script": Case(_in("<script>alert(1)</script>"), "script"),
    "script from elsewhere": Case(_in('<script href="http://a.example/a.js"/>'), "script"),
    "script under a prefix": Case(
        lambda: '<s:svg xmlns:s="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><s:script/></s:svg>', "script"
    ),
    "script in HTML's name": Case(_in('<script xmlns="http://www.w3.org/1999/xhtml">alert(1)</script>')),
    "onload": Case(lambda: HEAD.replace(">", ' onload="alert(1)">') + '<g onclick="a()" ONMOUSEOVER="b()"/></svg>'),
    "javascript link": Case(_in('<a xlink:href="javascript:alert(1)"><rect width="50" height="50"/></a>')),
    "animated link": Case(
        _in('<a><set attributeName="href" to="javascript:alert(1)"/><rect width="9" height="9"/></a>')
    ),
    "animations": Case(_in('<rect width="9" height="9"><animate attributeName="x" to="9" dur="1s"/></rect>')),
    "foreignObject": Case(
        _in('<foreignObject width="9" height="9"><p xmlns="http://www.w3.org/1999/xhtml">a</p></foreignObject>'), "HTML"
    ),
    "foreignObject in a switch": Case(
        _in(
            '<switch><foreignObject><iframe src="http://a.example"/></foreignObject>'
            '<rect width="9" height="9"/></switch>'
        )
    ),
    "unknown element": Case(_in('<iframe src="http://a.example"/>'), "iframe"),
    "base": Case(lambda: HEAD.replace(">", ' xml:base="http://a.example/">') + "<g/></svg>"),
    "import": Case(_css("@import url(http://a.example/a.css); rect { fill: blue }")),
    "import, second form": Case(_css("@import 'http://a.example/a.css';")),
    "font from elsewhere": Case(_css("@font-face { font-family: x; src: url(http://a.example/f.woff) }")),
    "url in CSS": Case(_css("rect { fill: url('http://a.example/#x') }"), "outside"),
    "url in capitals": Case(_css("rect { fill: URL( http://a.example/#x ) }"), "outside"),
    "url by escapes": Case(_css(r"rect { fill: \75\72\6c(http://a.example/#x) }"), "backslash"),
    "url by escapes in an attribute": Case(
        _in(r'<rect width="9" height="9" fill="\75 rl(http://a.example)"/>'), "backslash"
    ),
    "url split by a comment": Case(_css("rect { fill: u/**/rl(http://a.example/#x) }"), r"rl\(\)"),
    "image-set": Case(_css("rect { mask: image-set('http://a.example/a.png' 1x) }"), "image-set"),
    "expression": Case(_in('<rect width="9" height="9" style="width: expression(alert(1))"/>'), "expression"),
    "cursor": Case(_css("rect { cursor: url(http://a.example/c.cur), auto }")),
    "rule left open": Case(_css("rect { fill: red"), "not closed"),
    "string over lines": Case(_css("rect { font-family: 'a\n} @import 'http://a.example'; }"), "style"),
    "huge canvas": Case(lambda: '<svg width="1e9" height="1e9"/>', "width"),
    "huge viewBox": Case(lambda: '<svg viewBox="0 0 1e9 1e9"/>', "viewBox"),
    "endless canvas": Case(lambda: '<svg width="1e999" height="5"/>', "width"),
    "canvas of NaN": Case(lambda: '<svg width="NaN" height="5"/>', "length"),
    "long strip": Case(lambda: '<svg width="90000" height="1"/>', "too long"),
    "no area": Case(lambda: '<svg width="0" height="5"/>', "width"),
    "negative": Case(lambda: '<svg viewBox="0 0 -5 5"/>', "viewBox"),
    "deep nesting": Case(_in("<g>" * 100_000 + "</g>" * 100_000), "deep"),
    "many elements": Case(_in("<g/>" * 100_000), "elements"),
    "many attributes": Case(_attributes),
    "large file": Case(_in("<!--" + "x" * 3_000_000 + "-->"), "bytes"),
    "bad UTF-8": Case(lambda: f"{HEAD}<text>".encode() + b"\xc3\x28\xa0\xff</text></svg>", "UTF-8"),
    "UTF-16": Case(lambda: f"{HEAD}<rect width='50' height='50'/></svg>".encode("utf-16")),
    "half a UTF-16": Case(lambda: f"{HEAD}</svg>".encode("utf-16")[:-1], "UTF-8"),
    "UTF-7": Case(lambda: b'<?xml version="1.0" encoding="UTF-7"?>+ADw-svg/+AD4-', "XML"),
    "NUL": Case(_in("<text>a\0b</text>"), "XML"),
    "NUL in a tag": Case(lambda: "<svg\0 viewBox='0 0 9 9'/>", "XML"),
    "lone surrogate": Case(_in("<text>\ud800</text>"), "UTF-8"),
    "empty": Case(lambda: "", "XML"),
    "HTML page": Case(lambda: "<html><body/></html>", "outermost"),
    "wrong namespace": Case(lambda: '<svg xmlns="http://a.example/" viewBox="0 0 9 9"/>', "outermost"),
    "unknown prefix": Case(_in("<x:rect/>"), "prefix"),
    "gzip": Case(lambda: b"\x1f\x8b\x08\x00" + b"\x00" * 40, "UTF-8"),
    "use of itself": Case(_in('<g id="a"><use href="#a"/></g>'), "itself"),
    "use in a circle": Case(_in('<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>'), "itself"),
    "exponential use": Case(lambda: _uses(10, 9), "more than"),
    "exponential symbols": Case(lambda: _uses(2, 60, "symbol"), "more than"),
    "long chain of uses": Case(lambda: _uses(1, 5000), "more than"),
    "pattern in itself": Case(
        _in('<pattern id="p" width="1" height="1"><rect width="9" height="9" fill="url(#p)"/></pattern>'), "itself"
    ),
    "exponential patterns": Case(_patterns, "more than"),
    "mask in a circle": Case(
        _in('<mask id="a"><g mask="url(#b)"/></mask><mask id="b"><g mask="url(#a)"/></mask>'), "itself"
    ),
    "clip of itself": Case(
        _in('<clipPath id="c" clip-path="url(#c)"><rect width="9" height="9"/></clipPath>'), "itself"
    ),
    "mask in a circle by CSS": Case(
        _in('<style>.m { mask: url(#a) }</style><mask id="a"><g class="m"/></mask>'), "itself"
    ),
    "filter picture of itself": Case(
        _in('<filter id="f"><feImage href="#r"/></filter><rect id="r" filter="url(#f)"/>'), "itself"
    ),
    "gradients in a circle": Case(
        _in('<linearGradient id="a" href="#b"/><linearGradient id="b" href="#a"/>'), "itself"
    ),
    "marker with itself": Case(
        _in(
            '<style>path { marker-end: url(#m) }</style><marker id="m" markerWidth="9" markerHeight="9">'
            '<path d="M0 0L5 5z"/></marker><path d="M9 9L50 50" stroke="red"/>'
        )
    ),
    "markers on every point": Case(
        lambda: (
            f'{HEAD}<marker id="m">{"<g/>" * 300}</marker><path marker-mid="url(#m)" d="M0 0{_points(9000)}"/></svg>'
        ),
        "more than",
    ),
    "giant blur": Case(_filter('<feGaussianBlur stdDeviation="1e9"/>'), "too large"),
    "giant region": Case(
        _filter('<feGaussianBlur stdDeviation="9"/>', 'x="-1e6" y="-1e6" width="1e9" height="1e9"'), "too large"
    ),
    "wide morphology": Case(_filter('<feMorphology radius="5000"/>'), "too large"),
    "endless turbulence": Case(_filter('<feTurbulence baseFrequency=".1" numOctaves="100000"/>'), "too large"),
    "wide convolution": Case(_filter(f'<feConvolveMatrix order="99" kernelMatrix="{"1 " * 9801}"/>'), "too large"),
    "thousand blurs": Case(_filter('<feGaussianBlur stdDeviation="50"/>' * 1000), "more than"),
    "millions of points": Case(lambda: f'{HEAD}<path d="M0 0{"l1 1" * 400_000}"/></svg>', "characters"),
    "sixty thousand points": Case(lambda: f'{HEAD}<path stroke="red" d="M0 0{_points(60_000)}"/></svg>'),
    "long text": Case(lambda: f"{HEAD}<text>{'word ' * 50_000}</text></svg>", "characters of text"),
    "giant letters": Case(_in('<text y="50" font-size="1e30">A</text>')),
    "numbers beyond all": Case(_in('<path d="M1e400 -1e400L1e39 NaN" stroke-width="1e300" stroke="red"/>')),
    "tiny tiles": Case(
        _in(
            '<pattern id="p" width="1e-9" height="1e-9" patternUnits="userSpaceOnUse"><rect width="1" height="1"/>'
            "</pattern>"
            '<rect width="100" height="100" fill="url(#p)"/>'
        )
    ),
}

HEAVY = {
    "giant tile": Case(
        _in(
            '<pattern id="p" width="1e7" height="1e7" patternUnits="userSpaceOnUse"><rect width="9" height="9"/>'
            "</pattern>"
            '<rect width="100" height="100" fill="url(#p)"/>'
        ),
        "MiB of memory",
    ),
    "layers": Case(_in('<g opacity=".5"><rect width="100" height="100"/></g>' * 3000), "seconds"),
    "tiny dashes": Case(
        _in('<path d="M0 0L100 100" stroke="red" stroke-width="9" stroke-dasharray=".0005"/>' * 200),
        "seconds",
    ),
    "text in pieces": Case(_in(f"<text y='9'>{'<tspan>Hey</tspan> ' * 4900}</text>"), "seconds"),
}
"""Harmless to read, too much to render: the renderer's own limits end them."""
