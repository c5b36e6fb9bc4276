"""What Limner itself ships: an exam of another package, where one is installed, is no part of these tests."""

from __future__ import annotations

from limner.exams import EXAMS, SHIPPED
from limner.report.paper import Layout, known

LAYOUTS: dict[str, Layout] = {key: layout for key, layout in known().items() if layout.exam in SHIPPED}
DECLARED: dict[str, Layout] = {
    key: layout for key, layout in known().items() if layout.exam in EXAMS.own() and layout.exam not in SHIPPED
}
"""Those of the exams that are data alone, of which there is no made-up store."""
