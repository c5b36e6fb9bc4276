"""Settings: named services and the catalogue of models as shipped, what the user refreshed, then limner.toml on top."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from . import catalogue
from .catalogue import ModelFacts, PainterFacts
from .errors import DataError, UsageError
from .marks import PanelFacts
from .redaction import bare, join_path, name_address, name_key
from .registry import names
from .schema import StrictModel, read_toml
from .wire import EditForm, RewriteSwitch, WireFormat, field_names

__all__ = [
    "OWN",
    "BatchFacts",
    "Measures",
    "ModelFacts",
    "PainterFacts",
    "Provider",
    "Settings",
    "WireFormat",
    "load",
    "parse_value",
    "shipped",
]

SHIPPED = Path(__file__).parent / "providers.toml"
DESCRIBED = Path(__file__).parent / "services.toml"
OWN = "limner.toml"
DECLARED = {False: "declared", True: "declared-jobs"}
"""The ``image_shape`` of services that ``[painters.NAME]`` describes, by whether they hand out jobs."""


class BatchFacts(StrictModel):
    """What a service says of its batches: calls that are handed in together and come back within a day, for less.

    Attributes:
        shape: Whose wire format it is.
        share: The part of the usual price that a call in a batch costs.
        calls: How many calls one batch takes.
        bytes: How many bytes its file may have.
        inline_bytes: Up to so many bytes go without a file, where the service takes them so.
        window_s: Within so many seconds a batch is answered or expires.
        poll_s: Seconds before it is asked after for the first time; then less and less often.
        doubt_s: Seconds after which a batch that was taken is sure to stand in the service's list.
    """

    shape: Literal["openai", "gemini"]
    share: float = Field(gt=0, le=1)
    calls: int = Field(gt=0)
    bytes: int = Field(gt=0)
    inline_bytes: int = Field(default=0, ge=0)
    window_s: float = Field(default=86_400.0, gt=0)
    poll_s: float = Field(default=10.0, gt=0)
    doubt_s: float = Field(default=60.0, ge=0)
    priced_on: str | None = None
    source: str | None = None


class Provider(StrictModel):
    """A service that answers chat requests, draws, or both.

    Attributes:
        key_header: The header that holds the key, and how; each wire format has its usual one.
        image_shape: The wire format of its image calls: a registered image service.
        image_url: Where image calls go, when not to `base_url`.
        seeds: Whether image calls take a seed.
        structured: What it takes as a description of a reply's shape.
        image_input: Whether its models see pictures, and its painters start from them.
        max_image_side: The longer side of the largest picture it takes.
        quick_images: Whether pictures are scaled down the quick way; see `limner.core.images.prepare`.
        link_hosts: Hosts that links to finished images may lead to, beside the service's own; ``*.name`` for all
            below a name.
        poll_hosts: Hosts a job may be asked after at, beside the service's own; they get the key.
        batch: What it says of its batches, where it has some.
    """

    base_url: str = Field(pattern=r"^https?://\S+$")
    shape: Literal["openai", "anthropic"] = "openai"
    key_env: str | None = None
    key_header: str | None = Field(default=None, pattern=r"^[A-Za-z0-9-]+: ([A-Za-z]+ )?\{key\}$")
    timeout_s: float = Field(default=600.0, gt=0)
    call_timeout_s: float = Field(default=3600.0, gt=0)
    image_shape: str | None = None
    image_url: str | None = None
    seeds: bool = False
    structured: Literal["none", "json_object", "json_schema"] = "none"
    image_input: bool = True
    max_image_side: int | None = None
    quick_images: bool = False
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    link_hosts: tuple[str, ...] = ()
    poll_hosts: tuple[str, ...] = ()
    batch: BatchFacts | None = None

    def model_post_init(self, _context: Any) -> None:
        """Wherever a key comes from, it is to be told to nobody."""
        if self.key_env is not None:
            name_key(self.key_env)
        for url in (self.base_url, self.image_url):
            if url is not None:
                name_address(url)

    @field_validator("image_shape")
    @classmethod
    def _is_registered(cls, shape: str | None) -> str | None:
        known = names("limner.services")
        if shape is not None and shape not in known:
            raise ValueError(f"no image service {shape!r}; there is: {', '.join(known)}")
        return shape

    def address(self, path: str) -> str:
        """Where chat calls go: the path below `base_url`, whose login and query go along."""
        return join_path(self.base_url, path)

    def key_headers(self, usual: str = "Authorization: Bearer {key}", otherwise: str | None = None) -> dict[str, str]:
        """Return the header with the key; none for a service that needs no key.

        Args:
            usual: As `key_header` is written, where the settings do not say it.
            otherwise: What stands for the key of a service that needs none, should a header be wanted all the same.
        """
        name, _, how = (self.key_header or usual).partition(": ")
        key = self.key() or otherwise
        return {name: how.replace("{key}", key)} if key else {}

    def key(self) -> str | None:
        """Return the key from the environment, or None for a service that needs none."""
        if self.key_env is None:
            return None
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise UsageError(f"{bare(self.base_url)} needs a key: set the environment variable {self.key_env}")
        if not (key.isascii() and key.isprintable()) or " " in key:
            # It would fit into no header, and the error about that would repeat it.
            raise UsageError(f"the environment variable {self.key_env} holds no key: keys have no such characters")
        return key


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
    """All named services and model facts.

    Attributes:
        wires: Services that are described, by name.
        usual: What holds for all models of such a service.
        panels: Panels of judges.
        rewrites: By service or wire format, and by pattern of a model's name, how rewriting of prompts is turned off.
    """

    providers: dict[str, Provider]
    models: dict[str, ModelFacts] = Field(default_factory=dict)
    painters: dict[str, PainterFacts] = Field(default_factory=dict)
    evidence: Measures = Measures()
    wires: dict[str, WireFormat] = Field(default_factory=dict)
    usual: dict[str, PainterFacts] = Field(default_factory=dict)
    panels: dict[str, PanelFacts] = Field(default_factory=dict)
    rewrites: dict[str, dict[str, RewriteSwitch]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _sorted(cls, data: Any) -> Any:
        """``[painters.NAME]`` with a wire format in it: its fields go where those of providers and painters stand."""
        rows = data.get("painters") if isinstance(data, dict) else None
        if not isinstance(rows, dict) or not isinstance(data.get("providers"), dict):
            return data
        data = {**data, "painters": dict(rows), "providers": dict(data["providers"])}
        wires, usual = dict(data.get("wires") or {}), dict(data.get("usual") or {})
        for name, row in rows.items():
            if "/" in name or not isinstance(row, dict) or not row.keys() - PainterFacts.model_fields.keys():
                continue
            of_provider = {key: value for key, value in row.items() if key in Provider.model_fields}
            facts = {key: row[key] for key in row.keys() & PainterFacts.model_fields.keys() - of_provider.keys()}
            wires[name] = {key: value for key, value in row.items() if key not in of_provider.keys() | facts.keys()}
            usual[name] = facts
            del data["painters"][name]
            shape = {"image_shape": DECLARED["poll" in row]}
            data["providers"][name] = shape | dict(data["providers"].get(name) or {}) | of_provider
        return data | ({"wires": wires, "usual": usual} if wires else {})

    def with_exact_images(self) -> Settings:
        """Return the same, with no pictures prepared the quick way."""
        exact = {name: one.model_copy(update={"quick_images": False}) for name, one in self.providers.items()}
        return self.model_copy(update={"providers": exact})

    def painter(self, target: str) -> PainterFacts:
        """Return what is known of a painter, by its own name first and by its service's second."""
        usual = self.usual.get(target.partition("/")[0], PainterFacts())
        if (own := self.painters.get(target)) is None:
            return usual
        return usual.model_copy(update={key: getattr(own, key) for key in own.model_fields_set})

    def rewrite_switches(self, service: str) -> dict[str, RewriteSwitch]:
        """How a service is told to rewrite prompts or not to: by its name first, by its wire format second."""
        return self.rewrites.get(service) or self.rewrites.get(self.provider(service).image_shape or "", {})

    def rewrite_fields(self) -> frozenset[str]:
        """Return what all services call their fields for it."""
        return field_names(switch for switches in self.rewrites.values() for switch in switches.values())

    def provider(self, name: str) -> Provider:
        """Return the service called `name`."""
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

    def batch_share(self, target: str) -> float | None:
        """Return the part of the usual price that a call in a batch costs; None where its service has no batches."""
        provider = self.providers.get(target.partition("/")[0])
        if provider is None or provider.batch is None:
            return None
        own = self.models.get(target, ModelFacts()).batch_share
        return provider.batch.share if own is None else own


def load(own: Path | None = None) -> Settings:
    """Return the shipped settings with the user's file laid over them.

    Args:
        own: The user's file; by default ``limner.toml`` in the working folder, where there is one.
    """
    path = own if own is not None else Path.cwd() / OWN
    return _loaded(path, own is not None, (_bytes(path), _bytes(catalogue.refreshed_file())))


@lru_cache(maxsize=4)
def _loaded(path: Path, wanted: bool, _said: tuple[bytes | None, ...]) -> Settings:
    """Return the settings, read anew only when one of the user's two files says something else."""
    merged = _overlay(shipped(), catalogue.refreshed_rows())
    if wanted or path.is_file():
        merged = _overlay(merged, read_toml(path))
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        said = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            said = f"no such field; there is: {', '.join(_fields(first['loc']))}"
        told = ("painters", *first["loc"][1:]) if first["loc"][0] in ("wires", "usual") else first["loc"]
        place = ".".join(str(part) for part in told)
        raise DataError(f"{place}: {said}", file=path) from error


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def shipped() -> dict[str, Any]:
    """Return what the shipped files say, one laid over the other."""
    merged: dict[str, Any] = {}
    for file in (SHIPPED, DESCRIBED, catalogue.SHIPPED):
        merged = _overlay(merged, read_toml(file))
    return merged


def _fields(place: tuple[int | str, ...]) -> list[str]:
    """Return the fields that may stand where a wrong one does."""
    known: dict[str, type[BaseModel]] = {"providers": Provider, "models": ModelFacts, "painters": PainterFacts}
    known |= {"evidence": Measures, "panels": PanelFacts, "rewrites": RewriteSwitch}
    if place[0] == "wires":
        inner = WireFormat if len(place) < 4 else EditForm
        more = [] if inner is EditForm else [*Provider.model_fields, *PainterFacts.model_fields]
        return [*inner.model_fields, *more]
    return list((known[str(place[0])] if len(place) > 1 else Settings).model_fields)


def _overlay(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _overlay(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def parse_value(word: str) -> Any:
    """Return what the word says as JSON, or the word itself.

    >>> parse_value("0.5"), parse_value("true"), parse_value("high")
    (0.5, True, 'high')
    """
    try:
        return json.loads(word)
    except (ValueError, RecursionError):
        return word
