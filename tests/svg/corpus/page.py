"""The sheet of paper that the corpus is drawn on."""

from __future__ import annotations


def page(body: str, width: int = 120, height: int = 90, **attributes: str) -> str:
    """A whole file of this size around a body; names of attributes are written with _ for - and :."""
    said = "".join(f' {name.replace("__", ":").replace("_", "-")}="{value}"' for name, value in attributes.items())
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"{said}>'
    return f"{head}{body}</svg>"
