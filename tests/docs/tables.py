"""Tables of the documentation, and what Limner ships to hold them against."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from limner.core.json_text import gap_names
from limner.core.settings import PainterFacts, Settings, load_shipped
from limner.core.wire import ANYTHING
from limner.painters import SERVICES
from tests.docs.blocks import ROOT

PROVIDERS = ROOT / "docs" / "providers"
KNOWN: dict[str, Any] = load_shipped()
SETTINGS = Settings.model_validate(KNOWN)
NOTHING = "–"


@dataclass(frozen=True)
class Table:
    """A table: the heading it stands under, the names of its columns, its rows."""

    section: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, name: str) -> list[str]:
        """The cells of one column."""
        return [row[self.head.index(name)] for row in self.rows]


def tables(page: Path) -> Iterator[Table]:
    """The page's tables in order."""
    section, kept = "", list[tuple[str, ...]]()
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            kept.append(tuple(cell.strip() for cell in line.strip().strip("|").split("|")))
        elif kept:
            head, rule, *rows = kept
            assert {"-"} <= set("".join(rule)) <= {"-", ":"}, f"{page.name}: {head}: no rule below the head"
            assert all(len(row) == len(head) for row in rows), f"{page.name}: {head}: rows of another length"
            yield Table(section, head, tuple(rows))
            kept = []
        if line.startswith("#"):
            section = line.lstrip("# ")


def table(page: Path, *head: str, section: str | None = None) -> Table:
    """The one table whose columns begin with these, in whatever section or in the one named."""
    found = [each for each in tables(page) if each.head[: len(head)] == head and section in (None, each.section)]
    assert len(found) == 1, f"{page.name}: {len(found)} tables with the columns {', '.join(head)}"
    return found[0]


def code(cell: str) -> str:
    """What a cell that holds nothing but code says."""
    named = re.fullmatch(r"\[?`([^`]+)`(?:\]\(.+\))?", cell)
    assert named, f"{cell!r} is no code"
    return named[1]


def number(cell: str) -> float | None:
    """What a cell with a number says; None for a dash."""
    return None if cell == NOTHING else float(cell.replace(",", ""))


def provider_rows() -> list[tuple[str, ...]]:
    """The rows of the table of providers, as the settings have them."""
    rows: list[tuple[str, ...]] = []
    for name, known in SETTINGS.providers.items():
        draws, marks = known.image_shape is not None, "shape" in KNOWN["providers"][name]
        key = f"`{known.key_env}`" if known.key_env else "none"
        rows.append((f"[`{name}`]({name}.md)", "yes" if draws else "no", "yes" if marks else "no", key))
    return rows


def service_rows() -> list[tuple[str, ...]]:
    """The rows of the table of image services, as they are registered; other packages' aside."""
    rows: list[tuple[str, ...]] = [(f"`{name}`", SERVICES.about(name)) for name in SERVICES.own()]
    return rows


MODEL_HEAD = ("model", "input", "output", "priced on", "source")
PAINTER_HEAD = ("painter", "per image", "at most", "an edit", "priced on", "source")
SIZE_HEAD = ("painter", "square", "landscape", "portrait", "longest prompt")
CATALOGUE_HEAD = ("model", "maker", "released", "gone on", "successor", "called in the papers")


def sizes(facts: PainterFacts) -> tuple[str, ...]:
    """What is asked for by aspect, and the longest prompt."""
    told = [f"`{facts.sizes[aspect]}`" if aspect in facts.sizes else NOTHING for aspect in ASPECTS]
    beyond = {"cut": ", then cut", "refused": ", beyond refused", None: ""}[facts.over_limit]
    return (*told, NOTHING if facts.prompt_limit is None else f"{facts.prompt_limit:,}{beyond}")


ASPECTS: tuple[Literal["square", "landscape", "portrait"], ...] = ("square", "landscape", "portrait")


def size_rows(name: str) -> list[tuple[str, ...]]:
    """A provider's painters with their sizes, and what is asked of any other."""
    shape = SETTINGS.providers[name].image_shape
    usual = dict(SERVICES.get(shape).painter.sizes) if shape else {}
    other = SETTINGS.usual.get(name, PainterFacts.model_validate({"sizes": usual}))
    own = [spec for spec in SETTINGS.painters if spec.startswith(f"{name}/")]
    return [*((f"`{spec}`", *sizes(SETTINGS.painter(spec))) for spec in own), ("any other", *sizes(other))]


def model_price_rows(name: str) -> list[tuple[str, ...]]:
    """A provider's models that are paid by tokens."""
    return [
        (
            f"`{spec}`",
            f"{facts.input_price:.2f}",
            f"{facts.output_price:.2f}",
            facts.priced_on or "",
            facts.source or "",
        )
        for spec, facts in SETTINGS.models.items()
        if spec.startswith(f"{name}/") and facts.input_price is not None
    ]


def painter_price_rows(name: str) -> list[tuple[str, ...]]:
    """A provider's painters whose images have a price or a bound."""
    return [
        (
            f"`{spec}`",
            _price(facts.image_price),
            _price(facts.image_bound),
            _price(facts.edit_price),
            facts.priced_on or "",
            facts.source or "",
        )
        for spec, facts in SETTINGS.painters.items()
        if spec.startswith(f"{name}/") and (facts.image_price, facts.image_bound) != (None, None)
    ]


def catalogue_rows() -> list[tuple[str, ...]]:
    """Every model of the catalogue."""
    rows: list[tuple[str, ...]] = []
    for name, facts in SETTINGS.models.items():
        heir = f"`{facts.successor}`" if facts.successor else NOTHING
        told = (facts.maker or NOTHING, str(facts.released or NOTHING), str(facts.shutdown or NOTHING), heir)
        unsure = "" if facts.confirmed else " ?"
        rows.append((f"`{name}`{unsure}", *told, ", ".join(facts.paper_names) or NOTHING))
    return rows


def _price(dollars: float | None) -> str:
    return NOTHING if dollars is None else f"{dollars:.2f}" if round(dollars, 2) == dollars else f"{dollars:g}"


def generated_tables() -> Iterator[tuple[Path, tuple[str, ...], list[tuple[str, ...]]]]:
    """Every table that the settings fill: its page, the beginning of its head, its rows."""
    index = PROVIDERS / "index.md"
    yield index, ("provider", "draws", "marks", "key variable"), provider_rows()
    yield index, ("`image_shape`", "whose it is"), service_rows()
    yield ROOT / "docs" / "models.md", CATALOGUE_HEAD, catalogue_rows()
    for name, provider in SETTINGS.providers.items():
        page = PROVIDERS / f"{name}.md"
        if provider.image_shape:
            yield page, SIZE_HEAD, size_rows(name)
        for head, rows in ((MODEL_HEAD, model_price_rows(name)), (PAINTER_HEAD, painter_price_rows(name))):
            if rows:
                yield page, head, rows


def rewrite(page: Path, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Put these rows below a table's head."""
    lines = page.read_text("utf-8").splitlines()
    first = lines.index(_line(head)) + 2
    last = next(n for n in range(first, len(lines) + 1) if n == len(lines) or not lines[n].startswith("|"))
    page.write_text("\n".join([*lines[:first], *map(_line, rows), *lines[last:]]) + "\n", "utf-8")


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


FIELD_HEAD = ("sent or read", "documented in", "read on")


def wire_fields(name: str) -> set[str]:
    """Every field that is sent to a described service, or read in its replies, for whichever of its models."""
    base = SETTINGS.wires[name]
    found = {path for switch in SETTINGS.rewrites.get(name, {}).values() for path in switch.off}
    for wire in (base, *(base.of_model(pattern.replace("*", "x")) for pattern in base.models)):
        found |= {way for way, value in _leaves(wire.body) if isinstance(value, str) or "." not in way}
        found |= {option for option in wire.options if option != ANYTHING}
        found |= {*(wire.edit.fields if wire.edit else ()), *wire.image, *wire.error}
        found |= {way for way in (wire.state, wire.prompt_sent, wire.cost) if way}
        found |= {gap for way in (wire.poll, wire.fetch, wire.link) if way for gap in gap_names(way)}
    return {field for field in found if not any(part in field for part in UNTOLD)}


UNTOLD = ("class_type", "inputs.model", "sampler_name", "scheduler")
"""Parts of a graph whose values are its own."""


def _leaves(body: dict[str, Any], way: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in body.items():
        place = f"{way}.{key}".lstrip(".")
        if isinstance(value, dict):
            yield from _leaves(value, place)
        else:
            yield place, value
