"""The step `ask`: a model is asked about an item; its declared reply is read, judged by rules and stored in fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ..core.asks import Contract, Part, Picture, Text, Unreadable
from ..core.errors import UsageError
from ..core.json_text import loads, value_at
from ..core.schema import StrictModel
from ..core.vocabulary import ReplyField, Rule, apply_rules, describe_fields, example_reply, read_reply
from .base import (
    WARNINGS,
    BuildItem,
    BuildStep,
    Code,
    GenericSettings,
    StepContext,
    Use,
    add_warnings,
    judge,
    raise_outcome,
    rule_fields,
)
from .lint import LintSettings, lint_entries
from .wording import same_words

Reader = Callable[[str, Mapping[str, Any], Mapping[str, Any], Path], Mapping[str, Any]]
"""A reader of a recipe's own code: reply, item, the step's `values` and the recipe's folder -> fields; may raise
`Unreadable`."""


class Fill(StrictModel):
    """The text for one field of a prompt.

    Attributes:
        field: A field of the item; or `value`, one of the step's values or limits of lint; or `list`, one of its
            lists; or `template`, another prompt; or `reply`, a list of the reply's ``fields`` or an ``example`` of it.
        part: The group of the reply to list, if not all of it; the field with the ``choices``, or the list with the
            ``most`` entries.
        form: The form of a list.
        each: The form of each entry, with the names of its fields in braces.
        limit: The most characters.
        empty: The text if there is none.
    """

    field: str = ""
    value: str = ""
    list: str = ""
    template: str = ""
    reply: Literal["", "fields", "example", "choices", "most"] = ""
    part: str = ""
    form: Literal["lines", "bullets", "numbers", "commas", "json"] = "lines"
    each: str = ""
    limit: int = Field(default=0, ge=0)
    empty: str = "(none)"


class ListSource(StrictModel):
    """A list for choices and counts: a field of all items of a sort, or, without a sort, entries of the item."""

    sort: str = ""
    field: str


class Picked(StrictModel):
    """Entries of a list of the item that the reply answers in one way.

    Attributes:
        entries: The field with the list; `part` is the field of each entry to keep, the whole entry if empty.
        where: The reply's list with one answer for each entry.
        equals: The answer of the entries to keep.
    """

    entries: str
    part: str = ""
    where: str
    equals: bool | str | int


class Batches(StrictModel):
    """A list that is written in several calls, each of which is shown what the earlier ones gave.

    The prompt, the reply and the rules see ``many``, the number of entries of this call, and ``earlier``.

    Attributes:
        list: The reply's field with the list.
        wanted: The item's field with the number of entries.
        size: The most entries of one call.
        show: The part of an earlier entry that is shown; the whole entry if empty.
        exact: Whether a call must give all entries that it is asked for, none of them nearly an earlier one.
    """

    list: str
    wanted: str
    size: int = Field(default=20, ge=1)
    show: str = ""
    exact: bool = False


class AskSettings(GenericSettings):
    """The declaration of what is asked, shown, read and stored.

    Attributes:
        role: Who is asked; with `optional`, the step is skipped if nobody has the role.
        where: Field values of the items it is asked about; of others it is not.
        prompt: The template; `fill` has the texts for its fields, a name standing for a field of the item.
        values: Numbers and words for `fill` and `read`.
        pictures: Fields with pictures to show, before the text with `pictures_first`.
        max_side: Pixels of the longer side of a picture.
        lists: Lists for choices and counts, by name.
        reply: The fields of the reply; or `read`, a function of the recipe's own code that reads it, from the
            item's fields in `reads`.
        lint: The rules of wording that a question in the reply must pass.
        rules: The rules on reply and item; the reply's fields come first.
        save: Field of the item -> field of the reply; all under their own names if it is missing.
        into: A field for the whole reply instead.
        batches: How a long list is written in several calls.
        tokens: The usual length of a reply, for estimates.
    """

    role: str
    optional: bool = False
    prompt: str
    where: dict[str, str | int | bool] = Field(default_factory=dict)
    fill: dict[str, Fill | str] = Field(default_factory=dict)
    values: dict[str, Any] = Field(default_factory=dict)
    pictures: tuple[str, ...] = ()
    pictures_first: bool = False
    max_side: int = Field(default=1536, ge=64)
    lists: dict[str, ListSource | str] = Field(default_factory=dict)
    reply: dict[str, ReplyField] = Field(default_factory=dict)
    read: str = ""
    reads: tuple[str, ...] = ()
    lint: LintSettings | None = None
    rules: tuple[Rule, ...] = ()
    save: dict[str, str | Picked] | None = None
    into: str = ""
    batches: Batches | None = None
    tokens: int = Field(default=300, ge=1)

    def unknown_names(self) -> Iterator[tuple[str, ...]]:
        """Yield each name of a value, a list or a field of the reply that does not exist: a message, then its keys."""
        limits = self.lint.limits if self.lint else {}
        fills = self.filled().items()
        parts = {("fill", name): fill.part for name, fill in fills if fill.reply and fill.part}
        if self.reply:
            words = {name: part.where if isinstance(part, Picked) else part for name, part in self.saved().items()}
            parts |= {("save", name): word or name for name, word in words.items()}
            parts |= {("batches", "list"): self.batches.list} if self.batches else {}
        lists = {("fill", name): fill.list for name, fill in fills if fill.list}
        lists |= {("reply", key): name for key, field in self.reply.items() for name in field.list_names()}
        values = {("fill", name): fill.value for name, fill in fills if fill.value}
        for names, known, what in (
            (parts, self.reply, "reply"), (lists, self.lists, "lists"), (values, {**limits, **self.values}, "values"),
        ):  # fmt: skip
            for keys, name in names.items():
                if name.partition(".")[0] not in known:
                    yield f"{'.'.join(keys)}: {name!r} is not under {what}", *keys

    def item_lists(self) -> dict[str, ListSource]:
        """Return the lists with the short form written out."""
        return {
            name: ListSource(field=source) if isinstance(source, str) else source for name, source in self.lists.items()
        }

    def filled(self) -> dict[str, Fill]:
        """Return the texts of a prompt's fields with the short form written out."""
        return {name: Fill(field=fill) if isinstance(fill, str) else fill for name, fill in self.fill.items()}

    def saved(self) -> dict[str, str | Picked]:
        """Return where each field of the reply goes."""
        return self.save if self.save is not None else {name: name for name in self.reply}

    def asks(self, body: Mapping[str, Any]) -> bool:
        """Return whether a model is asked about an item, as far as its fields are set."""
        return all(body.get(name, value) == value for name, value in self.where.items())

    def _count_calls(self, body: Mapping[str, Any]) -> int:
        calls = 1 if self.batches is None else -(-int(body[self.batches.wanted]) // self.batches.size)
        return calls * self.asks(body)

    def declare(self, step: BuildStep, code: Code) -> BuildStep:
        """Return the step with what it shows, reads and stores."""
        if self.read and self.read not in code:
            raise UsageError(f"read: the recipe's code has no function {self.read!r}")
        if bool(self.read) == bool(self.reply):
            raise UsageError("declare the fields of the reply, under reply")
        sources = self.item_lists().values()
        paths = [*(fill.field for fill in self.filled().values()), *self.pictures, *self.where, *self.reads]
        paths += [source.field for source in sources if not source.sort]
        paths += [source.entries for source in self.saved().values() if isinstance(source, Picked)]
        fields = {path.partition(".")[0] for path in paths if path}
        if self.read:
            fields.add(WARNINGS)
        else:
            asked = {*rule_fields(self.rules), *(self.lint.fields() if self.lint else ())}
            fields |= asked - {*self.reply, *(self.save or {}), self.into}
        if self.batches is not None:
            fields = fields - {"many", "earlier"} | {self.batches.wanted}
        beside = next((source for source in sources if source.sort), None)
        roles, templates = (self.role,), (fill.template for fill in self.filled().values() if fill.template)
        use = Use(self.role, self.prompt, self.tokens, len(self.pictures), batches=self._count_calls)
        writes = (self.into,) if self.into else tuple(self.saved())
        step = replace(step, roles=roles, optional=roles if self.optional else (), use=(use,))
        step = replace(step, prompts=(self.prompt, *templates), reads=tuple(sorted(fields)), writes=writes)
        return replace(step, beside=beside.sort, beside_reads=(beside.field,)) if beside else step


async def _ask(item: BuildItem, context: StepContext) -> BuildItem:
    how: AskSettings = context.settings
    absent = how.optional and how.role not in context.models
    if absent or any(item.body.get(name) != value for name, value in how.where.items()):
        return item
    if how.batches is None:
        return _stored(item, await _reply(item, context), how)
    batches, entries, values = how.batches, list[Any](), dict[str, Any]()
    for start in range(0, item.body[batches.wanted], batches.size):
        earlier = [value_at(entry, batches.show) if batches.show else entry for entry in entries]
        many = min(batches.size, item.body[batches.wanted] - start)
        values = dict(await _reply(item.having(many=many, earlier=earlier), context, str(start // batches.size)))
        entries += values[batches.list]
    return _stored(item, {**values, batches.list: entries}, how)


async def _reply(item: BuildItem, context: StepContext, name: str = "") -> Mapping[str, Any]:
    """Return the values of a model's reply about an item."""
    how: AskSettings = context.settings
    lists = _lists(item, context)
    fields = {key: _text(fill, item, context, lists) for key, fill in how.filled().items()}
    words = Text(context.prompts.fill(how.prompt, **fields))
    pictures: list[Part] = [Picture(item.body[key], how.max_side) for key in how.pictures]
    shown = [*pictures, words] if how.pictures_first else [words, *pictures]

    def parse(reply: str) -> Mapping[str, Any]:
        if how.read:
            read: Reader = context.code[how.read]
            values = read(reply, item.body, how.values, context.folder)
        else:
            values = read_reply(how.reply, loads(reply), lists)
        if how.lint is not None and (errors := lint_entries(how.lint, {**item.body, **values})[0]):
            raise Unreadable("; ".join(map(str, errors[:6])))
        if how.batches is not None:
            _check_batch(values[how.batches.list], item, how.batches)
        for outcome in apply_rules([rule for rule in how.rules if rule.again], {**item.body, **values}):
            raise_outcome(outcome)
        return values

    return await context.ask(how.role, item, shown, Contract(parse, heavy=bool(how.read)), name)


def _check_batch(entries: Sequence[Any], item: BuildItem, batches: Batches) -> None:
    if not (item.body["many"] if batches.exact else 1) <= len(entries) <= item.body["many"]:
        raise Unreadable(f'"{batches.list}" has {len(entries)} entries; {item.body["many"]} are wanted')
    words = [str(value_at(entry, batches.show) if batches.show else entry) for entry in entries]
    for n, entry in enumerate(words if batches.exact else ()):
        if other := next((each for each in (*item.body["earlier"], *words[:n]) if same_words(each, entry)), None):
            raise Unreadable(f'entry {n + 1} of "{batches.list}" is nearly the same as {other[:80]!r}')


def _stored(item: BuildItem, values: Mapping[str, Any], how: AskSettings) -> BuildItem:
    new: dict[str, Any] = {how.into: dict(values)} if how.into else {}
    for name, source in (how.saved() if how.reply or how.save is not None else dict.fromkeys(values)).items():
        if isinstance(source, Picked):
            new[name] = _picked(item, values, source)
        elif not how.into or how.save is not None:
            new[name] = value_at(values, source or name)
    told = [str(warning) for warning in new.pop(WARNINGS, ())]
    own = {name: value for name, value in values.items() if name != WARNINGS}
    judged = judge([rule for rule in how.rules if not rule.again], item.having(**{**own, **new}))
    kept = item.having(**new)
    return add_warnings(kept, [*judged.body.get(WARNINGS, ())[len(item.body.get(WARNINGS, ())) :], *told])


def _picked(item: BuildItem, values: Mapping[str, Any], source: Picked) -> list[Any]:
    pairs = zip(item.body[source.entries], value_at(values, source.where), strict=True)
    return [
        value_at(entry, source.part) if source.part else entry for entry, answer in pairs if answer == source.equals
    ]


def _lists(item: BuildItem, context: StepContext) -> dict[str, list[str]]:
    lists = {}
    for name, source in context.settings.item_lists().items():
        lists[name] = list(value_at(item.body, source.field) or ())
        if source.sort and not context.beside:
            raise UsageError(
                f"step {context.place}: there are no items of the sort {source.sort}; "
                f"see `limner build status {context.build}`"
            )
        if source.sort:
            lists[name] = [str(value_at(other.body, source.field)) for other in context.beside]
    return lists


def _text(fill: Fill, item: BuildItem, context: StepContext, lists: Mapping[str, Sequence[str]]) -> str:
    how: AskSettings = context.settings
    if fill.template:
        return context.prompts.text(fill.template)
    if fill.reply == "choices":
        return ", ".join(how.reply[fill.part].among)
    if fill.reply == "most":
        return str(how.reply[fill.part].most)
    if fill.reply:
        fields = how.reply[fill.part].fields if fill.part else how.reply
        if fill.reply == "fields":
            return describe_fields(fields)
        return json.dumps(example_reply(fields), ensure_ascii=False)
    values = {**(how.lint.limits if how.lint else {}), **how.values}
    value = lists[fill.list] if fill.list else values[fill.value] if fill.value else value_at(item.body, fill.field)
    text = format_value(value, fill)
    return (text[: fill.limit] if fill.limit else text) or fill.empty


def format_value(value: Any, fill: Fill) -> str:
    """Return a value as text for a prompt.

    >>> format_value([{"a": 1}, {"a": 2}], Fill(field="x", form="numbers", each="{a} of 2"))
    '1. 1 of 2\\n2. 2 of 2'
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:g}"
    if fill.form == "json":
        return json.dumps(value, indent=1, ensure_ascii=False)
    if not isinstance(value, list | tuple):
        return str(value)
    entries = [_entry(entry, fill.each) for entry in value]
    if fill.form == "commas":
        return ", ".join(entries)
    marks = {"bullets": "- {}", "numbers": "{n}. {}"}
    return "\n".join(marks.get(fill.form, "{}").format(entry, n=n) for n, entry in enumerate(entries, 1))


def _entry(entry: Any, each: str) -> str:
    if not each or not isinstance(entry, Mapping):
        return str(entry)
    for name, value in entry.items():
        each = each.replace(f"{{{name}}}", str(value))
    return each


ASK = BuildStep("ask", "asks a model about each item", AskSettings, each=_ask)
