"""Files made to harm: those of hostile.toml, and those that are too long to write down."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 100 100">'
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


def _written() -> dict[str, Case]:
    table = tomllib.loads(Path(__file__).with_name("hostile.toml").read_text("utf-8"))
    files = {name: row.get("file", f"HEAD{row.get('body')}</svg>").replace("HEAD", HEAD) for name, row in table.items()}
    return {name: Case(partial(str, file), table[name].get("refused")) for name, file in files.items()}


def _uses(width: int, depth: int, wrap: str = "g") -> str:
    levels = "".join(f'<{wrap} id="a{at}">' + f'<use href="#a{at + 1}"/>' * width + f"</{wrap}>" for at in range(depth))
    return f'{HEAD}{levels}<g id="a{depth}"><rect width="1" height="1"/></g><use href="#a0"/></svg>'


def _patterns() -> str:
    filled = '<rect width="9" height="9" fill="url(#p{})"/>'
    levels = "".join(
        f'<pattern id="p{at}" width=".1" height=".1">{filled.format(at + 1) * 12}</pattern>' for at in range(8)
    )
    return f'{HEAD}{levels}<pattern id="p8"/><rect width="100" height="100" fill="url(#p0)"/></svg>'


def _points(count: int) -> str:
    return "".join(f"L{at % 100} {at * 7 % 100}" for at in range(count))


def _markers() -> str:
    marker = f'<marker id="m">{"<g/>" * 300}</marker>'
    return f'{HEAD}{marker}<path marker-mid="url(#m)" d="M0 0{_points(9000)}"/></svg>'


def _style(at: int) -> str:
    return f'<rect style="{"a:b;" * 2_000}x:{at}"/>'


def _blurs(count: int) -> Callable[[], str]:
    return _in(f'<filter id="f">{"<feOffset/>" * count}</filter><rect filter="url(#f)"/>')


_RED = '<rect width="100" height="100" fill="red" filter="url(#f)"/>'
HOSTILE = _written() | {
    "quadratic entity": Case(
        lambda: f'<!DOCTYPE svg [<!ENTITY a "{"x" * 100_000}">]>{HEAD}{"&a;" * 10_000}</svg>', "DOCTYPE"
    ),
    "deep nesting": Case(_in("<g>" * 100_000 + "</g>" * 100_000), "deep"),
    "many elements": Case(_in("<g/>" * 100_000), "elements"),
    "many attributes": Case(lambda: HEAD + "<g " + " ".join(f"a{at}='1'" for at in range(100_000)) + "/></svg>"),
    "large file": Case(_in("<!--" + "x" * 3_000_000 + "-->"), "bytes"),
    "bad UTF-8": Case(lambda: f"{HEAD}<text>".encode() + b"\xc3\x28\xa0\xff</text></svg>", "UTF-8"),
    "UTF-16": Case(lambda: f"{HEAD}<rect width='50' height='50'/></svg>".encode("utf-16")),
    "half a UTF-16": Case(lambda: f"{HEAD}</svg>".encode("utf-16")[:-1], "UTF-8"),
    "UTF-7": Case(lambda: b'<?xml version="1.0" encoding="UTF-7"?>+ADw-svg/+AD4-', "XML"),
    "NUL": Case(_in("<text>a\0b</text>"), "XML"),
    "NUL in a tag": Case(lambda: "<svg\0 viewBox='0 0 9 9'/>", "XML"),
    "lone surrogate": Case(_in("<text>\ud800</text>"), "UTF-8"),
    "gzip": Case(lambda: b"\x1f\x8b\x08\x00" + b"\x00" * 40, "UTF-8"),
    "markers on every point": Case(_markers),
    "thousand filter steps": Case(_blurs(1000)),
    "wide convolution": Case(
        _in(f'<filter id="f"><feConvolveMatrix order="99" kernelMatrix="{"1 " * 9801}"/></filter>')
    ),
    "millions of points": Case(lambda: f'{HEAD}<path d="M0 0{"l1 1" * 400_000}"/></svg>', "characters"),
    "sixty thousand points": Case(lambda: f'{HEAD}<path stroke="red" d="M0 0{_points(60_000)}"/></svg>'),
    "long text": Case(lambda: f"{HEAD}<text>{'word ' * 50_000}</text></svg>", "characters of text"),
    "brackets in a value": Case(_in(f'<rect fill="{"(" * 50_000}"/>'), "bracket"),
    "functions in a value": Case(_in(f'<rect filter="{"blur(" * 50_000}"/>'), "not drawn here"),
    "brackets in a style": Case(_in(f'<rect style="fill:{"[" * 50_000}"/>'), "bracket"),
    "brackets in a selector": Case(_in(f"<style>{'[' * 50_000}a{{fill:red}}</style>"), "style"),
    "brackets in an at-rule": Case(_in(f"<style>@media {'(' * 50_000}</style>"), "style"),
    "long value": Case(_in(f'<rect fill="({"a+" * 1_000_000}"/>'), "characters"),
    "long style": Case(_in(f'<rect style="{"a:b;" * 500_000}"/>'), "characters"),
    "many long styles": Case(lambda: HEAD + "".join(_style(at) for at in range(250)) + "</svg>", "characters"),
    "many long values": Case(_in(f'<rect fill="{"a+" * 4_000}"/>' * 250), "characters"),
}

_TILE = '<pattern id="p" width="1e7" height="1e7" patternUnits="userSpaceOnUse"><rect width="9" height="9"/></pattern>'
_DASHES = '<path d="M0 0L100 100" stroke="red" stroke-width="9" stroke-dasharray=".0005"/>'
HEAVY = {
    "use in a circle": Case(_in('<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>'), "nodes limit"),
    "exponential use": Case(lambda: _uses(10, 9), "nodes limit"),
    "exponential symbols": Case(lambda: _uses(2, 60, "symbol"), "nodes limit"),
    "long chain of uses": Case(lambda: _uses(1, 5000), "nodes limit"),
    "exponential patterns": Case(_patterns, "MiB of memory"),
    "wide morphology": Case(_in(f'<filter id="f"><feMorphology radius="5000"/></filter>{_RED}'), "seconds"),
    "endless turbulence": Case(
        _in(f'<filter id="f"><feTurbulence baseFrequency=".1" numOctaves="100000"/></filter>{_RED}'), "seconds"
    ),
    "giant tile": Case(_in(f'{_TILE}<rect width="100" height="100" fill="url(#p)"/>'), "MiB of memory"),
    "layers": Case(_in('<g opacity=".5"><rect width="100" height="100"/></g>' * 3000), "seconds"),
    "tiny dashes": Case(_in(_DASHES * 200), "seconds"),
    "text in pieces": Case(_in(f"<text y='9'>{'<tspan>Hey</tspan> ' * 4900}</text>"), "seconds"),
}
"""Harmless to read, too much to render: the renderer's own limits end them."""
