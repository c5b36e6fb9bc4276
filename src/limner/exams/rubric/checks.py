"""Checks of a definition: of its parts with each other, of its prompts, and of its columns with those of the data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from ...core.asks import FIELD
from ...core.data_rows import Problems
from ...core.protocol import Reading
from ...core.schema import line_of, name_place, read_model
from .definition import SHOWN, AskPlan, Definition

Place = tuple[Any, ...]
"""The keys that lead to a place in exam.toml; or a template, and words in it."""
Wrong = Iterator[tuple[Place, str]]
PRESET_KEYS = ("judge", "variant", "reading", "judge_args", "options", "painter_args", "painters", "draw_options",
               "seed", "least_side", "regions", "aesthetics")  # fmt: skip


def read_definition(path: Path) -> Definition:
    """Return the definition in an ``exam.toml``.

    Raises:
        DataError: Something in it or in its templates is wrong; the message has the line of every problem.
    """
    definition = read_model(path, Definition)
    wrong = [*_wrong_asks(definition, path.parent / definition.prompts), *_wrong_tags(definition)]
    wrong += [*_wrong_scores(definition, ("scores",)), *_wrong_summaries(definition), *_wrong_presets(definition)]
    scores = [score.name for score in definition.scores]
    for reading, plan in definition.readings.items():
        place = ("readings", reading, "scores")
        wrong += _unknown((*place, "name"), [score.name for score in plan.scores], scores, "a score")
        wrong += _wrong_scores(definition.read_as(reading), place) if plan.scores else ()
    problems = Problems()
    add_wrong(problems, path, wrong)
    problems.settle()
    return definition


def add_wrong(problems: Problems, path: Path, wrong: Iterable[tuple[Place, str]]) -> None:
    """Add what is wrong in an exam.toml at this path, and in its templates, with the lines."""
    text = path.read_text(encoding="utf-8")
    for place, message in wrong:
        if isinstance(place[0], Path):
            lines = place[0].read_text(encoding="utf-8").splitlines()
            problems.add(message, place[0], next((n for n, line in enumerate(lines, 1) if place[1] in line), 1))
        else:
            problems.add(f"{name_place(place)}: {message}", path, line_of(text, place))


def used_columns(definition: Definition, prompts: Path) -> Iterator[tuple[str, Place]]:
    """Yield the columns, tags and scores that criteria, conditions and templates use, with their places."""
    for n, family in enumerate(definition.criteria):
        place = ("criteria", n)
        if family.column:
            yield family.column, (*place, "from")
        else:
            yield from ((name, (*place, "text")) for name in FIELD.findall(family.text))
            if isinstance(family.weight, str):
                yield family.weight, (*place, "weight")
    for table in ("criteria", "asks", "scores"):
        for n, plan in enumerate(getattr(definition, table)):
            yield from ((condition.field, (table, n, "when")) for condition in plan.when)
    for template in dict.fromkeys(name for ask in definition.asks for name in ask.templates):
        file = prompts / f"{template}.md"
        yield from ((name, (file, f"{{{{{name}}}}}")) for name in dict.fromkeys(FIELD.findall(_read(file))))


def absent_columns(definition: Definition, prompts: Path, columns: Sequence[str]) -> Wrong:
    """Yield each use of a name that is neither a column of the data, nor declared, nor said to be optional."""
    if not columns:
        return
    own = {"criteria", "reply", "count", "prompt", "id", *_part_names(definition), *definition.tags}
    own |= {score.name for score in definition.scores}
    own |= {name.removesuffix("?") for names in definition.columns.values() for name in names}
    known = {name.casefold() for name in (*own, *columns, *definition.columns)}
    for name, place in used_columns(definition, prompts):
        if not name.endswith("?") and not {name.casefold(), name.partition(".")[0].casefold()} & known:
            more = sorted(_part_names(definition)) if place[0] == "scores" else ()
            more = ["criteria", "reply", "count", *sorted(_part_names(definition))] if len(place) == 2 else more
            yield place, f"no row has a column {name!r}; there are: {', '.join([*columns, *more])}"


def _wrong_asks(definition: Definition, prompts: Path) -> Wrong:
    """Yield what is wrong with criteria and asks: the place and a message."""
    families, names = [family.name for family in definition.criteria], _part_names(definition)
    yield from _repeated("criteria", families)
    yield from _repeated("asks", [ask.name for ask in definition.asks])
    for n, ask in enumerate(definition.asks):
        place = ("asks", n)
        yield from _unknown((*place, "criteria"), ask.criteria, names, "a criterion or group")
        yield from _unknown((*place, "keys"), ask.keys, {*names, "value", "reason"}, "a criterion, value or reason")
        missing = [name for name in ask.templates if not (prompts / f"{name}.md").is_file()]
        for name in missing:
            words = f"there is no file {prompts / name}.md" + (
                "" if name == ask.prompt else f"; besides templates, an ask shows {', '.join(SHOWN)}"
            )
            yield (*place, "prompt" if name == ask.prompt else "shows"), words
        for part in ("prompt", "drawing"):
            if part not in ask.shows:
                yield (*place, "shows"), f'"{part}" is missing, so the judge would not see it'
        if not missing:
            yield from _wrong_templates(definition, ask, prompts)
        if ask.reply == "list" and any(
            each.kind != "yesno" for name in ask.criteria for each in definition.family(name)
        ):
            yield (*place, "reply"), "a list of zeros and ones decides criteria of yes and no only"
        for option, value in ask.only.items():
            values = {"variant": definition.variants, **definition.options}.get(option, ())
            yield from _unknown((*place, "only", option), [value], values, f"a declared value of {option}")
    asked = {each.name for ask in definition.asks for name in ask.criteria for each in definition.family(name)}
    for n, name in enumerate(families):
        if name not in asked:
            yield ("criteria", n, "name"), f"no ask has the criterion {name!r} among its criteria"


def _wrong_templates(definition: Definition, ask: AskPlan, prompts: Path) -> Wrong:
    """Yield which criteria, or the form of a reply, the templates of an ask do not show."""
    fields = {
        name.casefold() for template in ask.templates for name in FIELD.findall(_read(prompts / f"{template}.md"))
    }
    file = prompts / f"{ask.prompt}.md"
    if "reply" not in fields:
        yield (file, ""), f"{{{{reply}}}} is missing, so the judge of ask {ask.name!r} would not know how to answer"
    for family in (each for name in ask.criteria for each in definition.family(name)):
        if family.column and not fields & {"criteria", family.name, family.column.removesuffix("?").casefold()}:
            yield (file, ""), f"{{{{{family.name}}}}} is missing, so the judge would not see these criteria"


def _wrong_tags(definition: Definition) -> Wrong:
    breakdowns, tags = definition.breakdowns, definition.tags
    for key, names in (
        ("tags", breakdowns.tags), ("orders", breakdowns.orders), ("cluster", filter(None, [breakdowns.cluster]))
    ):  # fmt: skip
        yield from _unknown(("breakdowns", key), names, tags, "a tag")
    for name, summary in definition.summaries.items():
        yield from _unknown(("summaries", name, "by"), summary.by, tags, "a tag")


def _wrong_scores(definition: Definition, place: Place) -> Wrong:
    yield from _repeated("scores", [score.name for score in definition.scores])
    parts = _part_names(definition)
    known = set(parts)
    for n, score in enumerate(definition.scores):
        here = (*place, n, "of")
        yield from _unknown(here, score.parts, known, "a criterion, group or earlier score")
        for weights in score.otherwise:
            yield from _unknown((*place, n, "otherwise"), weights, known, "a criterion, group or earlier score")
        yield from _unknown((*place, n, "required"), score.required, parts, "a criterion or group")
        if score.kind in ("gate", "scale") and len(score.parts) != 1:
            yield here, f"a {score.kind} has one part"
        if score.kind in ("scale", "sum") and not set(score.parts) <= parts:
            yield here, f"a {score.kind} is made of criteria, not of scores"
        known.add(score.name)


def _wrong_summaries(definition: Definition) -> Wrong:
    numbers, parts = {score.name for score in definition.scores}, _part_names(definition)
    for name, summary in definition.summaries.items():
        kinds = (parts, "a criterion or group") if summary.over else (numbers, "a score")
        yield from _unknown(("summaries", name, "of"), summary.parts, *kinds)
        yield from _unknown(("summaries", name, "weighted"), summary.weighted, numbers, "a score or earlier summary")
        numbers.add(name)


def _wrong_presets(definition: Definition) -> Wrong:
    for name, preset in definition.presets.items():
        place = ("presets", name)
        for key in preset:
            yield from _unknown((*place, key), [key], PRESET_KEYS, "a key of presets")
        for key, values in (("reading", get_args(Reading)), ("variant", definition.variants)):
            if key in preset:
                yield from _unknown((*place, key), [preset[key]], values, f"a {key}")


def _part_names(definition: Definition) -> set[str]:
    """Return the names of all families and groups."""
    return {name for family in definition.criteria for name in (family.name, family.group) if name}


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _unknown(place: Place, names: Iterable[str], known: Iterable[str], what: str) -> Wrong:
    """Yield a problem for each name that is not among the known ones."""
    there = list(known)
    for name in names:
        if name not in there:
            choices = f"; there are: {', '.join(sorted(there))}" if there else ", and none is declared"
            yield place, f"{name!r} is not {what}{choices}"


def _repeated(table: str, names: Sequence[str]) -> Wrong:
    for n, name in enumerate(names):
        if name in names[:n]:
            yield (table, n, "name"), f"{name!r} is used twice"
