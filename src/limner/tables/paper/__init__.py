"""The papers' tables: what the papers print, and beside it what a store holds.

A layout (TOML) says what a table shows; `build` fills it from the published figures and from a store; the renderers in
``report/render`` write it down.
"""

from ..model import Cell, Column, Group, Line, Sheet, Table
from .build import Choice, build
from .layout import find, known, wrong
from .schema import Layout

__all__ = ["Cell", "Choice", "Column", "Group", "Layout", "Line", "Sheet", "Table", "build", "find", "known", "wrong"]
