"""The own steps of AIBench's recipe: LaTeX sources to a method text and its figure, question sets, and two screens."""

from __future__ import annotations

import asyncio
import csv
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from pydantic import Field

from .... import exams
from ....build.base import BuildItem, BuildStep, Dropped, StepContext, Use
from ....core.asks import Ask, Contract, Picture, Prompts, Reply, Text, Unreadable, Variant
from ....core.errors import DataError, UsageError
from ....core.exam import Question
from ....core.images import BadImage, inspect
from ....core.json_text import loads
from ....core.schema import StrictModel, read_model
from ....strategies.svg.rendering import render
from ..data import LETTERS, balance_letters
from . import latex_figures as latex
from .graph_svg import to_svg
from .latex_sources import find_papers, flatten, read_source
from .latex_text import expand_macros
from .level_questions import SetSize, checklist, parse_set
from .logic_graph import Level, LogicGraph, LogRules, QuestionRules, parse_graph, parse_log

KIND = "aibench"
LEVELS: tuple[Level, ...] = ("component", "topology", "phase", "semantics")


class RecipeRules(StrictModel):
    """The contents of rules.toml."""

    method: latex.MethodRules
    figures: latex.FigureRules
    log: LogRules
    questions: QuestionRules


@lru_cache(maxsize=8)
def read_rules(folder: Path) -> RecipeRules:
    """Return the rules in a recipe's folder.

    Raises:
        DataError: They cannot be read, or something in them is not valid.
    """
    return read_model(folder / "rules.toml", RecipeRules)


TABLE = "papers.csv"
COLUMNS = ("title", "url", "licence", "venue")


class PaperSettings(StrictModel):
    """The source of papers.

    Attributes:
        folder: A folder with archives from arXiv (.tar.gz) or folders with .tex files; folders above them are venues.
            A ``papers.csv`` in it may give ``id``, ``title``, ``url``, ``licence``, ``venue`` of each.
    """

    folder: Path | None = None


async def papers(items: Sequence[BuildItem], context: StepContext) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    """Yield an item for every paper in a folder of LaTeX sources."""
    how: PaperSettings = context.settings
    if how.folder is None:
        raise UsageError(f"where are the papers? --set {context.place}.folder=FOLDER")
    paper_list = await asyncio.to_thread(find_papers, how.folder)
    table = _table(how.folder / TABLE)
    for id, path in paper_list:
        details = table.get(id, {})
        venue, slash, _ = id.partition("/")
        body = {
            "path": str(path.resolve()),
            "changed": _changed(path),
            "venue": details.get("venue") or (venue if slash else ""),
            "licence": details.get("licence") or "unknown",
            "source": {name: details[name] for name in ("title", "url") if details.get(name)},
        }
        yield BuildItem(id, body, "paper")


def _changed(path: Path) -> list[float]:
    """Return a value that changes with the files: their number, sizes and times."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    stats = [file.stat() for file in files]
    return [len(stats), sum(stat.st_size for stat in stats), max((stat.st_mtime for stat in stats), default=0)]


def _table(path: Path) -> dict[str, dict[str, str]]:
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        if "id" not in (rows.fieldnames or ()):
            raise DataError(f"has no column id; it may also have {', '.join(COLUMNS)}", file=path)
        return {row["id"]: {name: row[name] for name in COLUMNS if row.get(name)} for row in rows}


SHOWN = 60
"""The number of words of each section that the model is shown."""


class MethodSettings(StrictModel):
    """The limit on the length of a method text, in characters; longer texts fit no painter."""

    longest: int = 60_000


async def method(item: BuildItem, context: StepContext) -> BuildItem:
    """Find the method section of a paper by rules, or else with a model."""
    rules = read_rules(context.folder)
    try:
        read = await asyncio.to_thread(_read_paper, Path(item.body["path"]), item.id)
    except DataError as error:
        raise Dropped("no LaTeX that can be read", str(error)) from error
    document, preamble, names, notes = read
    parts = latex.sections(document)
    if not parts:
        raise Dropped("no sections")
    chosen = latex.method_section(parts, rules.method)
    section, by = chosen or (await _chosen_section(item, context, parts), "a model")
    if section.words < rules.method.least_words:
        raise Dropped("method section too short", f"{section.words} words of at least {rules.method.least_words}")
    if len(section.text) > context.settings.longest:
        raise Dropped("method section too long", f"{len(section.text):,} characters")
    try:
        figures = latex.rank_figures(document, section.text, names, rules.figures, preamble)
    except ModuleNotFoundError as error:
        raise UsageError("reading LaTeX needs pylatexenc: pip install 'limner[build]'") from error
    return item.having(
        method=section.text, method_title=section.title, method_by=by, notes=list(notes),
        figures=[part.__dict__ for part in figures],
    )  # fmt: skip


def _read_paper(path: Path, id: str) -> tuple[str, str, frozenset[str], tuple[str, ...]]:
    source = read_source(path, id)
    flat = flatten(source)
    document, notes = expand_macros(flat)
    missing = tuple(f"{name} is not in the source" for name in flat.missing)
    return document, flat.preamble, source.names, (*source.left_out, *missing, *notes)


async def _chosen_section(
    item: BuildItem, context: StepContext, parts: Sequence[latex.LatexSection]
) -> latex.LatexSection:
    listed = "\n\n".join(
        f"{n}. {part.title} ({part.words} words)\n{' '.join(part.text.split()[:SHOWN])}"
        for n, part in enumerate(parts, 1)
    )
    shown = Text(context.prompts.fill("method-section", sections=listed))
    number = await context.ask("annotator", item, [shown], Contract(partial(_section_number, count=len(parts))))
    if number == 0:
        raise Dropped("no method section")
    return parts[number - 1]


def _section_number(text: str, count: int) -> int:
    number: Any = loads(text).get("section")
    if type(number) is not int or not 0 <= number <= count:
        raise Unreadable(f'"section" must be a number from 1 to {count}, or 0 where none is the method section')
    return number


class FigureSettings(StrictModel):
    """The choice of figures.

    Attributes:
        top: The number of the likeliest figures; the paper does not state its number.
        least_score: The lowest score of a figure's name, caption and position.
        least_side: The fewest pixels of the shorter side.
        pdf: Whether PDF figures are used, and figures that TeX draws, if it is installed with TikZ.
    """

    top: int = Field(default=4, ge=1, le=20)
    least_score: float = 1.0
    least_side: int = 200
    pdf: bool = True


async def figures(item: BuildItem, context: StepContext) -> BuildItem:
    """Turn the most likely figures of a paper into pictures."""
    how: FigureSettings = context.settings
    why, chosen = list[str](), list[latex.FigureCandidate]()
    for figure in (latex.FigureCandidate(**fields) for fields in item.body["figures"]):
        if figure.why_not or (figure.is_pdf and not how.pdf):
            why.append(f"{figure.file}: {figure.why_not or 'PDF is left out'}")
        elif figure.score < how.least_score:
            why.append(f"{figure.file}: counts for {figure.score:g}")
        else:
            chosen.append(figure)
    if any(figure.is_pdf for figure in chosen):
        latex.check_pdf()
    try:
        source = await asyncio.to_thread(read_source, Path(item.body["path"]), item.id)
        data = await asyncio.to_thread(source.take, *(figure.file for figure in chosen if not figure.tikz))
    except DataError as error:
        raise Dropped("no LaTeX that can be read", str(error)) from error
    pictures: dict[str, dict[str, Any]] = {}
    for figure in chosen:
        if len(pictures) == how.top:
            break
        try:
            sha256 = await asyncio.to_thread(_store_figure, figure, data.get(figure.file, b""), how, context)
        except BadImage as error:
            why.append(f"{figure.file}: {error}")
            continue
        fields = {"image": sha256, "file": figure.file, "caption": figure.caption, "score": figure.score}
        pictures.setdefault(sha256, fields)
    if not pictures:
        raise Dropped("no figure that could show the method", "; ".join(why) or "the paper has none")
    return item.having(candidates=list(pictures.values()), figures_left_out=why)


def _store_figure(figure: latex.FigureCandidate, data: bytes, how: FigureSettings, context: StepContext) -> str:
    if figure.is_pdf:
        data = latex.first_page(latex.compile_tikz(figure.tikz) if figure.tikz else data)
    info = inspect(data)
    if min(info.width, info.height) < how.least_side:
        raise BadImage(f"{info.width} x {info.height} pixels; at least {how.least_side} on each side are wanted")
    return context.blobs.put(data)[0]


async def pick(item: BuildItem, context: StepContext) -> BuildItem:
    """Choose the method figure by pairs in both orders."""
    candidates = item.body["candidates"]
    best, duels = candidates[0], list[dict[str, Any]]()
    for n, other in enumerate(candidates[1:], 1):
        first = await _better(item, context, best, other, f"{n}a")
        second = await _better(item, context, other, best, f"{n}b")
        # The candidates are ranked by rules; only the same choice in both orders overrules them.
        wins = first == 2 and second == 1
        duels.append({"held": best["file"], "against": other["file"], "won": wins, "agreed": first != second})
        best = other if wins else best
    return item.having(image=best["image"], caption=best["caption"], figure_file=best["file"], duels=duels)


async def _better(
    item: BuildItem, context: StepContext, first: dict[str, Any], second: dict[str, Any], name: str
) -> int:
    shown = context.prompts.fill("figure-pair", first=first["caption"] or "none", second=second["caption"] or "none")
    pictures = [Picture(first["image"], max_side=1024), Picture(second["image"], max_side=1024)]
    return await context.ask("checker", item, [*pictures, Text(shown)], Contract(_figure_number), name)


def _figure_number(text: str) -> int:
    choice: Any = loads(text).get("figure")
    if type(choice) is not int or choice not in (1, 2):
        raise Unreadable('"figure" must be 1 or 2')
    return choice


def read_log(reply: str, item: Mapping[str, Any], values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the execution log in a reply as text."""
    return {"log": parse_log(reply, item["method"], read_rules(folder).log).text()}


def read_logic_graph(reply: str, item: Mapping[str, Any], values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the logic graph in a reply."""
    return {"graph": parse_graph(reply, item["method"]).model_dump(mode="json")}


def read_level(reply: str, item: Mapping[str, Any], values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the questions of one level in a reply."""
    level: Level = values["level"]
    size = SetSize(values["least"], values["most"], values.get("absent", 0))
    graph = LogicGraph.model_validate(item["graph"])
    drafts = parse_set(reply, level, graph, item["method"], size, read_rules(folder).questions)
    return {f"{level}_set": [draft.model_dump(mode="json", exclude_defaults=True) for draft in drafts]}


async def question_set(item: BuildItem, context: StepContext) -> BuildItem:
    """Join the questions of all levels into one checklist, and draw the graph."""
    rows = checklist({level: item.body[f"{level}_set"] for level in LEVELS}, read_rules(context.folder).questions)
    rows = [as_released(row) for row in rows]
    drawn = to_svg(LogicGraph.model_validate(item.body["graph"]))
    picture, _ = await asyncio.to_thread(lambda: context.blobs.put(render(drawn)))
    return item.having(checklist=balance_letters(rows, item.id), graph_svg=drawn, graph_image=picture)


NOT_ENOUGH = "The picture does not contain sufficient information"
NOTE = "Only what the picture shows counts."


def as_released(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question in the release's form: one of four options is that the picture does not tell.

    A question of level 4 has the note that only the picture counts.
    """
    options, last = dict(row["options"]), LETTERS[3]
    if len(options) == len(LETTERS):
        wrong = last if row["correct_option"] != last else LETTERS[2]
        options[wrong] = NOT_ENOUGH
    words = row["question"]
    noted = row["level"].startswith("Level 4") and NOTE not in words
    return {**row, "options": options, "question": f"{words} {NOTE}" if noted else words}


class FigureScreenSettings(StrictModel):
    """The settings of screen 1.

    Attributes:
        variant: The protocol's variant: all questions in one call, or one question per call.
        least: The smallest share of right answers with which a paper is kept.
    """

    variant: str = "batched"
    least: float = Field(default=0.6, ge=0, le=1)


async def figure_screen(item: BuildItem, context: StepContext) -> BuildItem:
    """Drop papers whose figure answers too few of the questions."""
    question = _question(item, item.body["checklist"])
    right = await _answers(item, context, "checker", question)
    share = sum(right.values()) / len(right)
    if share < context.settings.least:
        raise Dropped("too few answers from its own figure", f"{sum(right.values())} of {len(right)} are right")
    return item.having(screened=share, wrong=[key for key, hit in right.items() if not hit])


class TextScreenSettings(StrictModel):
    """The settings of screen 2.

    Attributes:
        variant: The protocol's variant.
        each_level: The fewest questions of each level that must remain; otherwise the paper is dropped.
    """

    variant: str = "batched"
    each_level: int = Field(default=1, ge=0)


async def text_screen(item: BuildItem, context: StepContext) -> BuildItem:
    """Drop questions that a stronger model, with the text, also answers wrongly."""
    how: TextScreenSettings = context.settings
    rows: list[dict[str, Any]] = item.body["checklist"]
    keys = [entry.key for entry in _question(item, rows).rubric.checklist]
    asked = [row for row, key in zip(rows, keys, strict=True) if key in item.body["wrong"]]
    gone = set[str]()
    if asked:
        intro = context.prompts.fill("text-screen", method=item.body["method"])
        # The expert goes by the text too, so the note that only the picture counts would contradict its prompt.
        plain = [{**row, "question": row["question"].removesuffix(f" {NOTE}")} for row in asked]
        right = await _answers(item, context, "expert", _question(item, plain), intro)
        gone = {key for key, hit in right.items() if not hit}
    kept = [row for row, key in zip(rows, keys, strict=True) if key not in gone]
    for level in dict.fromkeys(row["level"] for row in rows):
        left = sum(row["level"] == level for row in kept)
        if left < how.each_level:
            raise Dropped("a level without questions", f"{level}: {left} left")
    removed = [row["question"] for row, key in zip(rows, keys, strict=True) if key in gone]
    return item.having(checklist=balance_letters(kept, item.id), removed=removed)


def _question(item: BuildItem, rows: Sequence[Mapping[str, Any]]) -> Question[Any]:
    rubric = exams.kind(KIND).rubric.model_validate({"checklist": rows})
    return Question(item.id, item.body["method"], rubric)


async def _answers(
    item: BuildItem, context: StepContext, role: str, question: Question[Any], intro: str = ""
) -> dict[str, bool]:
    """Return for each criterion whether it was answered correctly from the figure, after a text if there is one."""
    kind = exams.kind(KIND)
    own = context.folder / "prompts" / "screen" if intro else None
    variant = Variant(context.settings.variant, Prompts(kind.prompts, own))
    replies = []
    for ask in kind.protocol.asks(question, item.body["image"], {}, variant):
        shown = [Text(intro), *ask.shown] if intro else list(ask.shown)
        text = await context.ask(role, item, shown, Contract(_parse(ask), ask.contract.schema), ask.name)
        replies.append(Reply(ask.name, text))
    return {mark.criterion: bool(mark.value) for mark in kind.protocol.marks(question, replies, "careful")}


def _parse(ask: Ask) -> Callable[[str], str]:
    """Return a parser that keeps the text of valid replies: an unreadable reply is a fault, not a wrong answer."""

    def read(text: str) -> str:
        ask.contract.parse(text)
        return text

    return read


STEPS = {
    step.name: replace(step, takes="paper", makes="paper")
    for step in (
        BuildStep("papers", "LaTeX sources: archives and folders", PaperSettings, source=papers, preview=True),
        BuildStep(
            "method", "the method section, by its heading or by a model; figures by file name and caption",
            MethodSettings, ("annotator",), ("method-section",), ("path", "changed"), each=method,
            use=(Use("annotator", "method-section", 20),),
        ),
        BuildStep("figures", "the likeliest figures as pictures", FigureSettings,
                  reads=("path", "changed", "figures"), each=figures),
        BuildStep("pick", "the method figure, by pairs in both orders", roles=("checker",), prompts=("figure-pair",),
                  reads=("candidates",), each=pick, use=(Use("checker", "figure-pair", 30, 2, 6),)),
        BuildStep("question-set", "one checklist, its letters dealt out evenly",
                  reads=("graph", *(f"{level}_set" for level in LEVELS)), each=question_set),
        BuildStep("figure-screen", "screen 1: papers whose own figure answers too few", FigureScreenSettings,
                  ("checker",), reads=("checklist", "image", "method"), each=figure_screen,
                  use=(Use("checker", "", 250, 1),)),
        BuildStep("text-screen", "screen 2: questions answered wrongly twice", TextScreenSettings, ("expert",),
                  ("text-screen",), ("checklist", "image", "method", "wrong"), each=text_screen,
                  use=(Use("expert", "text-screen", 60, 1),)),
    )
}  # fmt: skip
"""The recipe's own steps, by name."""
