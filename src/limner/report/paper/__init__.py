"""The papers' tables: what the papers print, and beside it what a store holds.

A layout (TOML) says what a table shows; `build` fills it from the published figures and from a store; the renderers in
``tables/render`` write it down.
"""

from .build import TableChoice, build
from .schema import Layout, find, known, wrong

__all__ = ["Layout", "TableChoice", "build", "find", "known", "wrong"]
