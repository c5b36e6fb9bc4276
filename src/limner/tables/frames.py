"""Results as Python shows them: as data frames, and as HTML in a notebook. The numbers are the terminal's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core.errors import need_extra, need_polars
from ..core.redaction import without_secrets

if TYPE_CHECKING:
    import pandas
    import polars

    from .model import Table

FrameRows = tuple[Sequence[str], Sequence[Mapping[str, Any]]]
"""Names of columns, and rows that have some of them."""


class Framed(ABC):
    """What has tables to be looked at and rows to be counted with."""

    @abstractmethod
    def tables(self) -> list[Table]:
        """What the terminal shows."""

    @abstractmethod
    def frame_rows(self) -> FrameRows:
        """What ``--format csv`` writes, before it is text."""

    def to_polars(self) -> polars.DataFrame:
        """The rows of ``--format csv`` as a polars frame: one number a row.

        Raises:
            UsageError: There is no polars.
        """
        need_polars("to_polars()")
        import polars

        names, rows = self.frame_rows()
        clean = without_secrets([dict(row) for row in rows])
        return polars.DataFrame({name: [row.get(name) for row in clean] for name in names}, strict=False)

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a pandas frame.

        Raises:
            UsageError: There is no pandas.
        """
        need_extra("pandas", "notebook", "to_pandas()")
        import pandas

        names, rows = self.frame_rows()
        return pandas.DataFrame(without_secrets([dict(row) for row in rows]), columns=list(names))

    def to_csv(self) -> str:
        """What ``--format csv`` prints."""
        from .render.csv import records

        return records(*self.frame_rows())

    def __str__(self) -> str:
        """What the terminal shows, without colours."""
        from .render import rendered

        return "\n".join(rendered(table, "text").rstrip("\n") for table in self.tables())

    def _repr_html_(self) -> str:
        from .render.html import fragments

        return fragments(self.tables())


def numbers_of(names: Sequence[str], rows: Sequence[Mapping[str, str]], words: Sequence[str]) -> FrameRows:
    """Rows of text with their numbers as numbers: in every column but `words` where each text is one or empty.

    >>> numbers_of(["row", "a"], [{"row": "1", "a": "2.5"}, {"row": "2", "a": ""}], ["row"])[1]
    [{'row': '1', 'a': 2.5}, {'row': '2', 'a': None}]
    """
    plain: set[str] = {name for name in names if name not in words}
    for row in rows:
        plain -= {name for name in plain if not _numeric(row.get(name, ""))}
    found = [{name: _number(text) if name in plain else text for name, text in row.items()} for row in rows]
    return names, found


def _numeric(text: str) -> bool:
    try:
        _number(text)
    except ValueError:
        return False
    return True


def _number(text: str) -> float | None:
    return float(text) if text else None
