"""Tables to be written down: one with everything that is hard to write, and all real ones."""

from __future__ import annotations

from limner.report.tables.model import Cell, Column, RowBlock, Sheet, Table, TableRow

NASTY = (
    r"a\b{c}$x_1^2$ & 50% #1 ~ [v2] <b>&amp;\"'|`*_",
    "[starts with a bracket]",
    "-- two hyphens -- and – a dash …",
    "\x1b[31mred\x07\nnext",
    "学术插图模型 <script>alert(1)</script>",
)


def nasty() -> Table:
    """Hostile names everywhere a name can stand; every rank, interval, bound and mark."""
    columns = (
        Column(NASTY[0], "over & out", "p0"),
        Column("plain", "over & out", "p1", notes=(1,), coverage=0.5),
        Column("words", "", "p2", words=True, published=True),
    )
    lines = tuple(
        TableRow(
            name,
            (
                Cell("10.0", 10.0, "5.0", "15.0", rank=1, published=number == 0),
                Cell("1.0 … 2.0", least="1.0", most="2.0", rank=2),
                Cell(name),
            ),
            published=number == 0,
            notes=(1, 2) if number else (),
            coverage=0.25 if number else None,
            about={"painter": name},
        )
        for number, name in enumerate(NASTY)
    )
    sheet = Sheet("", "stub | x", columns, (RowBlock(NASTY[4], lines), RowBlock("", lines[:1])))
    return Table("x:y", "title", (sheet,), (sheet,), (NASTY[0], "second"), (NASTY[1],), (NASTY[2], "other"))
