"""The rewriting of prompts by image services: which model is told of it by which field. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from pydantic import Field, model_validator

from .errors import UsageError
from .row_names import SERVICE_REWRITE
from .schema import StrictModel

SWITCH = {"on": True, "off": False, True: True, False: False}
CONTAINERS = ("input.", "parameters.")
"""Parts of a body whose fields users set without naming the part."""


class RewriteSwitch(StrictModel):
    """How a model's service is told to rewrite prompts, or not to; with nothing in it, it does not rewrite.

    Attributes:
        off: By path in the body, the values that turn rewriting off.
        on: The same that turn it on.
        drawing_only: Whether requests with pictures must not have these fields.
        always: Whether the service rewrites and cannot be told not to.
    """

    off: dict[str, Any] = Field(default_factory=dict)
    on: dict[str, Any] = Field(default_factory=dict)
    drawing_only: bool = False
    always: bool = False

    @model_validator(mode="after")
    def _fits_together(self) -> RewriteSwitch:
        if self.off.keys() != self.on.keys():
            raise ValueError("off and on have to name the same fields")
        if self.always and self.off:
            raise ValueError("a service that can be told to rewrite or not has no always = true")
        return self

    def sent(self, *, on: bool, edits: bool) -> Mapping[str, Any]:
        """The fields of a request, by path."""
        if self.drawing_only and edits:
            return {}
        return self.on if on else self.off


def switch_for(switches: Mapping[str, RewriteSwitch], model: str) -> RewriteSwitch:
    """The switch of a model: of the patterns that fit its name, the longest counts.

    >>> switches = {"*": RewriteSwitch(always=True), "plain-*": RewriteSwitch()}
    >>> switch_for(switches, "plain-1").always, switch_for(switches, "other").always
    (False, True)
    """
    fitting = [pattern for pattern in switches if fnmatchcase(model, pattern)]
    return switches[max(fitting, key=len)] if fitting else RewriteSwitch()


def field_names(switches: Iterable[RewriteSwitch]) -> frozenset[str]:
    """What users would call the fields, were they options: refused, since there is one option for all services.

    >>> sorted(field_names([RewriteSwitch(off={"input.magic": 0, "a.b": 0}, on={"input.magic": 1, "a.b": 1})]))
    ['a', 'magic']
    """
    found = set()
    for path in (path for switch in switches for path in switch.off):
        inner = next((path.removeprefix(part) for part in CONTAINERS if path.startswith(part)), path)
        found.add(inner.partition(".")[0])
    return frozenset(found)


def read_switch(options: Mapping[str, Any], switch: RewriteSwitch, spec: str) -> bool:
    """Whether options ask for rewriting.

    Raises:
        UsageError: The value is neither ``on`` nor ``off``, or the model cannot be told so.
    """
    value = options.get(SERVICE_REWRITE, "off")
    if not isinstance(value, str | bool) or value not in SWITCH:
        raise UsageError(f"{SERVICE_REWRITE} of {spec} is on or off, not {value!r}")
    wanted = SWITCH[value]
    if wanted and not switch.on and not switch.always:
        raise UsageError(f"{spec} is not known to rewrite prompts: leave out {SERVICE_REWRITE}, or {_describe(spec)}")
    if SERVICE_REWRITE in options and not wanted and switch.always:
        raise UsageError(f"{spec} rewrites every prompt and cannot be told not to: leave out {SERVICE_REWRITE}")
    return wanted and not switch.always


def refuse_fields(options: Iterable[str], fields: frozenset[str], switch: RewriteSwitch, spec: str) -> None:
    """Refuse options that are a service's own field for rewriting.

    Raises:
        UsageError: One is given; the message names the option to give instead.
    """
    for name in options:
        if name in fields:
            first = "" if switch.on else f"{_describe(spec)}, and then "
            ask = f"ask for rewriting with {SERVICE_REWRITE}=on; it is off otherwise"
            raise UsageError(f"{spec} has no option {name!r}: {first}{ask}")


def _describe(spec: str) -> str:
    service, _, model = spec.partition("/")
    return f'describe its field under [rewrites.{service}."{model}"] in limner.toml'
