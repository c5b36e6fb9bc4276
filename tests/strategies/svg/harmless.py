"""Looks at a clean file with other eyes: the standard library's reader and rules of its own."""

from __future__ import annotations

import re
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
XML = "{http://www.w3.org/XML/1998/namespace}"
FORBIDDEN = {"script", "foreignObject", "animate", "animateTransform", "animateMotion", "set", "metadata", "iframe"}
LINK = re.compile(r"#.*|data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")


def check(svg: str) -> None:
    """Assert that nothing in it runs, moves or leads outside."""
    assert "<!" not in svg
    assert "<?" not in svg
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert all(float(root.attrib[side]) > 0 for side in ("width", "height"))
    assert len(root.attrib["viewBox"].split()) == 4
    for element in root.iter():
        assert element.tag.startswith(SVG), element.tag
        assert element.tag.removeprefix(SVG) not in FORBIDDEN
        for name, value in element.attrib.items():
            assert not name.lower().startswith("on")
            assert not name.startswith("{") or name in (f"{XML}space", f"{XML}lang")
            if name == "href":
                assert LINK.fullmatch(value), value
            elif name not in ("id", "class"):
                _style(value)
        if element.tag == f"{SVG}style":
            assert "@" not in (element.text or "")
            _style(element.text or "")


def _style(text: str) -> None:
    assert "\\" not in text
    assert "/*" not in text
    # All that a browser would fetch stands in url(), image() or the like; of these only url(#…) may be here.
    for found in re.finditer(r"([\w-]+)\s*\(\s*(.?)", text):
        assert found[1].lower() not in ("image", "image-set", "src", "expression", "var", "attr", "cross-fade")
        assert found[1].lower() != "url" or found[2] == "#", text
