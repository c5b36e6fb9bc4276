"""The closed vocabulary of declared replies and rules, shared by recipes and exams; nothing in it is run as code.

A reply is declared as fields: ``yesno``, ``choice``, ``scale``, ``text``, ``list`` and ``group``. A rule tests a field
and says what happens if the test fails: ``drop``, ``warn``, ``wait`` or ``again``; or, with ``keep``, that no later
rule counts if it holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from pydantic import Field, model_validator

from .asks import Unreadable, object_schema
from .json_text import value_at
from .schema import StrictModel

FieldKind = Literal["yesno", "choice", "scale", "text", "list", "group"]
OWN_KEYS: Mapping[str, frozenset[str]] = {
    "yesno": frozenset(),
    "choice": frozenset({"among", "among_list"}),
    "scale": frozenset({"low", "high", "low_means", "high_means", "whole"}),
    "text": frozenset(),
    "list": frozenset({"of", "least", "most", "one_per"}),
    "group": frozenset({"fields"}),
}
"""Kind of field -> the keys that only this kind has."""
_ANY_KEYS = frozenset({"kind", "about", "required"})
_YES_NO: Mapping[Any, bool] = {"yes": True, "no": False, "true": True, "false": False}


class ReplyField(StrictModel):
    """One field of a model's reply.

    Attributes:
        about: What the field says, for the list of fields in a prompt.
        required: Whether a reply without it is refused.
        among: The words of a choice; `among_list` names a further list that the asker supplies.
        low: The lowest number of a scale and, in `low_means`, its meaning; `high` and `high_means` likewise.
        whole: Whether a scale has whole numbers only.
        of: The entries of a list; texts if it is missing.
        least: The fewest entries of a list; `most` the most.
        one_per: The name of a list that the asker supplies; the reply's list has one entry for each of its entries.
        fields: The fields of a group.
    """

    kind: FieldKind
    about: str = ""
    required: bool = True
    among: tuple[str, ...] = ()
    among_list: str = ""
    low: float = 0
    high: float = 10
    low_means: str = ""
    high_means: str = ""
    whole: bool = True
    of: ReplyField | None = None
    least: int = Field(default=0, ge=0)
    most: int = Field(default=1000, ge=1)
    one_per: str = ""
    fields: dict[str, ReplyField] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_own_keys_only(self) -> Self:
        if alien := sorted(self.model_fields_set - _ANY_KEYS - OWN_KEYS[self.kind]):
            raise ValueError(f"a {self.kind} has no {alien[0]!r}")
        if self.kind == "choice" and not (self.among or self.among_list):
            raise ValueError("a choice needs among = [WORDS]")
        if self.kind == "group" and not self.fields:
            raise ValueError("a group needs fields")
        if self.low >= self.high:
            raise ValueError(f"the scale goes from {self.low:g} to {self.high:g}")
        if self.least > self.most:
            raise ValueError(f"the list has {self.least} to {self.most} entries")
        return self

    def list_names(self) -> set[str]:
        """Return the names of the lists that the asker must supply for it and the fields inside it."""
        inner = [*self.fields.values(), *([self.of] if self.of else [])]
        return {name for name in (self.among_list, self.one_per) if name}.union(*(each.list_names() for each in inner))


Lists = Mapping[str, Sequence[str]]
"""Lists that an asker supplies by name, such as the topics to choose from."""


def read_reply(
    fields: Mapping[str, ReplyField], reply: Mapping[str, Any], lists: Lists | None = None
) -> dict[str, Any]:
    """Return the declared fields of a reply; others are ignored.

    Raises:
        Unreadable: A field is missing or not as declared; the message can be sent to the model.
    """
    values: dict[str, Any] = {}
    for name, field in fields.items():
        if reply.get(name) is None and not field.required:
            continue
        values[name] = _READERS[field.kind](reply, name, field, lists or {})
    return values


def _read_yesno(reply: Mapping[str, Any], name: str, field: ReplyField, lists: Lists) -> bool:
    value = reply.get(name)
    value = _YES_NO.get(value.strip().casefold()) if isinstance(value, str) else value
    if not isinstance(value, bool):
        raise Unreadable(f'"{name}" must be true or false')
    return value


def _read_choice(reply: Mapping[str, Any], name: str, field: ReplyField, lists: Lists) -> str:
    return read_choice(reply, name, (*lists.get(field.among_list, ()), *field.among))


def _read_scale(reply: Mapping[str, Any], name: str, field: ReplyField, lists: Lists) -> float:
    if field.whole:
        return read_whole_number(reply, name, int(field.low), int(field.high))
    return _read_number(reply, name, field.low, field.high)


def _read_text(reply: Mapping[str, Any], name: str, field: ReplyField, lists: Lists) -> str:
    return read_text_field(reply, name)


def _read_list(reply: Mapping[str, Any], name: str, field: ReplyField, lists: Lists) -> list[Any]:
    entries = reply.get(name)
    if not isinstance(entries, list):
        raise Unreadable(f'"{name}" must be a list')
    of = field.of or ReplyField(kind="text")
    try:
        values = [_READERS[of.kind]({name: entry}, name, of, lists) for entry in entries]
    except Unreadable as error:
        raise Unreadable(f"each entry of {error}") from error
    if field.of is None:
        values = list(dict.fromkeys(values))
    if field.one_per and len(values) != (wanted := len(lists.get(field.one_per, ()))):
        raise Unreadable(f'"{name}" has {len(values)} entries for {wanted} {field.one_per.replace("_", " ")}')
    if not field.least <= len(values) <= field.most:
        raise Unreadable(f'"{name}" has {len(values)} entries; it must have {field.least} to {field.most}')
    return values


def _read_group(reply: Mapping[str, Any], name: str, field: ReplyField, lists: Lists) -> dict[str, Any]:
    try:
        return read_reply(field.fields, read_object(reply, name), lists)
    except Unreadable as error:
        if str(error).startswith(f'"{name}"'):
            raise
        raise Unreadable(f'"{name}": {error}') from error


_READERS = {
    "yesno": _read_yesno, "choice": _read_choice, "scale": _read_scale, "text": _read_text, "list": _read_list,
    "group": _read_group,
}  # fmt: skip


def read_text_field(reply: Mapping[str, Any], name: str) -> str:
    """Return the text under a name.

    Raises:
        Unreadable: There is none.
    """
    value = reply.get(name)
    if not (isinstance(value, str) and value.strip()):
        raise Unreadable(f'"{name}" must be a text')
    return " ".join(value.split())


def read_choice(reply: Mapping[str, Any], name: str, among: Collection[str]) -> str:
    """Return the text under a name, which must be one of these words in any case.

    Raises:
        Unreadable: It is not.
    """
    value = read_text_field(reply, name)
    for word in among:
        if word.casefold() == value.casefold():
            return word
    raise Unreadable(f'"{name}" is {value[:80]!r}; it must be one of: {", ".join(list(among)[:20])}')


def read_whole_number(reply: Mapping[str, Any], name: str, low: int, high: int) -> int:
    """Return the whole number under a name.

    Raises:
        Unreadable: It is not a whole number, or out of range.
    """
    value = reply.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise Unreadable(f'"{name}" must be a whole number')
    return int(_read_number(reply, name, low, high))


def _read_number(reply: Mapping[str, Any], name: str, low: float, high: float) -> float:
    value = reply.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable(f'"{name}" must be a number')
    if not low <= value <= high:
        raise Unreadable(f'"{name}" is {value:g}; it must be from {low:g} to {high:g}')
    return float(value)


def read_object(reply: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the object under a name.

    Raises:
        Unreadable: There is none.
    """
    value = reply.get(name)
    if not isinstance(value, Mapping):
        raise Unreadable(f'"{name}" must be an object')
    return value


def describe_fields(fields: Mapping[str, ReplyField]) -> str:
    """Return a list of the described fields for a prompt, each with what it says; a scale with its direction."""
    lines = ((name, _describe(field)) for name, field in fields.items())
    return "\n".join(f"- `{name}`{words}" for name, words in lines if words)


def _describe(field: ReplyField) -> str:
    scale = field.fields.get("score") if field.kind == "group" else field if field.kind == "scale" else None
    if scale is None or not scale.low_means:
        words = f": one of {', '.join(field.among)}" if field.kind == "choice" and not field.about else ""
        return f": {field.about}" if field.about else words
    return (
        f", a whole number from {scale.low:g} to {scale.high:g}: {scale.low:g} means {scale.low_means}; "
        f"{scale.high:g} means {scale.high_means}."
    )


def fields_schema(fields: Mapping[str, ReplyField]) -> dict[str, Any]:
    """Return the JSON schema of a reply of the declared form."""
    return object_schema({name: _schema(field) for name, field in fields.items()})


def _schema(field: ReplyField) -> dict[str, Any]:
    if field.kind == "group":
        return fields_schema(field.fields)
    if field.kind == "list":
        return {"type": "array", "items": _schema(field.of or ReplyField(kind="text"))}
    if field.kind == "scale" and field.whole:
        return {"type": "integer", "enum": list(range(int(field.low), int(field.high) + 1))}
    if field.kind == "choice" and field.among:
        return {"type": "string", "enum": list(field.among)}
    return {"type": {"yesno": "boolean", "scale": "number"}.get(field.kind, "string")}


def example_reply(fields: Mapping[str, ReplyField]) -> dict[str, Any]:
    """Return a reply of the declared form, for a prompt."""
    return {name: _example(field) for name, field in fields.items()}


def _example(field: ReplyField) -> Any:
    if field.kind == "group":
        return example_reply(field.fields)
    if field.kind == "list":
        return [_example(field.of or ReplyField(kind="text"))]
    return {"yesno": True, "scale": int(field.low) if field.whole else field.low}.get(field.kind, "…")


class ValueTest(StrictModel):
    """A test of one value: of a number by its size, of a text by its words, of a list by its entries.

    Attributes:
        required: Whether there must be a value that is not empty (or, if false, none).
        range: The lowest and the highest size.
    """

    required: bool | None = None
    equals: str | int | float | bool | None = None
    one_of: tuple[str | int | float | bool, ...] | None = None
    none_of: tuple[str | int | float | bool, ...] | None = None
    at_least: float | None = None
    at_most: float | None = None
    below: float | None = None
    range: tuple[float, float] | None = None

    @model_validator(mode="after")
    def _has_a_test(self) -> Self:
        if not self.model_fields_set & ValueTest.model_fields.keys():
            raise ValueError(f"a test is missing: {', '.join(ValueTest.model_fields)}")
        if self.range is not None and self.range[0] > self.range[1]:
            raise ValueError(f"the range goes from {self.range[0]:g} to {self.range[1]:g}")
        return self

    def why_not(self, value: Any) -> str | None:
        """Return why a value fails the test, empty if there is nothing to add; None if it passes."""
        if self.required is not None and (value not in (None, "", [], {})) != self.required:
            return ""
        if self.equals is not None and not _same(value, self.equals):
            return "" if isinstance(self.equals, bool) else f"{value} is not {self.equals}"
        if self.one_of is not None and not any(_same(value, word) for word in self.one_of):
            return f"{value} is none of {', '.join(map(str, self.one_of))}"
        if self.none_of is not None and any(_same(value, word) for word in self.none_of):
            return f"it is {value}"
        low, high = self.range or (self.at_least, self.at_most)
        size = _size(value)
        if self.below is not None and size >= self.below:
            return f"{size:g} of less than {self.below:g}"
        if low is not None and size < low:
            return f"{size:g} of at least {low:g}"
        return f"{size:g} of at most {high:g}" if high is not None and size > high else None


def _same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and value == other if isinstance(other, bool) else bool(value == other)


def _size(value: Any) -> float:
    if value is None:
        return 0.0
    return (
        float(value)
        if isinstance(value, int | float)
        else float(len(value.split() if isinstance(value, str) else value))
    )


Action = Literal["drop", "warn", "wait", "again"]
ACTIONS: tuple[Action, ...] = get_args(Action)


class Rule(ValueTest):
    """A test of a field and what follows.

    Attributes:
        field: The field, with dots between the parts of a path; ``*`` for every entry of a list or group.
        when: Field -> a test; the rule counts only if all of them hold.
        drop: The reason for which an item is dropped if the test fails; likewise `warn` for reviewers, `wait` for
            people, and `again` to have the model write its reply again.
        keep: With true, no later rule counts if the test holds.
        because: A field with details of the reason.
        share_of: A field whose size the tested one is divided by.
    """

    field: str = Field(min_length=1)
    when: dict[str, ValueTest] = Field(default_factory=dict)
    drop: str = ""
    warn: str = ""
    wait: str = ""
    again: str = ""
    keep: bool = False
    because: str = ""
    share_of: str = ""

    @model_validator(mode="after")
    def _has_an_action(self) -> Self:
        if sum(bool(getattr(self, name)) for name in (*ACTIONS, "keep")) != 1:
            raise ValueError(f"a rule needs one of {', '.join(ACTIONS)} and keep")
        return self

    def fields(self) -> set[str]:
        """Return the fields that the rule looks at, without what comes after a dot."""
        return {path.partition(".")[0] for path in (self.field, *self.when, self.because, self.share_of) if path}


@dataclass(frozen=True)
class RuleOutcome:
    """What a rule demands of an item: an action, a short reason that is counted, and details."""

    action: Action
    reason: str
    detail: str = ""

    def __str__(self) -> str:
        """Return the reason with its details."""
        return f"{self.reason}: {self.detail}" if self.detail else self.reason


def apply_rules(rules: Sequence[Rule], values: Mapping[str, Any]) -> Iterator[RuleOutcome]:
    """Yield the outcomes of all rules that fail, in order; after one other than ``warn``, none follows."""
    for rule in rules:
        if not all(_holds(test, values, path) for path, test in rule.when.items()):
            continue
        if rule.keep and _holds(rule, values, rule.field):
            return
        for outcome in () if rule.keep else _failures(rule, values):
            yield outcome
            if outcome.action != "warn":
                return


def _holds(test: ValueTest, values: Mapping[str, Any], path: str) -> bool:
    return all(test.why_not(value) is None for _, value in _values(values, path))


def _failures(rule: Rule, values: Mapping[str, Any]) -> Iterator[RuleOutcome]:
    action: Action = next(action for action in ACTIONS if getattr(rule, action))
    for name, value in _values(values, rule.field):
        size, whole = _size(value), _size(value_at(values, rule.share_of)) if rule.share_of else 1.0
        why = rule.why_not(size / max(1.0, whole) if rule.share_of else value)
        if why is None:
            continue
        why = f"{size:g} of {whole:g}" if rule.share_of else why
        because = value_at(values, rule.because.replace("*", name)) if rule.because else None
        reason = str(getattr(rule, action)).replace("*", name.replace("_", " "))
        yield RuleOutcome(action, reason, ": ".join(part for part in (why, _words(because)) if part))


def _values(values: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """Yield each value at a path and the name or number that stands for its ``*``."""
    head, star, rest = path.partition("*")
    if not star:
        yield "", value_at(values, path)
        return
    inner = value_at(values, head.rstrip("."))
    pairs = inner.items() if isinstance(inner, Mapping) else ((str(n), value) for n, value in enumerate(inner or ()))
    for name, value in pairs:
        yield name, value_at(value, rest.lstrip(".")) if rest else value


def _words(value: Any) -> str:
    return "" if value is None else "; ".join(map(str, value)) if isinstance(value, list) else str(value)
