"""Settings: named services, prices and measures from the shipped providers.toml, then the user's limner.toml on top."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError, field_validator

from .data_files import StrictModel, read_toml
from .errors import DataError, UsageError
from .redaction import name_key
from .registry import names

SHIPPED = Path(__file__).parent / "providers.toml"
OWN = "limner.toml"
OLDER = {"aibench_group": "prompt_group"}
"""Older names of painters' facts, which files may still use."""


class Provider(StrictModel):
    """A service that answers chat requests, draws, or both.

    Attributes:
        image_shape: The wire format of its image calls: a registered image service.
        image_url: Where image calls go, when not to `base_url`.
        seeds: Whether image calls take a seed.
        structured: What it takes as a description of a reply's shape.
        image_input: Whether its models see pictures, and its painters start from them.
        max_image_side: The longer side of the largest picture it takes.
        link_hosts: Hosts that links to finished images may lead to, beside the service's own; ``*.name`` for all
            below a name.
        poll_hosts: Hosts a job may be asked after at, beside the service's own; they get the key.
    """

    base_url: str = Field(pattern=r"^https?://\S+$")
    shape: Literal["openai"] = "openai"
    key_env: str | None = None
    timeout_s: float = Field(default=600.0, gt=0)
    call_timeout_s: float = Field(default=3600.0, gt=0)
    image_shape: str | None = None
    image_url: str | None = None
    seeds: bool = False
    structured: Literal["none", "json_object", "json_schema"] = "none"
    image_input: bool = True
    max_image_side: int | None = None
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    link_hosts: tuple[str, ...] = ()
    poll_hosts: tuple[str, ...] = ()

    def model_post_init(self, _context: Any) -> None:
        """Wherever a key comes from, it is to be told to nobody."""
        if self.key_env is not None:
            name_key(self.key_env)

    @field_validator("image_shape")
    @classmethod
    def _is_registered(cls, shape: str | None) -> str | None:
        known = names("limner.services")
        if shape is not None and shape not in known:
            raise ValueError(f"no image service {shape!r}; there is: {', '.join(known)}")
        return shape

    def key(self) -> str | None:
        """The key from the environment, or None for a service that needs none."""
        if self.key_env is None:
            return None
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise UsageError(f"{self.base_url} needs a key: set the environment variable {self.key_env}")
        if not (key.isascii() and key.isprintable()) or " " in key:
            # It would fit into no header, and the error about that would repeat it.
            raise UsageError(f"the environment variable {self.key_env} holds no key: keys have no such characters")
        return key


class ModelFacts(StrictModel):
    """What is known of one model: dollars per million tokens, with date and source.

    Attributes:
        max_output_tokens: The most it writes in one reply, where no argument limits it.
        image_tokens: The most one picture is counted as.
        image_input_price: Dollars per million tokens of pictures sent to an image model, where not `input_price`.
    """

    input_price: float | None = Field(default=None, ge=0)
    output_price: float | None = Field(default=None, ge=0)
    max_output_tokens: int | None = Field(default=None, gt=0)
    image_tokens: int = Field(default=3000, ge=0)
    image_input_price: float | None = Field(default=None, ge=0)
    priced_on: str | None = None
    source: str | None = None


class PainterFacts(StrictModel):
    """What is known of one painter: what tables group by, what it takes, what it costs.

    Attributes:
        access: Whether its weights are ``closed`` or ``open``.
        kind: Such as ``diffusion`` or ``unified``.
        parameters: Its size in words, such as ``12B``.
        sizes: Width and height as the service writes them, by aspect.
        prompt_limit: The longest prompt it takes, in characters.
        encoder_tokens: How many tokens of a prompt its text encoder reads.
        option_names: What it calls ``guidance`` or ``steps``, where its shape has several names for it.
        image_input: Whether it starts from pictures; as the provider says, where nothing is said here.
        prompt_group: Which drawing prompt it gets from exams that have two; ``aibench_group`` is an older name.
        image_price: Dollars per image; where tokens are charged, see `ModelFacts`.
        image_bound: The most one image can cost, where tokens are charged.
    """

    access: Literal["closed", "open"] | None = None
    kind: str | None = None
    parameters: str | None = None
    resolution: str | None = None
    sizes: dict[Literal["square", "landscape", "portrait"], str] = Field(default_factory=dict)
    prompt_limit: int | None = None
    encoder_tokens: int | None = Field(default=None, gt=0)
    option_names: dict[Literal["guidance", "steps"], str] = Field(default_factory=dict)
    image_input: bool | None = None
    prompt_group: Literal["closed", "open"] | None = None
    image_price: float | None = Field(default=None, ge=0)
    image_bound: float | None = Field(default=None, ge=0)
    priced_on: str | None = None
    source: str | None = None


class Measures(StrictModel):
    """How drawings are measured where no option says otherwise; see `limner.evidence.backends`.

    Attributes:
        ocr: What reads text, but for the OCR examiner, which keeps to its own.
        regions: What counts regions.
        aesthetics: What rates looks.
        ocr_timeout_s: Seconds one image may take.
    """

    ocr: str = "rapidocr"
    regions: str = "classical"
    aesthetics: str | None = None
    ocr_timeout_s: float = Field(default=120.0, gt=0)
    regions_timeout_s: float = Field(default=600.0, gt=0)
    aesthetics_timeout_s: float = Field(default=600.0, gt=0)


class Settings(StrictModel):
    """All named services and model facts."""

    providers: dict[str, Provider]
    models: dict[str, ModelFacts] = Field(default_factory=dict)
    painters: dict[str, PainterFacts] = Field(default_factory=dict)
    evidence: Measures = Measures()

    def provider(self, name: str) -> Provider:
        """The service called `name`."""
        if name not in self.providers:
            known = ", ".join(sorted(self.providers))
            raise UsageError(f"no provider {name!r}; known: {known}. Add [providers.{name}] to {OWN}")
        return self.providers[name]

    def price(self, target: str, tokens_in: int, tokens_out: int, *, of_pictures: int = 0) -> float | None:
        """Dollars for a call, or None when the model's price is not known.

        Args:
            target: The model.
            tokens_in: All tokens sent.
            tokens_out: All tokens written or drawn.
            of_pictures: How many of those sent are a picture's, where these have a price of their own.
        """
        facts = self.models.get(target)
        if facts is None or facts.input_price is None or facts.output_price is None:
            return None
        dearer = 0.0 if facts.image_input_price is None else facts.image_input_price - facts.input_price
        return (tokens_in * facts.input_price + of_pictures * dearer + tokens_out * facts.output_price) / 1e6


def load(own: Path | None = None) -> Settings:
    """The shipped settings with the user's file laid over them.

    Args:
        own: The user's file; by default ``limner.toml`` in the working folder, where there is one.
    """
    merged = _read(SHIPPED)
    path = own if own is not None else Path.cwd() / OWN
    if own is not None or path.is_file():
        merged = _overlay(merged, _read(path))
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        said = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            said = f"no such field; there is: {', '.join(_fields(first['loc']))}"
        place = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{place}: {said}", file=path) from error


def _fields(place: tuple[int | str, ...]) -> list[str]:
    """The fields that may stand where a wrong one does."""
    known: dict[str, type[BaseModel]] = {"providers": Provider, "models": ModelFacts, "painters": PainterFacts}
    known["evidence"] = Measures
    return list((known[str(place[0])] if len(place) > 1 else Settings).model_fields)


def _read(path: Path) -> dict[str, Any]:
    """What a file says, with painters' facts under their present names, before one file is laid over the other."""
    body = read_toml(path)
    painters = body.get("painters")
    for facts in painters.values() if isinstance(painters, dict) else ():
        for old in OLDER.keys() & facts.keys() if isinstance(facts, dict) else ():
            facts.setdefault(OLDER[old], facts.pop(old))
    return body


def _overlay(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _overlay(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def parse_value(word: str) -> Any:
    """What the word says as JSON, or the word itself.

    >>> parse_value("0.5"), parse_value("true"), parse_value("high")
    (0.5, True, 'high')
    """
    try:
        return json.loads(word)
    except ValueError:
        return word
