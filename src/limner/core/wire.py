"""Wire formats of image services, as described in settings, and switches for their prompt rewriting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from .errors import UsageError
from .evaluator import SERVICE_REWRITE
from .faults import Kind
from .json_text import gap_names
from .redaction import is_key
from .schema import Names, StrictModel

GAP_NAMES = frozenset({"model", "prompt", "size", "width", "height", "seed"})
"""Names allowed in the gaps of a request."""
ANY_OPTION = "*"
"""A wildcard among `WireFormat.options`: options of any name are passed through."""
POLLING = ("poll_limit_s", "poll_pause_s")


BelowBase = Annotated[str, Field(pattern=r"^/")]


class EditForm(StrictModel):
    """The form in which input pictures are sent.

    Attributes:
        fields: The body's fields for pictures: one for each in order, or with `listed` a single one.
        listed: Whether a single field holds the list of all pictures.
        written: The encoding of pictures; with ``file``, requests are sent as multipart forms.
        most: The maximum number of pictures.
        submit: The path of such requests, if different.
    """

    fields: Names = Field(min_length=1)
    listed: bool = False
    written: Literal["data-url", "base64", "file"] = "data-url"
    most: int = Field(default=1, ge=1)
    submit: BelowBase | None = None

    @model_validator(mode="after")
    def _has_room(self) -> EditForm:
        if self.listed and len(self.fields) > 1:
            raise ValueError("with listed = true there is one field for all pictures")
        if not self.listed and len(self.fields) < self.most:
            raise ValueError(f"{self.most} pictures need as many fields, or listed = true")
        return self


class WireFormat(StrictModel):
    """A description of an image service's requests and replies.

    Attributes:
        submit: The path of requests, relative to the service's address.
        body: The template of requests, with gaps for `GAP_NAMES`; fields without a value are omitted.
        encoding: Whether the body is sent as JSON or as form fields.
        headers: Fixed headers, without the key; see `limner.core.settings.Provider`.
        options: Options that users may set, which are passed through; `ANY_OPTION` if they differ between models.
        options_at: The part of the body that holds options.
        edit: The form in which input pictures are sent; None if the service accepts none.
        image: The paths of the image in a reply, of which the first with a value is used: base64, a data URL, a link,
            or a value to insert into `link`.
        link: The template of the image's address, with gaps for the value at `image`.
        poll: For jobs, the template of the address of a job's state, with gaps for values of the first reply.
        state: The path of the state in a reply.
        done: The states of success; if empty, a reply with an image counts as success.
        failed: The states of failure -> the kind of fault.
        fetch: The address of a finished job's result, if it is not part of the reply itself.
        error: The paths of the error message in a reply, of which the first with a value is used.
        refusals: Words in an error message that mean that the service refuses the prompt.
        prompt_sent: The path of the prompt that was actually drawn, in a reply.
        cost: The path of the cost in dollars, in a reply.
        models: Pattern of model names -> fields of this format that differ for them, each replaced as a whole.
    """

    about: str = ""
    submit: BelowBase
    body: dict[str, Any] = Field(min_length=1)
    encoding: Literal["json", "form"] = "json"
    headers: dict[str, str] = Field(default_factory=dict)
    options: tuple[str, ...] = ()
    options_at: str = ""
    edit: EditForm | None = None
    image: Names = Field(min_length=1)
    link: BelowBase | None = None
    poll: str | None = None
    state: str | None = None
    done: tuple[str, ...] = ()
    failed: dict[str, Kind] = Field(default_factory=dict)
    fetch: str | None = None
    error: Names = ("error.message", "error", "detail", "message")
    refusals: tuple[str, ...] = ()
    prompt_sent: str | None = None
    cost: str | None = None
    models: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @field_validator("body", "submit")
    @classmethod
    def _known_words(cls, template: Any) -> Any:
        for name in gap_names(template):
            if name not in GAP_NAMES:
                raise ValueError(f"{{{name}}} cannot be filled; choose from: {', '.join(sorted(GAP_NAMES))}")
        return template

    @field_validator("headers")
    @classmethod
    def _no_keys(cls, headers: dict[str, str]) -> dict[str, str]:
        for name in headers:
            if name.lower() == "authorization" or is_key(name.replace("-", "_")):
                raise ValueError(f"{name} is a key: name its environment variable as key_env, its header as key_header")
        return headers

    @field_validator("options")
    @classmethod
    def _not_taken(cls, options: tuple[str, ...]) -> tuple[str, ...]:
        for name in options:
            if name in ("size", *POLLING):
                raise ValueError(f"{name} is an option of every service: leave it out")
        return options

    @model_validator(mode="after")
    def _fits_together(self) -> WireFormat:
        if "prompt" not in gap_names(self.body):
            raise ValueError("body: it has no {prompt}: write that where the prompt goes")
        if (self.done or self.failed) and self.state is None:
            raise ValueError("state: done and failed need the path of the state in replies")
        if self.fetch is not None and self.poll is None:
            raise ValueError("fetch: only the result of a job is fetched: add poll")
        if self.edit is not None and self.encoding == "form" and self.edit.written != "file":
            raise ValueError('edit.written: pictures go into a form as "file"')
        for pattern in self.models:
            self._varied(pattern)
        return self

    def _varied(self, pattern: str) -> WireFormat:
        fields = self.model_dump(exclude={"models"}, exclude_unset=True)
        try:
            return WireFormat.model_validate(fields | self.models[pattern])
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            place = ".".join(map(str, ("models", pattern, *first["loc"])))
            raise ValueError(f"{place}: {first['msg'].removeprefix('Value error, ')}") from error

    def of_model(self, model: str) -> WireFormat:
        """Return the wire format for one model."""
        pattern = next((pattern for pattern in self.models if fnmatchcase(model, pattern)), None)
        return self if pattern is None else self._varied(pattern)

    @property
    def sized(self) -> bool:
        """Whether requests specify the size of the image."""
        return bool({"size", "width", "height"} & set(gap_names(self.body)))


SWITCH_VALUES = {"on": True, "off": False, True: True, False: False}
BODY_CONTAINERS = ("input.", "parameters.")
"""Parts of a body whose fields users can set without naming the part."""


class RewriteSwitch(StrictModel):
    """The fields that turn a service's prompt rewriting on or off; empty if it does not rewrite.

    Attributes:
        off: The values that turn rewriting off, by path in the body.
        on: The values that turn it on, by path in the body.
        drawing_only: Whether these fields must be omitted from requests with input pictures.
        always: Whether the service always rewrites.
    """

    off: dict[str, Any] = Field(default_factory=dict)
    on: dict[str, Any] = Field(default_factory=dict)
    drawing_only: bool = False
    always: bool = False

    @model_validator(mode="after")
    def _fits_together(self) -> RewriteSwitch:
        if self.off.keys() != self.on.keys():
            raise ValueError("off and on must name the same fields")
        if self.always and self.off:
            raise ValueError("always = true is only for services whose rewriting cannot be switched")
        return self

    def sent(self, *, on: bool, edits: bool) -> Mapping[str, Any]:
        """Return the fields to add to a request, by path."""
        if self.drawing_only and edits:
            return {}
        return self.on if on else self.off


def switch_for(switches: Mapping[str, RewriteSwitch], model: str) -> RewriteSwitch:
    """Return the switch for a model, by the longest pattern that matches its name.

    >>> switches = {"*": RewriteSwitch(always=True), "plain-*": RewriteSwitch()}
    >>> switch_for(switches, "plain-1").always, switch_for(switches, "other").always
    (False, True)
    """
    fitting = [pattern for pattern in switches if fnmatchcase(model, pattern)]
    return switches[max(fitting, key=len)] if fitting else RewriteSwitch()


def rewrite_field_names(switches: Iterable[RewriteSwitch]) -> frozenset[str]:
    """Return the option names of rewriting fields, which are refused because one option covers all services.

    >>> sorted(rewrite_field_names([RewriteSwitch(off={"input.magic": 0, "a.b": 0}, on={"input.magic": 1, "a.b": 1})]))
    ['a', 'magic']
    """
    names = set()
    for path in (path for switch in switches for path in switch.off):
        inner = next((path.removeprefix(part) for part in BODY_CONTAINERS if path.startswith(part)), path)
        names.add(inner.partition(".")[0])
    return frozenset(names)


def read_switch(options: Mapping[str, Any], switch: RewriteSwitch, spec: str) -> bool:
    """Return whether the options ask for prompt rewriting.

    Raises:
        UsageError: The value is neither ``on`` nor ``off``, or the model does not support it.
    """
    value = options.get(SERVICE_REWRITE, "off")
    if not isinstance(value, str | bool) or value not in SWITCH_VALUES:
        raise UsageError(f"{SERVICE_REWRITE} of {spec} is on or off, not {value!r}")
    wanted = SWITCH_VALUES[value]
    if wanted and not switch.on and not switch.always:
        raise UsageError(f"{spec} is not known to rewrite prompts: leave out {SERVICE_REWRITE}, or {_describe(spec)}")
    if SERVICE_REWRITE in options and not wanted and switch.always:
        raise UsageError(f"{spec} always rewrites prompts: leave out {SERVICE_REWRITE}")
    return wanted and not switch.always


def refuse_fields(options: Iterable[str], fields: frozenset[str], switch: RewriteSwitch, spec: str) -> None:
    """Refuse options that are a service's own fields for prompt rewriting.

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
