"""The papers' tables: the published figures together with a store's own.

A layout (TOML) defines what a table shows; `build` fills it from the published figures and from a store; the renderers
in ``tables`` write it in each format.
"""

from .build import build
from .schema import Layout, TableChoice, find, known, wrong
